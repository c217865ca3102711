"""Foreign keys by periods of PostgreSQL 18: rows find others within whose period theirs lies, and nothing takes that for equality."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sfumato
from sfumato.databases.address import parsed
from sfumato.databases.connection import connected
from sfumato.databases.found_rows import found_by_server
from sfumato.databases.table import TableName
from sfumato.engine.retain import retain
from sfumato.errors import PolicyError, UnreachableError
from tests.databases.retained_rows import NOW, OLD, emptied, policy
from tests.databases.test_retention import counted
from tests.servers import ask, component

pytestmark = pytest.mark.slow

KEPT = {"role": "other"}
REFERS = "FOREIGN KEY (id, PERIOD valid) REFERENCES people (id, PERIOD valid)"


@pytest.fixture
def url(postgresql18_url: str) -> Iterator[str]:
    with emptied(postgresql18_url) as place:
        ask(place, "CREATE EXTENSION btree_gist", "DROP SCHEMA IF EXISTS masked CASCADE", "CREATE SCHEMA masked")
        yield place


@pytest.fixture
def jobs(url: str) -> str:
    """A database in which the period of each job lies within that of a person, and is none."""
    ask(url, "CREATE TABLE people (id int, valid daterange, age int, PRIMARY KEY (id, valid WITHOUT OVERLAPS))")
    ask(url, f"CREATE TABLE jobs (id int, valid daterange, {REFERS})")
    ask(url, "INSERT INTO people SELECT n, '[2020-01-01,2022-01-01)', 30 FROM generate_series(1, 20) n")
    ask(url, "INSERT INTO jobs SELECT n, '[2020-06-01,2021-06-01)' FROM generate_series(1, 20) n")
    return url


def tables(url: str, **more: Any) -> dict[str, Any]:
    settings = {key: value for key, value in component(url, "").items() if key != "table"}
    kept = {"id": KEPT, "valid": KEPT}
    return {
        "source": {"sql": settings},
        "sink": {"sql": {**settings, "schema": "masked"}},
        "tables": {"people": {"columns": {**kept, "age": KEPT}}, "jobs": {"columns": kept, **more}},
    }


def test_a_key_by_periods_is_none_that_a_release_is_joined_by(jobs: str) -> None:
    with pytest.raises(PolicyError) as caught:
        sfumato.run(tables(jobs))

    (mistake,) = caught.value.mistakes
    assert mistake.code == "policy-broken-key"
    assert mistake.message == (
        "is of the foreign key jobs.(id, valid) -> people.(id, valid), by which the release could not be joined: "
        "it is a key by periods (PERIOD), which lie within others, and releases are joined by what is the same"
    )
    assert mistake.hint == "accept: broken_key in the table jobs"


def test_an_accepted_key_by_periods_is_told_as_broken(jobs: str) -> None:
    releases: Any = sfumato.run(tables(jobs, accept="broken_key"))

    assert counted(jobs, "masked.jobs") == 20
    assert releases["jobs"].record.foreign_keys == []
    assert any("it is a key by periods (PERIOD)" in note for note in releases["jobs"].record.notes)


def test_rows_are_not_counted_by_a_key_by_periods(jobs: str) -> None:
    password = jobs.split("@")[0].rsplit(":", 1)[1]
    with connected(parsed(component(jobs, "x")["url"]), password) as connection:
        pair = ["id", "valid"]
        assert found_by_server(connection, TableName("jobs"), pair, TableName("people"), pair) is None


def test_rows_of_a_table_that_refers_to_itself_by_periods_are_not_retained(url: str) -> None:
    own = "FOREIGN KEY (parent, PERIOD valid) REFERENCES v (id, PERIOD valid)"
    ask(url, f"CREATE TABLE v (id int, seen timestamp, age int, parent int, valid daterange, PRIMARY KEY (id, valid WITHOUT OVERLAPS), {own})")
    ask(url, f"INSERT INTO v SELECT n, {OLD}, 30, NULL, '[2020-01-01,2022-01-01)' FROM generate_series(1, 20) n")
    with pytest.raises(UnreachableError, match=r"rows of v cannot be deleted: foreign keys of public\.v refer to them") as caught:
        retain(policy(url, more=["parent", "valid"]), NOW)

    assert caught.value.code == "retention-referenced"
    assert counted(url, "v") == 20
