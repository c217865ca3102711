"""Retention on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.databases.keyed_rows import NUMBER, one_row, one_value
from sfumato.databases.postgresql_catalogue import COLUMNS
from sfumato.databases.postgresql_reached import acting, parts, reached
from sfumato.databases.postgresql_types import column_of, quoted, quoted_name
from sfumato.databases.reached import Reached
from sfumato.databases.retaining import PRINTED
from sfumato.databases.table import Referring, TableColumn, TableName

if TYPE_CHECKING:
    from sfumato.databases.postgresql import PostgresqlConnection

_OURS = """
SELECT count(*) FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner AND r.rolname = current_user
WHERE c.oid = {table} AND c.relkind = 'r' AND NOT c.relrowsecurity
    AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
    AND NOT EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = c.oid)
"""

_CAN_BE_UNIQUE = """
SELECT 1 FROM pg_class c WHERE c.oid = %(table)s AND (c.relkind = 'p'
    OR (c.relkind = 'r' AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid)))
"""
_UNIQUE = """
SELECT array_agg(a.attname::text) FROM pg_index i, unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) k(number), pg_attribute a
WHERE i.indrelid = %(table)s AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
    AND a.attrelid = i.indrelid AND a.attnum = k.number GROUP BY i.indexrelid
"""

_OF_OTHERS = """
SELECT tablename::text FROM pg_tables
WHERE schemaname = %(schema)s AND starts_with(tablename::text, %(beginning)s::text) AND tableowner <> current_user
"""

# numbers outlive that a table is renamed, or moved to another schema, beside which the list is then not
_MARKED = """
SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND starts_with(c.relname::text, 'retained_')
    AND (n.nspname = %(schema)s OR c.relowner = (SELECT oid FROM pg_roles WHERE rolname = current_user))
    AND string_to_array(obj_description(c.oid, 'pg_class'), ' ') && %(numbers)s::text[]
"""
_KEEPING = """
SELECT FROM pg_trigger WHERE tgrelid = ANY(%(tables)s::oid[]) AND NOT tgisinternal AND tgenabled IN ('O', 'A')
    AND (tgtype::integer & 3) = 3 AND (tgtype::integer & %(bit)s) <> 0
"""
# a row that is emptied is updated
_BITS = {"deleted": 8, "emptied": 16}
_OWN_LISTS = """
SELECT n.nspname::text, c.relname::text, m.nspname::text, t.relname::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN (pg_class t JOIN pg_namespace m ON m.oid = t.relnamespace) ON t.oid::text = ANY(string_to_array(obj_description(c.oid, 'pg_class'), ' '))
WHERE c.relkind = 'r' AND starts_with(c.relname::text, 'retained_') AND c.relowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)
    AND obj_description(c.oid, 'pg_class') IS NOT NULL
