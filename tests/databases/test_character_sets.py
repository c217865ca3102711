"""Texts of any character set of MariaDB are worked on inside it as they are in our process."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.engine.inside import not_inside
from sfumato.engine.plan import make_plan
from tests.servers import ask, component, connect

LETTERS = {
    "ascii": "e",
    "latin1": "é",
    "cp1250": "ě",
    "koi8r": "И",
    "swe7": "e",
    "sjis": "日",
    "gbk": "日",
    "utf8mb3": "日",
    "utf8mb4": "😀",
    "ucs2": "日",
    "utf16": "😀",
    "utf32": "😀",
}
MASKS: tuple[dict[str, Any], ...] = (
    {},
    {"mask": {"hash": {"unkeyed": "sha256"}}},
    {"mask": {"constant": {"value": "日"}}},
    {"mask": {"map_values": {"mapping": {"abc": "日", "12345": "q"}, "default": "é"}}},
    {"mask": {"shorten": {"length": 1, "ellipsis": "…"}}, "when": {"column": "name", "equals": "abc"}, "otherwise": {"constant": {"value": "é"}}},
)


def prepare(url: str, kind: str) -> pa.Table:
    """Make a table of which two columns are of a character set; return it."""
    texts = ["abc", f"{LETTERS[kind]}x", "", None, " ab ", "12345"]
    rows = [(ward, name, f"i{number}") for ward in texts for name in texts for number in range(2)]
    columns = f"ward varchar(30) CHARACTER SET {kind}, name varchar(30) CHARACTER SET {kind}, illness varchar(30) CHARACTER SET utf8mb4"
    ask(url, "DROP TABLE IF EXISTS patients", f"CREATE TABLE patients ({columns})")
    with closing(connect(url)) as connection, closing(connection.cursor()) as cursor:
        cursor.executemany("INSERT INTO patients VALUES (%s, %s, %s)", rows)
    return pa.table(dict(zip(("ward", "name", "illness"), map(list, zip(*rows, strict=True)), strict=True)))


def counted(release: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in release.table.to_pylist())


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: next(iter(mask.get("mask", ["plain"]))))
@pytest.mark.parametrize("kind", LETTERS)
def test_texts_of_a_character_set_are_published_inside_as_outside(kind: str, mask: dict[str, Any], mariadb_url: str) -> None:
    table = prepare(mariadb_url, kind)
    given: dict[str, Any] = {
        "columns": {"ward": {"role": "quasi_identifier"}, "name": {"role": "other", **mask}, "illness": {"role": "sensitive"}},
        "promises": [{"k_anonymity": {"k": 4}}, {"l_diversity": {"column": "illness", "l": 2}}],
    }
    inside = {**given, "source": {"sql": component(mariadb_url, "patients")}, "sink": {"sql": component(mariadb_url, "shown")}}

    assert not_inside(make_plan(inside)) is None
    assert counted(sfumato.run(inside)) == counted(sfumato.run(given, table))
