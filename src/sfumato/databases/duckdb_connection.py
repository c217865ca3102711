"""DuckDB: a database file, worked on in this process. A release is made, written, read back and published in one transaction.

Nobody sees anything of it before, and a process that dies leaves nothing behind: what it had not committed is not in the log that the next one reads.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from types import TracebackType
from typing import Any, Literal

import pyarrow as pa

from sfumato.databases.address import Address
from sfumato.databases.connection import Catalogue
from sfumato.databases.duckdb_errors import duckdb_errors
from sfumato.databases.duckdb_file import opened
from sfumato.databases.duckdb_replacing import cannot_be_replaced, refuse_views_that_broke, restoring, triggers_of, views_that_work
from sfumato.databases.duckdb_retaining import DuckdbRetaining
from sfumato.databases.duckdb_types import bytewise, called, column_of, plain, quoted_name, readable, selected, typed
from sfumato.databases.duckdb_views import tables_beneath
from sfumato.databases.failures import busy
from sfumato.databases.needed_rights import Need
from sfumato.databases.table import ForeignKey, Referring, TableColumn, TableName
from sfumato.errors import DataError, SfumatoError, UnreachableError, UsageError, suggestion

_ROWS_AT_ONCE = 1 << 16
_MAIN = "main"
# names are told apart as DuckDB does it: without regard to case
_FIND = """
SELECT kind, schema_name, name, about FROM (
    SELECT 'table' AS kind, schema_name, table_name AS name, estimated_size AS about FROM duckdb_tables()
        WHERE database_name = current_database() AND NOT internal
    UNION ALL SELECT 'view', schema_name, view_name, NULL FROM duckdb_views() WHERE database_name = current_database() AND NOT internal
) WHERE lower(name) = lower(?) AND lower(schema_name) = lower(?)
"""
_ALL = """
SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal AND lower(schema_name) = lower(?)
UNION ALL SELECT view_name FROM duckdb_views() WHERE database_name = current_database() AND NOT internal AND lower(schema_name) = lower(?)
"""
_KEYS = """
SELECT constraint_column_names, referenced_table, referenced_column_names FROM duckdb_constraints()
WHERE database_name = current_database() AND schema_name = ? AND table_name = ? AND constraint_type = ? ORDER BY constraint_name
"""
_REFERRING = """
SELECT table_name, constraint_column_names, referenced_column_names FROM duckdb_constraints()
WHERE database_name = current_database() AND constraint_type = 'FOREIGN KEY' AND schema_name = ? AND referenced_table = ? ORDER BY table_name
"""


class DuckdbConnection:
    """A session of a database file. What is written is one transaction until it is committed; what is only read is of the moment."""

    def __init__(self, address: Address) -> None:
        self._shown = address.shown
        self._file = opened(address.database, self._shown)
        self._cursor: Any = None
        self._readers: list[Any] = []
        self._began = self._closed = False
        self._catalogue: str | None = None

    def __enter__(self) -> DuckdbConnection:
        """Begin."""
        return self

    @cached_property
    def retaining(self) -> DuckdbRetaining:
        """How it retains."""
        return DuckdbRetaining(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it; what was not committed is undone."""
        if self._closed:
            return
        self._closed = True
        for reader in list(self._readers):
            self._close(reader)
        if self._cursor is not None:
            self._undo()
            self._file.end(self._cursor)
        self._file.leave()

    def columns(self, table: TableName) -> list[TableColumn]:
        """Return the columns of a table or a view."""
        _, found = self._found(table)
        with duckdb_errors(self._shown):
            relation = self._session().sql(f"SELECT * FROM {self.quoted(found)}")
            return [column_of(name, kind) for name, kind in zip(relation.columns, relation.types, strict=True)]

    def identity(self, table: TableName) -> str | None:
        """Return on which file the table is, and what it is called there: it has no other name."""
        if not self._file.is_there:
            return None
        found = self._find(table)
        return None if found is None else f"{self._file.place()}/{str(found[1]).lower()}"

    def reads(self, table: TableName, other: Catalogue, replaced: TableName) -> bool:
        """Ask for the plan of a query of the view."""
        if not isinstance(other, DuckdbConnection) or other._file is not self._file:
            return False
        found = [each[1] for each in (self._find(table), self._find(replaced)) if each is not None]
        with duckdb_errors(self._shown):
            beneath = [tables_beneath(self._session(), self.quoted(each)) for each in found]
        return len(beneath) > 1 and not beneath[0].isdisjoint(beneath[1])

    def primary_key(self, table: TableName) -> tuple[str, ...]:
        """Return the columns of the primary key."""
        _, found = self._found(table)
        return next((tuple(columns) for columns, _, _ in self.rows(_KEYS, [found.schema, found.name, "PRIMARY KEY"])), ())

    def foreign_keys(self, table: TableName) -> list[ForeignKey]:
        """Return the foreign keys, which are never to tables of another schema; views have none."""
        _, found = self._found(table)
        rows = self.rows(_KEYS, [found.schema, found.name, "FOREIGN KEY"])
        return [ForeignKey(tuple(columns), TableName(other, found.schema), tuple(referred)) for columns, other, referred in rows]

    def referring(self, tables: Sequence[TableName]) -> list[Referring]:
        """Return the foreign keys that refer to tables; all refuse that rows of these are deleted."""
        return [
            Referring(TableName(name, found.schema), tuple(own), found, tuple(referred), "refused")
            for found in (self._found(table)[1] for table in tables)
            for name, own, referred in self.rows(_REFERRING, [found.schema, found.name])
        ]

    def acting(self, table: TableName, event: Literal["DELETE", "INSERT"]) -> list[str]:
        """Return the triggers, whatever they act on."""
        del event
        return triggers_of(self, self._found(table)[1])

    def hides_rows(self, table: TableName) -> bool:
        """Return that it does not: a file has no rights within."""
        del table
        return False

    def see_what_is_shown(self) -> None:
        """Do nothing: all rows are shown."""

    def one_state(self, tables: Sequence[TableName]) -> None:
        """Begin a transaction, which sees the database as it is when it first looks."""
        del tables
        self._begin(writing=False)

    def about(self, table: TableName) -> int | None:
        """Return how many rows the catalogue says there are; None for a view."""
        found = self._find(table)
        return None if found is None or found[2] is None else int(found[2])

    def read(self, table: TableName, columns: Sequence[TableColumn], order: str | None = None, limit: int | None = None) -> Iterator[pa.RecordBatch]:
        """Read some columns by one statement, which sees the table in one state."""
        names = ", ".join(selected(column) for column in columns) or "NULL"
        ordered = f" ORDER BY {quoted_name(order)}" if order else ""
        where = self.quoted(self.placed(table))
        yield from self.select(f"SELECT {names} FROM {where}{ordered}{f' LIMIT {limit}' if limit is not None else ''}", columns)

    def select(self, query: str, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Return what a query gives, as columns of these types."""
        wanted = pa.schema([(column.name, column.kind) for column in columns])
        with duckdb_errors(self._shown):
            reader = self._session().sql(query).to_arrow_reader(_ROWS_AT_ONCE)
        self._readers.append(reader)
        try:
            while True:
                with duckdb_errors(self._shown):
                    batch = next(reader, None)
                if batch is None:
                    return
                yield _counted(batch, wanted, columns)
        finally:
            self._close(reader)

    def _close(self, reader: Any) -> None:
        """Close what a query gives, read to its end or not: as long as it is open, so is the file, and who opens that anew would wait for ever."""
        self._readers = [each for each in self._readers if each is not reader]
        with suppress(Exception):
            reader.close()

    def staged_name(self, table: TableName) -> TableName:
        """Return a name in the schema of the table, which cannot be moved to another: what is not committed is seen by nobody there."""
        return TableName(_hidden(), self.placed(table).schema)

    def temporary_name(self) -> TableName:
        """Return the name of a table that is not in the file, only in the private folder of this process."""
        return TableName(_hidden())

    def made_columns(self, schema: pa.Schema) -> list[TableColumn]:
        """Return how the columns of a table that was made from a schema are read."""
        return [TableColumn(field.name, called(field), plain(pa.nulls(0, field.type)).type) for field in schema]

    def create(self, table: TableName, schema: pa.Schema) -> None:
        """Make a table, which nobody sees before it is committed."""
        refuse_names(schema.names)
        self._begin(writing=True)
        columns = ", ".join(f"{quoted_name(field.name)} {called(field)}" for field in schema)
        self.do(f"CREATE TABLE {self.quoted(table)} ({columns})")

    def load(self, table: TableName, batch: pa.RecordBatch) -> None:
        """Let DuckDB take further rows from where they are in memory."""
        narrow = pa.RecordBatch.from_arrays([plain(column) for column in batch.columns], names=[f"c{place}" for place in range(batch.num_columns)])
        self._begin(writing=True)
        name = _hidden()
        with duckdb_errors(self._shown):
            self._cursor.register(name, pa.Table.from_batches([narrow]))
            self._cursor.execute(f"INSERT INTO {self.quoted(table)} SELECT * FROM {quoted_name(name)}")
            self._cursor.unregister(name)

    def hold_secret(self, row: pa.RecordBatch) -> str:
        """Keep bytes as variables of the session, which are in memory alone, and return what a query joins."""
        return self._held(row)

    def hold_texts(self, row: pa.RecordBatch) -> str:
        """Keep texts in the same way."""
        return self._held(row)

    def _held(self, row: pa.RecordBatch) -> str:
        named = {column: _hidden() for column in row.schema.names}
        for values, name in zip(row.columns, named.values(), strict=True):
            self.do(f"SET VARIABLE {name} = $1", [values[0].as_py()])
        columns = (f"getvariable('{name}') AS {quoted_name(column)}" for column, name in named.items())
        return f"(SELECT {', '.join(columns)})"

    def loaded(self, table: TableName) -> None:
        """Do nothing: rows are there as soon as they have come."""
        del table

    def without(self, table: TableName, column: str) -> None:
        """Take a column away from a table."""
        self.do(f"ALTER TABLE {self.quoted(table)} DROP COLUMN {quoted_name(column)}")

    def publish(self, staged: TableName, table: TableName) -> None:
        """Let the staged table take the place of another, with its keys, comments and indexes; all of it is seen at once."""
        self.publish_all([(staged, table)])

    def missing_rights(self, needs: Sequence[Need]) -> list[Need]:
        """Return none: a file has no users."""
        del needs
        return []

    def refuse_used(self, table: TableName, names: Sequence[str] | None = None) -> None:
        """Do nothing: whether views go on to work is known when the table has taken its place."""
        del table, names

    def publish_all(self, tables: Sequence[tuple[TableName, TableName]]) -> None:
        """Let staged tables take the places of others; the transaction makes one step of it."""
        self._begin(writing=True)
        working = views_that_work(self)
        for staged, table in tables:
            self._replace(staged, table)
        refuse_views_that_broke(self, working, [table for _, table in tables])

    def _replace(self, staged: TableName, table: TableName) -> None:
        found = self._find(table)
        target = TableName(table.name, self.placed(table).schema)
        restored: list[tuple[str, str]] = []
        if found is not None:
            kind, old, _ = found
            if kind != "table":
                raise UnreachableError(f"{table} is no plain table", code="sink-not-table", hint="name another table, or remove it yourself")
            restored = restoring(self, old, target)
            self.do(f"DROP TABLE {self.quoted(old)}")
        self.do(f"ALTER TABLE {self.quoted(staged)} RENAME TO {quoted_name(table.name)}")
        for what, statement in restored:
            try:
                self.do(statement)
            except SfumatoError as error:
                if error.code not in ("database-failed", "database-value"):
                    raise
                raise cannot_be_replaced(str(table), [what]) from None

    def quoted_name(self, name: str) -> str:
        """Return a name as SQL writes it."""
        return quoted_name(name)

    def quoted(self, table: TableName) -> str:
        """Return the name of a table as SQL writes it; with that of the database, which may be that of a schema too."""
        if table.schema is None:
            return quoted_name(table.name)
        if self._catalogue is None:
            ((self._catalogue,),) = self.rows("SELECT current_database()", [])
        return ".".join(quoted_name(str(name)) for name in (self._catalogue, table.schema, table.name))

    def selected(self, column: TableColumn, name: str | None = None) -> str:
        """Return a column as a query selects it, where it goes by another name than its own by that."""
        return selected(column, name)

    def placed(self, table: TableName) -> TableName:
        """Return the name of a table with that of its schema, the first one where none is given."""
        return TableName(table.name, table.schema or _MAIN)

    def private_name(self, name: str, beside: TableName) -> TableName:
        """Return a name in the schema of the other table: a file has no rights within."""
        return TableName(name, self.placed(beside).schema)

    def beside(self, name: str, table: TableName) -> TableName:
        """Return a name in the schema of the other table."""
        return self.private_name(name, table)

    def beginning_with(self, name: str, table: TableName) -> list[TableName]:
        """Return the tables in the schema of the other one whose names begin so."""
        schema = self.placed(table).schema
        query = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = $1 AND starts_with(table_name, $2)"
        return [TableName(found, schema) for (found,) in self.rows(query, [schema, name])]

    def kept_as(self, name: str, table: TableName) -> TableName:
        """Return the table itself: nobody else has the file open."""
        del name
        return self.placed(table)

    def keep_private(self, table: TableName) -> None:
        """Do nothing: a file has no rights within."""

    def claim(self, name: str) -> None:
        """Do nothing: nobody else has the file open."""

    def disclaim(self, name: str) -> None:
        """Do nothing: nobody else has the file open."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is done within it; undo it where it fails."""
        try:
            yield
        except BaseException:
            self._undo()
            raise
        self.commit()

    def drop_staged(self, table: TableName) -> None:
        """Remove a staged table within the transaction."""
        self.do(f"DROP TABLE {self.quoted(table)}")

    def counted(self, table: TableName, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Group a table by the bytes of some columns."""
        names = [(column, f"c{place}") for place, column in enumerate(columns)]
        inner = ", ".join(f"{bytewise(column, quoted_name(column.name))} AS {name}" for column, name in names)
        listed = ", ".join(name for _, name in names)
        grouped = f"SELECT {listed}, count(*) AS n FROM (SELECT {inner} FROM {self.quoted(self.placed(table))}) s GROUP BY {listed}"
        shown = ", ".join(readable(column, name) for column, name in names)
        return self.select(f"SELECT {shown}, n FROM ({grouped}) g", [*columns, TableColumn("sfumato_rows", "BIGINT", pa.int64())])

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Open the file to write, which keeps other processes out; refuse where another session of this one does the same."""
        self._session(writing=True)
        if name in self._file.names:
            raise busy(self._shown)
        self._file.names.add(name)
        try:
            yield
        finally:
            self._file.names.discard(name)

    def delete_joined(self, table: TableName, keys: TableName, same: str, chosen: str) -> int:
        """Delete rows of a table whose keys are chosen."""
        held = self.quoted(self.placed(table))
        query = f"SELECT count(*) FROM {held} s JOIN {self.quoted(keys)} k ON {same} WHERE {chosen}"
        self._begin(writing=True)
        number = sum(batch.column(0)[0].as_py() for batch in self.select(query, [TableColumn("n", "BIGINT", pa.int64())]))
        self.do(f"DELETE FROM {held} s USING {self.quoted(keys)} k WHERE {same} AND {chosen}")
        return int(number)

    def do(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Let DuckDB do something within the transaction."""
        self._begin(writing=True)
        with duckdb_errors(self._shown):
            self._cursor.execute(statement, list(values)).fetchall()

    def put(self, statement: str) -> None:
        """Let DuckDB write rows; it has no log."""
        self.do(statement)

    def commit(self) -> None:
        """Let what was done last."""
        if self._began:
            with duckdb_errors(self._shown):
                self._cursor.execute("COMMIT")
            self._began = False
            self._file.free(self._cursor, committed=True)

    def rows(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return what the catalogue says."""
        with duckdb_errors(self._shown):
            rows: list[tuple[Any, ...]] = self._session().execute(query, list(values)).fetchall()
        return rows

    def _find(self, table: TableName) -> tuple[str, TableName, int | None] | None:
        """Return what a table or view is, what it is called, and about how many rows it has."""
        rows = self.rows(_FIND, [table.name, table.schema or _MAIN])
        return next(((kind, TableName(name, schema), about) for kind, schema, name, about in rows), None)

    def _found(self, table: TableName) -> tuple[str, TableName]:
        found = self._find(table)
        if found is None:
            schema = table.schema or _MAIN
            known = [name for (name,) in self.rows(_ALL, [schema, schema])]
            raise DataError(f"{self._shown} has no table {table}", code="table-missing", hint=suggestion(table.name, known))
        return found[0], found[1]

    def _session(self, writing: bool = False) -> Any:
        """Return the session, begun where there is none that serves."""
        if self._cursor is None or not self._file.serves(self._cursor, writing):
            if self._cursor is not None:
                self._file.end(self._cursor)
            self._cursor = self._file.cursor(writing)
        return self._cursor

    def _begin(self, writing: bool) -> None:
        if self._began:
            return
        cursor = self._session(writing)
        with duckdb_errors(self._shown):
            cursor.execute("BEGIN TRANSACTION")
        self._file.hold(cursor)
        self._began = True

    def _undo(self) -> None:
        if self._began:
            with suppress(Exception):
                self._cursor.execute("ROLLBACK")
            self._file.free(self._cursor)
            self._began = False


def refuse_names(names: Sequence[str]) -> None:
    """Refuse names that DuckDB would take for one: it does not regard case."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other is not name:
            raise UsageError(
                f"the columns {other} and {name} differ by case only, and have one name to DuckDB",
                code="database-name",
                hint="rename one of them in the source",
            )


def _hidden() -> str:
    return f"sfumato_{secrets.token_hex(8)}"


def _counted(batch: pa.RecordBatch, wanted: pa.Schema, columns: Sequence[TableColumn]) -> pa.RecordBatch:
    """Return rows in their types; where no column is asked for, as many rows without any."""
    if columns:
        return typed(batch, wanted, columns)
    return pa.RecordBatch.from_struct_array(pa.array([{}] * batch.num_rows, pa.struct([])))
