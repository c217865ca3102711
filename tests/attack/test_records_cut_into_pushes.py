"""Who is who, and which value is which, hangs on records alone: not on what stands beside them in a push, nor on which came first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.core.canonical import ValueType
from sfumato.engine.stream.listed_people import listed_people
from sfumato.engine.stream.people import People
from sfumato.errors import SfumatoError

EAST = timezone(timedelta(hours=2))
NUMBERS: list[Any] = [7, 7.0, "7", "07", "7.0", Decimal("7.00"), np.float32(7), np.int16(7), True, 1, 0.1, "0.10", Decimal("0.10"), np.float32(0.1)]
FAR: list[Any] = [2**53 + 1, float(2**53), str(2**53 + 1), Decimal(2**53 + 1), 2**64, 1e-7, "1e-7", "0.0000001", -0.0, "-0", 0]
NOBODY: list[Any] = [None, float("nan"), Decimal("NaN"), np.float32("nan"), "", "nan"]
TIMES: list[Any] = [
    date(2020, 1, 1),
    datetime(2020, 1, 1),
    datetime(2020, 1, 1, 12),
    datetime(2020, 1, 1, 2, tzinfo=EAST),
    "2020-01-01",
    "2020-01-01T00:00:00Z",
    "2020-01-01 02:00+02:00",
    "2020-01-01T12:00",
    7,
    None,
]
KINDS: list[tuple[ValueType, list[Any]]] = [
    ("integer", NUMBERS + NOBODY),
    ("integer", FAR + NOBODY),
    ("decimal", NUMBERS + NOBODY),
    ("decimal", FAR + NOBODY),
    ("text", NUMBERS + NOBODY),
    ("text", FAR + TIMES),
    ("date", TIMES + NOBODY),
    ("timestamp", TIMES + NOBODY),
    ("ip", ["10.0.0.1", "::ffff:10.0.0.1", "::1", "0::1", 7, *NOBODY]),
]


def policy(kind: ValueType | None, promise: dict[str, Any]) -> dict[str, Any]:
    declared = {} if kind is None else {"type": kind}
    columns = {
        "who": {"role": "identifier", **(declared if "k_anonymity" in promise else {})},
        "age": {"role": "quasi_identifier", "type": "integer"},
        "what": {"role": "sensitive", **({} if "k_anonymity" in promise else declared)},
    }
    promises = [promise] if "k_anonymity" in promise else [{"k_anonymity": {"k": 2}}, promise]
    return {"subject": "who", "columns": columns, "promises": promises, "window": {"count": 2}}


def released(asked: dict[str, Any], pushes: list[list[dict[str, Any]]]) -> int | None:
    """Return how many records were released; None where one was set aside, or the policy was refused for them."""
    session = sfumato.stream(asked, secret=bytes(32))
    try:
        for records in pushes:
            session.push(records)
        session.flush()
    except SfumatoError:
        return None
    return None if session.accounts.dead else session.accounts.released


def cuts(one: dict[str, Any], other: dict[str, Any]) -> Iterator[list[list[dict[str, Any]]]]:
    yield from ([[one, other]], [[other, one]], [[one], [other]], [[other], [one]])


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "values"), KINDS, ids=[f"{kind}-{place}" for place, (kind, _) in enumerate(KINDS)])
def test_two_records_are_of_one_person_or_of_two_however_they_are_cut(kind: ValueType, values: list[Any]) -> None:
    asked = policy(kind, {"k_anonymity": {"k": 2}})
    for one, other in combinations(values, 2):
        records = [{"who": value, "age": 5, "what": "flu"} for value in (one, other)]
        found = {released(asked, pushes) for pushes in cuts(*records)} - {None}
        assert len(found) <= 1, (one, other)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "values"), [KINDS[0], KINDS[6], KINDS[7]], ids=["integer", "date", "timestamp"])
def test_two_values_are_one_or_two_however_they_are_cut(kind: ValueType, values: list[Any]) -> None:
    asked = policy(kind, {"l_diversity": {"column": "what", "l": 2}})
    for one, other in combinations(values, 2):
        records = [{"who": who, "age": 5, "what": value} for who, value in (("ada", one), ("ben", other))]
        found = {released(asked, pushes) for pushes in cuts(*records)} - {None}
        assert len(found) <= 1, (one, other)


@pytest.mark.parametrize("kind", [None, "text", "date", "timestamp"])
def test_a_day_and_the_instant_at_which_it_begins_are_one_person_in_one_list(kind: ValueType | None) -> None:
    records = [{"who": value, "age": 5, "what": "flu"} for value in (date(2020, 1, 1), datetime(2020, 1, 1))]
    assert released(policy(kind, {"k_anonymity": {"k": 2}}), [records]) == (2 if kind == "text" else 0)


def test_what_is_no_number_is_nobody_and_no_value() -> None:
    nothing = [float("nan"), None, Decimal("NaN")]
    people = [{"who": who, "age": 5, "what": "flu"} for who in ("ada", *nothing)]
    assert released(policy(None, {"k_anonymity": {"k": 3}}) | {"window": {"count": 4}}, [people]) == 0
    values = [{"who": str(place), "age": 5, "what": value} for place, value in enumerate(["flu", *nothing])]
    assert released(policy(None, {"l_diversity": {"column": "what", "l": 3}}) | {"window": {"count": 4}}, [values]) == 0


def test_a_number_beside_an_instant_is_no_time() -> None:
    asked = {"columns": {"at": {"role": "other"}}, "stream": {}}
    session = sfumato.stream(asked, secret=bytes(32))
    texts = {
        text for release in session.push([{"at": datetime(2020, 1, 1, tzinfo=UTC)}, {"at": 1577836800}]) for text in release.batch["at"].to_pylist()
    }
    assert texts == {"2020-01-01T00:00:00Z", "1577836800"}


LISTED: list[tuple[pa.Array, ValueType | None, list[str]]] = [
    (pa.array([12345678901.0, 1e-7]), "decimal", ["12345678901", "0.00000010"]),
    (pa.array([12345678901.0, 1e-7]), None, ["1.2345678901e10", " 1e-7 "]),
    (pa.array([2**63 + 5], pa.uint64()), "integer", [str(2**63 + 5)]),
    (pa.array([Decimal(10**20 + 1)], pa.decimal128(38, 2)), "integer", [f"{10**20 + 1}.0"]),
    (pa.array([Decimal(10**45 + 1)], pa.decimal256(60, 2)), "decimal", [f"+{10**45 + 1}"]),
    (pa.array([Decimal("1E-9")], pa.decimal128(38, 12)), None, ["1e-9"]),
    (pa.array([date(2020, 1, 1)]), "timestamp", ["2020-01-01"]),
    (pa.array([date(2020, 1, 1)]), None, ["2020-01-01T00:00Z"]),
    (pa.array([datetime(2020, 1, 1)], pa.timestamp("us")), "date", ["2020-01-01T00:00:00Z"]),
    (pa.array([datetime(2020, 1, 1)], pa.timestamp("ns", tz="Europe/Berlin")), "date", ["2020-01-01"]),
    (pa.array(["7"]), "text", ["7.0"]),
    (pa.array(["07", " ada "]), None, ["07", " ada "]),
    (pa.array([True]), None, ["True"]),
]


@pytest.mark.parametrize(("subjects", "kind", "lines"), LISTED, ids=[f"{subjects.type}-{kind}" for subjects, kind, _ in LISTED])
def test_a_line_of_a_list_names_whoever_has_that_value_in_the_stream(subjects: pa.Array, kind: ValueType | None, lines: list[str]) -> None:
    people = People(bytes(32), kind)
    assert {*people.numbers(subjects).tolist()} <= {*people.numbers(listed_people(lines, subjects.type, kind)).tolist()}


@pytest.mark.parametrize("kind", [None, "integer", "decimal"])
def test_a_line_that_names_nobody_opts_nobody_out(kind: ValueType | None) -> None:
    assert len(listed_people(["", "x", "7.5", "nan"], pa.int64(), kind)) == 0
