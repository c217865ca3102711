"""Random numbers, dates, texts and UUIDs: what they have in common, and what each makes."""

from __future__ import annotations

import uuid
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.registry import find

KEYS = Keys({"main": (Key("k1", bytes(range(32))),)})
NUMBERS = {"minimum": 1, "maximum": 100}
DATES = {"first": "1990-01-01", "last": "1999-12-31"}


def masked(name: str, values: pa.Array, **settings: Any) -> list[Any]:
    mask = find("masking", name)(**settings)
    found = mask.apply(pa.RecordBatch.from_arrays([values], names=["value"]), MaskContext("value", keys=KEYS))
    assert found.type == mask.output_type(values.type)
    result: list[Any] = found.to_pylist()
    return result


@pytest.mark.parametrize(
    ("name", "settings", "wanted"),
    [
        ("random_number", NUMBERS, "95"),
        ("random_date", DATES, "1995-03-16"),
        ("random_text", {"length": 6}, "nUCWMx"),
        ("random_uuid", {}, "5eb55632-0298-4cff-a18c-de115b42e3f5"),
    ],
)
def test_values_under_a_key_are_known(name: str, settings: dict[str, Any], wanted: str) -> None:
    # if these change, releases under one key no longer agree with earlier ones
    assert masked(name, pa.array(["Ann", "Ann"]), key="main", **settings) == [wanted, wanted]
    assert masked(name, pa.array(["Ann"]), key="main", domain="other", **settings) != [wanted]


@pytest.mark.parametrize(
    ("name", "settings"), [("random_number", NUMBERS), ("random_date", DATES), ("random_text", {"length": 6}), ("random_uuid", {})]
)
def test_chance_decides_anew_in_every_row_and_run(name: str, settings: dict[str, Any]) -> None:
    values = pa.array(["Ann"] * 50)
    one, other = (masked(name, values, **settings) for _ in range(2))
    assert len(set(one)) > 10
    assert one != other


def test_numbers_have_the_type_that_is_asked_for_whatever_the_column_was() -> None:
    assert set(masked("random_number", pa.array(["x"] * 99), minimum=1, maximum=2, output="integer")) == {1, 2}
    assert set(masked("random_number", pa.array([date(2020, 1, 1)] * 99), minimum=1, maximum=2, output="integer")) == {1, 2}
    assert set(masked("random_number", pa.array([7] * 99, pa.int8()), minimum=998, maximum=999, output="text")) == {"998", "999"}
    assert find("masking", "random_number")(minimum=998, maximum=999, output="text").misfit(pa.int8(), "integer") is None


def test_numbers_are_within_their_bounds_and_reach_them() -> None:
    assert set(masked("random_number", pa.array(["x"] * 500), minimum=-1, maximum=2)) == {"-1", "0", "1", "2"}
    assert set(masked("random_number", pa.array([0] * 500, pa.int8()), minimum=-1, maximum=2)) == {-1, 0, 1, 2}
    assert set(masked("random_number", pa.array([0.0] * 500), minimum=0, maximum=0.2, decimals=1)) == {0.0, 0.1, 0.2}
    assert set(masked("random_number", pa.array([Decimal("9.00")] * 500), minimum=0.05, maximum=0.25, decimals=1)) == {
        Decimal("0.10"),
        Decimal("0.20"),
    }


def test_numbers_that_the_column_cannot_hold_are_refused() -> None:
    mask = find("masking", "random_number")
    assert mask(minimum=0, maximum=300).misfit(pa.int8(), None) == "makes numbers that the column's type int8 does not hold"
    assert mask(minimum=0, maximum=3, decimals=1).misfit(pa.int64(), None) == "makes numbers that the column's type int64 does not hold"
    assert mask(minimum=0, maximum=3).misfit(pa.date32(), None) == "makes numbers that the column's type date32[day] does not hold"
    assert mask(minimum=0, maximum=300).misfit(pa.string(), "text") is None


def test_dates_are_within_their_bounds_and_reach_them() -> None:
    days = masked("random_date", pa.array(["whenever"] * 200), first="2020-02-28", last="2020-03-01")
    assert set(days) == {"2020-02-28", "2020-02-29", "2020-03-01"}
    assert set(masked("random_date", pa.array([date(1984, 5, 17)] * 200), first="2020-02-28", last="2020-02-29")) == {
        date(2020, 2, 28),
        date(2020, 2, 29),
    }


def test_instants_are_in_whole_seconds_up_to_the_end_of_the_last_day() -> None:
    found = masked("random_date", pa.array([datetime(1984, 5, 17)] * 500), first="2020-02-28", last="2020-02-29")
    assert min(found) >= datetime(2020, 2, 28)
    assert datetime(2020, 2, 29, 12) < max(found) < datetime(2020, 3, 1)
    texts = masked("random_date", pa.array(["x"] * 200), first="2020-02-28T10:00:00Z", last="2020-02-28T10:00:02Z")
    assert set(texts) == {f"2020-02-28T10:00:0{second}Z" for second in range(3)}


def test_instants_do_not_go_into_a_column_of_days() -> None:
    mask = find("masking", "random_date")(first="2020-02-28T10:00:00Z", last="2020-02-29")
    assert mask.misfit(pa.date32(), None) == "makes instants, and the column is of type date"


