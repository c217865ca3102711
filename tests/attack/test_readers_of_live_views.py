"""Roles that could read the table behind a live view by another way than a grant of their own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

import sfumato
from sfumato.errors import UsageError
from tests.servers import ask, component

pytestmark = pytest.mark.slow


@pytest.fixture(params=["postgresql", "postgresql18"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    found = str(request.getfixturevalue(f"{request.param}_url"))
    ask(
        found,
        "CREATE TABLE people (name text, ward text) PARTITION BY LIST (ward)",
        "CREATE TABLE first_ward PARTITION OF people FOR VALUES IN ('w1')",
    )
    ask(found, "INSERT INTO people SELECT 'name ' || i, 'w1' FROM generate_series(1, 20) i")
    yield found
    ask(found, "DROP TABLE people CASCADE")


@pytest.fixture
def roles(url: str) -> Iterator[tuple[str, str]]:
    """A reader of the live view, and a role that it might have."""
    reader, keeper = (f"{what}_{secrets.token_hex(4)}" for what in ("reader", "keeper"))
    ask(url, f"CREATE ROLE {keeper}", f"CREATE ROLE {reader} NOINHERIT")
    yield reader, keeper
    ask(url, f"DROP OWNED BY {reader}, {keeper}", f"DROP ROLE {reader}", f"DROP ROLE {keeper}")


def refused(url: str, role: str, table: str, is_masked: bool = True) -> str:
    """Return what is said of a live view of a table for a role."""
    with pytest.raises(UsageError) as caught:
        sfumato.run(policy(url, role, table, is_masked))
    return str(caught.value)


def policy(url: str, role: str, table: str, is_masked: bool = True) -> dict[str, Any]:
    return {
        "source": {"sql": component(url, table)},
        "columns": {"name": {"role": "identifier", **({"mask": {"shorten": {"length": 1}}} if is_masked else {})}, "ward": {"role": "other"}},
        "sink": {"live_view": {**component(url, "seen"), "roles": [role]}},
    }


def test_a_role_that_may_become_a_reader_of_the_table_is_refused(url: str, roles: tuple[str, str]) -> None:
    reader, keeper = roles
    ask(url, f"GRANT SELECT ON people TO {keeper}", f"GRANT {keeper} TO {reader}")

    assert refused(url, reader, "people").startswith(
        f"{reader} may read public.people itself, so that a masked view of it would hide nothing [live-view-role]"
    )


@pytest.mark.parametrize(("table", "read"), [("people", "first_ward"), ("first_ward", "people")])
def test_a_role_that_reads_rows_by_way_of_partitions_is_refused(url: str, roles: tuple[str, str], table: str, read: str) -> None:
    reader, _ = roles
    ask(url, f"GRANT SELECT (name) ON {read} TO {reader}")

    assert "[live-view-role]" in refused(url, reader, table)


@pytest.mark.parametrize("read", ["people", "first_ward", "inner_view", "all_people"])
@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_a_role_that_reads_what_is_beneath_a_view_is_refused(url: str, roles: tuple[str, str], kind: str, read: str) -> None:
    reader, keeper = roles
    ask(url, "CREATE VIEW all_people AS SELECT name, ward FROM people", f"CREATE {kind} inner_view AS SELECT name, ward FROM all_people")
    ask(url, "CREATE VIEW outer_view AS SELECT name, upper(ward) AS ward FROM inner_view", f"GRANT {keeper} TO {reader}")
    ask(url, f"GRANT SELECT ON {read} TO {keeper}")

    assert refused(url, reader, "outer_view", kind == "VIEW").startswith(
        f"{reader} may read public.{read}, from which rows of public.outer_view come, so that a masked view of it would hide nothing [live-view-role]"
    )


def test_a_role_that_reads_another_view_of_the_same_table_is_not_refused(url: str, roles: tuple[str, str]) -> None:
    reader, _ = roles
    ask(url, "CREATE VIEW one AS SELECT name, ward FROM people", "CREATE VIEW other AS SELECT ward FROM people", f"GRANT SELECT ON other TO {reader}")
    try:
        sfumato.run(policy(url, reader, "one"))
    finally:
        ask(url, "DROP VIEW seen")
