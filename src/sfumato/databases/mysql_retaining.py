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


class MysqlRetaining:
    """How MySQL and MariaDB retain."""

    def __init__(self, connection: MysqlConnection) -> None:
        self._connection = connection

    def settle(self) -> None:
        """Do nothing: triggers fire at once."""

    def rows_print(self, table: TableName, columns: Sequence[TableColumn], chosen: str) -> list[object]:
        """Hash the bytes of each row."""
        printed = f"CAST(COALESCE(SUM({row_digest('t', columns)}), 0) AS CHAR)"
        return one_row(self._connection, f"SELECT COUNT(*), {printed} FROM {quoted(table)} t WHERE {chosen}", PRINTED)
