"""A second session of PostgreSQL that sees a table in the state in which another sees it, and works while that one does."""

from __future__ import annotations

import select
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sfumato.databases.address import Address
from sfumato.databases.postgresql_session import catalogue_session, postgresql_errors


class Meanwhile:
    """Statements in a transaction of their own, which the server carries out while nobody waits for them.

    Whatever goes wrong, what they did is undone, and whoever asked for it does it otherwise: no right and no connection is needed for this.
    """

    def __init__(self, address: Address, password: str | None, snapshot: str, statements: Sequence[str]) -> None:
        self._session: Any = None
        self._server = address.shown
        with suppress(Exception):
            self._session, _ = catalogue_session(address, password)
            # a short time: whoever waits for the other session's lock stands before this one, for which the other waits
            for statement in ("BEGIN ISOLATION LEVEL REPEATABLE READ", f"SET TRANSACTION SNAPSHOT '{snapshot}'", "SET LOCAL lock_timeout = '1s'"):
                self._session.execute(statement)
            self._session.pgconn.send_query("; ".join(statements).encode())
            return
        self.close()

    def is_done(self) -> bool:
        """Wait until the statements have ended; say whether all of them are done. Nothing is left of them where they are not."""
        if self._session is None:
            return False
        with suppress(Exception):
            if set(self._ended()) == {"COMMAND_OK"}:
                return True
            # before the same names are used again
            self._session.execute("ROLLBACK")
        self.close()
        return False

    def _ended(self) -> list[str]:
        """Return how each statement ended. Between them it is looked whether we are interrupted."""
        connection = self._session.pgconn
        found: list[str] = []
        while True:
            while connection.is_busy():
                select.select([connection.socket], [], [], 1)
                connection.consume_input()
            result = connection.get_result()
            if result is None:
                return found
            found.append(_status(result))

    def commit(self) -> None:
        """Let what was done last."""
        with postgresql_errors(self._server):
            self._session.execute("COMMIT")

    def close(self) -> None:
        """End the session, and what it is still doing; what was not committed is undone."""
        if self._session is not None:
            with suppress(Exception):
                self._session.cancel()
            with suppress(Exception):
                self._session.close()
            self._session = None


def _status(result: Any) -> str:
    from psycopg.pq import ExecStatus

    return str(ExecStatus(result.status).name)
