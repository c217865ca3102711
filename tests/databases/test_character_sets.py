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
from tests.servers import SERVER_FIXTURES, ask, component, connect

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


COLLATIONS = {
    "mariadb": [
        ("utf8mb4_nopad_bin", "utf8mb4_nopad_bin", "utf8mb4_bin"),
        ("utf8mb4_nopad_bin", "utf8mb4_bin", "utf8mb4_general_ci"),
        ("utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_nopad_bin"),
        ("latin1_bin", "latin1_nopad_bin", "utf8mb4_general_ci"),
        ("latin1_danish_ci", "latin1_general_ci", "utf8mb4_bin"),
        ("utf16_nopad_bin", "utf16_bin", "utf8mb4_nopad_bin"),
    ],
    "mysql": [("utf8mb4_0900_bin", "utf8mb4_bin", "utf8mb4_0900_ai_ci"), ("utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_0900_bin")],
}
ROLES: dict[str, dict[str, Any]] = {
    "quasi-identifiers": {"ward": {"role": "quasi_identifier"}, "name": {"role": "quasi_identifier"}, "note": {"role": "quasi_identifier"}},
    "sensitive": {"ward": {"role": "quasi_identifier"}, "name": {"role": "sensitive"}, "note": {"role": "sensitive"}},
    "kept": {"ward": {"role": "quasi_identifier"}, "name": {"role": "other"}, "note": {"role": "other"}},
    "masked": {
        "ward": {"role": "quasi_identifier"},
        "name": {"role": "other", "mask": {"constant": {"value": "é"}}, "when": {"column": "note", "equals": "b "}},
        "note": {"role": "other"},
    },
    "whose": {"ward": {"role": "quasi_identifier"}, "name": {"role": "identifier"}, "note": {"role": "other"}},
}


def collated(url: str, collations: tuple[str, ...]) -> pa.Table:
    """Make a table of texts that are equal to one rule or the other; return it."""
    rows = [(ward, name, note) for ward in ("a", "A", "a ") for name in ("x", "X ") for note in ("b", "b ", "B") for _ in range(3)]
    names = ("ward", "name", "note")
    columns = [f"{name} varchar(9) CHARACTER SET {rule.partition('_')[0]} COLLATE {rule}" for name, rule in zip(names, collations, strict=True)]
    values = ", ".join(str((number, *row)) for number, row in enumerate(rows))
    ask(
        url,
        "DROP TABLE IF EXISTS patients",
        f"CREATE TABLE patients (id int PRIMARY KEY, {', '.join(columns)})",
        f"INSERT INTO patients VALUES {values}",
    )
    return pa.table({"id": range(len(rows)), **dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))})


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("server", "collations"), [(server, each) for server, several in COLLATIONS.items() for each in several], ids=str)
def test_texts_are_told_apart_by_their_bytes_whatever_the_collations(
    server: str, collations: tuple[str, ...], role: str, request: pytest.FixtureRequest
) -> None:
    url = str(request.getfixturevalue(SERVER_FIXTURES[server]))
    table = collated(url, collations)
    given: dict[str, Any] = {"columns": ROLES[role], "unnamed": "remove", "promises": [{"k_anonymity": {"k": 2}}]}
    given |= {"subject": "name"} if role == "whose" else {}
    inside = {**given, "source": {"sql": component(url, "patients")}, "sink": {"sql": component(url, "shown")}}

    assert not_inside(make_plan(inside)) is None
    assert counted(sfumato.run(inside)) == counted(sfumato.run(given, table))
