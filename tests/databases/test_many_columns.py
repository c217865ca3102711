"""Tables with as many columns as PostgreSQL takes, of which private tables would have some more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sfumato
from sfumato.engine.explain import explain
from sfumato.engine.inside import not_inside
from sfumato.engine.plan import make_plan
from sfumato.errors import PolicyError
from tests.servers import ask, component, left_over

pytestmark = pytest.mark.slow

MOST, ROWS = 1600, 60
NAMES = [f"c{number}" for number in range(MOST)]


@pytest.fixture(params=["postgresql", "postgresql18"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    found = str(request.getfixturevalue(f"{request.param}_url"))
    ask(found, f"CREATE TABLE wide ({', '.join(f'{name} integer' for name in NAMES)})")
    ask(found, f"INSERT INTO wide (c0, c1, c1599) SELECT i % 5, i % 3, 10 + i % 20 FROM generate_series(1, {ROWS}) i")
    yield found
    ask(found, "DROP TABLE wide", "DROP TABLE IF EXISTS wide_out")


def policy(url: str, generalised: int, kept: int, masks: dict[str, Any]) -> dict[str, Any]:
    """Return a policy that generalises the first columns, keeps those that follow and removes the others."""
    roles = ["quasi_identifier"] * generalised + ["other"] * kept + ["identifier"] * (MOST - generalised - kept)
    columns = {name: {"role": role} for name, role in zip(NAMES, roles, strict=True)}
    return {
        "source": {"sql": component(url, "wide")},
        "sink": {"sql": component(url, "wide_out")},
        "columns": {name: {**column, **({"mask": masks[name]} if name in masks else {})} for name, column in columns.items()},
        "promises": [{"k_anonymity": {"k": 2}}] if generalised else [],
    }


@pytest.mark.parametrize(
    ("generalised", "kept", "columns_of_a_private_table"),
    [(1, 1599, None), (1597, 3, None), (1598, 2, 1601), (1600, 0, 1603), (0, 1599, None), (0, 1600, 1601)],
)
def test_what_private_tables_have_no_room_for_is_done_in_this_process(
    url: str, generalised: int, kept: int, columns_of_a_private_table: int | None
) -> None:
    given = policy(url, generalised, kept, {})
    reason = (
        f"a private table would have {columns_of_a_private_table:,} columns, and the server has room for 1,600"
        if columns_of_a_private_table
        else None
    )

    assert not_inside(make_plan(given)) == reason
    if reason:
        assert any(f"Work in this process, on a private copy of the rows, because {reason}." in step for step in explain(make_plan(given)))
    assert sfumato.run(given).record.rows.out == ROWS
    assert len(ask(url, "SELECT 1 FROM information_schema.columns WHERE table_name = 'wide_out'")) == generalised + kept
    assert left_over(url) == []


def test_masks_of_all_columns_are_done_in_this_process(url: str) -> None:
    given = policy(url, 0, 1600, {"c1599": {"shorten": {"length": 1}}})
    sfumato.run(given)

    assert ask(url, "SELECT c1599 FROM wide_out ORDER BY 1") == sorted((str(number)[:1],) for number in list(range(10, 30)) * 3)


def test_a_release_with_more_columns_than_the_server_takes_is_refused_before_anything_is_done(url: str) -> None:
    given = policy(url, 2, 1598, {})
    given["columns"]["c0"]["publish"] = "typed_bounds"
    with pytest.raises(PolicyError) as caught:
        sfumato.run(given)

    assert caught.value.code == "policy-sink-columns"
    assert "the release would have 1,601 columns, and a table of PostgreSQL has room for 1,600" in str(caught.value)
    assert left_over(url) == []
