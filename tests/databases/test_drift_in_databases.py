"""Drift of releases that are not a copy: a table that was masked where it is, and a view that shows it live."""

from __future__ import annotations

import pytest

import sfumato
from sfumato.engine.drift import drift
from tests.databases.kills import InPlace, LiveView
from tests.servers import ask


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def test_a_table_that_was_masked_in_place_drifts_only_when_rows_come_that_are_not_masked(url: str) -> None:
    trial = InPlace(url)
    try:
        policy = trial.prepare()
        sfumato.run(policy)
        assert drift(policy).found == []
        ask(url, "INSERT INTO patients VALUES (900, 'name 900', 'Ulm', 33, 'i1')")
        told = [(each.what, each.words) for each in drift(policy).found]
        assert told == [("release", "the release has 201 rows, and its record says 200: those that came since are not masked")]
    finally:
        trial.close()


def test_a_live_view_does_not_drift_when_its_table_gets_rows_and_does_when_it_is_gone(url: str) -> None:
    trial = LiveView(url)
    try:
        policy = trial.prepare()
        sfumato.run(policy)
        ask(url, "INSERT INTO people VALUES (33, 'Ulm', 'i1')")
        assert drift(policy).found == []
        ask(url, "DROP VIEW people_view")
        assert [each.what for each in drift(policy).found] == ["release"]
    finally:
        trial.close()
