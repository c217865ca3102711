"""Large tables of MySQL and MariaDB are grouped by two sessions: the release is the same, also where one of them cannot be had or is lost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.databases import mysql_inside
from sfumato.databases.mysql import MysqlConnection
from sfumato.databases.mysql_halves import Halves
from sfumato.errors import SfumatoError
from tests.databases.test_inside import ROWS, TABLE, policy, stored
from tests.servers import ask


@pytest.fixture(params=["mariadb", "mysql"])
def url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(mysql_inside, "_LARGE", 100)
    found = str(request.getfixturevalue(f"{request.param}_url"))
    stored(found, TABLE, "people")
    ask(found, "DROP TABLE IF EXISTS `release`")
    return found


def released(url: str) -> Counter[str]:
    release: Any = sfumato.run(policy(url))
    assert release.record.rows.out == ROWS
    return Counter(map(str, release.table.to_pylist()))


def test_two_sessions_find_what_one_finds(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    another, asked = Halves._another, []

    def counted(self: Halves) -> MysqlConnection | None:
        asked.append(another(self))
        return asked[-1]

    monkeypatch.setattr(Halves, "_another", counted)
    two = released(url)
    monkeypatch.setattr(mysql_inside, "_LARGE", ROWS + 1)
    one = released(url)

    assert two == one
    # cells, the values of the note and what was staged
    assert len(asked) == 3
    assert None not in asked


def test_one_session_does_all_where_there_is_no_second(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    two = released(url)

    def refused(self: Halves) -> None:
        del self

    monkeypatch.setattr(Halves, "_another", refused)

    assert released(url) == two


def test_a_second_session_that_is_lost_is_one_error_and_nothing_is_left(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    select = MysqlConnection.select

    def lost(self: MysqlConnection, query: str, columns: Any) -> Iterator[pa.RecordBatch]:
        if "NOT (" in query:
            ask(url, f"KILL CONNECTION {self._connection.thread_id()}")
        yield from select(self, query, columns)

    monkeypatch.setattr(MysqlConnection, "select", lost)
    with pytest.raises(SfumatoError) as caught:
        released(url)

    assert caught.value.code == "database-unreachable"
    assert ask(url, "SELECT table_name FROM information_schema.tables WHERE table_name = 'release' AND table_schema = DATABASE()") == []


def test_who_stops_reading_does_not_wait_for_the_other_half(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    select = MysqlConnection.select

    def slow(self: MysqlConnection, query: str, columns: Any) -> Iterator[pa.RecordBatch]:
        if "NOT (" in query:
            # a server that takes long: a minute, unless it is told to stop
            self.do("SELECT SLEEP(60)")
        elif "GROUP BY" in query:
            raise KeyboardInterrupt
        yield from select(self, query, columns)

    monkeypatch.setattr(MysqlConnection, "select", slow)
    with pytest.raises(KeyboardInterrupt):
        released(url)

    # the answer of a session that was ended comes before it is gone
    sleeping = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(60)' AND db = DATABASE()"
    assert any(ask(url, sleeping)[0][0] == 0 or time.sleep(0.1) for _ in range(50))
