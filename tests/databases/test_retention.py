"""Retention: old rows of a table are archived, anonymised, and only then deleted; whatever happens in between, none is lost or comes twice."""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.databases.retained import Retained
from sfumato.engine.drift import drift
from sfumato.engine.retain import retain, way_of
from sfumato.errors import DataError, PolicyError, PromiseError, SfumatoError, UnreachableError, UsageError
from sfumato.sources.sql import Sql
from tests.servers import ask, component, connect, first_schema, forget_lists

NOW = datetime.datetime(2026, 6, 15, tzinfo=datetime.UTC)
Made = Callable[..., dict[str, Any]]


@pytest.fixture(params=["postgresql", "mariadb", "mysql", "duckdb"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def visits(url: str) -> Made:
    return visits_of(url)


def visits_of(url: str) -> Made:
    """Return what makes a table of visits, so many each month of 2026 up to June, and the policy that archives them."""

    def made(months: dict[int, int] | None = None, kind: str = "timestamp", **changes: Any) -> dict[str, Any]:
        tables = ("visits", "archive", "sfumato_ledger")
        if url.startswith(("mariadb:", "mysql:")):
            forget_lists(url)
        ask(url, *(f"DROP TABLE IF EXISTS {name}" for name in tables))
        ask(url, f"CREATE TABLE visits (id INTEGER PRIMARY KEY, seen {kind} NULL, age INTEGER, town VARCHAR(20), illness VARCHAR(20))")
        number = 0
        rows = []
        for month, many in (months or {1: 40, 2: 30, 3: 50, 4: 20, 5: 25, 6: 10}).items():
            for _ in range(many):
                number += 1
                town = ("Bremen", "Ulm", "Köln")[number % 3]
                rows.append(f"({number}, '2026-{month:02}-{number % 28 + 1:02} 12:00:00', {20 + number % 40}, '{town}', 'i{number % 4}')")
        if rows:
            ask(url, f"INSERT INTO visits VALUES {', '.join(rows)}")
        policy = {
            "source": {"sql": component(url, "visits")},
            "sink": {"sql": component(url, "archive")},
            "columns": {
                "id": {"role": "identifier"},
                "seen": {"role": "identifier"},
                "age": {"role": "quasi_identifier"},
                "town": {"role": "quasi_identifier"},
                "illness": {"role": "sensitive"},
            },
            "promises": [{"k_anonymity": {"k": 5}}],
            "retention": {"column": "seen", "older_than": "60d", "chunk": 7},
        }
        policy["retention"] |= changes.pop("retention", {})
        return {**policy, **changes}

    return made


def counted(url: str, query: str) -> int:
    return int(ask(url, f"SELECT COUNT(*) FROM {query}")[0][0])


def test_closed_months_that_are_old_enough_are_archived_and_deleted(visits: Made, url: str) -> None:
    outcome = retain(visits(), NOW)

    assert [(batch.name, batch.outcome, batch.rows, batch.deleted) for batch in outcome.batches] == [
        ("2026-01", "archived", 40, 40),
        ("2026-02", "archived", 30, 30),
        ("2026-03", "archived", 50, 50),
    ]
    assert counted(url, "visits") == 55
    assert counted(url, "visits WHERE seen < '2026-04-01'") == 0
    found = ask(url, "SELECT sfumato_batch, COUNT(*) FROM archive GROUP BY sfumato_batch ORDER BY 1")
    assert [tuple(row) for row in found] == [("2026-01", 40), ("2026-02", 30), ("2026-03", 50)]
    smallest = ask(url, "SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM archive GROUP BY sfumato_batch, age, town) s")
    assert int(smallest[0][0]) >= 5
    assert sorted(column.lower() for column in columns_of(url, "archive")) == ["age", "illness", "sfumato_batch", "town"]


def columns_of(url: str, table: str) -> list[str]:
    query = f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' AND table_schema = {first_schema(url)}"
    return [str(row[0]) for row in ask(url, query)]


def test_a_second_run_does_nothing_and_late_rows_are_a_batch_of_their_own(visits: Made, url: str) -> None:
    policy = visits()
    retain(policy, NOW)
    assert retain(policy, NOW).batches == []

    ask(url, "INSERT INTO visits VALUES " + ", ".join(f"({1000 + n}, '2026-02-03 10:00:00', {20 + n}, 'Ulm', 'i1')" for n in range(6)))
    late = retain(policy, NOW).batches
    assert [(batch.name, batch.outcome, batch.deleted) for batch in late] == [("2026-02/2", "archived", 6)]
    assert counted(url, "archive") == 126


@pytest.mark.parametrize("rules", ["", " COLLATE utf8mb4_general_ci"])
def test_archives_of_names_that_differ_by_case_have_lines_of_their_own(mariadb_url: str, rules: str) -> None:
    url = mariadb_url
    policy = visits_of(url)({1: 40})
    texts = ", ".join(f"{name} VARCHAR(190)" for name in ("archive", "batch", "source", "state"))
    more = "rows_in BIGINT, rows_out BIGINT, written TIMESTAMP, PRIMARY KEY (archive, batch)"
    if rules:
        ask(url, f"CREATE TABLE sfumato_ledger ({texts}, {more}){rules}")
    ask(url, "DROP TABLE IF EXISTS Archive")
    retain(policy, NOW)
    ask(url, "INSERT INTO visits VALUES " + ", ".join(f"({1000 + n}, '2026-01-03 10:00:00', {20 + n}, 'Ulm', 'i1')" for n in range(6)))
    other = {**policy, "sink": {"sql": component(url, "Archive")}}

    assert [(batch.name, batch.deleted) for batch in retain(other, NOW).batches] == [("2026-01", 6)]
    assert ask(url, "SELECT archive, rows_out FROM sfumato_ledger ORDER BY 2") == [("Archive", 6), ("archive", 40)]
    assert drift(policy).found == drift(other).found == []


def test_an_archive_has_one_ledger_however_its_name_is_spelled(duckdb_url: str) -> None:
    policy = visits_of(duckdb_url)({1: 40})
    retain(policy, NOW)
    ask(duckdb_url, "INSERT INTO visits VALUES " + ", ".join(f"({1000 + n}, '2026-01-03 10:00:00', {20 + n}, 'Ulm', 'i1')" for n in range(6)))
    other = {**policy, "sink": {"sql": component(duckdb_url, "ARCHIVE")}}

    assert [(batch.name, batch.deleted) for batch in retain(other, NOW).batches] == [("2026-01/2", 6)]
    assert drift(policy).found == drift(other).found == []


@pytest.mark.parametrize("chunk", [7, 1000])
@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_rows_that_somebody_works_on_and_that_stay_are_not_waited_for(request: pytest.FixtureRequest, server: str, chunk: int) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    policy = visits_of(url)({1: 40, 6: 10}, retention={"chunk": chunk})
    with closing(connect(url)) as other, closing(other.cursor()) as cursor:
        cursor.execute("BEGIN")
        cursor.execute("UPDATE visits SET age = 1 WHERE id = 45")
        assert [batch.deleted for batch in retain(policy, NOW).batches] == [40]
        cursor.execute("ROLLBACK")


def test_too_few_rows_wait_for_the_next_period(visits: Made, url: str) -> None:
    policy = visits({1: 3, 2: 1, 3: 40, 4: 5})
    found = retain(policy, NOW).batches

    assert [(batch.name, batch.outcome, batch.rows) for batch in found] == [("2026-01..2026-03", "archived", 44)]
    assert counted(url, "visits") == 5

    later = retain(policy, NOW + datetime.timedelta(days=365)).batches
    assert [(batch.name, batch.outcome) for batch in later] == [("2026-04", "archived")]


def test_too_few_rows_wait_or_are_deleted_as_the_policy_says(visits: Made, url: str) -> None:
    assert [batch.outcome for batch in retain(visits({1: 3}), NOW).batches] == ["waiting"]
    assert counted(url, "visits") == 3

    found = retain(visits({1: 3, 2: 20}, retention={"too_small": "delete"}), NOW).batches
    assert [(batch.name, batch.outcome, batch.deleted) for batch in found] == [("2026-01", "deleted", 3), ("2026-02", "archived", 20)]
    assert counted(url, "visits") == 0
    assert counted(url, "archive") == 20


@pytest.mark.parametrize(
    ("too_small", "batches"),
    [("wait", [("2026-01..2026-03", "archived", 61)]), ("delete", [("2026-01", "deleted", 1), ("2026-03", "archived", 60)])],
)
def test_a_row_that_no_promise_can_be_kept_with_is_too_few_whatever_it_singles_out(visits: Made, url: str, too_small: str, batches: Any) -> None:
    policy = visits({1: 1, 3: 60}, retention={"too_small": too_small})
    policy["columns"]["town"] = {"role": "other"}

    assert [(batch.name, batch.outcome, batch.rows) for batch in retain(policy, NOW).batches] == batches
    assert counted(url, "visits") == 0
    assert counted(url, "archive") == (61 if too_small == "wait" else 60)


@pytest.mark.parametrize("too_small", ["wait", "delete"])
def test_few_rows_in_which_values_of_a_column_occur_once_wait_and_are_never_deleted_for_it(visits: Made, url: str, too_small: str) -> None:
    policy = visits({1: 6}, retention={"too_small": too_small})
    policy["columns"]["town"] = {"role": "other"}
    ask(url, "UPDATE visits SET age = 30, town = CASE WHEN id < 3 THEN 'Ulm' ELSE CONCAT('t', id) END")
    (batch,) = retain(policy, NOW).batches

    assert (batch.outcome, batch.rows) == ("waiting", 6)
    assert batch.notes == [
        "most of the 5 values of column town that would be published occur once: it singles people out, of which more rows are needed to judge"
    ]
    assert counted(url, "visits") == 6

    towns = ", ".join(f"({n}, '2026-03-05 10:00:00', 30, 't{n % 10}', 'i1')" for n in range(100, 140))
    ask(url, f"INSERT INTO visits VALUES {towns}")
    assert [(batch.name, batch.outcome, batch.rows) for batch in retain(policy, NOW).batches] == [("2026-01..2026-03", "archived", 46)]


def test_suppressed_rows_are_deleted_and_counted(visits: Made, url: str) -> None:
    policy = visits({1: 40}, suppression_limit=0.5)
    ask(url, "INSERT INTO visits VALUES (900, '2026-01-05 00:00:00', 99, 'Nowhere', 'i9')")
    policy["columns"]["town"] |= {"on_unknown": "suppress", "hierarchy": {"taxonomy": {"tree": {"all": ["Bremen", "Ulm", "Köln"]}}}}
    (batch,) = retain(policy, NOW).batches

    assert (batch.rows, batch.deleted) == (41, 41)
    assert counted(url, "archive") == 40
    assert counted(url, "visits") == 0


@pytest.mark.parametrize(("period", "names"), [("day", 8), ("week", None), ("quarter", 1), ("year", 0)])
def test_batches_are_of_the_length_that_is_asked_for(visits: Made, url: str, period: str, names: int | None) -> None:
    policy = visits({1: 280, 2: 40}, kind="date", retention={"period": period})
    if period == "day":
        ask(url, "DELETE FROM visits WHERE EXTRACT(DAY FROM seen) > 8")
    given = counted(url, "visits")
    found = retain(policy, NOW).batches

    if names is not None:
        assert len([batch for batch in found if batch.name.startswith(("2026-01", "2026-Q1"))]) == names
    left = counted(url, "visits")
    assert sum(batch.deleted for batch in found) == given - left == counted(url, "archive") if period != "year" else left == given
    # the last rows of days with few of them wait for more
    assert left < 5 or period == "year"


def test_rows_without_a_time_stay_and_are_told(visits: Made, url: str) -> None:
    policy = visits({1: 20})
    ask(url, "INSERT INTO visits VALUES (900, NULL, 30, 'Ulm', 'i1')")
    assert retain(policy, NOW).without_time == 1
    assert counted(url, "visits") == 1


@pytest.mark.parametrize("moment", ["append", "delete", "forget"])
def test_a_small_batch_is_archived_and_deleted_in_one_transaction(visits: Made, url: str, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if url.startswith("duckdb") and moment == "forget":
        pytest.skip("nobody else can look into a DuckDB file that is open; tried on servers: make services")
    policy = visits({1: 40, 2: 30}, retention={"chunk": 40})
    seen: list[tuple[int, int]] = []
    from sfumato.databases.archive import Archive

    class DeadError(BaseException):
        pass

    deeds = {"append": (Archive, "append"), "delete": (Retained, "delete_within"), "forget": (Retained, "forget")}
    target, name = deeds[moment]
    real: Any = getattr(target, name)

    def die(*given: Any, **named: Any) -> Any:
        if moment == "forget" and not columns_of(url, "archive"):
            return real(*given, **named)
        if moment != "forget":
            real(*given, **named)
        if url.startswith("duckdb"):
            # nobody else can look into a file that is open
            seen.append((70, 0))
            raise DeadError
        # whoever looks sees each row once, in the source or in the archive
        archived = counted(url, "archive") if columns_of(url, "archive") else 0
        seen.append((counted(url, "visits"), archived))
        raise DeadError

    with monkeypatch.context() as patch:
        patch.setattr(target, name, die)
        with pytest.raises(DeadError):
            retain(policy, NOW)
    assert set(seen) == {(30, 40)} if moment == "forget" else set(seen) == {(70, 0)}
    found = retain(policy, NOW).batches

    assert [(batch.outcome, batch.deleted) for batch in found][-1] == ("archived", 30)
    assert counted(url, "visits") == 0
    assert [tuple(row) for row in ask(url, "SELECT batch, state, rows_in, rows_out FROM sfumato_ledger ORDER BY batch")] == [
        ("2026-01", "deleted", 40, 40),
        ("2026-02", "deleted", 30, 30),
    ]
    assert counted(url, "archive") == 70
    assert not left_over(url, policy)


def test_a_batch_that_is_there_is_refused(visits: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 40})
    retain(policy, NOW)
    ask(url, "INSERT INTO visits VALUES " + ", ".join(f"({1000 + n}, '2026-01-03 10:00:00', {20 + n}, 'Ulm', 'i1')" for n in range(6)))
    with monkeypatch.context() as patch:
        patch.setattr("sfumato.engine.retain._new", lambda name, known: name)
        with pytest.raises(UnreachableError) as caught:
            retain(policy, NOW)
    assert caught.value.code == "archive-batch"
    assert (counted(url, "visits"), counted(url, "archive")) == (6, 40)
    retain(policy, NOW)
    assert not left_over(url, policy)


@pytest.mark.parametrize("state", ["written", "deleted"])
def test_rows_of_a_batch_that_another_source_has_archived_are_not_deleted(
    visits: Made, url: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = visits({1: 40})
    retain(policy, NOW)
    ask(url, f"UPDATE sfumato_ledger SET source = 'another', state = '{state}'")
    ask(url, "INSERT INTO visits VALUES " + ", ".join(f"({1000 + n}, '2026-01-03 10:00:00', {20 + n}, 'Ulm', 'i1')" for n in range(6)))
    # a run that died when it had written its keys down, for a batch whose name the other source took meanwhile
    source = Sql(**policy["source"]["sql"])
    with source.connected() as connection:
        retained = retained_of(connection, policy)
        retained.begin("2026-01", datetime.datetime(2026, 1, 1), datetime.datetime(2026, 2, 1))
        connection.commit()
    found = retain(policy, NOW).batches

    assert [(batch.name, batch.outcome, batch.deleted) for batch in found] == [("2026-01/2", "archived", 6)]
    assert (counted(url, "visits"), counted(url, "archive")) == (0, 46)
    assert not left_over(url, policy)


def test_lists_of_keys_that_dead_runs_left_are_removed_whatever_they_were_for(visits: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 40})
    source = Sql(**policy["source"]["sql"])
    with source.connected() as connection:
        retained = retained_of(connection, policy)
        keys = retained.begin("2026-W03", datetime.datetime(2026, 1, 1), datetime.datetime(2026, 2, 1))
        connection.commit()
        assert retained.has(keys)
        retain(policy, NOW)
        assert not retained.has(keys)


def test_an_error_after_the_batch_is_there_leaves_what_the_next_run_needs(visits: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 40}, retention={"chunk": 7})
    from sfumato.sinks._archive import ArchiveWriter

    publish = ArchiveWriter.publish

    def publish_and_fail(self: ArchiveWriter) -> Any:
        publish(self)
        raise OSError("the answer was lost on the way")

    with monkeypatch.context() as patch:
        patch.setattr(ArchiveWriter, "publish", publish_and_fail)
        with pytest.raises(OSError, match="lost"):
            retain(policy, NOW)
    assert [(batch.outcome, batch.deleted) for batch in retain(policy, NOW).batches] == [("finished", 40)]
    assert (counted(url, "visits"), counted(url, "archive")) == (0, 40)


@pytest.mark.parametrize("moment", ["keys", "append", "delete", "mark"])
def test_what_a_dead_run_left_is_finished_by_the_next(visits: Made, url: str, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 40, 2: 30})
    from sfumato.databases.archive import Archive

    class DeadError(BaseException):
        pass

    def die(*_: Any, **__: Any) -> Any:
        raise DeadError

    def delete_some(self: Retained, keys: Any, many: int) -> int:
        first = f"k.n >= 1 AND k.n < {1 + many}"
        with self._connection.transaction():
            self._connection.delete_joined(self._table, keys, self._same(keys), first)
            self._connection.do(f"DELETE FROM {self._connection.quoted(keys)} WHERE n < {1 + many}")
        raise DeadError

    target, name, deed = {
        "keys": (Retained, "read", die),
        "append": (Archive, "append", die),
        "delete": (Retained, "delete", delete_some),
        "mark": (Archive, "mark_deleted", die),
    }[moment]
    with monkeypatch.context() as patch:
        patch.setattr(target, name, deed)
        with pytest.raises(DeadError):
            retain(policy, NOW)
    retain(policy, NOW)

    assert counted(url, "visits") == 0
    found = ask(url, "SELECT sfumato_batch, COUNT(*) FROM archive GROUP BY sfumato_batch ORDER BY 1")
    assert [tuple(row) for row in found] == [("2026-01", 40), ("2026-02", 30)]
    assert ask(url, "SELECT state FROM sfumato_ledger GROUP BY state") == [("deleted",)]
    assert not left_over(url, policy)


