"""SQL: a table of PostgreSQL, MariaDB, MySQL or a database file of DuckDB, which takes the place of an older one in one step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
import pyarrow as pa
from pydantic import Field, PrivateAttr, model_validator

from sfumato.core.class_numbers import CLASS_ID, CLASS_SIZE, refused_classes
from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Scan, Source
from sfumato.core.settings import Settings
from sfumato.databases.address import Address, AddressText, parsed
from sfumato.databases.archive import Archive
from sfumato.databases.class_tables import ClassTables, Held
from sfumato.databases.column_names import refused_columns
from sfumato.databases.connection import Connection, connected
from sfumato.databases.in_place import refuse_half_masked
from sfumato.databases.local_copy import LocalCopy
from sfumato.databases.needed_rights import Need, Right, refuse_missing
from sfumato.databases.password import Password
from sfumato.databases.private_columns import MOST
from sfumato.databases.private_names import refuse_private
from sfumato.databases.table import TableName
from sfumato.databases.together import Together
from sfumato.registry import find
from sfumato.sinks._class_tables import ClassTablesWriter

_ROW = "sfumato_row"
_PLACE = "ctid"
# a table that is renamed is altered and dropped in its old place
_RENAMED: tuple[Right, ...] = ("ALTER", "DROP")


class Sql(Settings):
    """A table of a database. What an older one had beside its rows, such as grants, comments and indexes, the new one has too."""

    url: Annotated[
        AddressText, Field(description="the address, without a password: postgresql://writer@host:5432/research, or duckdb:///research.duckdb")
    ]
    table: Annotated[str, Field(min_length=1, description="the table; one that is there is replaced")]
    schema_: Annotated[str | None, Field(alias="schema", min_length=1, description="the schema it goes to; the first one where none is given")] = None
    classes: Annotated[
        str | None, Field(min_length=1, description="a second table, for the equivalence classes; the rows then have their numbers only")
    ] = None
    password: Annotated[Password | None, Field(description="where the password is: environment, file or command")] = None
    record: Annotated[
        PolicyPath | None, Field(description="the file that the record goes to, relative to the policy; none where it is not given")
    ] = None
    in_place: Annotated[
        bool, Field(description="mask the table that is the source where it is, in place of publishing another one; it needs a primary key")
    ] = False
    chunk: Annotated[int, Field(ge=1, description="with in_place: how many rows are copied over in one transaction")] = 10_000

    _together: Together | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _are_two(self) -> Sql:
        if self.classes == self.table:
            raise ValueError("needs another table for the classes than for the rows")
        if self.in_place and self.address.kind == "duckdb":
            raise ValueError("cannot mask tables of database files in place; name another table, and remove the old one afterwards")
        if self.in_place and self.classes is not None:
            raise ValueError("masks one table in place, and cannot write another for the classes")
        for table in self._tables:
            refuse_private(table.name, table.schema or self.address.database)
        return self

    @property
    def address(self) -> Address:
        """Where the database is, and as whom one goes there."""
        return parsed(self.url)

    @property
    def has_ranges(self) -> bool:
        """Whether the database has types for ranges: PostgreSQL has."""
        return self.address.kind == "postgresql"

    def places(self) -> Sequence[str]:
        """Return the table, or both."""
        return tuple(f"table {table} of {self.address.shown}" for table in self._tables)

    def refuse_columns(self, names: Sequence[str]) -> str | None:
        """Return what is wrong with a release of some columns; None where nothing is."""
        made = names if self.classes is None else [*names, CLASS_ID, CLASS_SIZE]
        return refused_classes(self.classes, names) or refused_columns(self.address.kind, made)

    def identity(self) -> str | None:
        """Return which table it is, whatever it is called; None where it is new."""
        with self.connected() as connection:
            return connection.identity(self.table_name)

    def refuse_used(self) -> None:
        """Refuse tables that could not be replaced, before anything is read for them; where masking in place would get stuck, without the rights too.

        Elsewhere these are asked for by the plan alone: a run tells them all the same, and takes few statements.
        """
        if self.address.kind == "mysql" and self.in_place:
            self.refuse_unwritable()
        if self.in_place:
            return
        with self.connected() as connection:
            for table in self._tables:
                connection.refuse_used(table)
                Archive(connection, table).refuse_replacing()

    def refuse_unwritable(self, is_inside: bool = False) -> None:
        """Refuse a schema that is not there, or in which the user may not do what is needed, before anything is read for it.

        Work inside MySQL and MariaDB needs tables that only its session sees.
        """
        if self.address.kind == "duckdb":
            return
        with self.connected() as connection:
            table = connection.placed(self.table_name)
            staged = connection.staged_name(table)
            needs = self._masking(table, staged) if self.in_place else _replacing(table, staged, connection.identity(table) is not None)
            needs += [Need("CREATE TEMPORARY TABLES", staged)] if is_inside else []
            refuse_missing(self.address.shown, self.address.kind, connection.missing_rights(needs))

    def _masking(self, table: TableName, staged: TableName) -> list[Need]:
        """Return what masking a table in place needs: on MySQL and MariaDB it is among what is staged meanwhile, on PostgreSQL it is the user's."""
        rights: tuple[Right, ...] = ("CREATE", "SELECT", "INSERT", "UPDATE", "DELETE", "ALTER", "DROP")
        places = (staged, table) if self.address.kind == "mysql" else (staged,)
        return [*(Need(right, place) for place in places for right in rights), Need("INDEX", staged)]

    def parts(self) -> Sequence[Sql]:
        """Return a sink for each of its tables."""
        return [self.model_copy(update={"table": table.name, "classes": None}) for table in self._tables]

    def open(self, schema: pa.Schema) -> SqlWriter | ClassTablesWriter:
        """Begin a table, or two, that nobody sees."""
        together = self._together
        if self.classes is not None:
            rows, classes = self._tables
            return ClassTablesWriter(self.connected(), rows, classes, schema, self.places())
        connection = self.connected() if together is None else together.connection
        writer = SqlWriter(connection, self.table_name, schema, self.places(), together, numbered=self._has_room(schema))
        try:
            connection.refuse_used(self.table_name, schema.names)
            Archive(connection, self.table_name).refuse_replacing()
        except BaseException:
            writer.abort()
            raise
        return writer

    def within(self, together: Together) -> Sql:
        """Return the sink that is published together with others."""
        sink = self.model_copy()
        sink._together = together
        return sink

    @property
    def table_name(self) -> TableName:
        """What the table is called."""
        return TableName(self.table, self.schema_)

    def as_source(self) -> Source:
        """Return the source that reads the table, or both."""
        if self.classes is not None:
            return ClassTables(self.connected, self._held)
        source: Source = find("sources", "sql")(url=self.url, table=self.table, schema=self.schema_, password=self.password)
        return source

    @property
    def _tables(self) -> tuple[TableName, ...]:
        """The table of the rows, and that of their classes where it is another."""
        names = [self.table, *([self.classes] if self.classes is not None else [])]
        return tuple(TableName(name, self.schema_) for name in names)

    def _held(self, connection: Connection) -> tuple[Held, Held]:
        """Return the tables as the catalogue has them, in a session that sees both in one state."""
        rows, classes = (Held(table, connection.columns(table)) for table in self._tables)
        connection.one_state(self._tables)
        return classes, rows

    def _has_room(self, schema: pa.Schema) -> bool:
        """Return whether the server takes a column more; where it does not, it knows the places of rows that came one after the other."""
        return len(schema) < MOST.get(self.address.kind, len(schema) + 1)

    def connected(self) -> Connection:
        """Open a connection to the database."""
        return connected(self.address, None if self.password is None else self.password.text())


