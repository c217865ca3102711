"""A condition finds days, instants and addresses however they are written: what it misses leaves in clear."""

from __future__ import annotations

from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.condition import Condition

NOON, MIDNIGHT = datetime(2020, 1, 31, 12, 30, tzinfo=UTC), datetime(2020, 2, 1, tzinfo=UTC)
INSTANTS = [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Europe/Berlin")]


def holds(values: Any, **test: Any) -> list[bool]:
    return Condition(column="a", **test).holds(pa.RecordBatch.from_pydict({"a": values})).tolist()


@pytest.mark.parametrize("kind", INSTANTS, ids=str)
@pytest.mark.parametrize("written", ["2020-01-31T12:30:00Z", "2020-01-31 12:30", "2020-01-31T13:30:00+01:00"])
def test_an_instant_is_found_in_every_type_and_writing(kind: pa.DataType, written: str) -> None:
    instants = pa.array([NOON.replace(tzinfo=None), MIDNIGHT.replace(tzinfo=None), None], pa.timestamp(kind.unit)).cast(pa.int64()).cast(kind)
    assert holds(instants, equals=written) == [True, False, False]
    assert holds(instants, one_of=["x", written]) == [True, False, False]


@pytest.mark.parametrize("kind", INSTANTS, ids=str)
def test_an_instant_is_matched_as_a_policy_writes_it(kind: pa.DataType) -> None:
    instants = pa.array([NOON.replace(tzinfo=None), None], pa.timestamp(kind.unit)).cast(pa.int64()).cast(kind)
    assert holds(instants, matches="^2020-01-31T12:30:00Z$") == [True, False]


def test_a_day_is_the_midnight_with_which_it_begins() -> None:
    assert holds(pa.array([NOON, MIDNIGHT], pa.timestamp("us", "UTC")), equals="2020-02-01") == [False, True]
    assert holds(pa.array([NOON.date()]), equals="2020-01-31T00:00:00Z") == [True]


def test_texts_that_write_one_instant_otherwise_are_found() -> None:
    texts = pa.array(["2020-01-31 12:30:00Z", "2020-01-31T13:30+01:00", "2020-01-31", "Noon", None])
    assert holds(texts, equals="2020-01-31T12:30:00Z") == [True, True, False, False, False]


def test_an_address_is_found_in_every_writing() -> None:
    texts = pa.array(["::ffff:10.0.0.1", "10.0.0.1", "10.0.0.2", "2001:DB8:0::1", "x", None])
    assert holds(texts, equals="10.0.0.1") == [True, True, False, False, False, False]
    assert holds(texts, equals="2001:db8::1") == [False, False, False, True, False, False]


def test_a_time_of_day_needs_no_fraction() -> None:
    times = pa.array([time(1, 2, 3), time(1, 2, 3, 500_000), time(10)], pa.time64("us"))
    assert holds(times, equals="01:02:03") == [True, False, False]
    assert holds(times, one_of=["10:00:00", "01:02:03.5"]) == [False, True, True]


def test_large_whole_numbers_are_found_among_floats_and_decimals() -> None:
    assert holds(pa.array([1e16, 1e17]), equals=10**16) == [True, False]
    assert holds(pa.array([Decimal("10000000000000000.00"), Decimal("10000000000000001.00")]), equals=10**16) == [True, False]


@pytest.mark.parametrize("moment", [NOON, MIDNIGHT.date(), datetime(2020, 2, 1)])
def test_days_and_instants_of_python_are_those_that_a_policy_writes(moment: Any) -> None:
    written = moment.isoformat()
    for test in ({"below": moment}, {"at_least": moment}, {"equals": moment}, {"one_of": [moment]}):
        texts = {key: [written] if isinstance(value, list) else written for key, value in test.items()}
        assert Condition(column="a", **test) == Condition(column="a", **texts)


def test_a_condition_of_a_run_may_hold_a_day_of_python() -> None:
    born = {"role": "other", "mask": "empty", "when": {"column": "born", "below": MIDNIGHT.date()}}
    release = sfumato.run({"columns": {"born": born}}, data=pa.table({"born": ["1990-01-01", "2020-02-01"]}))
    assert sorted(release.table["born"].to_pylist(), key=str) == ["2020-02-01", None]
