"""A table of MySQL or MariaDB that is replaced has the indexes that it had, of the same types, or is not replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.errors import UnreachableError
from tests.servers import ask, component

ILLNESSES = ("flu", "cold", "measles")


@pytest.fixture(params=["mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    found = str(request.getfixturevalue(f"{request.param}_url"))
    rows = ", ".join(f"({number}, {20 + number % 5}, '{ILLNESSES[number % 3]}')" for number in range(60))
    ask(found, "DROP TABLE IF EXISTS people", "DROP TABLE IF EXISTS `100% release`")
    ask(found, "CREATE TABLE people (id int PRIMARY KEY, age int, illness text)", f"INSERT INTO people VALUES {rows}")
    return found


@pytest.fixture(params=["inside", "through our process"])
def policy(url: str, request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    source: Any = {"sql": component(url, "people")}
    if request.param != "inside":
        source = str(tmp_path / "people.csv")
        lines = [f"{number},{20 + number % 5},{ILLNESSES[number % 3]}" for number in range(60)]
        Path(source).write_text("\n".join(["id,age,illness", *lines]) + "\n")
    columns = {"id": {"role": "identifier"}, "age": {"role": "other"}, "illness": {"role": "other"}}
    return {"source": source, "sink": {"sql": component(url, "100% release")}, "columns": columns}


def indexes(url: str) -> list[tuple[Any, ...]]:
    query = "SELECT index_name, non_unique, seq_in_index, column_name, collation, sub_part, index_type, index_comment"
    return ask(url, f"{query} FROM information_schema.statistics WHERE table_name = '100% release' AND table_schema = DATABASE() ORDER BY 1, 3")


def test_indexes_keep_their_types_and_directions(url: str, policy: dict[str, Any]) -> None:
    sfumato.run(policy)
    table = "ALTER TABLE `100% release` ADD "
    ask(url, f"{table} FULLTEXT INDEX words (illness)", f"{table} INDEX oldest (illness(3) DESC) COMMENT 'by age, KEY'")
    before = indexes(url)
    sfumato.run(policy)
    assert indexes(url) == before
    assert ask(url, "SELECT COUNT(*) FROM `100% release` WHERE MATCH (illness) AGAINST ('measles')") == [(20,)]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("(age int, illness text) PARTITION BY HASH (age) PARTITIONS 3", "its partitions"),
        ("(age int, illness text, place point NOT NULL, SPATIAL INDEX places (place))", "the spatial index places"),
        ("(age int, illness text, name int, INDEX names (name))", "the index names (its column name is not released)"),
    ],
)
def test_a_table_of_which_something_would_be_lost_is_not_replaced(url: str, policy: dict[str, Any], made: str, words: str) -> None:
    ask(url, f"CREATE TABLE `100% release` {made}")
    with pytest.raises(UnreachableError) as caught:
        sfumato.run(policy)
    assert str(caught.value).splitlines()[0] == f"100% release cannot be replaced: {words} would be lost with it [sink-table-used]"
    assert ask(url, "SELECT COUNT(*) FROM `100% release`") == [(0,)]


def test_a_table_with_foreign_keys_of_its_own_is_not_replaced(url: str, policy: dict[str, Any]) -> None:
    ask(url, "DROP TABLE IF EXISTS ages", "CREATE TABLE ages (age int PRIMARY KEY)")
    ask(url, "CREATE TABLE `100% release` (age int, illness text, CONSTRAINT known_age FOREIGN KEY (age) REFERENCES ages (age))")
    with pytest.raises(UnreachableError) as caught:
        sfumato.run(policy)
    words = "100% release cannot be replaced: its foreign key known_age would be lost with it [sink-table-used]"
    assert str(caught.value).splitlines()[0] == words
    ask(url, "DROP TABLE `100% release`", "DROP TABLE ages")
