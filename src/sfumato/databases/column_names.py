"""Columns that a table cannot have on a server, by their names or number, said before anything is read for it.

Some are only made by what is published.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sfumato.databases.address import Kind
from sfumato.databases.private_columns import MOST

_OF_THE_SERVER = {"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"}
_LONGEST_BYTES, _LONGEST_CHARACTERS = 63, 64
_WHITE = " \t\n\v\f\r"


def refused_columns(kind: Kind, names: Sequence[str]) -> str | None:
    """Return what is wrong with columns of some names; None where the server can take all.

    >>> refused_columns("postgresql", ["age", "ctid"])
    'column ctid cannot be called so: every table of PostgreSQL has a column of that name'
    >>> refused_columns("mysql", ["age", "Age"])
    'MySQL and MariaDB take columns for one: age, Age'
    """
    most = MOST.get(kind)
    if most is not None and len(names) > most:
        return f"the release would have {len(names):,} columns, and a table of PostgreSQL has room for {most:,}"
    found = [wrong for name in names if (wrong := _refused(kind, name)) is not None]
    return found[0] if found else _doubled(kind, names)


def _refused(kind: Kind, name: str) -> str | None:
    """Return what is wrong with a name. PostgreSQL would cut a long one, so that two become one, or another than the policy says."""
    if kind == "postgresql" and name in _OF_THE_SERVER:
        return f"column {name} cannot be called so: every table of PostgreSQL has a column of that name"
    if kind == "postgresql" and len(name.encode()) > _LONGEST_BYTES:
        return f"the name of column {name} has {len(name.encode())} bytes, and PostgreSQL takes {_LONGEST_BYTES}"
    if kind == "mysql" and len(name) > _LONGEST_CHARACTERS:
        return f"the name of column {name} has {len(name)} characters, and MySQL and MariaDB take {_LONGEST_CHARACTERS}"
    if kind == "mysql" and name != name.rstrip(_WHITE):
        return f"the name of column {name.rstrip(_WHITE)} ends with white space, and MySQL and MariaDB take no such name"
    return None


def _doubled(kind: Kind, names: Sequence[str]) -> str | None:
    """Return which columns MySQL and MariaDB take for one, whatever the case of letters is; DuckDB says so itself before anything is written."""
    known = Counter(name.lower() for name in names) if kind == "mysql" else Counter()
    double = [name for name in names if known[name.lower()] > 1]
    return f"MySQL and MariaDB take columns for one: {', '.join(double)}" if double else None
