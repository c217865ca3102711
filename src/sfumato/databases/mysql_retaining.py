"""Retention on MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.databases.keyed_rows import one_row
from sfumato.databases.mysql_digest import row_digest
from sfumato.databases.mysql_types import quoted
from sfumato.databases.retaining import PRINTED
from sfumato.databases.table import TableColumn, TableName

if TYPE_CHECKING:
    from sfumato.databases.mysql import MysqlConnection

_PLAIN = """
SELECT 1 FROM information_schema.tables t WHERE t.table_schema = %s AND t.table_name = %s AND t.table_type <> 'VIEW'
    AND NOT EXISTS (SELECT 1 FROM information_schema.triggers g WHERE g.event_object_schema = t.table_schema AND g.event_object_table = t.table_name)
"""


class MysqlRetaining:
    """How MySQL and MariaDB retain."""

    def __init__(self, connection: MysqlConnection) -> None:
        self._connection = connection

    def is_ours(self, table: TableName) -> bool:
        """Return whether it is a table without triggers, as far as the user may see them: these servers do not say whose it is."""
        return bool(self._connection.facts(_PLAIN, [table.schema, table.name]))

    def settle(self) -> None:
        """Do nothing: triggers fire at once."""

    def rows_print(self, table: TableName, columns: Sequence[TableColumn], chosen: str) -> list[object]:
        """Hash the bytes of each row."""
        printed = f"CAST(COALESCE(SUM({row_digest('t', columns)}), 0) AS CHAR)"
        return one_row(self._connection, f"SELECT COUNT(*), {printed} FROM {quoted(table)} t WHERE {chosen}", PRINTED)
