"""An archive: a table to which releases are appended, each as one batch with a name, and a ledger that says which are there.

A batch and its line of the ledger are written in one transaction. A line that is there twice is refused by the database itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from sfumato.databases.connection import Connection
from sfumato.databases.keyed_rows import one_value
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import DataError, SfumatoError, UnreachableError, UsageError, number_of

BATCH = "sfumato_batch"
"""The column of an archive that says in which batch a row came."""

LEDGER = "sfumato_ledger"
State = Literal["written", "deleted"]
_ROOM = 190
_SHORT = f"VARCHAR({_ROOM})"


@dataclass(frozen=True)
class Line:
    """What the ledger says of a batch: it is in the archive, and its rows are still in the source or are deleted there.

    ``source`` is a hash of which table that is: several may go to one archive, and none may delete what another has archived. Of its ``rows``
    ``appended`` many are in the archive, and the others were suppressed.
    """

    batch: str
    state: State
    rows: int
    source: str
    appended: int


class Archive:
    """A table of batches, of which some may come from one source."""

    def __init__(self, connection: Connection, table: TableName, source: str = "") -> None:
        self._connection, self.table, self._source = connection, connection.placed(table), source
        self._ledger = TableName(LEDGER, self.table.schema)

    def refuse_without_transactions(self) -> None:
        """Refuse an archive or a ledger that would keep what is taken back: a batch that is refused would stand there all the same."""
        for table in (self.table, self._ledger):
            if self._connection.identity(table) is None:
                continue
            engine = self._connection.retaining.without_transactions(table)
            if engine is not None:
                what = (
                    f"is of the engine {engine}, which has no transactions" if engine else "is a view, and nobody knows whether it has transactions"
                )
                words = f"{table} {what}: a batch that is refused would stay in the archive; nothing has been archived"
                raise UnreachableError(
                    words, code="retention-engine", hint="ALTER TABLE ... ENGINE = InnoDB, or name another archive, which is a table"
                )

    def own_lines(self) -> list[Line]:
        """Return the lines of the batches that came from this source."""
        return [line for line in self.lines() if line.source == self._source]

    def lines(self) -> list[Line]:
        """Return the ledger of this archive."""
        if not self._has_ledger():
            return []
        query = f"SELECT batch, state, rows_in, source, rows_out FROM {self._quoted(self._ledger)} WHERE {self._here()} ORDER BY batch"
        columns = [TableColumn("batch", "text", pa.string()), TableColumn("state", "text", pa.string()), TableColumn("rows_in", "bigint", pa.int64())]
        columns += [TableColumn("source", "text", pa.string()), TableColumn("rows_out", "bigint", pa.int64())]
        lines = [Line(*row.values()) for batch in self._connection.select(query, columns) for row in batch.to_pylist()]
        self._connection.commit()
        return lines

    def rows_written(self) -> dict[str, int]:
        """Return how many rows each batch of this archive has, as the ledger says."""
        if not self._has_ledger():
            return {}
        query = f"SELECT batch, rows_out FROM {self._quoted(self._ledger)} WHERE {self._here()}"
        columns = [TableColumn("batch", "text", pa.string()), TableColumn("rows_out", "bigint", pa.int64())]
        return {row["batch"]: row["rows_out"] for batch in self._connection.select(query, columns) for row in batch.to_pylist()}

    def refuse_replacing(self) -> None:
        """Refuse to let another table take the place of the archive: its rows may be nowhere else, for they were deleted from the source."""
        if self._is_known():
            words = f"{self.table} is the archive of a policy with retention, and may be all that is left of rows that were deleted from their source"
            hint = f"another table; or, where nobody needs it, remove it and its lines in {self._ledger} yourself"
            raise UsageError(f"{words}; it has not been replaced", code="sink-is-archive", hint=hint)

    def _is_known(self) -> bool:
        """Return whether there is such an archive with lines in its ledger, also one that the user may not read."""
        if BATCH not in self._names_there() or self._connection.identity(self._ledger) is None:
            return False
        try:
            return bool(one_value(self._connection, f"SELECT COUNT(*) FROM {self._quoted(self._ledger)} WHERE {self._here()}"))
        except SfumatoError as error:
            if error.code != "database-rights":
                raise
            return True

    def refuse_lost(self, batch: str) -> None:
        """Refuse a batch of which the archive has fewer rows than were appended: those in the source may be all that is left of them."""
        appended = self.rows_written()[batch]
        if self._rows_there(batch) < appended:
            words = f"batch {batch} has {number_of(appended, 'row')} as the ledger says, and the archive {self.table} has not all of them any more"
            hint = (
                "bring them back into the archive; or delete the rows of the batch there, and its line in sfumato_ledger: what is still in the "
                "source is then archived anew"
            )
            raise DataError(f"{words}; nothing has been deleted", code="archive-lost", hint=hint)

    def _rows_there(self, batch: str) -> int:
        if BATCH not in self._names_there():
            return 0
        rows = int(one_value(self._connection, f"SELECT COUNT(*) FROM {self._quoted(self.table)} t WHERE t.{BATCH} = '{batch}'"))
        self._connection.commit()
        return rows

    def _names_there(self) -> list[str]:
        known = self._connection.columns(self.table) if self._connection.identity(self.table) is not None else []
        return [column.name for column in known]

    def prepare(self, names: Sequence[str], staged: TableName) -> None:
        """Make what is not there yet, like a staged table; refuse an archive of other columns or types."""
        self._make_ledger()
        if self._connection.identity(self.table) is not None:
            known = [column.name for column in self._connection.columns(self.table)]
            if known != [*names, BATCH]:
                raise UsageError(
                    f"the archive {self.table} has other columns than this release",
                    code="archive-columns",
                    hint="name another archive; an archive holds what one policy makes",
                )
            self._refuse_types(staged)
        else:
            # by one statement: a process that dies after the first of two would leave an archive that nobody takes for one
            columns = ", ".join(f"t.{self._connection.quoted_name(name)}" for name in names)
            chosen = f"SELECT {columns}, l.batch AS {BATCH} FROM {self._quoted(staged)} t, {self._quoted(self._ledger)} l WHERE 1 = 0"
            self._connection.do(f"CREATE TABLE {self._quoted(self.table)} AS {chosen}")

    def _refuse_types(self, staged: TableName) -> None:
        """Refuse a release whose values the columns of the archive would change: a server cuts and rounds without a word."""
        known = {column.name: column for column in self._connection.retaining.columns_now(self.table)}
        for column in self._connection.retaining.columns_now(staged):
            if column.name in known and not _takes(known[column.name], column):
                raise UsageError(
                    f"the column {column.name} of the archive {self.table} has another type than in this release",
                    code="archive-columns",
                    hint="name another archive, or publish the column as text, with interval or bounds",
                )

    def leave_out(self, batch: str, rows: int) -> None:
        """Note a batch of which nothing is archived."""
        self._make_ledger()
        with self._connection.transaction():
            self.write_line(batch, rows, 0)

    def _make_ledger(self) -> None:
        known = f"archive {_SHORT}, batch {_SHORT}, source {_SHORT}, state {_SHORT}"
        made = f"{known}, rows_in BIGINT, rows_out BIGINT, written TIMESTAMP, PRIMARY KEY (archive, batch)"
        if not self._has_ledger():
            self._create_ledger(f"CREATE TABLE IF NOT EXISTS {self._quoted(self._ledger)} ({made})")
            # who may change it decides which rows are deleted
            self._connection.keep_private(self._ledger)
            # somebody may have made one a moment before
            self._refuse_others_ledger()
        self._connection.retaining.compare_by_bytes(self._ledger)

    def _create_ledger(self, statement: str) -> None:
        try:
            self._connection.do(statement)
        except SfumatoError as error:
            if error.code != "database-value":
                raise
            # PostgreSQL lets two sessions make one table at once, and refuses the second when the first has ended
            words = f"another run has made {self._ledger} at the same moment; of this batch nothing has been archived and nothing deleted"
            raise UnreachableError(words, code="database-locked", hint="run again") from None

    def _has_ledger(self) -> bool:
        if self._connection.identity(self._ledger) is None:
            return False
        self._refuse_others_ledger()
        return True

    def _refuse_others_ledger(self) -> None:
        """Refuse a ledger of somebody else's making: it says which rows are deleted, and what acts on it would act with the rights of this user."""
        if not self._connection.retaining.is_ours(self._ledger):
            words = (
                f"{self._ledger} has the name of the ledger of the archive {self.table}, and is not this user's own, or triggers or rules act on it"
            )
            raise UnreachableError(
                words, code="archive-ledger", hint="run as the user who made it; or take away what acts on it; or name another schema"
            )

    def append(self, staged: TableName, names: Sequence[str], batch: str, rows_in: int, rows_out: int, state: State = "written") -> None:
        """Put a staged table into the archive, and its line into the ledger; refuse a batch that is there."""
        self.write_line(batch, rows_in, rows_out, state)
        columns = self._listed([*names, BATCH])
        chosen = f"SELECT {self._listed(names)}, '{batch}' FROM {self._quoted(staged)}"
        self._connection.put(f"INSERT INTO {self._quoted(self.table)} ({columns}) {chosen}")

    def refuse_altered(self, staged: TableName, columns: Sequence[TableColumn], batch: str) -> None:
        """Refuse a batch that does not stand in the archive as it was staged: what acts there by itself may keep rows from it or change them."""
        retaining = self._connection.retaining
        retaining.settle()
        appended = retaining.rows_print(self.table, columns, f"t.{BATCH} = '{batch}'")
        if appended != retaining.rows_print(staged, columns, "1 = 1"):
            words = f"batch {batch} does not stand in the archive {self.table} as it was appended; nothing has been archived and nothing deleted"
            raise UnreachableError(
                words, code="archive-altered", hint="take away what keeps rows from the archive or changes them: triggers, rules, types"
            )

    def write_line(self, batch: str, rows_in: int, rows_out: int, state: State = "written") -> None:
        """Put a batch into the ledger; refuse one that is there."""
        there = f"SELECT COUNT(*) FROM {self._quoted(self._ledger)} WHERE {self._here()} AND batch = '{batch}'"
        if one_value(self._connection, there):
            words = f"batch {batch} is in the archive {self.table} already"
            raise UnreachableError(words, code="archive-batch", hint="run again: what another run has archived meanwhile is not archived twice")
        values = f"{self._text()}, '{batch}', '{self._source}', '{state}', {rows_in}, {rows_out}, CURRENT_TIMESTAMP"
        self._connection.do(f"INSERT INTO {self._quoted(self._ledger)} VALUES ({values})")

    def mark_deleted(self, batch: str) -> None:
        """Say that the rows of a batch are no longer in the source."""
        with self._connection.transaction():
            self._connection.do(f"UPDATE {self._quoted(self._ledger)} SET state = 'deleted' WHERE {self._here()} AND batch = '{batch}'")

    def _here(self) -> str:
        """Return the condition that a line of the ledger is one of this archive."""
        here = self._connection.retaining.is_name("archive", self._text())
        if _is_plain_name(self.table.name):
            return here
        # as lines had it once, which may be the name of another archive too
        digits = self.table.name.encode().hex()
        once = self._connection.retaining.is_name("archive", f"'{digits}'")
        if _is_plain_name(digits) and self._connection.identity(TableName(digits, self.table.schema)) is not None:
            once += f" AND {self._holds_batch(here)}"
        return f"({here} OR ({once}))"

    def _holds_batch(self, here: str) -> str:
        """Return the condition that the batch of a line is in this archive, and by no other line: two archives could not share a name of one."""
        if self._connection.identity(self.table) is None:
            return "1 = 0"
        # one query within another: a server may not look at a table that it changes
        otherwise = f"SELECT n.batch FROM (SELECT batch FROM {self._quoted(self._ledger)} WHERE {here}) n"
        return f"batch IN (SELECT a.{BATCH} FROM {self._quoted(self.table)} a) AND batch NOT IN ({otherwise})"

    def _text(self) -> str:
        return f"'{written_name(self.table.name)}'"

    def _quoted(self, table: TableName) -> str:
        return self._connection.quoted(table)

    def _listed(self, names: Sequence[str]) -> str:
        return ", ".join(self._connection.quoted_name(name) for name in names)


