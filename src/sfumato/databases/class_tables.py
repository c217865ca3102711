"""Two tables of a database as one release: equivalence classes, and the rows that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pyarrow as pa

from sfumato.core.class_numbers import CLASS_ID, CLASS_SIZE, ClassLinks
from sfumato.core.interfaces import Scan, Source
from sfumato.databases.connection import Connection
from sfumato.databases.local_copy import LocalCopy
from sfumato.databases.table import TableColumn, TableName


@dataclass(frozen=True)
class Held:
    """A table, how its columns are read, and the column that its rows are in the order of."""

    table: TableName
    columns: Sequence[TableColumn]
    order: str | None = None


class ClassTables:
    """A source that reads rows with what their classes show, once into a private copy."""

    def __init__(
        self,
        session: Callable[[], AbstractContextManager[Connection]],
        tables: Callable[[Connection], tuple[Held, Held]],
        names: Sequence[str] = (),
    ) -> None:
        self._session, self._tables, self._names = session, tables, names
        self._copy: LocalCopy | None = None

    def describe(self) -> pa.Schema:
        """Return the columns and their types."""
        with self._session() as connection:
            return pa.schema([column.field for column in self._columns(*self._tables(connection))])

    def state(self) -> str:
        """Return a token that stays: what was read does not change."""
        return "class tables"

    def about(self) -> int | None:
        """Return nothing: nobody has counted."""
        return None

    def scan(self) -> Scan | None:
        """Return nothing."""
        return None

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some columns."""
        yield from self._copied().batches(columns, coded)

    def _copied(self) -> Source:
        if self._copy is None:
            with self._session() as connection:
                classes, rows = self._tables(connection)
                wanted = pa.schema([column.field for column in self._columns(classes, rows)])
                self._copy = LocalCopy(wanted, _linked(connection, classes, rows, wanted.names))
        return self._copy.source

    def _columns(self, classes: Held, rows: Held) -> list[TableColumn]:
        own = {column.name: column for column in [*classes.columns, *rows.columns] if column.name not in (CLASS_ID, CLASS_SIZE)}
        return [own[name] for name in self._names or own]


def _linked(connection: Connection, classes: Held, rows: Held, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([column.field for column in classes.columns])
    shown = pa.Table.from_batches(connection.read(classes.table, classes.columns), schema)
    links = ClassLinks(shown, names, f"{rows.table} and {classes.table}")
    for batch in connection.read(rows.table, rows.columns, rows.order):
        yield links.linked(batch)
    links.end()