"""


class PostgresqlRetaining:
    """How PostgreSQL retains."""

    def __init__(self, connection: PostgresqlConnection) -> None:
        self._connection = connection

    others_write = True

    def reached(self, table: TableName) -> list[Reached]:
        """Ask what a deletion would be planned to do, and for all partitions and heirs of that."""
        return reached(self._connection, table)

    def parts(self, table: TableName) -> list[TableName]:
        """Ask for its partitions: a foreign key leaves heirs of a table alone."""
        return parts(self._connection, table)

    def acting(self, table: TableName, reached: Sequence[Reached]) -> list[str]:
        """Return the triggers that are not disabled, and the rules, those of views beneath a view too."""
        return acting(self._connection, table, reached)

    def may_keep(self, link: Referring) -> bool:
        """Ask for triggers before each row of the table, or of a partition of it; where a rule does so, the server refuses the deletion itself."""
        tables = [self._connection.number_of(table) for table in self.parts(link.table)]
        return bool(self._connection.facts(_KEEPING, {"tables": tables, "bit": _BITS[link.on_delete]}))

    def seen_by_others(self, query: str) -> int:
        """Ask the session that asks the catalogue."""
        return int(self._connection.shown_rows(query)[0][0])

    def is_ours(self, table: TableName) -> bool:
        """Ask the session that works, which sees too what it has just made; to have the owner's role is not enough."""
        return bool(one_value(self._connection, _OURS.format(table=_literal(table))))

    def unique_keys(self, table: TableName) -> list[frozenset[str]] | None:
        """Ask for the unique indexes of all rows; views and foreign tables have none, and one of a table leaves out those that inherit from it."""
        number = {"table": self._connection.number_of(table)}
        if not self._connection.facts(_CAN_BE_UNIQUE, number):
            return None
        return [frozenset(names) for (names,) in self._connection.facts(_UNIQUE, number)]

    def without_transactions(self, table: TableName) -> str | None:
        """Return None: all tables have transactions."""
        del table
        return None

    def of_others(self, beginning: str, table: TableName) -> list[str]:
        """Ask for what others own in the schema of the table."""
        values = {"schema": self._connection.placed(table).schema, "beginning": beginning}
        return [name for (name,) in self._connection.facts(_OF_OTHERS, values)]

    def mark(self, keys: TableName, reached: Sequence[Reached]) -> None:
        """Write their numbers into its comment."""
        self._connection.do(f"COMMENT ON TABLE {quoted(keys)} IS '{' '.join(self._numbers(reached))}'")

    def lists_of(self, table: TableName, reached: Sequence[Reached]) -> list[str]:
        """Ask for those in the schema of the table, and for this user's own in all others."""
        values = {"schema": self._connection.placed(table).schema, "numbers": self._numbers(reached)}
        return [name for (name,) in self._connection.facts(_MARKED, values)]

    def marked_lists(self, table: TableName) -> dict[TableName, list[TableName]]:
        """Look at the user's own in all schemas: who copies a table makes one of another number."""
        del table
        found: dict[TableName, list[TableName]] = {}
        for schema, name, of_schema, of_name in self._connection.facts(_OWN_LISTS, []):
            tables = found.setdefault(TableName(name, schema), [])
            tables += [TableName(of_name, of_schema)] if of_name is not None else []
        return found

    def _numbers(self, reached: Sequence[Reached]) -> list[str]:
        return [str(self._connection.number_of(each.table)) for each in reached]

    def columns_now(self, table: TableName) -> list[TableColumn]:
        """Ask the session that works what it would ask another."""
        query = (
            f"SELECT attname::text, called::text, typname::text, typtype::text, modifier::bigint FROM ({COLUMNS.replace('%s', _literal(table))}) c"
        )
        words = [TableColumn(name, "text", pa.string()) for name in ("name", "called", "kind", "sort")]
        return [column_of(*row.values()) for batch in self._connection.select(query, [*words, NUMBER]) for row in batch.to_pylist()]

    def is_name(self, text: str, name: str) -> str:
        """Compare them as they are."""
        return f"{text} = {name}"

    def compare_by_bytes(self, table: TableName) -> None:
        """Do nothing: they are."""

    def create_from(self, table: TableName, query: str) -> None:
        """Let the server do it, which waits for nobody."""
        self._connection.do(f"CREATE TABLE {quoted(table)} AS {query}")

    def settle(self) -> None:
        """Let deferred triggers fire."""
        self._connection.put("SET CONSTRAINTS ALL IMMEDIATE")

    def rows_print(self, table: TableName, columns: Sequence[TableColumn], chosen: str) -> list[object]:
        """Hash the text of each row."""
        row = ", ".join(f"t.{quoted_name(column.name)}" for column in columns)
        printed = f"coalesce(sum(hashtextextended(ROW({row})::text, 0)), 0)::text"
        return one_row(self._connection, f"SELECT count(*), {printed} FROM {quoted(table)} t WHERE {chosen}", PRINTED)


def _literal(table: TableName) -> str:
    """Return what a statement knows a table by that the catalogue may not show to others yet."""
    return "'" + quoted(table).replace("'", "''") + "'::regclass"
