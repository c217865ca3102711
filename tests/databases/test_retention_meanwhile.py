"""Retention while others write: only rows that were read, and are archived, are deleted; what could not be is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.retain import retain as print_retained
from sfumato.databases.retained import Retained
from sfumato.engine import retain as engine
from sfumato.engine.retain import retain
from tests.databases.test_retention import NOW, Made, columns_of, counted, visits_of
from tests.servers import ask, connect

LATER = "where they are in the source they stay for the next run"


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    """A server to which others write; a file of DuckDB is open once."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def visits(url: str) -> Made:
    return visits_of(url)


class Application:
    """Somebody who replaces rows: they are deleted by one transaction, and come back by another."""

    def __init__(self, url: str, chosen: str) -> None:
        self._url, self._chosen = url, chosen
        ask(url, "DROP TABLE IF EXISTS aside", f"CREATE TABLE aside AS SELECT * FROM visits WHERE {chosen}")

    def delete(self) -> None:
        ask(self._url, f"DELETE FROM visits WHERE {self._chosen}")

    def insert(self) -> None:
        ask(self._url, "INSERT INTO visits SELECT * FROM aside")


def before(monkeypatch: pytest.MonkeyPatch, target: Any, name: str, deed: Any) -> None:
    """Let something happen before a method does its work."""
    real = getattr(target, name)

    def done(*given: Any, **named: Any) -> Any:
        deed()
        return real(*given, **named)

    monkeypatch.setattr(target, name, done)


def before_reading(monkeypatch: pytest.MonkeyPatch, deed: Any) -> None:
    real = Retained.read

    def read(*given: Any) -> Iterator[Any]:
        deed()
        yield from real(*given)

    monkeypatch.setattr(Retained, "read", read)


@pytest.mark.parametrize("chunk", [7, 1000])
def test_rows_that_were_not_there_when_the_others_were_read_are_not_deleted(
    visits: Made, url: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = visits({1: 40}, retention={"chunk": chunk})
    policy["sink"]["sql"]["record"] = str(tmp_path / "record.json")
    application = Application(url, "id > 30 OR id = 5")
    with monkeypatch.context() as patch:
        before_reading(patch, application.delete)
        before(patch, engine._Work, "_release", application.insert)
        (batch,) = retain(policy, NOW).batches

    assert (batch.outcome, batch.rows, batch.deleted, batch.missing) == ("archived", 29, 29, 0)
    assert (counted(url, "visits"), counted(url, "archive")) == (11, 29)
    (note,) = [note for note in json.loads((tmp_path / "record.2026-01.json").read_text())["notes"] if LATER in note]
    assert note.startswith("11 rows of the period had gone, or had another time, when the others were read")
    assert [(late.name, late.deleted) for late in retain(policy, NOW).batches] == [("2026-01/2", 11)]
    assert (counted(url, "visits"), counted(url, "archive")) == (0, 40)


def test_rows_that_were_not_read_are_not_deleted_by_the_next_run_either(visits: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 40})
    application = Application(url, "id > 30")
    with monkeypatch.context() as patch:
        before_reading(patch, application.delete)
        before(patch, engine._Work, "_release", application.insert)
        patch.setattr(Retained, "delete", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            retain(policy, NOW)
    found = retain(policy, NOW).batches

    assert [(batch.outcome, batch.deleted) for batch in found] == [("finished", 30), ("archived", 10)]
    assert (counted(url, "visits"), counted(url, "archive")) == (0, 40)


def test_rows_that_were_not_read_are_not_deleted_for_being_too_few(visits: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 30}, retention={"too_small": "delete"})
    application = Application(url, "id > 3")
    with monkeypatch.context() as patch:
        before_reading(patch, application.delete)
        before(patch, engine._Work, "_too_few", application.insert)
        (batch,) = retain(policy, NOW).batches

    assert (batch.outcome, batch.rows, batch.deleted) == ("deleted", 3, 3)
    assert counted(url, "visits") == 27


def test_a_period_of_which_all_rows_have_gone_is_no_batch(visits: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 20})
    before_reading(monkeypatch, Application(url, "1 = 1").delete)

    assert retain(policy, NOW).batches == []
    assert columns_of(url, "archive") == []


@pytest.mark.parametrize("chunk", [7, 1000])
def test_archived_rows_that_had_gone_before_they_were_deleted_are_told(
    visits: Made, url: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = visits({1: 40}, retention={"chunk": chunk})
    policy["sink"]["sql"]["record"] = str(tmp_path / "record.json")
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    application = Application(url, "id > 36")
    with monkeypatch.context() as patch:
        before(patch, Retained, "delete_within" if chunk == 1000 else "delete", application.delete)
        print_retained(tmp_path / "policy.yaml", NOW.isoformat(), "text")
    application.insert()
    told = (
        "4 rows of the batch had gone from the source, or had another time, before being deleted there; what somebody puts back is archived once more"
    )

    assert capsys.readouterr().out.splitlines()[:2] == ["2026-01: 40 rows archived; 36 rows deleted from the source", f"  {told}"]
    assert told in json.loads((tmp_path / "record.2026-01.json").read_text())["notes"]
    assert (counted(url, "visits"), counted(url, "archive")) == (4, 40)


@pytest.mark.parametrize("chunk", [7, 1000])
def test_rows_that_are_replaced_just_when_they_are_deleted_go_and_nobody_is_blamed(
    visits: Made, url: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = visits({1: 40}, retention={"chunk": chunk})
    Application(url, "id = 5")
    with closing(connect(url)) as other, closing(other.cursor()) as cursor:
        waiting = threading.Timer(1.5, cursor.execute, ["COMMIT"])

        def replace() -> None:
            if not waiting.is_alive() and not waiting.finished.is_set():
                cursor.execute("BEGIN")
                cursor.execute("DELETE FROM visits WHERE id = 5")
                cursor.execute("INSERT INTO visits SELECT * FROM aside")
                waiting.start()

        before(monkeypatch, Retained, "_delete_chosen", replace)
        (batch,) = retain(policy, NOW).batches
        waiting.join()

    assert (batch.deleted, batch.missing) == (40, 0)
    assert (counted(url, "visits"), counted(url, "archive")) == (0, 40)