@pytest.mark.parametrize("seen", ["2026-06-14 10:00:00", "2026-01-31 23:59:59"])
def test_a_new_row_with_an_old_key_is_not_deleted_by_it(visits: Made, url: str, seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 40})
    with monkeypatch.context() as patch:
        patch.setattr(Retained, "delete", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            retain(policy, NOW)
    ask(url, "DELETE FROM visits WHERE id = 7", f"INSERT INTO visits VALUES (7, '{seen}', 33, 'Ulm', 'new')")
    found = retain(policy, NOW).batches

    assert (found[0].outcome, found[0].deleted) == ("finished", 39)
    assert ask(url, "SELECT illness FROM visits") == [("new",)]
    assert counted(url, "archive") == 40


def test_a_batch_is_finished_by_the_key_that_it_was_begun_with(visits: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 40}, retention={"key": ["age", "illness"]})
    ask(url, "UPDATE visits SET age = id % 10, illness = id", "CREATE UNIQUE INDEX visits_key ON visits (age, illness, seen)")
    policy["columns"] |= {"illness": {"role": "identifier"}}
    with monkeypatch.context() as patch:
        patch.setattr(Retained, "delete", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            retain(policy, NOW)
    ask(url, "DELETE FROM visits WHERE illness = '7'", "INSERT INTO visits VALUES (900, '2026-01-08 12:00:00', 7, 'Ulm', 'late')")
    for key in (["id"], ["age", "id"]):
        changed = {**policy, "retention": {**policy["retention"], "key": key}}
        found = retain(changed, NOW).batches
        assert [(batch.outcome, batch.deleted) for batch in found if batch.outcome == "finished"] == ([("finished", 39)] if key == ["id"] else [])

    assert ask(url, "SELECT illness FROM visits") == [("late",)]


def test_rows_that_another_archive_may_have_are_not_archived_again(visits: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 40})
    with monkeypatch.context() as patch:
        patch.setattr(Retained, "delete", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            retain(policy, NOW)
    ask(url, "DROP TABLE IF EXISTS archive_too")
    other = {**policy, "sink": {"sql": component(url, "archive_too")}}
    with pytest.raises(DataError) as caught:
        retain(other, NOW)

    assert caught.value.code == "retention-elsewhere"
    assert (counted(url, "visits"), counted(url, "archive")) == (40, 40)
    if "127.0.0.1" in policy["source"]["sql"]["url"]:
        # the same table, by another address
        source = policy["source"]["sql"]
        with pytest.raises(DataError) as caught:
            retain({**policy, "source": {"sql": {**source, "url": source["url"].replace("127.0.0.1", "localhost")}}}, NOW)
        assert caught.value.code == "retention-elsewhere"
    assert [batch.outcome for batch in retain(policy, NOW).batches] == ["finished"]
    assert retain(other, NOW).batches == []
    assert not left_over(url, policy)


def test_a_list_of_keys_that_is_gone_stops_everything(visits: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 40, 2: 30})
    with monkeypatch.context() as patch:
        patch.setattr(Retained, "delete", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            retain(policy, NOW)
    source = Sql(**policy["source"]["sql"])
    with source.connected() as connection:
        retained = retained_of(connection, policy)
        retained.forget(retained.keys_of("2026-01"))

    with pytest.raises(DataError) as caught:
        retain(policy, NOW)
    assert caught.value.code == "retention-keys"
    assert counted(url, "visits") == 70
    assert counted(url, "archive") == 40


def retained_of(connection: Any, policy: dict[str, Any]) -> Retained:
    source, sink = (Sql(**policy[name]["sql"]) for name in ("source", "sink"))
    return Retained(connection, source.table_name, "seen", ["id"], way_of(source, sink))


def left_over(url: str, policy: dict[str, Any]) -> list[str]:
    """Return the lists of keys that are still there, and other tables of which nobody should know."""
    names = [str(row[0]) for row in ask(url, f"SELECT table_name FROM information_schema.tables WHERE table_schema = {first_schema(url)}")]
    found = [name for name in names if name.startswith(("retained_", "sfumato_")) and name != "sfumato_ledger"]
    source = Sql(**policy["source"]["sql"])
    with source.connected() as connection:
        retained = retained_of(connection, policy)
        keys = [retained.keys_of(batch) for batch in ("2026-01", "2026-02", "2026-03")]
        return [*found, *(str(each) for each in keys if retained.has(each))]


@pytest.mark.slow
def test_no_row_is_lost_or_archived_twice_however_often_the_process_is_killed(visits: Made, url: str, tmp_path: Path) -> None:
    policy = visits(dict.fromkeys(range(1, 5), 60), retention={"chunk": 5})
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(policy))
    command = [sys.executable, "-m", "sfumato", "retain", str(path), "--now", "2026-12-31"]
    for number in range(5):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
        time.sleep(0.4 + 0.3 * number)
        process.send_signal(signal.SIGKILL)
        process.wait()
    last = subprocess.run(command, capture_output=True, text=True, check=False)

    assert last.returncode == 0, last.stderr
    assert counted(url, "visits") == 0
    found = ask(url, "SELECT sfumato_batch, COUNT(*) FROM archive GROUP BY sfumato_batch ORDER BY 1")
    assert [tuple(row) for row in found] == [(f"2026-{month:02}", 60) for month in range(1, 5)]


