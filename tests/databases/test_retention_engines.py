"""Retention on MySQL and MariaDB where tables have no transactions: what is deleted could not be had back, and what is refused would stay."""

from __future__ import annotations

import pytest

import sfumato
from sfumato.databases.retained import Retained
from sfumato.engine.retain import retain
from sfumato.errors import PromiseError, UnreachableError
from tests.databases.test_retention import NOW, columns_of, counted, visits_of
from tests.servers import ask


@pytest.fixture(params=["mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


ENGINES = ["MyISAM", "Aria", "MEMORY"]


def given(url: str, engine: str) -> None:
    if engine == "Aria" and url.startswith("mysql"):
        pytest.skip("MySQL has no Aria; tried on MariaDB")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_without_transactions_is_not_retained(url: str, engine: str) -> None:
    given(url, engine)
    policy = visits_of(url)({1: 20}, retention={"chunk": 1000})
    ask(url, f"ALTER TABLE visits ENGINE = {engine}")
    for work in (lambda: retain(policy, NOW), lambda: sfumato.plan(policy)):
        with pytest.raises(UnreachableError) as caught:
            work()
        assert caught.value.code == "retention-engine"
        assert f"visits is of the engine {engine}, which has no transactions" in caught.value.message
    assert (counted(url, "visits"), columns_of(url, "archive")) == (20, [])


# the key of a ledger is longer than MyISAM takes
@pytest.mark.parametrize(
    ("altered", "engine"), [*(("archive", engine) for engine in ENGINES), ("sfumato_ledger", "Aria"), ("sfumato_ledger", "MEMORY")]
)
def test_an_archive_without_transactions_is_refused_before_anything_is_appended(url: str, altered: str, engine: str) -> None:
    given(url, engine)
    policy = visits_of(url)({1: 20, 5: 20})
    retain(policy, NOW)
    # MEMORY takes no long texts
    shorter = "".join(f"MODIFY {name} VARCHAR(20), " for name in ("age", "town", "illness")) if altered == "archive" else ""
    ask(url, f"ALTER TABLE {altered} {shorter}ENGINE = {engine}")
    before = counted(url, "archive")
    later = NOW.replace(year=2027)
    for work in (lambda: retain(policy, later), lambda: sfumato.plan(policy)):
        with pytest.raises(UnreachableError) as caught:
            work()
        assert caught.value.code == "retention-engine"
    assert (counted(url, "visits"), counted(url, "archive"), counted(url, "sfumato_ledger")) == (20, before, 1)


def test_an_archive_that_is_altered_meanwhile_keeps_no_batch_that_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits_of(url)({1: 20, 5: 20})
    retain(policy, NOW)
    ask(url, "INSERT INTO archive VALUES ('99', 'alone', 'i1', '2025-01')")
    read = Retained.read

    def altered(self: Retained, *given: object) -> object:
        ask(url, "ALTER TABLE archive ENGINE = MyISAM")
        return read(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Retained, "read", altered)
    with pytest.raises((UnreachableError, PromiseError)) as caught:
        retain(policy, NOW.replace(year=2027))
    assert caught.value.code == "retention-engine"
    assert (counted(url, "visits"), counted(url, "archive")) == (20, 21)


def test_rows_of_a_view_are_deleted_in_one_transaction_with_their_batch(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits_of(url)({1: 20}, retention={"chunk": 1000, "key": ["id"]})
    ask(url, "DROP VIEW IF EXISTS visits_seen", "CREATE VIEW visits_seen AS SELECT * FROM visits")
    policy["source"]["sql"]["table"] = "visits_seen"
    monkeypatch.setattr(Retained, "delete", lambda *_: 1 / 0)

    assert [(batch.outcome, batch.deleted) for batch in retain(policy, NOW).batches] == [("archived", 20)]
    assert (counted(url, "visits"), counted(url, "archive")) == (0, 20)
    ask(url, "DROP VIEW visits_seen")
