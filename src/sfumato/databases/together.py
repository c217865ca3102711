"""Several tables of one database that take their places in one step."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from sfumato.databases.connection import Connection
from sfumato.databases.table import TableName


class Together:
    """The one session in which several tables are written; none of them is seen before all are."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._ready: list[tuple[TableName, TableName]] = []

    @cached_property
    def connection(self) -> Connection:
        """The session, opened where the first table is written."""
        return self._connect()

    def add(self, staged: TableName, table: TableName) -> None:
        """Take a staged table that is ready for its place."""
        self._ready.append((staged, table))

    def publish(self) -> None:
        """Let all tables that are ready take their places."""
        self.connection.publish_all(self._ready)
        self.connection.commit()
        self.close()

    def close(self) -> None:
        """End the session; what was not published is gone with it."""
        if "connection" in vars(self):
            self.connection.__exit__(None, None, None)
            del self.connection