@pytest.mark.parametrize(
    ("changes", "kind", "code"),
    [
        ({"retention": {"column": "when"}}, DataError, "retention-column"),
        ({"retention": {"column": "age"}}, DataError, "retention-time"),
        ({"retention": {"key": ["town"]}}, SfumatoError, "retention-key"),
        ({"retention": {"key": ["nothing"]}}, DataError, "retention-column"),
    ],
)
def test_what_cannot_be_retained_is_told(visits: Made, url: str, changes: Any, kind: type[SfumatoError], code: str) -> None:
    policy = visits(**changes)
    with pytest.raises(kind) as caught:
        retain(policy, NOW)

    assert caught.value.code == code
    assert "Bremen" not in str(caught.value)
    assert counted(url, "visits") == 175
    assert not left_over(url, policy)


@pytest.mark.parametrize("kind", ["timestamp", "date", "timestamptz"])
def test_rows_whose_time_is_infinite_stay_and_are_told(postgresql_url: str, kind: str) -> None:
    policy = visits_of(postgresql_url)(kind=kind)
    ask(postgresql_url, "INSERT INTO visits VALUES (900, 'infinity', 30, 'Ulm', 'i1'), (901, '-infinity', 30, 'Ulm', 'i1')")
    outcome = retain(policy, now=NOW)
    assert ([batch.name for batch in outcome.batches], outcome.without_time) == (["2026-01", "2026-02", "2026-03"], 2)
    assert counted(postgresql_url, "visits WHERE id >= 900") == 2


