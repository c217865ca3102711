"""Sources that are not the same when they are read again: a run inside a database works with what it has read the first time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sfumato
from tests.databases.test_inside import COLUMNS, TABLE, policy, stored
from tests.servers import ask, component, left_over

CHANCE = {
    "rows by chance": "SELECT * FROM people WHERE random() < 0.7",
    "values by chance": "SELECT age, ward, illness, note || (random() * 1e9)::bigint AS note FROM people",
    "values of the clock": "SELECT age, ward, illness, note || clock_timestamp() AS note FROM people",
    "quasi-identifiers by chance": "SELECT 20 + (random() * 9)::integer AS age, ward, illness, note FROM people",
}


@pytest.fixture
def url(postgresql_url: str) -> Iterator[str]:
    stored(postgresql_url, TABLE, "people")
    yield postgresql_url
    ask(postgresql_url, "DROP VIEW IF EXISTS by_chance")


@pytest.mark.parametrize("query", CHANCE.values(), ids=list(CHANCE))
def test_a_view_that_hangs_on_chance_or_the_clock_is_read_once(url: str, query: str) -> None:
    ask(url, f"CREATE VIEW by_chance AS {query}")
    accepted = {**COLUMNS, "note": {"role": "other", "accept": "singling_out"}}
    released: Any = sfumato.run(policy(url, source={"sql": component(url, "by_chance")}, columns=accepted))

    assert released.record.rows.out == ask(url, "SELECT count(*) FROM release")[0][0] > 0
    assert left_over(url) == []


def test_a_view_of_which_nothing_is_published_as_it_is_is_read_once(url: str) -> None:
    ask(url, f"CREATE VIEW by_chance AS {CHANCE['rows by chance']}")
    hidden = {name: {"role": "identifier", "mask": {"constant": {"value": "x"}}} for name in COLUMNS}
    released: Any = sfumato.run({"source": {"sql": component(url, "by_chance")}, "columns": hidden, "sink": {"sql": component(url, "release")}})

    assert released.record.rows.out == ask(url, "SELECT count(*) FROM release")[0][0] > 0
