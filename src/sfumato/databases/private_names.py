"""The names of tables that runs make for themselves: what has one of these may be removed as what a dead run has left, and nothing else may be."""

from __future__ import annotations

import hashlib
import re

STAGING = "sfumato_staging"
"""How the names of all databases begin in which users of MySQL and MariaDB stage."""

_PLAIN = re.compile("[A-Za-z0-9_]{1,40}")

_COPY = "copy_([0-9a-f]{8}_)?[0-9a-f]{20}_[0-9a-f]{8}"
_LEFT_COPY = re.compile(f"sfumato_{_COPY}")
_STAGED = re.compile(f"sfumato_([0-9a-f]{{16}}|view_[0-9a-f]{{16}}|{_COPY})(_old)?")
_KEPT_KEYS = re.compile("retained_[0-9a-f]{16}_[0-9a-f]{16}")
# names of copies are refused by their beginning alone, so that nobody has to know what follows it
_PRIVATE = re.compile(
    f"sfumato_copy_.*|{_STAGED.pattern}|{_KEPT_KEYS.pattern}|masking_[0-9a-f]{{24}}(_keys|_rows|_table)?", re.DOTALL | re.IGNORECASE
)


def staging_of(account: str) -> str:
    """Return the database of MySQL and MariaDB in which the releases of a user are written, before they take their places.

    Each user has one, to which nobody else needs a right: who could read it would read what the others copy, and who could write there would say
    what they delete.

    >>> staging_of("keeper@%"), staging_of("öffentlich@localhost")
    ('sfumato_staging_keeper', 'sfumato_staging_37f5af416fd24a23')
    """
    user = account.rpartition("@")[0] or account
    return f"{STAGING}_{user if _PLAIN.fullmatch(user) else hashlib.sha256(user.encode()).hexdigest()[:16]}"


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
    if schema is not None and schema.startswith(STAGING):
        raise ValueError(f"is in {schema}, where runs remove what others have left; name another database")
    if _PRIVATE.fullmatch(name):
        raise ValueError(f"names the table {name}, and tables of such names are what runs make for themselves and remove; rename it")