@pytest.mark.parametrize("key", [None, ["id"]])
def test_a_table_that_keeps_what_is_deleted_is_refused(mariadb_url: str, key: list[str] | None) -> None:
    policy = visits_of(mariadb_url)(retention={"key": key} if key else {})
    ask(mariadb_url, "ALTER TABLE visits ADD SYSTEM VERSIONING")
    with pytest.raises(UnreachableError, match="visits keeps the history of its rows, system versioning, and with it all that would be deleted"):
        retain(policy, now=NOW)
    assert counted(mariadb_url, "visits") == 175


def test_a_table_without_a_key_is_told(visits: Made, url: str) -> None:
    policy = visits({1: 20})
    ask(url, "CREATE TABLE keyless AS SELECT * FROM visits", "DROP TABLE visits", "ALTER TABLE keyless RENAME TO visits")
    with pytest.raises(UnreachableError) as caught:
        retain(policy, NOW)
    assert caught.value.code == "retention-key"
    ask(url, "CREATE UNIQUE INDEX visits_id ON visits (id)")
    assert [batch.outcome for batch in retain({**policy, "retention": {**policy["retention"], "key": ["id"]}}, NOW).batches] == ["archived"]


def test_rows_to_which_others_refer_are_told_before_anything_is_archived(visits: Made, url: str) -> None:
    policy = visits({1: 20})
    reference = "CREATE TABLE bills (visit INTEGER, FOREIGN KEY (visit) REFERENCES visits (id){})"
    ask(url, reference.format(""))
    try:
        with pytest.raises(UnreachableError) as caught:
            retain(policy, NOW)
        assert caught.value.code == "retention-referenced"
        assert "bills" in str(caught.value)
        assert columns_of(url, "archive") == []
    finally:
        ask(url, "DROP TABLE bills")


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def server(request: pytest.FixtureRequest) -> str:
    """A database whose foreign keys delete; those of files refuse it."""
    return str(request.getfixturevalue(f"{request.param}_url"))


