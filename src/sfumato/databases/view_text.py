"""What a view is made by, as its server tells it."""

from __future__ import annotations

from typing import Any

from sfumato.databases.address import Kind
from sfumato.databases.mysql_types import text_of
from sfumato.databases.table import TableName

_POSTGRESQL = """
SELECT pg_get_viewdef(c.oid), c.reloptions::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind = 'v'
"""
_MYSQL = "SELECT view_definition, security_type FROM information_schema.views WHERE table_schema = %s AND table_name = %s"


def view_text(connection: Any, kind: Kind, view: TableName) -> str | None:
    """Return what a view is made by; None where there is no view of that name."""
    placed = connection.placed(view)
    found = connection.facts(_POSTGRESQL if kind == "postgresql" else _MYSQL, [placed.schema, placed.name])
    return "\n".join(text_of(part) for part in found[0]) if found else None
