"""Readers who let a column of the source compute something else, by a setting of their session, so that a mask no longer hides what it should."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sfumato
from sfumato.errors import PolicyError
from tests.databases.test_live_view import Audience
from tests.servers import ask, component

pytestmark = pytest.mark.slow

COMPUTED = {"postgresql": "to_char(at, '\"D\"DD')", "mysql": "DATE_FORMAT(at, 'D%d')"}


@pytest.fixture(params=["postgresql", "postgresql18", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    found = str(request.getfixturevalue(f"{request.param}_url"))
    kind = "timestamptz" if found.startswith("postgresql") else "timestamp"
    ask(
        found,
        f"CREATE TABLE people (id integer, ward varchar(20), at {kind}, secret varchar(20))",
        "CREATE TABLE wards (ward varchar(20), chief varchar(20))",
    )
    ask(found, "INSERT INTO people VALUES (1, 'w1', '2024-01-01 12:00:00', 'cancer')", "INSERT INTO wards VALUES ('D01', 'Ann')")
    yield found
    for what in ("VIEW seen", "VIEW upper_view", "VIEW lower_view", "TABLE people", "TABLE wards"):
        ask(found, f"DROP {what.split()[0]} IF EXISTS {what.split()[1]}")


@pytest.fixture
def nurse(url: str) -> Iterator[Audience]:
    audience = Audience(url)
    yield audience
    audience.leave()


def computed(url: str) -> str:
    return COMPUTED["postgresql" if url.startswith("postgresql") else "mysql"]


def shown(url: str, role: str, source: str, read: str) -> Any:
    """Publish a live view whose condition reads a column."""
    when = {"column": read, "equals": "w1"}
    columns = {"secret": {"role": "other", "mask": {"constant": {"value": "hidden"}}, "when": when}, "id": {"role": "other"}}
    columns |= {read: {"role": "identifier"}}
    given = {
        "name": "test",
        "source": {"sql": component(url, source)},
        "columns": columns,
        "unnamed": "remove",
        "sink": {"live_view": {**component(url, "seen"), "roles": [role]}},
    }
    return sfumato.run(given)


def refused(url: str, role: str, source: str, read: str) -> str:
    with pytest.raises(PolicyError) as caught:
        shown(url, role, source, read)
    assert caught.value.code == "policy-live-view"
    return str(caught.value)


def test_a_condition_on_what_a_view_computes_is_refused(url: str, nurse: Audience) -> None:
    ask(url, f"CREATE VIEW upper_view AS SELECT id, {computed(url)} AS day, secret FROM people")
    error = refused(url, nurse.role, "upper_view", "day")

    assert "columns.secret.mask: is made of day, which is not known to be stored in a table as it is read" in error
    assert "a view that only names its columns" in error


def test_a_condition_on_what_a_view_beneath_computes_is_refused(url: str, nurse: Audience) -> None:
    ask(url, f"CREATE VIEW lower_view AS SELECT id, {computed(url)} AS ward, secret FROM people")
    ask(url, "CREATE VIEW upper_view AS SELECT id, ward, secret FROM lower_view")

    assert "is made of ward" in refused(url, nurse.role, "upper_view", "ward")


def test_the_names_that_a_view_has_of_its_own_are_not_mistaken(url: str, nurse: Audience) -> None:
    ask(url, f"CREATE VIEW upper_view (id, ward, secret) AS SELECT id, {computed(url)} AS secret, ward FROM people")

    error = refused(url, nurse.role, "upper_view", "ward")
    assert "is made of ward" in error
    assert "is made of secret" not in error


@pytest.mark.parametrize(
    "made",
    [
        "SELECT p.id, w.chief AS ward, p.secret FROM people p JOIN wards w ON w.ward = {}",
        "SELECT id, ward, secret FROM people UNION ALL SELECT id, {}, secret FROM people",
        "SELECT id, (SELECT {} FROM people LIMIT 1) AS ward, secret FROM people",
        "SELECT min(id) AS id, ward, max({}) AS secret FROM people GROUP BY ward",
    ],
    ids=["join", "union", "subquery", "group"],
)
def test_columns_that_other_rows_decide_are_refused(url: str, nurse: Audience, made: str) -> None:
    ask(url, f"CREATE VIEW upper_view AS {made.format(computed(url))}")

    assert "is made of ward" in refused(url, nurse.role, "upper_view", "ward")


def test_a_view_that_only_names_its_columns_is_a_source(url: str, nurse: Audience) -> None:
    ask(url, f"CREATE VIEW lower_view AS SELECT id, secret AS other, ward AS secret, {computed(url)} AS day FROM people WHERE id > 0 ORDER BY id")
    ask(url, "CREATE VIEW upper_view AS SELECT v.other AS secret, v.secret AS ward, v.id FROM lower_view v")
    shown(url, nurse.role, "upper_view", "ward")

    assert nurse.sees("SELECT secret FROM seen") == [("hidden",)]


def test_a_kept_column_may_be_computed(url: str, nurse: Audience) -> None:
    ask(url, f"CREATE VIEW upper_view AS SELECT {computed(url)} AS id, ward, secret FROM people")
    shown(url, nurse.role, "upper_view", "ward")

    assert nurse.sees("SELECT id, secret FROM seen") == [("D01", "hidden")]


def test_virtual_columns_are_refused_and_stored_ones_are_not(url: str, nurse: Audience) -> None:
    has_virtual = not url.startswith("postgresql") or ask(url, "SHOW server_version_num") >= [("180000",)]
    ask(url, "ALTER TABLE people ADD kept varchar(20) GENERATED ALWAYS AS (ward) STORED")
    shown(url, nurse.role, "people", "kept")
    assert nurse.sees("SELECT secret FROM seen") == [("hidden",)]

    if has_virtual:
        ask(url, "DROP VIEW seen", "ALTER TABLE people ADD made varchar(20) GENERATED ALWAYS AS (ward) VIRTUAL")
        assert "is made of made" in refused(url, nurse.role, "people", "made")
        ask(url, "CREATE VIEW upper_view AS SELECT id, secret, made FROM people")
        assert "is made of made" in refused(url, nurse.role, "upper_view", "made")


def test_a_rule_does_not_make_a_computed_column_a_stored_one(url: str, nurse: Audience) -> None:
    if not url.startswith("postgresql"):
        assert ask(url, "SELECT table_name FROM information_schema.tables WHERE table_name = 'pg_rewrite'") == []
        return
    ask(url, f"CREATE VIEW upper_view AS SELECT id, {computed(url)} AS ward, secret FROM people")
    for event in ("UPDATE", "DELETE", "INSERT"):
        ask(url, f"CREATE RULE nothing_{event.lower()} AS ON {event} TO upper_view DO INSTEAD NOTHING")

    assert "is made of ward" in refused(url, nurse.role, "upper_view", "ward")
