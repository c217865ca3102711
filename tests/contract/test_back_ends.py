"""One policy, one release: whatever database the rows are in, as many rows of each kind come out as from memory, with the same loss."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.engine.inside import not_inside
from sfumato.engine.plan import make_plan
from sfumato.errors import DataError, PromiseError, SfumatoError
from tests.servers import SERVER_FIXTURES, ask, made, named

BACK_ENDS = list(SERVER_FIXTURES)
ROWS = 900
CHANCE = np.random.default_rng(11)
# texts that are equal to some servers and not to us: by case, by accents, by spaces at the end
TOWNS = ["Bremen", "bremen", "Bremen ", "Brémen", 'O\'Brien "x" `y`', "Köln 🙂", "", "tab\tline\nback\\slash", None]
TABLE = pa.table(
    {
        "name": pa.array([f"Canary {number}" for number in range(ROWS)]),
        "age": pa.array(CHANCE.integers(0, 99, ROWS), pa.int32()),
        "town": pa.array([TOWNS[place] for place in CHANCE.integers(0, len(TOWNS), ROWS)]),
        "born": pa.array([None if number % 17 == 0 else datetime.date(1950, 1, 1) + datetime.timedelta(days=int(days)) for number, days in
                          enumerate(CHANCE.integers(0, 20000, ROWS))]),
        "seen": pa.array([datetime.datetime(2020, 1, 1) + datetime.timedelta(days=int(hour)) for hour in CHANCE.integers(0, 40, ROWS)],
                         pa.timestamp("us")),
        "dose": pa.array([Decimal(int(number)) / 4 for number in CHANCE.integers(-8, 9, ROWS)], pa.decimal128(9, 2)),
        "share": pa.array([0.1 * int(number) for number in CHANCE.integers(0, 8, ROWS)]),
        "number": pa.array([2**53 + int(number) for number in CHANCE.integers(0, 5, ROWS)], pa.int64()),
        "illness": pa.array([["flu", "Flu", "cold", "asthma", None][place] for place in CHANCE.integers(0, 5, ROWS)]),
        "note": pa.array([["", None, "it's", "a\\b", "x" * 300][place] for place in CHANCE.integers(0, 5, ROWS)]),
    }
)  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "age": {"role": "quasi_identifier"},
    "town": {"role": "quasi_identifier"},
    "born": {"role": "quasi_identifier"},
    "seen": {"role": "quasi_identifier"},
    "dose": {"role": "quasi_identifier"},
    "share": {"role": "quasi_identifier"},
    "number": {"role": "quasi_identifier"},
}
OTHERS: dict[str, Any] = {"name": {"role": "identifier"}, "illness": {"role": "sensitive"}, "note": {"role": "other"}}
FEW = {name: KINDS[name] for name in ("age", "town")}
POLICIES: dict[str, dict[str, Any]] = {
    "mondrian": {"columns": {**OTHERS, **KINDS}, "promises": [{"k_anonymity": {"k": 7}}]},
    "one column": {"columns": {**OTHERS, "age": KINDS["age"]}, "promises": [{"k_anonymity": {"k": 3}}]},
    "datafly": {"columns": {**OTHERS, **FEW}, "promises": [{"k_anonymity": {"k": 4}}], "algorithm": "datafly", "suppression_limit": 0.1},
    "l-diversity": {
        "columns": {**OTHERS, **FEW},
        "promises": [{"k_anonymity": {"k": 3}}, {"l_diversity": {"column": "illness", "l": 2, "kind": "entropy"}}],
    },
    "t-closeness": {"columns": {**OTHERS, **FEW}, "promises": [{"k_anonymity": {"k": 2}}, {"t_closeness": {"column": "illness", "t": 0.4}}]},
    "bounds and sets": {
        "columns": {**OTHERS, "age": {"role": "quasi_identifier", "publish": "bounds"}, "town": {"role": "quasi_identifier", "publish": "set"}},
        "promises": [{"k_anonymity": {"k": 5}}],
    },
    "unknown values": {
        "columns": {**OTHERS, "age": {"role": "quasi_identifier", "type": "integer"}, "town": {"role": "quasi_identifier", "on_unknown": "suppress",
                    "hierarchy": {"taxonomy": {"tree": {"all": ["Bremen", "bremen", "Bremen "]}}}}},
        "promises": [{"k_anonymity": {"k": 5}}],
        "suppression_limit": 0.9,
    },
    "people": {
        "subject": "seen",
        "columns": {**OTHERS, **FEW, "seen": {"role": "identifier"}},
        "promises": [{"k_anonymity": {"k": 6}}, {"t_closeness": {"column": "illness", "t": 0.5}}],
    },
    "people and nobody": {
        "subject": "note",
        "columns": {**OTHERS, **FEW, "note": {"role": "identifier"}},
        "promises": [{"k_anonymity": {"k": 4}}],
    },
    "stragglers": {
        "columns": {**OTHERS, "age": KINDS["age"], "town": {"role": "quasi_identifier", "missing": ["Köln 🙂"], "hierarchy": {"taxonomy": {"tree":
                    {"all": ["most"], "most": ["Bremen", "bremen", "Bremen ", "Brémen", "O'Brien \"x\" `y`", "", "tab\tline\nback\\slash"]}}}}},
        "promises": [{"k_anonymity": {"k": 290}}],
        "suppression_limit": 0.4,
    },
    "a masked quasi-identifier": {
        "columns": {**OTHERS, "age": {"role": "quasi_identifier", "mask": {"top_bottom_code": {"top": 60}}}, "town": KINDS["town"]},
        "promises": [{"k_anonymity": {"k": 5}}],
    },
    "masks": {
        "name": "test",
        "columns": {**OTHERS, **FEW,
                    "name": {"role": "identifier", "mask": {"hash": {"key": "main"}}},
                    "note": {"role": "other", "mask": {"shorten": {"length": 2, "ellipsis": "…"}}},
                    "number": {"role": "other", "mask": {"hash": {"key": "main", "domain": "numbers"}}},
                    "born": {"role": "other", "mask": {"constant": {"value": "it's \\ hidden"}}, "when": {"column": "illness", "equals": "flu"},
                             "otherwise": {"hash": {"key": "main"}}}},
        "keys": {"main": {"environment": "SFUMATO_TEST_KEY"}},
        "accept": "singling_out",
        "promises": [{"k_anonymity": {"k": 5}}],
    },
    "masks alone": {
        "name": "test",
        "columns": {"name": {"role": "identifier", "mask": {"hash": {"key": "main"}}},
                    "number": {"role": "other", "mask": {"constant": {"value": "it's \\ hidden"}}},
                    "illness": {"role": "sensitive", "mask": {"character_mask": {"keep_first": 1}}},
                    "note": {"role": "other", "mask": {"shorten": {"length": 2, "ellipsis": "…"}}}},
        "keys": {"main": {"environment": "SFUMATO_TEST_KEY"}},
    },
    "masks beside kept columns": {
        "columns": {**{name: {"role": "other"} for name in KINDS}, "note": {"role": "other", "mask": {"shorten": {"length": 2}}}},
    },
    "kept columns alone": {"columns": {"town": {"role": "other"}, "number": {"role": "other"}, "born": {"role": "sensitive"}}},
}  # fmt: skip


@pytest.fixture(params=BACK_ENDS)
def back_end(request: pytest.FixtureRequest) -> Callable[[str], dict[str, Any]]:
    """What names a table of a server that has the rows."""
    return filled_once(request.getfixturevalue(SERVER_FIXTURES[request.param]))


def filled(url: str) -> Callable[[str], dict[str, Any]]:
    """Store the rows, and return what names a table there."""
    writer = made("sinks", named(url, "people")).open(TABLE.schema)
    writer.write(TABLE.combine_chunks().to_batches()[0])
    writer.finish()
    writer.publish()
    if url.startswith(("mariadb:", "mysql:")):
        # servers do not mask texts that may be longer than a packet
        ask(url, f"ALTER TABLE people {', '.join(f'MODIFY {name} varchar(300) COLLATE utf8mb4_general_ci' for name in ('name', 'illness', 'note'))}")
    return partial(named, url)


# no test of this module writes to the table that it reads
filled_once = cache(filled)


@cache
def from_memory(name: str) -> Any:
    """Return the release of a policy that is made from the rows in memory."""
    return sfumato.run({**POLICIES[name], "unnamed": "remove"}, TABLE)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", "k1:QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=")


def with_keys(policy: dict[str, Any], place: dict[str, Any]) -> dict[str, Any]:
    """Let the database of a source have the keys of a policy."""
    ((kind, settings),) = place.items()
    # whoever goes there, it is the database that is trusted
    server = "spark" if kind == "spark" else re.sub("//.*@", "//", settings["url"])
    return {**policy, "keys": {name: {**key, "servers": [server]} for name, key in policy.get("keys", {}).items()}}


def shown(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(table[name].to_pylist() for name in sorted(table.column_names)), strict=True))


@pytest.mark.parametrize("name", POLICIES)
def test_a_release_is_the_same_wherever_it_is_made(back_end: Callable[[str], dict[str, Any]], name: str) -> None:
    policy = {**POLICIES[name], "unnamed": "remove"}
    there = {**with_keys(policy, back_end("people")), "source": back_end("people"), "sink": back_end("release")}
    assert not_inside(make_plan(there)) is None

    assert_same(sfumato.run(there), from_memory(name))


def assert_same(inside: Any, outside: Any) -> None:
    assert inside.record.measures == outside.record.measures
    assert inside.record.recoding == outside.record.recoding
    assert inside.record.rows == outside.record.rows
    assert [each.measured for each in inside.record.promises] == [each.measured for each in outside.record.promises]
    assert shown(inside.table) == shown(outside.table)
    assert inside.table.column_names == outside.table.column_names


def test_rows_that_are_alike_are_dealt_out_where_they_are(back_end: Callable[[str], dict[str, Any]]) -> None:
    policy = {"columns": {**OTHERS, **FEW}, "promises": [{"k_anonymity": {"k": 4}}], "unnamed": "remove"}
    relaxed = {**policy, "algorithm": {"mondrian": {"relaxed": True}}}
    outside: Any = sfumato.run(relaxed, TABLE)
    inside: Any = sfumato.run({**relaxed, "source": back_end("people"), "sink": back_end("dealt")})

    assert inside.record.measures == outside.record.measures != sfumato.run(policy, TABLE).record.measures
    assert inside.record.recoding == outside.record.recoding
    assert [note for note in inside.record.notes if "strict" in note] == [note for note in outside.record.notes if "strict" in note] != []
    # how many rows a class has is decided; which of those that are alike it has is left to chance
    chance = ["illness", "note"]
    assert shown(inside.table.drop_columns(chance)) == shown(outside.table.drop_columns(chance))
    assert shown(inside.table.select(chance)) == shown(TABLE.select(chance))


# each query costs Spark a second: what is the same everywhere is not asked of it again
SMALL = [(server, name) for server in BACK_ENDS for name in ("l-diversity", "mondrian", "stragglers") if server != "spark" or name == "l-diversity"]


@pytest.mark.parametrize(("back_end", "name"), SMALL, indirect=["back_end"])
def test_cells_that_do_not_fit_are_cut_where_they_are_into_the_same_classes(
    back_end: Callable[[str], dict[str, Any]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = {**POLICIES[name], "unnamed": "remove"}
    outside = from_memory(name)
    monkeypatch.setenv("SFUMATO_MEMORY", "60k")

    assert_same(sfumato.run({**policy, "source": back_end("people"), "sink": back_end("release")}), outside)


@pytest.mark.parametrize("back_end", ["duckdb"], indirect=True)
def test_cells_that_do_not_fit_and_cannot_be_divided_are_told(back_end: Callable[[str], dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_MEMORY", "20k")
    with pytest.raises(DataError) as caught:
        sfumato.run({**POLICIES["datafly"], "unnamed": "remove", "source": back_end("people"), "sink": back_end("release3")})

    assert caught.value.code == "cells-memory"
    assert "datafly needs all of them at once" in str(caught.value)


@pytest.mark.parametrize("name", ["one column", "masks beside kept columns"])
def test_rows_come_in_an_order_that_says_nothing(back_end: Callable[[str], dict[str, Any]], name: str) -> None:
    policy = {**POLICIES[name], "unnamed": "remove", "source": back_end("people"), "sink": back_end("release")}
    policy["columns"] = {**policy["columns"], "number": {"role": "other"}, "share": {"role": "other"}}
    orders = [tuple(sfumato.run(policy).table["share"].to_pylist()) for _ in range(2)]

    assert orders[0] != orders[1] != tuple(TABLE["share"].to_pylist()) != orders[0]
    assert sorted(orders[0]) == sorted(orders[1])


def test_what_cannot_be_kept_leaves_the_old_release_and_nothing_else(back_end: Callable[[str], dict[str, Any]]) -> None:
    policy = {**POLICIES["one column"], "unnamed": "remove", "source": back_end("people"), "sink": back_end("release")}
    before = shown(sfumato.run(policy).table)
    with pytest.raises(PromiseError):
        sfumato.run({**policy, "promises": [{"k_anonymity": {"k": ROWS + 1}}]})
    with pytest.raises(SfumatoError) as caught:
        sfumato.run({**policy, "columns": {**policy["columns"], "note": {"role": "quasi_identifier", "type": "integer"}}})

    assert "it's" not in str(caught.value)
    source = made("sources", back_end("release"))
    assert shown(pa.Table.from_batches(source.batches(source.describe().names))) == before


def test_values_of_a_missing_subject_and_of_an_empty_one_are_those_of_one_person(back_end: Callable[[str], dict[str, Any]]) -> None:
    whose, seen = [None, "", None, "", None, "", "a", "b"], ["x", "x", "y", "y", "z", "z", "o", "o"]
    table = pa.table({"note": pa.array(whose, pa.string()), "age": pa.array([30] * 8, pa.int32()), "seen": pa.array(seen)})
    writer = made("sinks", back_end("nobody")).open(table.schema)
    writer.write(table.to_batches()[0])
    writer.finish()
    writer.publish()
    columns = {"note": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "seen": {"role": "other"}}
    policy = {"subject": "note", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}]}

    with pytest.raises(PromiseError) as caught:
        sfumato.run({**policy, "source": back_end("nobody"), "sink": back_end("release4")})

    assert caught.value.code == "singling-out"


def test_a_table_without_rows_is_published_empty_where_nothing_is_promised(back_end: Callable[[str], dict[str, Any]]) -> None:
    writer = made("sinks", back_end("empty")).open(TABLE.schema)
    writer.finish()
    writer.publish()
    policy = {"columns": {"note": {"role": "other"}}, "unnamed": "remove", "source": back_end("empty"), "sink": back_end("release3")}
    release = sfumato.run(policy)
    assert release.record.notes[0] == "the source has no rows: an empty table was published"
    assert release.table.num_rows == 0


def test_a_table_without_rows_is_told_where_something_is_promised(back_end: Callable[[str], dict[str, Any]]) -> None:
    writer = made("sinks", back_end("empty")).open(TABLE.schema)
    writer.finish()
    writer.publish()
    with pytest.raises(DataError) as caught:
        sfumato.run({**POLICIES["one column"], "unnamed": "remove", "source": back_end("empty"), "sink": back_end("release2")})
    assert caught.value.code == "source-empty"
