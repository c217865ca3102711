"""A number of MariaDB or MySQL whose type fills it with zeros is the number, and not the text that a client is shown of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from tests.servers import SERVER_FIXTURES, ask, component

KINDS = ("int zerofill", "bigint(5) zerofill", "tinyint(4) zerofill", "decimal(8,2) zerofill", "float(7,2) zerofill", "double(9,2) zerofill")
MASKS: dict[str, Any] = {
    "shorten": {"mask": {"shorten": {"length": 3}}},
    "hash": {"mask": {"hash": {"unkeyed": "sha256"}}, "accept": "warnings"},
    "round": {"mask": {"round_number": {"base": 10}}},
    "condition": {"mask": {"constant": {"value": "x"}}, "when": {"column": "age", "equals": 5}, "otherwise": {"shorten": {"length": 4}}},
}
VALUES = (5, 70, 0, None)


@pytest.fixture(params=["mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    found = str(request.getfixturevalue(SERVER_FIXTURES[request.param]))
    ask(found, "CREATE ROLE IF NOT EXISTS nurse")
    yield found
    ask(found, "DROP VIEW IF EXISTS ages", "DROP TABLE IF EXISTS released, people")


def people(url: str, kind: str) -> pa.Table:
    """Make a table, and return what our process reads of it."""
    rows = ", ".join(f"({number}, {'NULL' if age is None else age}, 'w{number % 2}')" for number, age in enumerate(VALUES * 6))
    ask(
        url,
        "DROP TABLE IF EXISTS people",
        f"CREATE TABLE people (id int PRIMARY KEY, age {kind}, ward varchar(5))",
        f"INSERT INTO people VALUES {rows}",
    )
    everything = {name: {"role": "other", "accept": "singling_out"} for name in ("id", "age", "ward")}
    return memory({"source": {"sql": component(url, "people")}, "columns": everything})


def memory(given: dict[str, Any], *data: Any) -> pa.Table:
    return sfumato.run(given, *data).table  # type: ignore[union-attr]


def counted(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in sorted(row)) for row in table.to_pylist())


def policy(column: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "ages",
        "columns": {"id": {"role": "other", "accept": "singling_out"}, "age": {"role": "other", **column}, "ward": {"role": "other"}},
    }


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_makes_of_it_inside_what_it_makes_elsewhere(url: str, kind: str, mask: str) -> None:
    table, given = people(url, kind), policy(MASKS[mask])
    released = memory({**given, "source": {"sql": component(url, "people")}, "sink": {"sql": component(url, "released")}})

    assert counted(released) == counted(memory(given, table))


@pytest.mark.parametrize("kind", KINDS[:4])
def test_a_live_view_masks_it_as_a_run_does(url: str, kind: str) -> None:
    table, given = people(url, kind), policy(MASKS["hash"])
    sfumato.run({**given, "source": {"sql": component(url, "people")}, "sink": {"live_view": component(url, "ages") | {"roles": ["nurse"]}}})

    assert Counter(ask(url, "SELECT age, id, ward FROM ages")) == counted(memory(given, table))


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_masked_where_it_is_as_elsewhere(url: str, kind: str) -> None:
    table, given = people(url, kind), policy({"mask": {"round_number": {"base": 10}}})
    sfumato.run({**given, "source": {"sql": component(url, "people")}, "sink": {"sql": component(url, "people") | {"in_place": True}}})

    assert Counter(ask(url, "SELECT age, id, ward FROM people")) == counted(memory(given, table))


@pytest.mark.parametrize("role", ["quasi_identifier", "sensitive"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_counted_and_published_as_the_number(url: str, kind: str, role: str) -> None:
    table = people(url, kind)
    given: dict[str, Any] = {
        "columns": {"id": {"role": "identifier"}, "age": {"role": role}, "ward": {"role": "quasi_identifier"}},
        "promises": [{"k_anonymity": {"k": 3}}],
    }
    released = memory({**given, "source": {"sql": component(url, "people")}, "sink": {"sql": component(url, "released")}})

    assert counted(released) == counted(memory(given, table))