CHAIN = (
    "CREATE TABLE bills (id INTEGER PRIMARY KEY, visit INTEGER, FOREIGN KEY (visit) REFERENCES visits (id) ON DELETE CASCADE)",
    "CREATE TABLE items (bill INTEGER, FOREIGN KEY (bill) REFERENCES bills (id) ON DELETE CASCADE)",
    "CREATE TABLE calls (visit INTEGER, FOREIGN KEY (visit) REFERENCES visits (id) ON DELETE SET NULL)",
    "INSERT INTO bills SELECT id, id FROM visits WHERE id <= 12",
    "INSERT INTO items SELECT id FROM bills",
    "INSERT INTO items SELECT id FROM bills",
    "INSERT INTO calls SELECT id FROM visits WHERE id <= 5",
)


@pytest.mark.parametrize("chunk", [7, 1000])
def test_rows_of_others_go_along_only_where_the_policy_says_so_and_are_counted(server: str, chunk: int, tmp_path: Path) -> None:
    made = visits_of(server)
    policy = made({1: 10, 2: 20}, retention={"chunk": chunk})
    policy["sink"]["sql"]["record"] = str(tmp_path / "record.json")
    ask(server, *CHAIN)
    try:
        for work in (lambda: retain(policy, NOW), lambda: sfumato.plan(policy)):
            with pytest.raises(UnreachableError) as caught:
                work()
            assert caught.value.code == "retention-cascade"
            assert all(name in caught.value.message for name in ("bills", "items", "calls"))
        assert (counted(server, "visits"), counted(server, "items"), columns_of(server, "archive")) == (30, 24, [])

        policy["retention"]["cascade"] = "accept"
        steps = sfumato.plan(policy).steps
        outcome = retain(policy, NOW)
        left = [counted(server, table) for table in ("visits", "bills", "items", "calls")]
    finally:
        ask(server, "DROP TABLE items", "DROP TABLE bills", "DROP TABLE calls")

    assert any("bills" in step and "by foreign keys" in step for step in steps)
    assert [{(gone.table.name, gone.rows, gone.becomes) for gone in batch.along} for batch in outcome.batches] == [
        {("bills", 10, "deleted"), ("items", 20, "deleted"), ("calls", 5, "emptied")},
        {("bills", 2, "deleted"), ("items", 4, "deleted")},
    ]
    assert left == [0, 0, 0, 5]
    notes = json.loads((tmp_path / "record.2026-02.json").read_text())["notes"]
    assert any("4 rows of" in note and "items deleted with them" in note for note in notes)


