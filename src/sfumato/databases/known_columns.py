"""The columns of a table by their names, as a connection finds them when the work begins: somebody may have altered the table since the plan."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.databases.connection import Catalogue
from sfumato.databases.failures import CHANGED
from sfumato.databases.located import Located
from sfumato.databases.table import TableColumn


class KnownColumns(dict[str, TableColumn]):
    """Columns by name; to ask for one that is gone is the one error of the run.

    >>> KnownColumns("the database ward", [])["age"]
    Traceback (most recent call last):
    sfumato.errors.DataError: the database ward no longer has a table or a column that was there when the run began [database-changed]
      try: run again when nobody changes the tables; sfumato drift says what has become of the columns
    """

    def __init__(self, server: str, columns: Sequence[TableColumn]) -> None:
        super().__init__((column.name, column) for column in columns)
        self._server = server

    def __missing__(self, name: str) -> TableColumn:
        """Say that somebody has changed the table."""
        raise CHANGED.error(self._server)


def known_columns(connection: Catalogue, table: Located) -> KnownColumns:
    """Ask for the columns of a table."""
    return KnownColumns(table.address.shown, connection.columns(table.table_name))
