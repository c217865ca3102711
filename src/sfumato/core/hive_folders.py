"""Folders called ``key=value``, as Hive began them: each is a column whose value all rows below it share.

Values are percent-encoded in UTF-8, ``__HIVE_DEFAULT_PARTITION__`` is a missing value, and nothing after the sign is the empty text.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, unquote

NULL = "__HIVE_DEFAULT_PARTITION__"


def folder_name(key: str, value: str | None) -> str:
    """Return the name of the folder whose rows have a value in a column.

    >>> folder_name("ward", "A/B = 2"), folder_name("ward", None), folder_name("ward", "")
    ('ward=A%2FB%20%3D%202', 'ward=__HIVE_DEFAULT_PARTITION__', 'ward=')
    >>> folder_name("_id", NULL)
    '%5Fid=%5F_HIVE_DEFAULT_PARTITION__'
    """
    # a name that begins with such a sign would be left out by those who read the folder
    name = f"%{ord(key[0]):02X}{quote(key[1:], safe='')}" if key[:1] in ("_", ".") else quote(key, safe="")
    if value is None:
        return f"{name}={NULL}"
    return f"{name}=%5F{value[1:]}" if value == NULL else f"{name}={quote(value, safe='')}"


def keys_of(folders: Sequence[str]) -> list[tuple[str, str | None]]:
    """Return the columns and values that folders on the way to a file name; others say nothing. Raises a UnicodeError where one is no text.

    >>> keys_of(["data", "country=DE", "town=K%C3%B6ln"])
    [('country', 'DE'), ('town', 'Köln')]
    """
    pairs = [folder.partition("=") for folder in folders]
    return [(unquote(key, errors="strict"), None if value == NULL else unquote(value, errors="strict")) for key, sign, value in pairs if key and sign]