def test_foreign_keys_that_delete_in_a_circle_are_refused(server: str) -> None:
    policy = visits_of(server)({1: 20}, retention={"cascade": "accept"})
    ask(server, "CREATE TABLE bills (id INTEGER PRIMARY KEY, visit INTEGER, FOREIGN KEY (visit) REFERENCES visits (id) ON DELETE CASCADE)")
    ask(
        server,
        "ALTER TABLE visits ADD COLUMN bill INTEGER",
        "ALTER TABLE visits ADD CONSTRAINT c FOREIGN KEY (bill) REFERENCES bills (id) ON DELETE CASCADE",
    )
    policy["columns"]["bill"] = {"role": "identifier"}
    try:
        with pytest.raises(UnreachableError) as caught:
            retain(policy, NOW)
    finally:
        drop = "DROP FOREIGN KEY" if server.startswith("mariadb") else "DROP CONSTRAINT"
        ask(server, f"ALTER TABLE visits {drop} c", "DROP TABLE bills")

    assert caught.value.code == "retention-cascade"
    assert "in a circle" in caught.value.message


@pytest.mark.parametrize("action", ["", " ON DELETE CASCADE"])
def test_rows_that_stay_and_refer_to_older_ones_of_their_table_are_not_deleted(server: str, action: str) -> None:
    policy = visits_of(server)({1: 20, 6: 10}, retention={"cascade": "accept"})
    ask(server, "ALTER TABLE visits ADD COLUMN before_it INTEGER", f"ALTER TABLE visits ADD FOREIGN KEY (before_it) REFERENCES visits (id){action}")
    ask(server, "UPDATE visits SET before_it = 3 WHERE id = 25")
    policy["columns"]["before_it"] = {"role": "identifier"}
    with pytest.raises(UnreachableError) as caught:
        retain(policy, NOW)

    assert caught.value.code == "retention-referenced"
    assert (counted(server, "visits"), columns_of(server, "archive")) == (30, [])


