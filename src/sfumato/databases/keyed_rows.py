"""Rows that are known by their keys: how two tables are joined by one, and how far a list of them has been worked through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from sfumato.databases.connection import Connection
from sfumato.databases.table import TableColumn

NUMBER = TableColumn("n", "bigint", pa.int64())
"""A whole number that a query gives."""


def same_key(connection: Connection, key: Sequence[str], one: str = "s", other: str = "k") -> str:
    """Return the condition that a row of one table has the key of a row of another; both go by short names in the query."""
    names = [connection.quoted_name(name) for name in key]
    return " AND ".join(f"{one}.{name} = {other}.{name}" for name in names)


def are_comparable(one: TableColumn, other: TableColumn) -> bool:
    """Return whether any server compares the values of two columns, as those of a key that somebody has given a wider type.

    >>> are_comparable(TableColumn("id", "integer", pa.int32()), TableColumn("id", "bigint", pa.int64()))
    True
    >>> are_comparable(TableColumn("id", "integer", pa.int32()), TableColumn("id", "text", pa.string()))
    False
    """
    return one.called == other.called or (_sort_of(one) is not None and _sort_of(one) == _sort_of(other))


def _sort_of(column: TableColumn) -> str | None:
    """Return the sort of values in which all types are compared with each other; none where a type is compared with itself only."""
    kind = column.kind
    if kind is None:
        return None
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "time"
    return "text" if pa.types.is_string(kind) and not column.as_text else None


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name of a column that stands beside others, which may be anybody's: it gets underscores until none of them has it, in any case.

    >>> free_name("n", ["id", "N"]), free_name("n", ["n", "n_"])
    ('n_', 'n__')
    """
    known = {other.casefold() for other in taken}
    while name.casefold() in known:
        name += "_"
    return name


def one_value(connection: Connection, query: str, column: TableColumn = NUMBER) -> Any:
    """Return the one value that a query gives."""
    return one_row(connection, query, [column])[0]


def one_row(connection: Connection, query: str, columns: Sequence[TableColumn]) -> list[Any]:
    """Return the one row that a query gives."""
    (batch,) = [found for found in connection.select(query, columns) if found.num_rows]
    return [part[0].as_py() for part in batch.columns]


def chunks(first: int, beyond: int, many: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the parts of a list, of so many rows each.

    >>> list(chunks(1, 8, 3))
    [(1, 4), (4, 7), (7, 8)]
    """
    for start in range(first, beyond, many):
        yield start, min(start + many, beyond)
