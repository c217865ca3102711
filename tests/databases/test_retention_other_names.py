"""A batch that is archived and not yet deleted is known whatever its table is called by then: no row is archived twice."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from urllib.parse import urlsplit

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
        lists = ask(found, "SELECT table_name FROM duckdb_tables() WHERE starts_with(table_name, 'retained_')")
        ask(found, *(f"DROP TABLE IF EXISTS {name}" for name in ("v", "w", "archive", "sfumato_ledger", *(name for (name,) in lists))))
        yield found
        return
    with emptied(found) as place:
        yield place


def made(url: str, name: str = "v", more: str = "") -> None:
    # tests at the same time have other databases, and lists in the same one
    seconds = zlib.crc32(url.encode()) % 3600
    seen = f"'2026-01-05 12:{seconds // 60:02}:{seconds % 60:02}'"
    ask(url, f"CREATE TABLE {name} (id int PRIMARY KEY, seen {kind_of_time(url)}, age int){more}", rows(name, 1, ROWS, seen=seen))


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


COPIED = ["CREATE TABLE w (id {kind} PRIMARY KEY, seen {time}, age int)", "INSERT INTO w SELECT * FROM v"]


@pytest.mark.parametrize("kind", ["int", "bigint"])
@pytest.mark.parametrize("left", ["DROP TABLE v", "DELETE FROM v", "DELETE FROM v WHERE id > 20"])
def test_rows_that_were_copied_to_another_table_are_known_there(url: str, left: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url)
    archived_in_part(url, monkeypatch)
    ask(url, *(statement.format(kind=kind, time=kind_of_time(url)) for statement in COPIED), left)
    refused(url, "w")
    refused(url, "w", key=["id", "age"] if url.startswith("duckdb:") else ["id"])
    assert counted(url, "w") == ROWS


def test_rows_of_a_table_that_is_gone_are_no_others(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url)
    archived_in_part(url, monkeypatch)
    # of other keys, of other times, and of keys that nobody could compare
    for kind, row in (
        ("int", f"1{ROWS + 1}, '2026-01-05 10:00:00'"),
        ("int", "1, '2026-01-04 10:00:00'"),
        ("varchar(20)", "'1', '2026-01-05 10:00:00'"),
    ):
        ask(url, "DROP TABLE IF EXISTS v", "DROP TABLE IF EXISTS w", f"CREATE TABLE w (id {kind} PRIMARY KEY, seen {kind_of_time(url)}, age int)")
        ask(url, f"INSERT INTO w VALUES ({row}, 30)")
        assert [batch.outcome for batch in retain(policy(url, "w"), NOW).batches] == ["waiting"]


@pytest.mark.parametrize(
    "move",
    [["RENAME TABLE v TO {other}.v"], ["CREATE TABLE {other}.v AS SELECT * FROM v", "ALTER TABLE {other}.v ADD PRIMARY KEY (id)", "DROP TABLE v"]],
)
def test_a_table_that_was_moved_to_another_database_is_known(mariadb_url: str, move: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with emptied(mariadb_url) as url:
        made(url)
        archived_in_part(url, monkeypatch)
        other = f"{urlsplit(url).path[1:]}_moved"
        ask(url, f"CREATE DATABASE {other}", *(statement.format(other=other) for statement in move))
        given = policy(url)
        given["source"]["sql"]["schema"] = other
        try:
            with pytest.raises(SfumatoError) as caught:
                retain(given, NOW)
            assert (caught.value.code, counted(url, "archive"), counted(url, f"{other}.v")) == (ELSEWHERE, ROWS, ROWS)
        finally:
            ask(url, f"DROP DATABASE {other}")


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
