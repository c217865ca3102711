"""A script that a client of the server can run: of a copy in which values are masked and nothing is decided about rows.

All rows are one cell then, and one class. What a run would load to say so is written by a statement, sessions are set as those of a run are, and the
release takes a place in which there is nothing yet: what becomes of an older one depends on what hangs on it.

What it makes has names and locks as that of a run has: no run takes it away meanwhile, and the next one removes what a script has left that failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sfumato.databases.address import Address
from sfumato.databases.inside import KEY, Layout
from sfumato.databases.mysql import lock_of_staged
from sfumato.databases.mysql_session import SETTINGS
from sfumato.databases.mysql_types import quoted as quoted_in_mysql
from sfumato.databases.mysql_types import quoted_name
from sfumato.databases.postgresql import lock_of_work
from sfumato.databases.postgresql_rights import kept_private
from sfumato.databases.postgresql_session import FIXED
from sfumato.databases.postgresql_types import quoted
from sfumato.databases.script import Script
from sfumato.databases.table import TableName


def is_runnable(address: Address, layout: Layout) -> bool:
    """Return whether all that a run would do is in its statements: nothing is counted, and nothing is brought to the server in bulk."""
    return address.kind in ("postgresql", "mysql") and not layout.counted and layout.pads is None and not layout.texts


class RunnableScript(Script):
    """Gathers statements that can be run one after the other."""

    def __init__(self, address: Address, there: Any) -> None:
        super().__init__(address, there)
        self.copy = TableName("")
        self._is_within = False
        self._is_mysql = address.kind == "mysql"
        if self._is_mysql:
            self.statements += ["SET NAMES utf8mb4", SETTINGS.strip(), f"CREATE DATABASE IF NOT EXISTS {quoted_name(there.staging)}"]
        else:
            self.statements += ["SET client_encoding = 'UTF8'", *(_set(name, value) for name, value in FIXED.items())]

    def staged_name(self, table: TableName) -> TableName:
        """Return a name that nobody has."""
        staged: TableName = self._there.staged_name(table)
        return staged

    def reserve(self, table: TableName, columns: Sequence[str]) -> None:
        """Hold the lock of a table that will be staged, on MySQL and MariaDB."""
        del columns
        if self._is_mysql:
            self.do(f"DO GET_LOCK('{lock_of_staged(table)}', 0)")

    def claim(self, name: str) -> None:
        """Hold the lock of a copy, on PostgreSQL."""
        self.do(f"SELECT pg_advisory_lock({lock_of_work(name)})")
        self.commit()

    def do(self, statement: str, values: Sequence[object] = (), reading: TableName | None = None) -> None:
        """Note a statement, on PostgreSQL within a transaction as in a session of a run."""
        if not self._is_mysql and not self._is_within:
            self.statements.append("BEGIN")
            self._is_within = True
        super().do(statement, values, reading)

    def commit(self) -> None:
        """End the transaction, where there is one."""
        super().commit()
        self._is_within = False

    def keep_private(self, table: TableName) -> None:
        """Take all rights to a table from everybody but its owner; on MySQL and MariaDB its database is nobody else's."""
        if not self._is_mysql:
            self.do(kept_private(table).strip())

    def load(self, table: TableName, batch: pa.RecordBatch) -> None:
        """Write the one line that there is: all rows have the key of one cell, which is of class 0."""
        named = quoted_in_mysql if self._is_mysql else quoted
        line = f"SELECT {KEY}, 0 FROM {named(self.copy)} LIMIT 1" if KEY in batch.schema.names else "VALUES (0)"
        self.do(f"INSERT INTO {named(table)} {line}")

    def publish(self, staged: TableName, table: TableName) -> None:
        """Rename the release to its place, which must be free, and remove what is private and not yet gone."""
        if self._is_mysql:
            self.do(f"RENAME TABLE {quoted_in_mysql(staged)} TO {quoted_in_mysql(self.placed(table))}")
            self.do(f"DROP TABLE {quoted_in_mysql(self.copy)}")
        else:
            self.do(f"ALTER TABLE {quoted(staged)} RENAME TO {quoted(TableName(table.name))}")


def _set(name: str, value: str) -> str:
    # the one setting that is a list of names
    return f"SET {name} = {value if name == 'search_path' else repr(value)}"