def test_triggers_that_act_on_deleted_and_archived_rows_are_told(server: str, tmp_path: Path) -> None:
    policy = visits_of(server)({1: 20, 2: 20})
    policy["sink"]["sql"]["record"] = str(tmp_path / "record.json")
    if server.startswith("postgresql"):
        ask(server, "CREATE OR REPLACE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'")
        ask(server, "CREATE TRIGGER seen_going BEFORE DELETE ON visits FOR EACH ROW EXECUTE FUNCTION noted()")
        ask(server, "CREATE TRIGGER seen_coming AFTER INSERT ON visits FOR EACH ROW EXECUTE FUNCTION noted()")
    else:
        ask(server, "CREATE TRIGGER seen_going BEFORE DELETE ON visits FOR EACH ROW SET @gone = 1")
        ask(server, "CREATE TRIGGER seen_coming BEFORE INSERT ON visits FOR EACH ROW SET @come = 1")
    steps = sfumato.plan(policy).steps
    retain(policy, NOW)
    notes = json.loads((tmp_path / "record.2026-01.json").read_text())["notes"]

    assert any("the trigger seen_going acts by itself" in step for step in steps)
    assert any("the trigger seen_going acts by itself" in note for note in notes)
    assert not any("seen_coming" in words for words in (*steps, *notes))


