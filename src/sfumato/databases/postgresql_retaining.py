"""Retention on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.databases.keyed_rows import one_row, one_value
from sfumato.databases.postgresql_types import quoted, quoted_name
from sfumato.databases.retaining import PRINTED
from sfumato.databases.table import TableColumn, TableName

if TYPE_CHECKING:
    from sfumato.databases.postgresql import PostgresqlConnection

_OURS = """
SELECT count(*) FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner AND r.rolname = current_user
WHERE c.oid = '{table}'::regclass AND c.relkind = 'r' AND NOT c.relrowsecurity
    AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
    AND NOT EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = c.oid)
"""


class PostgresqlRetaining:
    """How PostgreSQL retains."""

    def __init__(self, connection: PostgresqlConnection) -> None:
        self._connection = connection

    def is_ours(self, table: TableName) -> bool:
        """Ask the session that works, which sees too what it has just made; to have the owner's role is not enough."""
        return bool(one_value(self._connection, _OURS.format(table=quoted(table).replace("'", "''"))))

    def settle(self) -> None:
        """Let deferred triggers fire."""
        self._connection.do("SET CONSTRAINTS ALL IMMEDIATE")

    def rows_print(self, table: TableName, columns: Sequence[TableColumn], chosen: str) -> list[object]:
        """Hash the text of each row."""
        row = ", ".join(f"t.{quoted_name(column.name)}" for column in columns)
        printed = f"coalesce(sum(hashtextextended(ROW({row})::text, 0)), 0)::text"
        return one_row(self._connection, f"SELECT count(*), {printed} FROM {quoted(table)} t WHERE {chosen}", PRINTED)
