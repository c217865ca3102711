"""Sources and sinks that are tables of a database."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from sfumato.core.interfaces import Source
from sfumato.databases.address import Address, Kind
from sfumato.databases.connection import Catalogue
from sfumato.databases.inside import Inside, Layout
from sfumato.databases.table import TableName


@runtime_checkable
class Located(Protocol):
    """A table, and how to reach it."""

    @property
    def address(self) -> Address:
        """Where the database is, and as whom one goes there."""
        ...

    @property
    def table_name(self) -> TableName:
        """What the table is called."""
        ...

    def connected(self) -> Catalogue:
        """Open a connection to the database."""
        ...


@runtime_checkable
class PartlySeen(Protocol):
    """A table of which a user may see a part."""

    def seen_by(self, connection: Any) -> None:
        """Let a connection see of the table what the policy means by it."""
        ...


@runtime_checkable
class LocatedSink(Located, Protocol):
    """A table that a release goes to."""

    def as_source(self) -> Source:
        """Return the source that reads the table."""
        ...


def inside_of(connection: Any, kind: Kind, layout: Layout, target: TableName) -> Inside:
    """Begin to work on a table where it is; what is made meanwhile is made beside ``target``."""
    if kind == "duckdb":
        from sfumato.databases.duckdb_inside import DuckdbInside

        return DuckdbInside(connection, layout, target)
    if kind == "mysql":
        from sfumato.databases.mysql_inside import MysqlInside

        return MysqlInside(connection, layout, target)
    if kind == "spark":
        from sfumato.databases.spark_inside import SparkInside

        return SparkInside(connection, layout, target)
    from sfumato.databases.postgresql_inside import PostgresqlInside

    return PostgresqlInside(connection, layout, target)
