"""Retention in a file of DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.databases.duckdb_types import quoted_name
from sfumato.databases.keyed_rows import one_row, one_value
from sfumato.databases.list_marks import mark_of, marked
from sfumato.databases.reached import Reached
from sfumato.databases.retaining import PRINTED
from sfumato.databases.table import Referring, TableColumn, TableName

if TYPE_CHECKING:
    from sfumato.databases.duckdb_connection import DuckdbConnection

_MARKED = """
SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE database_name = current_database() AND starts_with(table_name, 'retained_')
"""


class DuckdbRetaining:
    """How DuckDB retains."""

    def __init__(self, connection: DuckdbConnection) -> None:
        self._connection = connection

    others_write = False

    def reached(self, table: TableName) -> list[Reached]:
        """Return the table: no rows are deleted by way of a view."""
        return [Reached(self._connection.placed(table))]

    def parts(self, table: TableName) -> list[TableName]:
        """Return the table."""
        return [table]

    def acting(self, table: TableName, reached: Sequence[Reached]) -> list[str]:
        """Return its triggers."""
        del reached
        return self._connection.acting(table, "DELETE")

    def may_keep(self, link: Referring) -> bool:
        """Return that none does: no foreign key deletes or changes rows."""
        del link
        return False

    def seen_by_others(self, query: str) -> int:
        """Ask the one session: nobody else has the file open."""
        return int(one_value(self._connection, query))

    def is_ours(self, table: TableName) -> bool:
        """Return whether it has no triggers: a file has no owners within."""
        return not self._connection.acting(table, "INSERT")

    def unique_keys(self, table: TableName) -> list[frozenset[str]] | None:
        """Return None: nobody else writes to the file meanwhile."""
        del table
        return None

    def without_transactions(self, table: TableName) -> str | None:
        """Return None: a file has transactions."""
        del table
        return None

    def of_others(self, beginning: str, table: TableName) -> list[str]:
        """Return nothing: a file has no owners within."""
        del beginning, table
        return []

    def mark(self, keys: TableName, reached: Sequence[Reached]) -> None:
        """Write the name of the one table into its comment."""
        self._connection.do(f"COMMENT ON TABLE {self._connection.quoted(keys)} IS '{mark_of(reached[0].table)}'")

    def lists_of(self, table: TableName, reached: Sequence[Reached]) -> list[str]:
        """Look at all lists of the file."""
        del table
        return [keys.name for keys, named in self._marked().items() if named == reached[0].table]

    def marked_lists(self, table: TableName) -> dict[TableName, list[TableName]]:
        """Look at all lists of the file."""
        del table
        return {keys: [named] if self._connection.identity(named) is not None else [] for keys, named in self._marked().items()}

    def _marked(self) -> dict[TableName, TableName]:
        found = {TableName(name, schema): marked(comment or "") for schema, name, comment in self._connection.rows(_MARKED, [])}
        return {keys: named for keys, named in found.items() if named is not None}

    def columns_now(self, table: TableName) -> list[TableColumn]:
        """Ask the one session."""
        return self._connection.columns(table)

    def is_name(self, text: str, name: str) -> str:
        """Compare them without regard to case, as names are in a file."""
        return f"lower({text}) = lower({name})"

    def compare_by_bytes(self, table: TableName) -> None:
        """Do nothing: they are."""

    def create_from(self, table: TableName, query: str) -> None:
        """Let the server do it, which waits for nobody."""
        self._connection.do(f"CREATE TABLE {self._connection.quoted(table)} AS {query}")

    def settle(self) -> None:
        """Do nothing: triggers fire at once."""

    def rows_print(self, table: TableName, columns: Sequence[TableColumn], chosen: str) -> list[object]:
        """Hash the text of each value of a row."""
        row = ", ".join(f"CAST(t.{quoted_name(column.name)} AS VARCHAR)" for column in columns)
        printed = f"CAST(COALESCE(sum(hash({row})), 0) AS VARCHAR)"
        return one_row(self._connection, f"SELECT count(*), {printed} FROM {self._connection.quoted(table)} t WHERE {chosen}", PRINTED)
