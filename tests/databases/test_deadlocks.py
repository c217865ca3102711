"""Deadlocks with others who write: the server ends one of the two, and where it is our run, nothing is lost and the next one goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from sfumato.databases.postgresql import PostgresqlConnection
from sfumato.engine.retain import retain
from sfumato.errors import UnreachableError
from tests.databases.retained_rows import NOW, emptied, kind_of_time, policy, rows
from tests.databases.test_retention import counted
from tests.servers import ask, connect

ROWS = 30


@pytest.fixture
def url(postgresql_url: str) -> Iterator[str]:
    """A server that ends the one who has waited longer, which is the run; which of two MariaDB and MySQL end hangs on what both have done."""
    with emptied(postgresql_url) as place:
        yield place


class Application:
    """Somebody who changes the row in the middle, and all others once a run waits for that."""

    def __init__(self, url: str) -> None:
        self._url, self._session = url, connect(url)
        self._thread = threading.Thread(target=self._change_the_others)
        self.failed: list[Exception] = []
        self._do("BEGIN")
        self._do(f"UPDATE v SET age = age + 1 WHERE id = {ROWS // 2}")

    def begin(self) -> None:
        """Wait for the run, beside it."""
        if self._thread.ident is None:
            self._thread.start()

    def __enter__(self) -> Application:
        return self

    def __exit__(self, *given: object) -> None:
        """Give up what was changed."""
        if self._thread.ident is not None:
            self._thread.join(timeout=60)
        with closing(self._session):
            self._do("ROLLBACK")

    def _change_the_others(self) -> None:
        waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        until = time.monotonic() + 30
        try:
            while not ask(self._url, waiting)[0][0] and time.monotonic() < until:
                time.sleep(0.02)
            self._do("UPDATE v SET age = age + 1")
        except Exception as error:  # noqa: BLE001 - what the driver says, which the test looks at
            self.failed.append(error)

    def _do(self, statement: str) -> None:
        with closing(self._session.cursor()) as cursor:
            cursor.execute(statement)


def made(url: str) -> None:
    ask(url, f"CREATE TABLE v (id int PRIMARY KEY, seen {kind_of_time(url)}, age int)", rows("v", 1, ROWS))


def test_a_deletion_that_the_server_ends_is_finished_by_the_next_run(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url)
    deleted = PostgresqlConnection.delete_joined
    with Application(url) as application, monkeypatch.context() as patch:

        def beside(*given: object) -> int:
            application.begin()
            return deleted(*given)  # type: ignore[arg-type]

        patch.setattr(PostgresqlConnection, "delete_joined", beside)
        with pytest.raises(UnreachableError) as caught:
            retain(policy(url), NOW)

    assert application.failed == []
    assert caught.value.code == "database-locked"
    assert "waited for each other" in caught.value.message
    assert counted(url, "v") == ROWS
    (batch,) = retain(policy(url), NOW).batches
    assert (batch.deleted, batch.missing) == (ROWS, 0)
    assert (counted(url, "v"), counted(url, "archive")) == (0, ROWS)
