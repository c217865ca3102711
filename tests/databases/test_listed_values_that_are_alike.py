"""Enumerations and sets of MariaDB and MySQL that list values which their collation takes for equal: no strict session can make such a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import sfumato
from sfumato.errors import DataError
from tests.servers import ask, component, left_over

ROWS = 24
LISTED = {
    "accents": ("enum('a', 'Ä') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", ["a", "Ä"]),
    "capitals": ("enum('x', 'X') CHARACTER SET latin1 COLLATE latin1_swedish_ci", ["x", "X"]),
    "letters": ("enum('u', 'v') CHARACTER SET utf8mb4 COLLATE utf8mb4_roman_ci", ["u", "v"]),
    "sets": ("set('f', 'F') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", ["f", "F"]),
}


@pytest.fixture(params=["mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    found = str(request.getfixturevalue(f"{request.param}_url"))
    yield found
    ask(found, "DROP TABLE IF EXISTS lists, lists_out")


def policy(url: str, kind: str, column: dict[str, Any]) -> dict[str, Any]:
    """Return a policy of a table whose rows have the first and the second value in turn; by their numbers, as no text tells them apart."""
    ask(url, "SET sql_mode = ''", f"CREATE TABLE lists (id int PRIMARY KEY, e {kind}, x int)")
    ask(url, f"INSERT INTO lists VALUES {', '.join(f'({number}, {1 + number % 2}, {number % 3})' for number in range(ROWS))}")
    return {
        "source": {"sql": component(url, "lists")},
        "sink": {"sql": component(url, "lists_out")},
        "columns": {"id": {"role": "identifier"}, "e": column, "x": {"role": "quasi_identifier"}},
        "promises": [{"k_anonymity": {"k": 2}}],
    }


def found(url: str) -> Counter[str]:
    return Counter(text.decode() if isinstance(text, bytes) else text for (text,) in ask(url, "SELECT CONVERT(e USING utf8mb4) FROM lists_out"))


@pytest.mark.parametrize("what", LISTED)
@pytest.mark.parametrize("role", ["other", "quasi_identifier", "sensitive"])
def test_values_that_a_collation_takes_for_equal_are_published_as_two(url: str, what: str, role: str) -> None:
    kind, values = LISTED[what]
    released: Any = sfumato.run(policy(url, kind, {"role": role}))

    assert released.record.rows.out == ROWS
    assert found(url) == dict.fromkeys(values, ROWS // 2)
    assert left_over(url) == []


def test_they_are_masked_as_texts(url: str) -> None:
    sfumato.run(policy(url, LISTED["accents"][0], {"role": "other", "mask": {"map_values": {"mapping": {"a": "one", "Ä": "other"}}}}))

    assert found(url) == {"one": ROWS // 2, "other": ROWS // 2}


def test_a_table_with_such_a_column_is_not_masked_in_place_and_told_by_its_name(url: str) -> None:
    given = policy(url, LISTED["accents"][0], {"role": "other"})
    given["sink"] = {"sql": {**component(url, "lists"), "in_place": True}}
    given["columns"] |= {"id": {"role": "other", "accept": "warnings"}, "x": {"role": "other", "mask": {"round_number": {"base": 100}}}}
    given["promises"] = []
    with pytest.raises(DataError) as caught:
        sfumato.run(given)

    assert caught.value.code == "in-place-misfit"
    assert "lists values in the type of e that the collation takes for equal, and no table like it can be made; nothing has been" in str(caught.value)
    assert ask(url, "SELECT DISTINCT x FROM lists ORDER BY x") == [(0,), (1,), (2,)]
