"""An archive: a table to which releases are appended, each as one batch with a name, and a ledger that says which are there.

A batch and its line of the ledger are written in one transaction. A line that is there twice is refused by the database itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from sfumato.databases.connection import Connection
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import UsageError

BATCH = "sfumato_batch"
"""The column of an archive that says in which batch a row came."""

LEDGER = "sfumato_ledger"
State = Literal["written", "deleted"]
_SHORT = "VARCHAR(190)"


@dataclass(frozen=True)
class Line:
    """What the ledger says of a batch: it is in the archive, and its rows are still in the source or are deleted there."""

    batch: str
    state: State
    rows: int


class Archive:
    """A table of batches."""

    def __init__(self, connection: Connection, table: TableName) -> None:
        self._connection, self.table = connection, connection.placed(table)
        self._ledger = TableName(LEDGER, self.table.schema)

    def lines(self) -> list[Line]:
        """Return the ledger of this archive."""
        if self._connection.identity(self._ledger) is None:
            return []
        query = f"SELECT batch, state, rows_in FROM {self._quoted(self._ledger)} WHERE archive = {self._text()} ORDER BY batch"
        columns = [TableColumn("batch", "text", pa.string()), TableColumn("state", "text", pa.string()), TableColumn("rows_in", "bigint", pa.int64())]
        lines = [Line(*row.values()) for batch in self._connection.select(query, columns) for row in batch.to_pylist()]
        self._connection.commit()
        return lines

    def prepare(self, names: Sequence[str], staged: TableName) -> None:
        """Make what is not there yet, like a staged table; refuse an archive of other columns."""
        there = self._connection.identity(self.table) is not None
        if there:
            known = [column.name for column in self._connection.columns(self.table)]
            if known != [*names, BATCH]:
                raise UsageError(
                    f"the archive {self.table} has other columns than this release",
                    code="archive-columns",
                    hint="name another archive; an archive holds what one policy makes",
                )
        else:
            self._connection.do(f"CREATE TABLE {self._quoted(self.table)} AS SELECT {self._listed(names)} FROM {self._quoted(staged)} WHERE 1 = 0")
            self._connection.do(f"ALTER TABLE {self._quoted(self.table)} ADD COLUMN {BATCH} {_SHORT} NOT NULL")
        self._make_ledger()

    def leave_out(self, batch: str, rows: int) -> None:
        """Note a batch of which nothing is archived."""
        self._make_ledger()
        with self._connection.transaction():
            self.write_line(batch, rows, 0)

    def _make_ledger(self) -> None:
        made = f"archive {_SHORT}, batch {_SHORT}, state {_SHORT}, rows_in BIGINT, rows_out BIGINT, written TIMESTAMP, PRIMARY KEY (archive, batch)"
        self._connection.do(f"CREATE TABLE IF NOT EXISTS {self._quoted(self._ledger)} ({made})")

    def append(self, staged: TableName, names: Sequence[str], batch: str, rows_in: int, rows_out: int) -> None:
        """Put a staged table into the archive, and its line into the ledger."""
        self.write_line(batch, rows_in, rows_out)
        columns = self._listed([*names, BATCH])
        chosen = f"SELECT {self._listed(names)}, '{batch}' FROM {self._quoted(staged)}"
        self._connection.do(f"INSERT INTO {self._quoted(self.table)} ({columns}) {chosen}")

    def write_line(self, batch: str, rows_in: int, rows_out: int) -> None:
        """Put a batch into the ledger."""
        values = f"{self._text()}, '{batch}', 'written', {rows_in}, {rows_out}, CURRENT_TIMESTAMP"
        self._connection.do(f"INSERT INTO {self._quoted(self._ledger)} VALUES ({values})")

    def mark_deleted(self, batch: str) -> None:
        """Say that the rows of a batch are no longer in the source."""
        with self._connection.transaction():
            self._connection.do(f"UPDATE {self._quoted(self._ledger)} SET state = 'deleted' WHERE archive = {self._text()} AND batch = '{batch}'")

    def _text(self) -> str:
        """Return the name of the archive as the ledger has it; in hexadecimal digits where it has signs that mean something in a statement."""
        plain = self.table.name.isascii() and self.table.name.isidentifier()
        return f"'{self.table.name if plain else self.table.name.encode().hex()}'"

    def _quoted(self, table: TableName) -> str:
        return self._connection.quoted(table)

    def _listed(self, names: Sequence[str]) -> str:
        return ", ".join(self._connection.quoted_name(name) for name in names)
