"""Retention while rows come that refer to those that are deleted: none of them goes with these that nobody has accepted and counted."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import sfumato
from services.state import STATE, read
from sfumato.databases.retained import Retained
from sfumato.engine import retain as engine
from sfumato.engine.retain import retain
from sfumato.errors import SfumatoError, UnreachableError
from tests.databases.retained_rows import FRESH, NOW, emptied, kind_of_time, policy, rows
from tests.databases.test_retention import counted
from tests.databases.test_retention_meanwhile import before
from tests.servers import ask, connect


@pytest.fixture(params=["postgresql", "postgresql18", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with emptied(str(request.getfixturevalue(f"{request.param}_url"))) as place:
        yield place


CHUNKS = pytest.mark.parametrize("chunk", [7, 1000])
OWN = "FOREIGN KEY (parent) REFERENCES v (id) ON DELETE {}"


def made(url: str, *keys: str) -> None:
    ask(url, f"CREATE TABLE v (id int PRIMARY KEY, seen {kind_of_time(url)}, age int, parent int{''.join(f', {key}' for key in keys)})")
    ask(url, rows("v", 1, 30, "NULL"))


def given(url: str, chunk: int, **retention: Any) -> dict[str, Any]:
    return policy(url, more=["parent"], chunk=chunk, **retention)


def when_archived(monkeypatch: pytest.MonkeyPatch, chunk: int, deed: Any) -> None:
    """Let something happen once, when a batch was read and looked at, and before its rows are deleted."""
    done: list[int] = []

    def once() -> None:
        if not done:
            done.append(1)
            deed()

    before(monkeypatch, Retained, "_delete_chosen", once)


@CHUNKS
def test_a_row_that_comes_meanwhile_and_refers_to_a_row_of_the_batch_is_not_deleted_with_it(
    url: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(url, OWN.format("CASCADE"))
    with monkeypatch.context() as patch:
        when_archived(patch, chunk, lambda: ask(url, rows("v", 500, 500, "5", seen=FRESH)))
        with pytest.raises(UnreachableError) as caught:
            retain(given(url, chunk), NOW)

    assert caught.value.code == "retention-referenced"
    assert caught.value.message.startswith(f"rows of {'public' if url.startswith('post') else connect_database(url)}.v refer to others of it")
    assert counted(url, "v") == 31
    with pytest.raises(UnreachableError, match="by its own foreign key"):
        retain(given(url, chunk), NOW)
    ask(url, "UPDATE v SET parent = NULL WHERE id = 500")
    assert [batch.deleted for batch in retain(given(url, chunk), NOW).batches] == [30]
    assert (counted(url, "v"), counted(url, "archive")) == (1, 30)


def connect_database(url: str) -> str:
    return url.rpartition("/")[2]


@CHUNKS
def test_a_row_that_comes_while_the_others_are_waited_for_is_not_deleted_with_them(url: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url, OWN.format("CASCADE"))
    with closing(connect(url)) as other, closing(other.cursor()) as cursor:
        waiting = threading.Timer(1.5, cursor.execute, ["COMMIT"])

        def refer() -> None:
            cursor.execute("BEGIN")
            cursor.execute(rows("v", 500, 500, "5", seen=FRESH))
            waiting.start()

        with monkeypatch.context() as patch:
            when_archived(patch, chunk, refer)
            with pytest.raises(UnreachableError) as caught:
                retain(given(url, chunk), NOW)
        waiting.join()

    assert caught.value.code == "retention-referenced"
    assert counted(url, "v") == 31


@CHUNKS
def test_nobody_can_refer_to_a_row_between_the_question_and_the_end_of_the_deletion(url: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url, OWN.format("CASCADE"))
    failed: list[BaseException] = []

    def refer() -> None:
        try:
            ask(url, rows("v", 500, 500, "5", seen=FRESH))
        except Exception as error:  # noqa: BLE001 - drivers have exceptions of their own
            failed.append(error)

    late = threading.Thread(target=refer)
    looked_at = Retained._looked_at

    def look(self: Retained, *more: Any) -> Any:
        found = looked_at(self, *more)
        if not late.ident:
            late.start()
            time.sleep(1)
        return found

    monkeypatch.setattr(Retained, "_looked_at", look)
    (batch,) = retain(given(url, chunk), NOW).batches
    late.join()

    # whoever refers to a row that is gone is told so, and has lost nothing
    assert len(failed) == 1
    assert (batch.deleted, counted(url, "v")) == (30, 0)


@CHUNKS
def test_rows_that_lose_what_they_refer_by_meanwhile_are_counted(url: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url, OWN.format("SET NULL"))
    chosen = given(url, chunk)
    chosen["sink"]["sql"]["record"] = str(tmp_path / "record.json")
    when_archived(monkeypatch, chunk, lambda: ask(url, rows("v", 500, 502, "5", seen=FRESH)))
    (batch,) = retain(chosen, NOW).batches

    assert [(gone.table.name, gone.rows, gone.becomes) for gone in batch.along] == [("v", 3, "emptied")]
    assert counted(url, "v WHERE parent IS NULL") == 3
    notes = json.loads((tmp_path / "record.2026-01.json").read_text())["notes"]
    assert any(note.startswith("other rows went along than were counted before: 3 rows of ") for note in notes)


KID = "CREATE TABLE kid (its int, FOREIGN KEY (its) REFERENCES v (id) ON DELETE CASCADE)"


@CHUNKS
def test_rows_of_other_tables_that_come_meanwhile_are_counted_where_they_are_accepted(url: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url)
    ask(url, KID, "INSERT INTO kid VALUES (1)")
    when_archived(monkeypatch, chunk, lambda: ask(url, "INSERT INTO kid VALUES (2), (30)"))
    (batch,) = retain(given(url, chunk, cascade="accept"), NOW).batches

    assert [(gone.table.name, gone.rows, gone.becomes) for gone in batch.along] == [("kid", 3, "deleted")]
    assert counted(url, "kid") == 0


@CHUNKS
@pytest.mark.parametrize("rule", ["CASCADE", "SET NULL"])
def test_a_foreign_key_that_is_made_meanwhile_deletes_nothing(url: str, chunk: int, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url)
    key = KID.replace("CASCADE", rule)
    with monkeypatch.context() as patch:
        when_archived(patch, chunk, lambda: ask(url, key, "INSERT INTO kid VALUES (5)"))
        with pytest.raises(SfumatoError) as caught:
            retain(given(url, chunk), NOW)

    # MySQL may be quicker to say that the table is another one
    assert caught.value.code in ("retention-cascade", *(["database-changed"] if url.startswith("mysql:") else []))
    assert (counted(url, "v"), counted(url, "kid WHERE its = 5")) == (30, 1)
    ask(url, "DROP TABLE kid")
    assert [batch.deleted for batch in retain(given(url, chunk), NOW).batches] == [30]


@pytest.mark.parametrize("later", ["", " DEFERRABLE INITIALLY DEFERRED"])
@CHUNKS
def test_a_row_that_may_not_lose_what_it_refers_to_is_told_and_is_in_no_log(
    request: pytest.FixtureRequest, url: str, chunk: int, later: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if later and not url.startswith("postgresql:"):
        pytest.skip("MariaDB and MySQL ask at once; tried on PostgreSQL: make services")
    made(url, OWN.format("NO ACTION") + later)
    canary = 10**8 + secrets.randbelow(10**8)
    ask(url, f"UPDATE v SET id = {canary} WHERE id = 5")
    with monkeypatch.context() as patch:
        when_archived(patch, chunk, lambda: ask(url, rows("v", 500, 500, "(SELECT MAX(o.id) FROM v o)", seen=FRESH)))
        with pytest.raises(UnreachableError) as caught:
            retain(given(url, chunk), NOW)

    assert caught.value.code == "retention-referenced"
    assert "has rows that refer to some that are to be deleted" in caught.value.message
    assert "replaced" not in str(caught.value)
    assert counted(url, "v WHERE parent IS NOT NULL") == 1
    running = read(STATE).get(request.node.callspec.params["url"])
    if url.startswith("postgresql:") and running is not None:
        told = [line for line in running.log.read_text(errors="replace").splitlines() if f"={canary}" in line or f"({canary})" in line]
        assert told == []


@CHUNKS
@pytest.mark.parametrize("rule", ["RESTRICT", "NO ACTION"])
@pytest.mark.parametrize("parents", ["id", "id - 1"])
def test_rows_that_refer_to_others_of_their_batch_or_to_themselves_go_where_the_server_lets_them(
    url: str, chunk: int, parents: str, rule: str
) -> None:
    made(url, OWN.format(rule))
    ask(url, f"UPDATE v SET parent = {parents} WHERE id BETWEEN 2 AND 10")
    if url.startswith("postgresql:"):
        (batch,) = retain(given(url, chunk), NOW).batches
        assert (batch.deleted, batch.missing, list(batch.along)) == (30, 0, [])
        assert (counted(url, "v"), counted(url, "archive")) == (0, 30)
        return
    # there each row is looked at by itself, while the others are still there
    with pytest.raises(UnreachableError, match="by its own foreign key, and the server looks at each row by itself, also at those") as caught:
        retain(given(url, chunk), NOW)
    assert (caught.value.code, counted(url, "v")) == ("retention-referenced", 30)


@pytest.mark.parametrize("server", ["postgresql", "mariadb", "mysql", "duckdb"])
def test_the_plan_says_where_rows_of_one_batch_may_not_refer_to_each_other(request: pytest.FixtureRequest, server: str) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    ask(url, "DROP TABLE IF EXISTS nodes", "CREATE TABLE nodes (id int PRIMARY KEY, seen timestamp, age int, parent int REFERENCES nodes (id))")
    if server == "mysql":
        # it takes no notice of a key that is written beside its column
        ask(url, "ALTER TABLE nodes ADD FOREIGN KEY (parent) REFERENCES nodes (id)")
    ask(url, rows("nodes", 1, 30, "NULL"))
    told = [step for step in sfumato.plan(policy(url, "nodes", more=["parent"])).steps if step.startswith("Mind that a batch is refused")]

    assert len(told) == (server != "postgresql")
    ask(url, "DROP TABLE nodes")


@CHUNKS
@pytest.mark.parametrize("parents", ["id - 1", "id + 1", "id / 2"])
def test_rows_that_go_with_others_of_their_batch_count_as_deleted(url: str, chunk: int, parents: str) -> None:
    made(url, OWN.format("CASCADE"))
    whole = "id / 2" if url.startswith("postgresql:") else "id DIV 2"
    ask(url, f"UPDATE v SET parent = {parents if '/' not in parents else whole} WHERE id BETWEEN 2 AND 10")
    if url.startswith("mysql:") and "/" in parents:
        # the server itself follows no tree of so many branches
        with pytest.raises(UnreachableError, match="follows foreign keys to so many tables or rows only") as caught:
            retain(given(url, chunk), NOW)
        assert (caught.value.code, counted(url, "v")) == ("retention-cascade", 30)
        return
    (batch,) = retain(given(url, chunk), NOW).batches

    assert (batch.rows, batch.deleted, batch.missing, batch.notes) == (30, 30, 0, [])
    assert (counted(url, "v"), counted(url, "archive")) == (0, 30)


@CHUNKS
def test_rows_that_others_have_deleted_are_still_told_where_rows_go_with_each_other(url: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url, OWN.format("CASCADE"))
    ask(url, "UPDATE v SET parent = 1 WHERE id BETWEEN 2 AND 10")
    when_archived(monkeypatch, chunk, lambda: ask(url, "DELETE FROM v WHERE id IN (3, 20)"))
    (batch,) = retain(given(url, chunk), NOW).batches

    assert (batch.deleted, batch.missing) == (28, 2)


def test_an_interrupted_deletion_of_rows_that_go_with_each_other_counts_them_all(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made(url, OWN.format("CASCADE"))
    ask(url, "UPDATE v SET parent = 1 WHERE id > 1")
    with monkeypatch.context() as patch:
        patch.setattr(engine._Work, "_delete", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            retain(given(url, 7), NOW)

    assert [(batch.outcome, batch.deleted, batch.missing) for batch in retain(given(url, 7), NOW).batches] == [("finished", 30, 0)]
