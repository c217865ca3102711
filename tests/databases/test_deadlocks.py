"""Deadlocks with others who write: the server ends one of the two, and where it is our run, nothing is lost and the next one goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from sfumato.databases.mysql import MysqlConnection
from sfumato.databases.postgresql import PostgresqlConnection
from sfumato.engine.retain import retain
from sfumato.errors import UnreachableError
from tests.databases.retained_rows import NOW, emptied, kind_of_time, policy, rows
from tests.databases.test_retention import counted
from tests.servers import ask, connect

ROWS = 30


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with emptied(str(request.getfixturevalue(f"{request.param}_url"))) as place:
        yield place


class Application:
    """Somebody who changes the row in the middle, and all others once a run waits for that."""

    def __init__(self, url: str) -> None:
        self._url, self._session = url, connect(url)
        self._thread = threading.Thread(target=self._change_the_others)
        self.failed: list[Exception] = []
        # MariaDB and MySQL end the one that has done less
        ask(url, "CREATE TABLE much (id int PRIMARY KEY)")
        self._do("BEGIN")
        self._do(f"INSERT INTO much VALUES {', '.join(f'({number})' for number in range(3000))}")
        self._do(f"UPDATE v SET age = age + 1 WHERE id = {ROWS // 2}")

    def begin(self) -> None:
        """Wait for the run, beside it."""
        if self._thread.ident is None:
            self._thread.start()

    def end(self) -> None:
        """Give up what was changed."""
        self._thread.join(timeout=60)
        with closing(self._session):
            self._do("ROLLBACK")

    def _change_the_others(self) -> None:
        deleting = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'DELETE s FROM%'"
        if self._url.startswith("postgresql:"):
            deleting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        until = time.monotonic() + 30
        try:
            while not ask(self._url, deleting)[0][0] and time.monotonic() < until:
                time.sleep(0.02)
            # it has some rows by then, whatever order it takes them in
            time.sleep(0.3)
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
    kind = PostgresqlConnection if url.startswith("postgresql:") else MysqlConnection
    deleted = kind.delete_joined
    application = Application(url)

    def beside(*given: object) -> int:
        application.begin()
        return deleted(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(kind, "delete_joined", beside)
        with pytest.raises(UnreachableError) as caught:
            retain(policy(url), NOW)
    application.end()

    assert application.failed == []
    assert caught.value.code == "database-locked"
    assert counted(url, "v") == ROWS
    (batch,) = retain(policy(url), NOW).batches
    assert (batch.deleted, batch.missing) == (ROWS, 0)
    assert (counted(url, "v"), counted(url, "archive")) == (0, ROWS)