def test_policies_that_retain_nothing_are_refused(visits: Made) -> None:
    policy = visits()
    without = {key: value for key, value in policy.items() if key != "retention"}
    for wrong in (without, {**policy, "sink": "release.csv"}):
        with pytest.raises(PolicyError) as caught:
            retain(wrong, NOW)
        assert "policy-retention" in str(caught.value)
    with pytest.raises(PolicyError, match="older_than"):
        retain({**policy, "retention": {"column": "seen", "older_than": "soon"}}, NOW)


def test_an_archive_of_other_columns_is_refused(visits: Made, url: str) -> None:
    policy = visits({1: 20})
    ask(url, "CREATE TABLE archive (something INTEGER)")
    with pytest.raises(UsageError) as caught:
        retain(policy, NOW)
    assert caught.value.code == "archive-columns"
    assert counted(url, "visits") == 20
    assert counted(url, "archive") == 0


INSTANT = "'2026-01-01 10:11:12.345'"
ALTERED = [
    ("timestamp(6)", "date", INSTANT),
    ("timestamp(6)", "timestamp(0)", INSTANT),
    ("double precision", "real", "0.1"),
    ("numeric(10, 4)", "numeric(10, 2)", "0.1234"),
    ("integer", "bigint", "7"),
    ("varchar(20)", "varchar(40)", "'x'"),
]
TYPES = {
    "mariadb": {"timestamp(6)": "datetime(6)", "timestamp(0)": "datetime", "real": "float"},
    "duckdb": {"timestamp(6)": "timestamp", "timestamp(0)": "timestamp_s"},
}


@pytest.mark.parametrize(("kind", "altered", "value"), ALTERED)
def test_an_archive_of_altered_columns_is_refused_where_they_would_change_values(visits: Made, url: str, kind: str, altered: str, value: str) -> None:
    policy = visits({1: 40, 5: 30})
    policy["columns"]["more"] = {"role": "other"}
    types = TYPES.get("mariadb" if url.startswith("mysql") else url.partition(":")[0], {})
    ask(url, f"ALTER TABLE visits ADD COLUMN more {types.get(kind, kind)}", f"UPDATE visits SET more = {value}")
    retain(policy, NOW)
    alter = "MODIFY more" if url.startswith(("mariadb", "mysql")) else "ALTER COLUMN more TYPE"
    ask(url, f"ALTER TABLE archive {alter} {types.get(altered, altered)}")
    later = NOW + datetime.timedelta(days=90)
    if kind in ("integer", "varchar(20)"):
        assert [batch.outcome for batch in retain(policy, later).batches] == ["archived"]
        return
    with pytest.raises(UsageError) as caught:
        retain(policy, later)

    assert caught.value.code == "archive-columns"
    assert (counted(url, "visits"), counted(url, "archive")) == (30, 40)


def test_other_errors_than_too_few_rows_stop_and_leave_everything(visits: Made, url: str) -> None:
    policy = visits({1: 600, 3: 400})
    policy["columns"]["id"] = {"role": "other"}
    with pytest.raises(PromiseError) as caught:
        retain(policy, NOW)
    assert caught.value.code == "singling-out"
    assert counted(url, "visits") == 1000


def test_sfumato_run_does_not_delete(visits: Made, url: str) -> None:
    with pytest.raises(PolicyError, match="sfumato retain"):
        sfumato.run(visits({1: 20}))
    assert counted(url, "visits") == 20
