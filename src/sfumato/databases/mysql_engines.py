"""The engines of MySQL and MariaDB: only what InnoDB has changed is undone with the rest of a transaction."""

from __future__ import annotations

from typing import Any

from sfumato.databases.failures import CHANGED
from sfumato.databases.mysql_types import text_of
from sfumato.databases.table import TableName

_ENGINE = "SELECT COALESCE(engine, '') FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
_WITH_TRANSACTIONS = "InnoDB"


def engine_without_transactions(connection: Any, table: TableName) -> str | None:
    """Return the engine of a table whose changes cannot be undone; empty where the catalogue has none, as for a view; None where they can."""
    placed = connection.placed(table)
    found = connection.facts(_ENGINE, [placed.schema, placed.name])
    if not found:
        raise CHANGED.error(connection.shown)
    engine = found[0][0]
    return None if text_of(engine) == _WITH_TRANSACTIONS else text_of(engine)
