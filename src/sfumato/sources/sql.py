"""SQL: a table or a view of PostgreSQL, MariaDB, MySQL or a database file of DuckDB, read in one state.

A run reads its source several times, and a table goes on being written to. So its rows are read once, by one statement, into a private file, which is
removed when nobody needs it any more; all that a run does is done with these rows. A run says beforehand which columns it looks at, and no others are
read: what nobody looks at has no business here, and what nobody could publish does no harm there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import pyarrow as pa
from pydantic import Field, PrivateAttr, model_validator

from sfumato.core.interfaces import Identified, Scan, Source
from sfumato.core.nested_types import is_readable, refuse_unreadable
from sfumato.core.settings import Settings
from sfumato.databases.address import Address, AddressText, parsed
from sfumato.databases.connection import Connection, connected
from sfumato.databases.in_place import refuse_half_masked
from sfumato.databases.local_copy import LocalCopy
from sfumato.databases.located import Located
from sfumato.databases.own_types import described
from sfumato.databases.password import Password
from sfumato.databases.private_names import refuse_private
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import DataError


class Sql(Settings):
    """A table of a database. Cost: one statement that reads the columns that a run looks at, and one copy of them on the disk."""

    url: Annotated[
        AddressText, Field(description="the address, without a password: postgresql://reader@host:5432/hospital, or duckdb:///hospital.duckdb")
    ]
    table: Annotated[str, Field(min_length=1, description="the table or view")]
    schema_: Annotated[str | None, Field(alias="schema", min_length=1, description="the schema it is in; the first one where none is given")] = None
    password: Annotated[Password | None, Field(description="where the password is: environment, file or command")] = None

    rows: Annotated[
        Literal["all", "visible"],
        Field(
            description="all: refuse a table of which row-level security hides rows from the user; visible: take those that it shows for the table"
        ),
    ] = "all"

    _columns: list[TableColumn] | None = PrivateAttr(None)
    _hidden: bool = PrivateAttr(False)
    _copy: LocalCopy | None = PrivateAttr(None)
    _looked_at: frozenset[str] | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _is_not_private(self) -> Sql:
        refuse_private(self.table, self.schema_ or self.address.database)
        return self

    def describe(self) -> pa.Schema:
        """Return the columns and their types, as the server's catalogue has them."""
        return self._schema(self._chosen())

    def narrowed(self, columns: Sequence[str]) -> Sql:
        """Return the table as one of which no other columns are read; itself where a copy of it has been made."""
        if self._copy is not None:
            return self
        found = self.model_copy()
        found._looked_at = frozenset(columns)
        return found

    def identity(self) -> str | None:
        """Return which table it is, whatever it is called."""
        with self.connected() as connection:
            return connection.identity(self.table_name)

    def reads(self, sink: Identified) -> bool:
        """Return whether it is a view that reads the table of a sink."""
        if not isinstance(sink, Located) or sink.address.kind != self.address.kind:
            return False
        with self.connected() as connection, sink.connected() as other:
            return connection.reads(self.table_name, other, sink.table_name)

    def state(self) -> str:
        """Return a token that stays: what was read does not change."""
        return str(self.table_name)

    def about(self) -> int | None:
        """Return about how many rows there are, as far as the server knows."""
        with self.connected() as connection:
            return connection.about(self.table_name)

    def scan(self) -> Scan:
        """Return the table, of which nothing is read yet."""
        return Scan("sql", (f"table {self.table_name} of {self.address.shown}",))

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some columns of the copy, which is made the first time."""
        if not self._has(columns):
            raise AssertionError("what is read of a table was told beforehand")
        refuse_unreadable(self.describe(), columns, str(self.table_name))
        yield from self._copied().batches(columns, coded)

    def beginning(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Ask the server for some rows; of the copy, where there is one that has the columns."""
        if self._copy is not None and self._has(columns):
            yield from self.batches(columns)
            return
        wanted = [column for name in columns for column in self._described() if column.name == name]
        refuse_unreadable(self._schema(self._described()), columns, str(self.table_name))
        with self.connected() as connection:
            yield from connection.read(self.table_name, wanted, limit=rows)

    def look(self, connection: Connection) -> None:
        """Ask for the columns in a session that somebody else has opened."""
        refuse_half_masked(connection, self.table_name)
        self._columns = connection.columns(self.table_name)
        self._hidden = connection.hides_rows(self.table_name)
        if self._hidden and self.rows == "all":
            words = f"row-level security hides rows of {self.table_name} from this user, or may do so, and what is promised is promised of the table"
            hint = "a user that sees all rows (BYPASSRLS, or the owner without FORCE); or rows: visible, if what the user sees is what is meant"
            raise DataError(words, code="source-rows-hidden", hint=hint)

    def told(self) -> list[str]:
        """Return what is to be said of rows that nobody sees."""
        words = f"row-level security hides rows of {self.table_name} from the user, and the rows that it shows were taken for the table"
        return [words] if self._hidden else []

    def take(self, connection: Connection) -> None:
        """Read all rows in a session that somebody else has opened."""
        columns = [column for column in self._chosen() if is_readable(column.field)]
        self._copy = LocalCopy(pa.schema([column.field for column in columns]), connection.read(self.table_name, columns))

    @property
    def address(self) -> Address:
        """Where the database is, and as whom one goes there."""
        return parsed(self.url)

    @property
    def table_name(self) -> TableName:
        """What the table is called."""
        return TableName(self.table, self.schema_)

    def connected(self) -> Connection:
        """Open a connection to the database."""
        connection = connected(self.address, None if self.password is None else self.password.text())
        self.seen_by(connection)
        return connection

    def seen_by(self, connection: Connection) -> None:
        """Let a connection see of the table what the policy means by it."""
        if self.rows == "visible":
            connection.see_what_is_shown()

    def _described(self) -> list[TableColumn]:
        if self._columns is None:
            with self.connected() as connection:
                self.look(connection)
        if self._columns is None:
            raise AssertionError("columns that were looked at are known")
        return self._columns

    def _schema(self, columns: Sequence[TableColumn]) -> pa.Schema:
        return pa.schema([described(column, self.address) for column in columns])

    def _chosen(self) -> list[TableColumn]:
        """Return the columns that are read; one where none is looked at, for that tells how many rows there are."""
        every = self._described()
        if self._looked_at is None:
            return every
        return [column for column in every if column.name in self._looked_at] or [column for column in every if is_readable(column.field)][:1]

    def _has(self, columns: Sequence[str]) -> bool:
        return self._looked_at is None or {*columns} <= {column.name for column in self._chosen()}

    def _copied(self) -> Source:
        if self._copy is None:
            with self.connected() as connection:
                self.take(connection)
        if self._copy is None:
            raise AssertionError("rows that were taken are there")
        return self._copy.source
