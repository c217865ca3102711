"""What all databases can do for us, each in its own way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Literal, Protocol, runtime_checkable

import pyarrow as pa

from sfumato.databases.address import Address
from sfumato.databases.needed_rights import Need
from sfumato.databases.retaining import Retaining
from sfumato.databases.table import ForeignKey, Referring, TableColumn, TableName


class Catalogue(Protocol):
    """What is known of the tables of a database. Its errors are ours: they name the server, tables and columns, never a value, and say what to do."""

    def __enter__(self) -> Catalogue:
        """Begin."""
        ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it; what was not committed is undone."""
        ...

    def columns(self, table: TableName) -> list[TableColumn]:
        """Return the columns of a table or a view, in their order; an error where there is none."""
        ...

    def identity(self, table: TableName) -> str | None:
        """Return what tells a table from all others, whatever it is called; None where there is none."""
        ...

    def reads(self, table: TableName, other: Catalogue, replaced: TableName) -> bool:
        """Return whether a table is a view, or the like, that reads one which another session would replace."""
        ...

    def about(self, table: TableName) -> int | None:
        """Return about how many rows a table has, as far as the server knows without counting."""
        ...


class Connection(Catalogue, Protocol):
    """A connection to a database by which rows come and go."""

    def __enter__(self) -> Connection:
        """Begin."""
        ...

    @property
    def retaining(self) -> Retaining:
        """How the database retains."""
        ...

    def primary_key(self, table: TableName) -> tuple[str, ...]:
        """Return the columns of the primary key of a table, in its order; none where it has no such key."""
        ...

    def foreign_keys(self, table: TableName) -> list[ForeignKey]:
        """Return the foreign keys of a table, in the order of their names."""
        ...

    def one_state(self, tables: Sequence[TableName]) -> None:
        """Let all that is read from now on, of these tables, be of one state of the database."""
        ...

    def read(self, table: TableName, columns: Sequence[TableColumn], order: str | None = None, limit: int | None = None) -> Iterator[pa.RecordBatch]:
        """Read some columns, as the table is in one moment; in the order of a column, and not more than some rows, on request."""
        ...

    def select(self, query: str, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Return what a query gives, as columns of these types."""
        ...

    def do(self, statement: str) -> None:
        """Let the server do something."""
        ...

    def put(self, statement: str) -> None:
        """Let the server write rows; where it refuses them its log is not told what is in them."""
        ...

    def staged_name(self, table: TableName) -> TableName:
        """Return a name that nobody has, in the schema in which a release is written before it takes a table's place."""
        ...

    def made_columns(self, schema: pa.Schema) -> list[TableColumn]:
        """Return how the columns of a table that was made from a schema are read."""
        ...

    def create(self, table: TableName, schema: pa.Schema) -> None:
        """Make a table that nobody else sees."""
        ...

    def load(self, table: TableName, batch: pa.RecordBatch) -> None:
        """Put further rows into a table, in bulk."""
        ...

    def loaded(self, table: TableName) -> None:
        """Say that all rows of a table have come."""
        ...

    def without(self, table: TableName, column: str) -> None:
        """Take a column away from a table."""
        ...

    def refuse_used(self, table: TableName, names: Sequence[str] | None = None) -> None:
        """Refuse a table that could not be replaced by one of some columns, where these are known: something hangs on it that would be lost."""
        ...

    def missing_rights(self, needs: Sequence[Need]) -> list[Need]:
        """Return the rights that the user has not, of some; those to tables that are not there yet are had by who makes them, where it is so."""
        ...

    def publish(self, staged: TableName, table: TableName) -> None:
        """Put a staged table in the place of another in one step, with what others may do with that; refuse where it cannot be."""
        ...

    def publish_all(self, tables: Sequence[tuple[TableName, TableName]]) -> None:
        """Put several staged tables in the places of others, all in one step; refuse where one of them cannot be."""
        ...

    def quoted_name(self, name: str) -> str:
        """Return a name as SQL writes it."""
        ...

    def quoted(self, table: TableName) -> str:
        """Return the name of a table as SQL writes it."""
        ...

    def selected(self, column: TableColumn, name: str | None = None) -> str:
        """Return a column as a query selects it, where it goes by another name than its own by that."""
        ...

    def placed(self, table: TableName) -> TableName:
        """Return the name of a table with that of its schema."""
        ...

    def private_name(self, name: str, beside: TableName) -> TableName:
        """Return the name of a table that lasts, where no audience looks, for what has to do with another one."""
        ...

    def beside(self, name: str, table: TableName) -> TableName:
        """Return the same, where nothing is made and one only asks whether it is there."""
        ...

    def beginning_with(self, name: str, table: TableName) -> list[TableName]:
        """Return the tables there whose names begin so, of those that last."""
        ...

    def kept_as(self, name: str, table: TableName) -> TableName:
        """Return where a table is while it is masked in place: where it was, or under a name that nobody may read."""
        ...

    def keep_private(self, table: TableName) -> None:
        """Let nobody read a table that was just made, whatever is given by default to new ones."""
        ...

    def claim(self, name: str) -> None:
        """Hold a lock in the session that works, also while that goes on without its process; wait some seconds where another has it."""
        ...

    def disclaim(self, name: str) -> None:
        """Give the lock back, for another session of the same run."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Let all that is done within it last together, or not at all."""
        ...

    def drop_staged(self, table: TableName) -> None:
        """Remove a staged table, within a transaction where that can be, else when the connection is closed."""
        ...

    def counted(self, table: TableName, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Return the distinct rows of some columns, told apart by their bytes, and how many there are of each."""
        ...

    def alone(self, name: str) -> AbstractContextManager[None]:
        """Hold a lock as long as the session lives; refuse where another has it."""
        ...

    def referring(self, tables: Sequence[TableName]) -> list[Referring]:
        """Return the foreign keys by which tables refer to some, these among them, and what they do when rows of these are deleted."""
        ...

    def acting(self, table: TableName, event: Literal["DELETE", "INSERT"]) -> list[str]:
        """Return what acts by itself when rows of a table are deleted or come: triggers and rules."""
        ...

    def hides_rows(self, table: TableName) -> bool:
        """Return whether the database may hide rows of a table or a view from the user who reads it."""
        ...

    def see_what_is_shown(self) -> None:
        """Take the rows that the database shows to the user for all that there are; without this, what would see a part of a table fails."""
        ...

    def delete_joined(self, table: TableName, keys: TableName, same: str, chosen: str) -> int:
        """Delete rows ``s`` of a table that have a row ``k`` among chosen keys, and return how many there were."""
        ...

    def commit(self) -> None:
        """Let what was done last."""
        ...


@runtime_checkable
class KeepsHistory(Protocol):
    """A connection to a server whose tables may keep the rows that are deleted."""

    def keeps_history(self, table: TableName) -> bool:
        """Return whether a table keeps them."""
        ...


def connected(address: Address, password: str | None) -> Connection:
    """Open a connection."""
    if address.kind == "duckdb":
        from sfumato.databases.duckdb_connection import DuckdbConnection

        return DuckdbConnection(address)
    if address.kind == "postgresql":
        from sfumato.databases.postgresql import PostgresqlConnection

        return PostgresqlConnection(address, password)
    from sfumato.databases.mysql import MysqlConnection

    return MysqlConnection(address, password)