class SqlWriter:
    """A table that nobody sees yet. Its rows are numbered as long, so that they can be read back in their order, or else have places that tell it."""

    def __init__(
        self,
        connection: Connection,
        table: TableName,
        schema: pa.Schema,
        places: Sequence[str],
        together: Together | None = None,
        numbered: bool = True,
    ) -> None:
        self._connection, self._table, self._places = connection, table, places
        self._together = together
        self._schema, self._numbered = schema, numbered
        self._rows = 0
        try:
            refuse_half_masked(connection, table)
            self._staged = connection.staged_name(table)
            connection.create(self._staged, pa.schema([*([pa.field(_ROW, pa.int64())] if numbered else []), *schema]))
        except BaseException:
            self.abort()
            raise

    @property
    def staging(self) -> Sequence[str]:
        """No private files: what is staged is in the database."""
        return ()

    def write(self, batch: pa.RecordBatch) -> None:
        """Load further rows."""
        if self._numbered:
            numbers = pa.array(np.arange(self._rows, self._rows + batch.num_rows))
            batch = pa.RecordBatch.from_arrays([numbers, *batch.columns], names=[_ROW, *batch.schema.names])
        self._connection.load(self._staged, batch)
        self._rows += batch.num_rows

    def finish(self) -> Source:
        """Return the source that reads back what the server has."""
        self._connection.loaded(self._staged)
        return StagedTable(self._connection, self._staged, self._schema, _ROW if self._numbered else _PLACE)

    def publish(self) -> Sequence[str]:
        """Let the table take its place; one of several is only made ready for it."""
        if self._numbered:
            self._connection.without(self._staged, _ROW)
        if self._together is not None:
            self._together.add(self._staged, self._table)
            return self._places
        self._connection.publish(self._staged, self._table)
        self._connection.commit()
        self._connection.__exit__(None, None, None)
        return self._places

    def abort(self) -> None:
        """Undo everything, that of other tables of the same session too."""
        if self._together is not None:
            self._together.close()
        else:
            self._connection.__exit__(None, None, None)


class StagedTable:
    """A staged table as a source: it is read back once into a private copy, in the order of its rows."""

    def __init__(self, connection: Connection, table: TableName, schema: pa.Schema, order: str) -> None:
        self._connection, self._table, self._schema, self._order = connection, table, schema, order
        self._copy: LocalCopy | None = None

    def describe(self) -> pa.Schema:
        """Return the columns and their types."""
        return self._copied().describe()

    def state(self) -> str:
        """Return a token that stays: nobody else can change it."""
        return str(self._table)

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
            columns = self._connection.made_columns(self._schema)
            batches = self._connection.read(self._table, columns, self._order)
            self._copy = LocalCopy(pa.schema([column.field for column in columns]), batches)
        return self._copy.source


def _replacing(table: TableName, staged: TableName, is_there: bool) -> list[Need]:
    """Return what a table needs that is written under a private name and renamed, and the one whose place it takes, if there is one."""
    rights: tuple[Right, ...] = ("CREATE", "SELECT", "INSERT")
    needs = [Need(right, place) for right in rights for place in (table, staged)]
    changed = (staged, table) if is_there else (staged,)
    return [*needs, *(Need(right, place) for place in changed for right in _RENAMED)]
