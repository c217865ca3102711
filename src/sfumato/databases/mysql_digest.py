"""What tells a row of MySQL or MariaDB from another by its bytes, as a number."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.databases.mysql_types import exact, quoted_name
from sfumato.databases.table import TableColumn


def row_digest(alias: str, columns: Sequence[TableColumn]) -> str:
    """Hash the bytes of each value, and all of these together."""
    parts = [_digested(column, f"{alias}.{quoted_name(column.name)}") for column in columns]
    return f"CAST(CONV(LEFT(SHA2(CONCAT({', '.join(parts)}), 256), 15), 16, 10) AS SIGNED)"


def _digested(column: TableColumn, name: str) -> str:
    return f"COALESCE(SHA2(CAST({exact(column, name)} AS BINARY), 256), '-')"
