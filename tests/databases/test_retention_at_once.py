"""Two runs that retain rows of one table at once, whatever each of them calls it: every row is archived once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from sfumato.databases.retained import Retained
from sfumato.engine import retain as engine
from sfumato.engine.retain import retain
from sfumato.errors import SfumatoError
from tests.attack.test_retention_against_others import LEDGER
from tests.databases.retained_rows import NOW, emptied, kind_of_time, policy, rows
from tests.databases.test_retention import counted
from tests.databases.test_retention_other_names import ROWS, archived_in_part, made
from tests.servers import ask, component, connect

pytestmark = pytest.mark.slow

POSTGRESQL, OTHERS = ["postgresql", "postgresql18"], ["mariadb", "mysql"]


@pytest.fixture
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with emptied(str(request.getfixturevalue(f"{request.param}_url"))) as place:
        yield place


@pytest.fixture
def by_view(url: str) -> str:
    made(url)
    ask(url, "CREATE VIEW w AS SELECT id, seen, age FROM v")
    return url


@pytest.fixture
def in_parts(url: str) -> str:
    ask(url, "CREATE TABLE v (id int PRIMARY KEY, seen timestamp, age int) PARTITION BY RANGE (id)")
    ask(url, "CREATE TABLE w PARTITION OF v FOR VALUES FROM (0) TO (1000)", rows("v", 1, ROWS))
    return url


@pytest.fixture
def with_heir(url: str) -> str:
    ask(url, "CREATE TABLE v (id int PRIMARY KEY, seen timestamp, age int)", "CREATE TABLE w (PRIMARY KEY (id)) INHERITS (v)", rows("w", 1, ROWS))
    return url


def elsewhere(url: str, table: str) -> dict[str, Any]:
    """Return what archives rows of a table into another archive, by a key of which nothing is known of a view."""
    return {**policy(url, table, key=["id"]), "sink": {"sql": component(url, "archive_too")}}


def within(monkeypatch: pytest.MonkeyPatch, target: Any, name: str, deed: Callable[[], None]) -> None:
    """Let something happen once, before a method does its work for the first time."""
    real = getattr(target, name)
    left = [deed]

    def done(*given: Any) -> Any:
        if left:
            left.pop()()
        return real(*given)

    monkeypatch.setattr(target, name, done)


def held_once(url: str, first: str, second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the second run when the first has looked for others, and see every row in one archive only."""
    codes = []

    def another() -> None:
        with pytest.raises(SfumatoError) as caught:
            retain(elsewhere(url, second), NOW)
        codes.append(caught.value.code)

    within(monkeypatch, engine._Work, "archive", another)
    (batch,) = retain(policy(url, first, key=["id"]), NOW).batches
    assert codes == ["database-busy"]
    assert (batch.deleted, counted(url, "archive")) == (ROWS, ROWS)
    assert retain(elsewhere(url, second), NOW).batches == []


@pytest.mark.parametrize("order", ["vw", "wv"])
@pytest.mark.parametrize("url", [*POSTGRESQL, *OTHERS], indirect=True)
def test_a_table_and_a_view_of_it_are_not_retained_at_once(by_view: str, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held_once(by_view, order[0], order[1], monkeypatch)


@pytest.mark.parametrize("order", ["vw", "wv"])
@pytest.mark.parametrize("url", POSTGRESQL, indirect=True)
def test_a_table_and_a_partition_of_it_are_not_retained_at_once(in_parts: str, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held_once(in_parts, order[0], order[1], monkeypatch)


@pytest.mark.parametrize("order", ["vw", "wv"])
@pytest.mark.parametrize("url", POSTGRESQL, indirect=True)
def test_a_table_and_its_heir_are_not_retained_at_once(with_heir: str, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(with_heir, "DROP VIEW IF EXISTS x", "CREATE VIEW x AS SELECT * FROM v")
    held_once(with_heir, order[0].replace("v", "x"), order[1].replace("v", "x"), monkeypatch)


@pytest.mark.parametrize("url", POSTGRESQL, indirect=True)
def test_who_comes_second_to_make_a_ledger_says_so(url: str) -> None:
    made(url)
    with closing(connect(url)) as other:
        other.autocommit = False
        other.execute(LEDGER)
        ending = threading.Thread(target=commit_when_awaited, args=(url, other))
        ending.start()
        with pytest.raises(SfumatoError) as caught:
            retain(policy(url), NOW)
        ending.join()

    assert caught.value.code == "database-locked"
    assert "another run has made public.sfumato_ledger at the same moment; of this batch nothing has been archived" in str(caught.value)
    assert [batch.deleted for batch in retain(policy(url), NOW).batches] == [ROWS]
    assert counted(url, "archive") == ROWS


def commit_when_awaited(url: str, session: Any) -> None:
    """Commit as soon as somebody waits for a session."""
    deadline = time.monotonic() + 60
    while not counted(url, f"pg_stat_activity WHERE {session.info.backend_pid} = ANY(pg_blocking_pids(pid))") and time.monotonic() < deadline:
        time.sleep(0.05)
    session.commit()


@pytest.mark.parametrize("url", POSTGRESQL, indirect=True)
def test_rows_of_a_table_that_becomes_a_part_meanwhile_are_not_archived_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url)
    ask(url, f"CREATE TABLE w (id int PRIMARY KEY, seen {kind_of_time(url)}, age int) PARTITION BY RANGE (id)")
    ask(url, "CREATE TABLE others PARTITION OF w FOR VALUES FROM (1000) TO (2000)", rows("w", 1001, 1030))

    def attached() -> None:
        archived_in_part(url, monkeypatch)
        ask(url, "ALTER TABLE w ATTACH PARTITION v FOR VALUES FROM (0) TO (1000)")

    within(monkeypatch, Retained, "begin", attached)
    with pytest.raises(SfumatoError) as caught:
        retain(elsewhere(url, "w"), NOW)
    assert caught.value.code == "retention-elsewhere"
    assert counted(url, "w") == ROWS + 30

    retain(policy(url), NOW)
    assert [batch.deleted for batch in retain(elsewhere(url, "w"), NOW).batches] == [30]
    assert counted(url, "archive") == ROWS
