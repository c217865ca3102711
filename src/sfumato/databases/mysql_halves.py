"""One query of MySQL or MariaDB in two sessions, which work on a half of its rows each: one session has one processor, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pyarrow as pa

from sfumato.databases.mysql import MysqlConnection
from sfumato.databases.table import TableColumn

# what the second one has found waits until all of the first has been read
_PATIENT = "SET SESSION net_write_timeout = 86400"


class Halves:
    """Two sessions that see the same tables; temporary ones they do not."""

    def __init__(self, connection: MysqlConnection, settings: Sequence[str]) -> None:
        self._connection, self._settings = connection, settings

    def select(self, query: Callable[[str], str], half: str, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Return what a query gives that takes a condition: what it gives of the rows of which ``half`` is true, and of those of which it is not.

        It must be true or false, and the same for all rows of a group. Where the user may have no further session, one does all.
        """
        second = self._another()
        if second is None:
            yield from self._connection.select(query("TRUE"), columns)
            return
        rest = second.select(query(f"NOT ({half})"), columns)
        with second, ThreadPoolExecutor(1) as pool:
            try:
                begun = pool.submit(next, rest, None)
                yield from self._connection.select(query(half), columns)
                batch = begun.result()
                if batch is not None:
                    yield batch
                    yield from rest
            except BaseException:
                # the pool would wait for what nobody wants any more
                second.give_in()
                raise

    def _another(self) -> MysqlConnection | None:
        """Return a second session; none where there cannot be one, whatever the reason: the first can do all."""
        with suppress(Exception):
            second = self._connection.another()
            try:
                for setting in (*self._settings, _PATIENT):
                    second.do(setting)
            except BaseException:
                second.__exit__(None, None, None)
                raise
            return second
        return None
