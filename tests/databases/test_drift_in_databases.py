"""Drift of releases that are not a copy: a table that was masked where it is, and a view that shows it live."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli.app import app
from sfumato.engine.drift import drift
from sfumato.engine.live_view import begun
from sfumato.engine.plan import make_plans
from sfumato.engine.retain import retain
from tests.databases.kills import Copy, InPlace, LiveView
from tests.databases.test_retention import NOW, visits_of
from tests.servers import ask, component


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


def test_a_live_view_that_somebody_has_replaced_is_told(url: str) -> None:
    trial = LiveView(url)
    try:
        policy = trial.prepare()
        sfumato.run(policy)
        ask(url, "DROP VIEW people_view", "CREATE VIEW people_view AS SELECT town, illness FROM people")
        told = [(each.what, each.words) for each in drift(policy).found if "no longer granted" not in each.words]
        assert told == [("release", "the view is another one than the last run has made: it shows what nobody has verified")]
    finally:
        trial.close()


def drifted(policy: dict[str, Any]) -> list[str]:
    found = drift(policy).found
    assert {each.what for each in found} <= {"release"}
    return [each.words for each in found]


@pytest.fixture
def over_a_view(url: str) -> Iterator[tuple[LiveView, dict[str, Any]]]:
    """A live view over a view of people, just made."""
    trial = LiveView(url)
    policy = trial.prepare()
    ask(url, "DROP VIEW IF EXISTS all_people", "CREATE VIEW all_people AS SELECT age, town, illness FROM people")
    policy["source"]["sql"]["table"] = "all_people"
    policy["columns"]["illness"]["mask"] = {"shorten": {"length": 1}}
    sfumato.run(policy)
    assert drifted(policy) == []
    yield trial, policy
    ask(url, "DROP VIEW IF EXISTS people_view", "DROP VIEW all_people")
    trial.close()


def test_a_source_of_a_live_view_that_no_live_view_could_have_now_is_told(url: str, over_a_view: tuple[LiveView, dict[str, Any]]) -> None:
    _, policy = over_a_view
    other = "CAST(upper(illness) AS varchar(20))" if url.startswith("postgresql") else "illness COLLATE utf8mb4_bin"
    ask(url, f"CREATE OR REPLACE VIEW all_people AS SELECT age, town, {other} AS illness FROM people")
    words = (
        "columns.illness.mask: is made of illness, which is not known to be stored in a table as it is read, so that settings of whoever reads the "
        "view could change it [policy-live-view]"
    )
    assert drifted(policy) == [words]


@pytest.mark.parametrize("table", ["people", "all_people"])
def test_a_role_of_a_live_view_that_may_read_its_source_now_is_told(url: str, over_a_view: tuple[LiveView, dict[str, Any]], table: str) -> None:
    trial, policy = over_a_view
    ask(url, f"GRANT SELECT ON {table} TO {trial.role}")
    (words,) = drifted(policy)
    assert words.startswith(f"{trial.role} may read ")
    assert words.endswith("so that a masked view of it would hide nothing [live-view-role]")
    ask(url, f"REVOKE SELECT ON {table} FROM {trial.role}")
    assert drifted(policy) == []


def test_a_live_view_that_was_granted_to_others_or_taken_from_its_roles_is_told(url: str, over_a_view: tuple[LiveView, dict[str, Any]]) -> None:
    trial, policy = over_a_view
    other = "sfumato_other_reader" if url.startswith("mysql") else "PUBLIC"
    ask(url, *([f"CREATE ROLE {other}"] if url.startswith("mysql") else []))
    try:
        ask(url, f"GRANT SELECT ON people_view TO {other}")
        beside = f"the view has been granted to {other} beside the roles of the policy"
        assert drifted(policy) == [beside]
        ask(url, f"REVOKE SELECT ON people_view FROM {trial.role}")
        assert drifted(policy) == [beside, f"the view is no longer granted to {trial.role}, as the policy says"]
        sfumato.run(policy)
        assert drifted(policy) == []
    finally:
        ask(url, *([f"DROP ROLE {other}"] if url.startswith("mysql") else []))


def test_drift_does_not_wait_for_a_run(url: str, over_a_view: tuple[LiveView, dict[str, Any]]) -> None:
    _, policy = over_a_view
    with begun(make_plans(policy)):
        assert drifted(policy) == []


def test_a_copy_that_has_a_column_more_than_was_published_is_told(url: str) -> None:
    policy = Copy(url).prepare()
    sfumato.run(policy)
    table = policy["sink"]["sql"]["table"]
    ask(url, f"ALTER TABLE {table} ADD COLUMN name varchar(20)")
    told = [(each.what, each.words) for each in drift(policy).found]
    assert told == [("release", "the release has other columns than were published: name is new")]


def test_a_copy_whose_values_were_changed_within_its_promises_is_told(url: str) -> None:
    policy = Copy(url).prepare()
    sfumato.run(policy)
    assert drift(policy).found == []
    table = policy["sink"]["sql"]["table"]
    ask(url, f"UPDATE {table} SET town = 'Ulm'")
    told = [(each.what, each.words) for each in drift(policy).found]
    assert told == [("release", "the release holds other values than were published")]


KINDS = {
    "decimal(6, 2)": "12.50",
    "double precision": "0.1",
    "real": "0.1",
    "char(5)": "'ab'",
    "date": "'2020-01-31'",
    "timestamp": "'2020-01-31 12:30:00'",
    "smallint": "7",
    "boolean": "true",
}


@pytest.mark.parametrize("server", ["postgresql", "mariadb", "duckdb"])
def test_a_copy_does_not_drift_whatever_types_promises_look_at(server: str, request: pytest.FixtureRequest) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    values = [", ".join(value if number % 3 else "NULL" for value in KINDS.values()) for number in range(60)]
    ask(url, "DROP TABLE IF EXISTS kinds", f"CREATE TABLE kinds (age integer, {', '.join(f'c{place} {kind}' for place, kind in enumerate(KINDS))})")
    ask(url, f"INSERT INTO kinds VALUES {', '.join(f'({20 + number % 7}, {row})' for number, row in enumerate(values))}")
    columns = {"age": {"role": "quasi_identifier"}, **{f"c{place}": {"role": "sensitive"} for place in range(len(KINDS))}}
    promises = [{"k_anonymity": {"k": 2}}, *({"l_diversity": {"column": f"c{place}", "l": 2}} for place in range(len(KINDS)))]
    policy = {"source": {"sql": component(url, "kinds")}, "sink": {"sql": component(url, "kinds_out")}, "columns": columns, "promises": promises}
    sfumato.run(policy)
    assert drift(policy).found == []


def test_an_archive_of_several_batches_is_held_against_its_ledger_and_an_emptied_source_is_as_it_must_be(url: str) -> None:
    policy = visits_of(url)(months={1: 40, 2: 30})
    retain(policy, now=NOW)
    assert ask(url, "SELECT COUNT(*) FROM visits") == [(0,)]
    assert drift(policy).found == []
    ask(url, "DELETE FROM archive WHERE sfumato_batch = '2026-02'")
    assert [(each.what, each.words) for each in drift(policy).found] == [
        ("release", "batch 2026-02 of the archive has 0 rows, and its ledger says 30")
    ]


@pytest.mark.parametrize("batch", ["'Bremen'", "NULL"])
def test_rows_of_an_archive_that_were_moved_to_another_batch_are_told(url: str, batch: str) -> None:
    policy = visits_of(url)(months={1: 40, 2: 30})
    retain(policy, now=NOW)
    if url.startswith(("mariadb", "mysql")):
        ask(url, "ALTER TABLE archive MODIFY sfumato_batch VARCHAR(190) NULL")
    ask(url, f"UPDATE archive SET sfumato_batch = {batch} WHERE sfumato_batch = '2026-02'")
    moved = [("release", "batch 2026-02 of the archive has 0 rows, and its ledger says 30")]
    assert [(each.what, each.words) for each in drift(policy).found] == [
        *moved,
        ("release", "the archive has 30 rows of no batch that is in its ledger"),
    ]

    ask(url, "UPDATE archive SET sfumato_batch = '2026-01'")
    assert drift(policy).found[0].words == "batch 2026-01 of the archive has 70 rows, and its ledger says 40"


def test_what_is_not_compared_is_told(url: str) -> None:
    policy = Copy(url).prepare()
    policy["columns"]["town"] = {"role": "other", "accept": "warnings"}
    sfumato.run(policy)
    outcome = drift(policy)

    assert outcome.found == []
    assert "town" in outcome.unlooked
    assert "age" not in outcome.unlooked


def test_the_last_line_claims_nothing_of_what_was_not_compared(url: str, tmp_path: Path) -> None:
    policy = Copy(url).prepare()
    policy["columns"]["town"] = {"role": "other", "accept": "warnings"}
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(policy))
    sfumato.run(path)
    told = CliRunner().invoke(app, ["drift", str(path)])

    assert told.exit_code == 0
    assert "the values of town" in told.stdout
    assert told.stdout.splitlines()[-1] == "nothing of what was compared has drifted"


def test_columns_that_no_longer_fit_are_told_with_the_types_that_changed_and_the_release_that_is_known(url: str) -> None:
    trial = Copy(url)
    policy = trial.prepare()
    sfumato.run(policy)
    ask(url, "ALTER TABLE people ADD COLUMN extra INTEGER")
    if url.startswith("postgresql"):
        ask(url, "ALTER TABLE people ALTER COLUMN age TYPE text")
    else:
        ask(url, "ALTER TABLE people MODIFY COLUMN age VARCHAR(20)")
    outcome = drift(policy)

    assert outcome.since is not None
    assert [each.what for each in outcome.found] == ["schema", "schema"]
    assert "extra" in outcome.found[0].words
    assert "column age was of type integer of 32 bits and is of type text" in outcome.found[1].words
    ask(url, "DROP TABLE people")