def written_name(name: str) -> str:
    """Return the name of an archive as the ledger has it: in hexadecimal digits where it has signs that mean something in a statement.

    What begins with a number is no plain name, so that none is written like another. Of a name whose digits have no room there is a hash.

    >>> written_name("archive"), written_name("c3a9"), written_name("é")
    ('archive', 'c3a9', '0xc3a9')
    >>> len(written_name("ä" * 64))
    66
    """
    if _is_plain_name(name):
        return name
    digits = name.encode().hex()
    return f"0x{digits}" if len(digits) < _ROOM - 1 else f"0#{hashlib.sha256(name.encode()).hexdigest()}"


def _is_plain_name(name: str) -> bool:
    return name.isascii() and name.isidentifier()


def _takes(column: TableColumn, other: TableColumn) -> bool:
    """Return whether a column takes the values of another as they are, or fails; texts and whole numbers that do not fit are never cut.

    >>> _takes(TableColumn("a", "text", pa.string()), TableColumn("a", "varchar(20)", pa.string()))
    True
    >>> _takes(TableColumn("a", "real", pa.float32()), TableColumn("a", "double precision", pa.float64()))
    False
    """
    return column.called == other.called or (_is_plain(column) and _is_plain(other) and _is_text(column) == _is_text(other))


def _is_plain(column: TableColumn) -> bool:
    return _is_text(column) or (column.kind is not None and bool(pa.types.is_integer(column.kind)))


def _is_text(column: TableColumn) -> bool:
    return column.kind is not None and bool(pa.types.is_string(column.kind)) and not column.as_text
