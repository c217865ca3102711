"""What hangs on a table of DuckDB that is replaced: given to the new one, or the table is not replaced.

Views find their tables by name whenever they are read, so that they stay; one that worked and would not with the new table is not broken.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, Protocol

from sfumato.databases.duckdb_types import quoted_name
from sfumato.databases.table import Referring, TableName
from sfumato.errors import SfumatoError, UnreachableError

_VIEWS = "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = current_database() AND NOT internal"
_HERE = "database_name = current_database() AND schema_name = ? AND table_name = ?"
_CONSTRAINTS = f"SELECT constraint_type, constraint_column_names FROM duckdb_constraints() WHERE {_HERE} ORDER BY constraint_index"
_TABLE_COMMENT = f"SELECT comment FROM duckdb_tables() WHERE {_HERE} AND comment IS NOT NULL"
_COLUMN_COMMENTS = f"SELECT column_name, comment FROM duckdb_columns() WHERE {_HERE} AND comment IS NOT NULL"
_INDEXES = f"SELECT index_name, sql FROM duckdb_indexes() WHERE {_HERE} ORDER BY index_name"
_TRIGGERS = f"SELECT trigger_name FROM duckdb_triggers() WHERE {_HERE} ORDER BY 1"
_HAS_TRIGGERS = "SELECT 1 FROM duckdb_functions() WHERE function_name = 'duckdb_triggers' LIMIT 1"
_HINT = "name another table, or remove what hangs on it yourself"


class Session(Protocol):
    """What is asked of a connection here."""

    def rows(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return what the catalogue says."""
        ...

    def columns(self, table: TableName) -> Sequence[Any]:
        """Return the columns of a table or a view."""
        ...

    def referring(self, tables: Sequence[TableName]) -> list[Referring]:
        """Return the foreign keys that refer to a table."""
        ...

    def quoted(self, table: TableName) -> str:
        """Return the name of a table as SQL writes it."""
        ...


def views_that_work(session: Session) -> list[TableName]:
    """Return the views that can be read as the tables are."""
    return [view for view in (TableName(name, schema) for schema, name in session.rows(_VIEWS, [])) if _works(session, view)]


def refuse_views_that_broke(session: Session, views: Sequence[TableName], tables: Sequence[TableName]) -> None:
    """Refuse new tables with which a view cannot be read any more."""
    broken = [f"the view {view.name}" for view in views if not _works(session, view)]
    if broken:
        raise cannot_be_replaced(", ".join(map(str, tables)), broken)


def triggers_of(session: Session, table: TableName) -> list[str]:
    """Return the triggers of a table; older versions have none."""
    found = session.rows(_TRIGGERS, [table.schema, table.name]) if session.rows(_HAS_TRIGGERS, []) else []
    return [f"the trigger {name}" for (name,) in found]


def restoring(session: Session, old: TableName, new: TableName) -> list[tuple[str, str]]:
    """Return what the new table is given of the old one: what it is, and the statement. Refuse where something would be lost."""
    place = [old.schema, old.name]
    constraints = session.rows(_CONSTRAINTS, place)
    hanging = [f"a foreign key of {name}" for name in sorted({each.table.name for each in session.referring([old]) if each.table != old})]
    hanging += triggers_of(session, old)
    hanging += [f"a constraint ({kind})" for kind, _ in constraints if kind in ("CHECK", "FOREIGN KEY")]
    if hanging:
        raise cannot_be_replaced(str(old), hanging)
    target = session.quoted(new)
    found = [(f"its key ({kind})", _key(target, kind, columns)) for kind, columns in constraints if kind in ("PRIMARY KEY", "UNIQUE")]
    found += [(f"the index {name}", statement) for name, statement in session.rows(_INDEXES, place)]
    found += [("its comment", f"COMMENT ON TABLE {target} IS {_text(words)}") for (words,) in session.rows(_TABLE_COMMENT, place)]
    for column, words in session.rows(_COLUMN_COMMENTS, place):
        found.append((f"the comment of {column}", f"COMMENT ON COLUMN {target}.{quoted_name(column)} IS {_text(words)}"))
    return found


def cannot_be_replaced(table: str, lost: Sequence[str]) -> UnreachableError:
    """Return what is said of a table on which something hangs."""
    return UnreachableError(f"{table} cannot be replaced: {', '.join(sorted(lost))} would be lost with it", code="sink-table-used", hint=_HINT)


def _works(session: Session, view: TableName) -> bool:
    try:
        session.columns(view)
    except SfumatoError:
        return False
    return True


def _key(target: str, kind: str, columns: Sequence[str]) -> str:
    listed = ", ".join(quoted_name(name) for name in columns)
    if kind == "PRIMARY KEY":
        return f"ALTER TABLE {target} ADD PRIMARY KEY ({listed})"
    return f"CREATE UNIQUE INDEX {quoted_name(f'sfumato_{secrets.token_hex(8)}')} ON {target} ({listed})"


def _text(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"
