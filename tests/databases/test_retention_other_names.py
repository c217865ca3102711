"""A batch that is archived and not yet deleted is known whatever its table is called by then: no row is archived twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sfumato.databases.retained import Retained
from sfumato.engine.retain import retain
from sfumato.errors import SfumatoError, UnreachableError
from tests.databases.retained_rows import NOW, emptied, kind_of_time, policy, rows
from tests.databases.test_retention import counted
from tests.servers import ask

ROWS = 30
ELSEWHERE = "retention-elsewhere"


@pytest.fixture(params=["postgresql", "mariadb", "mysql", "duckdb"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    found = str(request.getfixturevalue(f"{request.param}_url"))
    if found.startswith("duckdb:"):
        ask(found, *(f"DROP TABLE IF EXISTS {name}" for name in ("v", "w", "archive", "sfumato_ledger")))
        yield found
        return
    with emptied(found) as place:
        yield place


def made(url: str, name: str = "v", more: str = "") -> None:
    ask(url, f"CREATE TABLE {name} (id int PRIMARY KEY, seen {kind_of_time(url)}, age int){more}", rows(name, 1, ROWS))


def archived_in_part(url: str, monkeypatch: pytest.MonkeyPatch, table: str = "v") -> None:
    """Archive all rows, and delete some of them."""

    def stops(self: Retained, *given: object) -> None:
        raise UnreachableError("as if it had been", code="database-locked")

    with monkeypatch.context() as patch:
        patch.setattr(Retained, "_delete_chosen", stops)
        with pytest.raises(UnreachableError, match="as if it had been"):
            retain(policy(url, table, chunk=7), NOW)
    assert counted(url, "archive") == ROWS


def refused(url: str, table: str, **retention: object) -> None:
    with pytest.raises(SfumatoError) as caught:
        retain(policy(url, table, **retention), NOW)
    assert caught.value.code == ELSEWHERE
    assert counted(url, "archive") == ROWS


def test_a_table_that_was_renamed_is_known_and_finished_under_its_name(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url)
    archived_in_part(url, monkeypatch)
    ask(url, "ALTER TABLE v RENAME TO w")
    refused(url, "w")

    ask(url, "ALTER TABLE w RENAME TO v")
    retain(policy(url), NOW)
    assert (counted(url, "v"), counted(url, "archive")) == (0, ROWS)


def test_a_table_in_whose_place_another_came_is_known(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url)
    archived_in_part(url, monkeypatch)
    ask(url, "ALTER TABLE v RENAME TO w", f"CREATE TABLE v (id int PRIMARY KEY, seen {kind_of_time(url)}, age int)")
    ask(url, rows("v", 100, 130))
    refused(url, "w")


def test_a_view_of_the_table_is_known(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if url.startswith("duckdb:"):
        pytest.skip("DuckDB deletes no rows by way of a view")
    made(url)
    archived_in_part(url, monkeypatch)
    ask(url, "CREATE VIEW w AS SELECT id, seen, age FROM v")
    refused(url, "w", key=["id"])


def test_a_table_that_was_moved_or_is_a_part_of_another_is_known(postgresql_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with emptied(postgresql_url) as url:
        made(url)
        archived_in_part(url, monkeypatch)
        ask(url, "DROP SCHEMA IF EXISTS moved CASCADE", "CREATE SCHEMA moved", "ALTER TABLE v SET SCHEMA moved")
        given = policy(url)
        given["source"]["sql"]["schema"] = "moved"
        with pytest.raises(SfumatoError) as caught:
            retain(given, NOW)
        assert caught.value.code == ELSEWHERE

        ask(url, "ALTER TABLE moved.v SET SCHEMA public", "DROP SCHEMA moved")
        ask(url, "CREATE TABLE w (id int PRIMARY KEY, seen timestamp, age int) PARTITION BY RANGE (id)")
        ask(url, "ALTER TABLE w ATTACH PARTITION v FOR VALUES FROM (0) TO (1000)")
        refused(url, "w")


def test_tables_with_the_same_keys_and_times_do_not_wait_for_each_other(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url)
    made(url, "w")
    archived_in_part(url, monkeypatch)
    (batch,) = retain(policy(url, "w"), NOW).batches
    assert (batch.deleted, counted(url, "archive")) == (ROWS, 2 * ROWS)
    ask(url, "DROP TABLE w")
