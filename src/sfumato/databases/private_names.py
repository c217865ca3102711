"""The names of tables that runs make for themselves: what has one of these may be removed as what a dead run has left, and nothing else may be."""

from __future__ import annotations

import re

STAGING = "sfumato_staging"
"""The database of MySQL and MariaDB in which releases are written; nobody but who publishes needs a right to it."""

_COPY = "copy_([0-9a-f]{8}_)?[0-9a-f]{20}_[0-9a-f]{8}"
_LEFT_COPY = re.compile(f"sfumato_{_COPY}")
_STAGED = re.compile(f"sfumato_([0-9a-f]{{16}}|view_[0-9a-f]{{16}}|{_COPY})(_old)?")
_KEPT_KEYS = re.compile("retained_[0-9a-f]{16}_[0-9a-f]{16}")
# names of copies are refused by their beginning alone, so that nobody has to know what follows it
_PRIVATE = re.compile(
    f"sfumato_copy_.*|{_STAGED.pattern}|{_KEPT_KEYS.pattern}|masking_[0-9a-f]{{24}}(_keys|_rows|_table)?", re.DOTALL | re.IGNORECASE
)


def is_copy(name: str) -> bool:
    """Return whether a private copy has such a name.

    >>> is_copy("sfumato_copy_0123456789abcdef0123_89abcdef"), is_copy("sfumato_copy_of_mine")
    (True, False)
    """
    return _LEFT_COPY.fullmatch(name) is not None


def is_staged(name: str) -> bool:
    """Return whether what is staged for a while has such a name."""
    return _STAGED.fullmatch(name) is not None


def is_list_of_keys(name: str) -> bool:
    """Return whether the keys of a batch are written down in tables of such names."""
    return _KEPT_KEYS.fullmatch(name) is not None


def refuse_private(name: str, schema: str | None) -> None:
    """Refuse a table of a policy whose name or database is one of those that runs keep for themselves.

    >>> refuse_private("retained_earnings", "public")
    """
    if schema == STAGING:
        raise ValueError(f"is in {STAGING}, where runs remove what others have left; name another database")
    if _PRIVATE.fullmatch(name):
        raise ValueError(f"names the table {name}, and tables of such names are what runs make for themselves and remove; rename it")
