"""Retention on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.databases.keyed_rows import one_row
from sfumato.databases.postgresql_types import quoted, quoted_name
from sfumato.databases.retaining import PRINTED
from sfumato.databases.table import TableColumn, TableName

if TYPE_CHECKING:
    from sfumato.databases.postgresql import PostgresqlConnection


class PostgresqlRetaining:
    """How PostgreSQL retains."""

    def __init__(self, connection: PostgresqlConnection) -> None:
        self._connection = connection

    def settle(self) -> None:
        """Let deferred triggers fire."""
        self._connection.do("SET CONSTRAINTS ALL IMMEDIATE")

    def rows_print(self, table: TableName, columns: Sequence[TableColumn], chosen: str) -> list[object]:
        """Hash the text of each row."""
        row = ", ".join(f"t.{quoted_name(column.name)}" for column in columns)
        printed = f"coalesce(sum(hashtextextended(ROW({row})::text, 0)), 0)::text"
        return one_row(self._connection, f"SELECT count(*), {printed} FROM {quoted(table)} t WHERE {chosen}", PRINTED)
