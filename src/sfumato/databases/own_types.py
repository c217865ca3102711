"""What a server calls the type of a column, carried beside its field: another table has it again where values leave as they came.

Types that every server of a kind has go anywhere; those that somebody has made, enumerations and domains, stay in their database.
"""

from __future__ import annotations

import json
import re

import pyarrow as pa

from sfumato.core.nested_types import is_readable
from sfumato.databases.address import Address, Kind
from sfumato.databases.table import TableColumn

OWN_TYPE = b"sfumato.own_type"
_MADE = {"postgresql": re.compile(r'[."]')}
"""What only names have of types that somebody has made: those of PostgreSQL have a schema, for sessions look into none."""
_TAKEN = {
    "mysql": re.compile(
        r"(?:var)?char\(\d+\)|(?:tiny|medium|long)?text|json|uuid|inet[46]|time(?:\(\d\))?|datetime(?:\(\d\))?|timestamp(?:\(\d\))?|year\(4\)|year|tinyint\(1\)|mediumint.*"
    )
}
"""The types that are taken on MySQL and MariaDB: no enumerations, whose names are values, and no fractions of four bytes, which print six digits."""


def described(column: TableColumn, address: Address) -> pa.Field:
    """Return a column as a source describes it, with what its server calls the type."""
    field = column.field
    if not is_readable(field) or address.kind not in ("postgresql", "mysql"):
        return field
    return field.with_metadata({OWN_TYPE: json.dumps([*address.place, column.called]).encode()})


def own_type(field: pa.Field, kind: Kind, address: Address | None) -> str | None:
    """Return what the type of a field is called on a server, or in a script for any server, of some kind; None where nothing is known of it.

    >>> there = Address("postgresql", "host", 5432, "me", "hospital")
    >>> field = described(TableColumn("a", "uuid", pa.string(), as_text=True), there)
    >>> [own_type(field, "postgresql", None), own_type(field, "mysql", None)]
    ['uuid', None]
    >>> made = described(TableColumn("a", "public.mood", pa.string(), as_text=True), there)
    >>> [own_type(made, "postgresql", there), own_type(made, "postgresql", None)]
    ['public.mood', None]
    """
    told = (field.metadata or {}).get(OWN_TYPE)
    if told is None:
        return None
    *place, called = json.loads(told)
    if place[0] != kind or (kind in _TAKEN and _TAKEN[kind].fullmatch(called) is None):
        return None
    is_made = kind in _MADE and _MADE[kind].search(called) is not None
    return None if is_made and (address is None or list(address.place) != place) else str(called)