def test_texts_have_the_length_and_the_letters_asked_for() -> None:
    found = masked("random_text", pa.array(["", "x" * 10_000, "日本"] * 100), length=12, alphabet="digits")
    assert all(len(text) == 12 and text.isdigit() for text in found)
    assert set("".join(found)) == set("0123456789")
    lengths = {len(text) for text in masked("random_text", pa.array(["x"] * 300), minimum_length=0, maximum_length=3, alphabet="aß🙂")}
    assert lengths == {0, 1, 2, 3}
    assert set("".join(masked("random_text", pa.array(["x"] * 300), length=2, alphabet="aß🙂"))) == set("aß🙂")


def test_uuids_are_of_version_4() -> None:
    found = [uuid.UUID(text) for text in masked("random_uuid", pa.array([17, None, 18]))]
    assert {each.version for each in found} == {4}
    assert {each.variant for each in found} == {uuid.RFC_4122}
    assert len(set(found)) == 3


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("random_number", {"minimum": 2, "maximum": 2}, "needs a minimum below the maximum, with a number of these decimals between them"),
        ("random_number", {"minimum": 0, "maximum": 1, "decimals": 1, "output": "integer"}, "takes no decimals with output: integer"),
        ("random_number", {"minimum": 0.1, "maximum": 0.9}, "needs a minimum below the maximum, with a number of these decimals between them"),
        ("random_date", {"first": "2020-01-01", "last": "2020-01-01"}, "needs a first before the last"),
        ("random_text", {}, "needs a length, or a minimum_length and a maximum_length"),
        ("random_text", {"length": 3, "minimum_length": 1}, "needs a length, or a minimum_length and a maximum_length"),
        ("random_text", {"maximum_length": 3}, "needs a minimum_length that is not above the maximum_length"),
        (
            "random_text",
            {"length": 3, "alphabet": "aa"},
            "needs two or more characters, each once; or one of letters, lower, upper, digits, alphanumeric, hexadecimal",
        ),
        ("random_text", {"length": 3, "alphabet": "a\0"}, "has a character that cannot be written"),
        ("random_uuid", {"domain": "a"}, "takes a domain only with a key"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(name: str, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as raised:
        find("masking", name)(**settings)
    assert raised.value.mistakes[0].message == words


UNDER_A_KEY = [
    ("fake", {"kind": "name"}),
    ("random_uuid", {}),
    ("random_text", {"length": 8}),
    ("random_number", {"minimum": 1, "maximum": 10**9, "output": "text"}),
    ("choice", {"values": [f"c{number}" for number in range(9999)]}),
]


@pytest.mark.parametrize(("name", "settings"), UNDER_A_KEY)
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array(["A-17", "B-23", "5.5", "7", None]), "integer"),
        (pa.array([float("nan"), float("inf"), float("-inf"), 7.0, None]), None),
        (pa.array([1.5, 2.5, 3.5, 7.0, None]), "integer"),
        (pa.array([datetime(2020, 1, day, 13, 5) for day in (1, 2, 3)] + [datetime(2020, 1, 7), None]), "date"),
    ],
)
def test_what_is_not_of_its_type_does_not_become_one_value_under_a_key(name: str, settings: dict[str, Any], values: pa.Array, kind: Any) -> None:
    mask = find("masking", name)(**settings, key="main")
    columns = pa.RecordBatch.from_arrays([values], names=["value"])

    found = mask.apply(columns, MaskContext("value", keys=KEYS, kind=kind)).to_pylist()
    by_chance = find("masking", name)(**settings).apply(columns, MaskContext("value", keys=KEYS, kind=kind))

    assert found[:3] == [None, None, None]
    assert found[3] is not None
    # a missing value may be asked to become something
    assert found[4] is not None
    assert by_chance.null_count == 0


@pytest.mark.parametrize(("name", "settings"), [*UNDER_A_KEY, ("hash", {"unkeyed": "sha256"})])
def test_one_value_in_several_types_becomes_the_same_under_a_key(name: str, settings: dict[str, Any]) -> None:
    mask = find("masking", name)(**settings, **({} if name == "hash" else {"key": "main"}))

    def made(values: list[tuple[pa.Array, Any]]) -> set[Any]:
        batches = [(pa.RecordBatch.from_arrays([array], names=["value"]), MaskContext("value", keys=KEYS, kind=kind)) for array, kind in values]
        return {one for columns, context in batches for one in mask.apply(columns, context).to_pylist()}

    fives = [(pa.array(["5", "5.0", "+5"]), "decimal"), (pa.array([5]), None), (pa.array([Decimal("5.00")]), None), (pa.array([5.0]), "integer")]
    days = [(pa.array(["2020-01-31"]), "date"), (pa.array([date(2020, 1, 31)]), None), (pa.array([datetime(2020, 1, 31)]), "date")]

    assert len(made(fives)) == 1
    assert len(made(days)) == 1
    assert made(fives) != made(days)


def test_a_name_by_another_column_is_not_made_of_what_is_not_of_its_type() -> None:
    columns = pa.RecordBatch.from_pydict({"pid": ["A-17", "B-23", "7", None], "name": ["Ada", "Ben", "Cem", "Dea"]})
    context = MaskContext("name", keys=KEYS, kinds={"pid": "integer"})

    found = find("masking", "fake")(kind="name", by=["pid"], key="main").apply(columns, context).to_pylist()

    assert [one is None for one in found] == [True, True, False, False]
