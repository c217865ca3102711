"""Retention on MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.databases.keyed_rows import one_row, one_value
from sfumato.databases.list_marks import mark_of, marked
from sfumato.databases.mysql_beneath import table_beneath
from sfumato.databases.mysql_digest import row_digest
from sfumato.databases.mysql_engines import engine_without_transactions
from sfumato.databases.mysql_types import quoted, text_of
from sfumato.databases.private_names import STAGING
from sfumato.databases.reached import Reached
from sfumato.databases.retaining import PRINTED
from sfumato.databases.table import Referring, TableColumn, TableName

if TYPE_CHECKING:
    from sfumato.databases.mysql import MysqlConnection

_PLAIN = """
SELECT 1 FROM information_schema.tables t WHERE t.table_schema = %s AND t.table_name = %s AND t.table_type <> 'VIEW'
    AND NOT EXISTS (SELECT 1 FROM information_schema.triggers g WHERE g.event_object_schema = t.table_schema AND g.event_object_table = t.table_name)
"""

_VIEW = "SELECT 1 FROM information_schema.tables WHERE table_schema = %s AND table_name = %s AND table_type = 'VIEW'"
# a column without a name is an expression
_UNIQUE = "SELECT index_name, column_name FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s AND non_unique = 0"

_OF_OTHERS = """
SELECT table_name FROM information_schema.tables
WHERE LEFT(table_schema, %s) = %s AND table_schema <> %s AND LEFT(table_name, %s) = %s
"""

_MARKED = """
SELECT table_schema, table_name, table_comment FROM information_schema.tables WHERE LEFT(table_schema, %s) = %s AND LEFT(table_name, 9) = 'retained_'
"""

_BY_OTHER_RULES = """
SELECT 1 FROM information_schema.columns WHERE table_schema = %s AND table_name = %s AND collation_name <> 'utf8mb4_bin' LIMIT 1
"""


class MysqlRetaining:
    """How MySQL and MariaDB retain."""

    def __init__(self, connection: MysqlConnection) -> None:
        self._connection = connection

    others_write = True

    def reached(self, table: TableName) -> list[Reached]:
        """Return the table, or the one beneath a view; partitions of a table are no tables here."""
        placed = self._connection.placed(table)
        beneath = table_beneath(self._connection, placed)
        return [Reached(beneath, alike=beneath == placed)]

    def parts(self, table: TableName) -> list[TableName]:
        """Return the table."""
        return [table]

    def acting(self, table: TableName, reached: Sequence[Reached]) -> list[str]:
        """Return the triggers that the user may see; views have none."""
        placed = self._connection.placed(table)
        told = {each.table: "" if each.table == placed else f" of {each.table}" for each in reached}
        return [f"{name}{of}" for each, of in told.items() for name in self._connection.acting(each, "DELETE")]

    def may_keep(self, link: Referring) -> bool:
        """Return that none does: what foreign keys do fires no triggers."""
        del link
        return False

    def seen_by_others(self, query: str) -> int:
        """Ask a session of its own, whatever others of this server see by default."""
        with self._connection.another() as other:
            other.do("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            return int(one_value(other, query))

    def is_ours(self, table: TableName) -> bool:
        """Return whether it is a table without triggers, as far as the user may see them: these servers do not say whose it is."""
        return bool(self._connection.facts(_PLAIN, [table.schema, table.name]))

    def unique_keys(self, table: TableName) -> list[frozenset[str]] | None:
        """Ask for the unique indexes, also those of beginnings; views have none."""
        placed = self._connection.placed(table)
        place = [placed.schema, placed.name]
        if self._connection.facts(_VIEW, place):
            return None
        found: dict[str, list[str | None]] = {}
        for index, column in self._connection.facts(_UNIQUE, place):
            found.setdefault(text_of(index), []).append(None if column is None else text_of(column))
        return [frozenset(name for name in names if name is not None) for names in found.values() if None not in names]

    def without_transactions(self, table: TableName) -> str | None:
        """Ask the catalogue, which says nothing of views."""
        return engine_without_transactions(self._connection, table)

    def of_others(self, beginning: str, table: TableName) -> list[str]:
        """Ask for what is in the databases for what others stage, which only those see who have a right to them."""
        del table
        values = [len(STAGING), STAGING, self._connection.staging, len(beginning), beginning]
        return [text_of(name) for (name,) in self._connection.facts(_OF_OTHERS, values)]

    def mark(self, keys: TableName, reached: Sequence[Reached]) -> None:
        """Write the name of the one table into its comment."""
        self._connection.do(f"ALTER TABLE {quoted(keys)} COMMENT = '{mark_of(reached[0].table)}'")

    def lists_of(self, table: TableName, reached: Sequence[Reached]) -> list[str]:
        """Look at all lists that the user may see."""
        del table
        return [keys.name for keys, named in self._marked().items() if named == reached[0].table]

    def marked_lists(self, table: TableName) -> dict[TableName, list[TableName]]:
        """Look at those in the user's own database for what is staged, of tables that are gone, and of tables of the same database.

        Tables of other databases that are still there may have the same keys by chance.
        """
        schema, staging = self._connection.placed(table).schema, self._connection.staging
        own = {keys: named for keys, named in self._marked().items() if keys.schema == staging}
        there = {keys: [named] if self._connection.identity(named) is not None else [] for keys, named in own.items()}
        return {keys: tables for keys, tables in there.items() if not tables or own[keys].schema == schema}

    def _marked(self) -> dict[TableName, TableName]:
        rows = (
            (text_of(schema), text_of(name), text_of(comment)) for schema, name, comment in self._connection.facts(_MARKED, [len(STAGING), STAGING])
        )
        found = {TableName(name, schema): marked(comment) for schema, name, comment in rows}
        return {keys: named for keys, named in found.items() if named is not None}

    def columns_now(self, table: TableName) -> list[TableColumn]:
        """Ask the one session."""
        return self._connection.columns(table)

    def is_name(self, text: str, name: str) -> str:
        """Compare them by their bytes, whatever the rules of the column are; without regard to case where the server does so."""
        ((folded,),) = self._connection.facts("SELECT @@lower_case_table_names", [])
        return f"LOWER({text}) = LOWER({name})" if int(folded) else f"CAST({text} AS BINARY) = CAST({name} AS BINARY)"

    def compare_by_bytes(self, table: TableName) -> None:
        """Give its columns rules by which nothing but bytes counts, where they have others."""
        if self._connection.facts(_BY_OTHER_RULES, [table.schema, table.name]):
            self._connection.do(f"ALTER TABLE {quoted(table)} CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")

    def create_from(self, table: TableName, query: str) -> None:
        """Read as others have committed it, which locks no rows; a server that logs statements could not repeat these then, and locks."""
        ((logged, form),) = self._connection.facts("SELECT @@log_bin, @@binlog_format", [])
        if not int(logged) or text_of(form) != "STATEMENT":
            # for the session: what is said for one transaction is used up by the one that the statement ends before it begins
            self._connection.do("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        self._connection.do(f"CREATE TABLE {quoted(table)} AS {query}")

    def settle(self) -> None:
        """Do nothing: triggers fire at once."""

    def rows_print(self, table: TableName, columns: Sequence[TableColumn], chosen: str) -> list[object]:
        """Hash the bytes of each row."""
        printed = f"CAST(COALESCE(SUM({row_digest('t', columns)}), 0) AS CHAR)"
        return one_row(self._connection, f"SELECT COUNT(*), {printed} FROM {quoted(table)} t WHERE {chosen}", PRINTED)
