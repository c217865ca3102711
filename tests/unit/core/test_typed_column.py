from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.typed_column import DAY, Numbers, Times, multiples, number_texts

EVERY = [
    pa.array(["12.50", None, "-3"]),
    pa.array(["12.50", None, "-3"]).cast(pa.large_string()),
    pa.array(["12.50", None, "-3"]).dictionary_encode(),
    pa.array([12, None, -3], pa.int8()),
    pa.array([12, None, 3], pa.uint64()),
    pa.array([12.5, None, -3.0], pa.float32()),
    pa.array([Decimal("12.50"), None, Decimal("-3.00")], pa.decimal128(6, 2)),
    pa.array([Decimal("12.50"), None, Decimal("-3.00")], pa.decimal256(60, 2)),
    pa.array([Decimal("12.50"), None, Decimal("-3.00")], pa.decimal64(6, 2)),
]


def plus(values: pa.Array, offset: float, **settings: Any) -> list[Any]:
    found: list[Any] = Numbers.of(values).plus(np.full(len(values), offset), **settings).to_pylist()
    return found


@pytest.mark.parametrize("values", EVERY, ids=lambda values: str(values.type))
def test_numbers_come_back_in_the_type_they_had(values: pa.Array) -> None:
    numbers = Numbers.of(values)
    back = numbers.plus(np.zeros(3))
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    assert back.type == plain.type
    assert back.to_pylist() == plain.to_pylist()


@pytest.mark.parametrize(
    "text", ["", " 5", "5 ", "five", "007", "1,5", "0x10", "٣", "5🙂", "nan", "inf", "9" * 19, "1e300", "1." + "9" * 31, "2020-01-31"]
)
def test_what_is_no_number_or_too_long_is_null(text: str) -> None:
    assert plus(pa.array([text, "1"]), 1.0) == [None, "2"]


def test_numbers_that_are_not_finite_are_null() -> None:
    assert plus(pa.array([1.0, float("nan"), float("inf")]), 1.0) == [2.0, None, None]


@pytest.mark.parametrize("values", [pa.array([True]), pa.array([1], pa.date32()), pa.array([1], pa.time64("us"))], ids=str)
def test_columns_of_other_types_have_no_numbers(values: pa.Array) -> None:
    assert plus(values, 1.0) == [None]


def test_an_exponent_is_written_out() -> None:
    assert plus(pa.array(["1e3", "1.5e-3", "+2E2"]), 0.0) == ["1000", "0.0015", "200"]


def test_each_text_keeps_as_many_decimals_as_it_had_whatever_stands_beside_it() -> None:
    assert plus(pa.array(["5", "5.2", "5.250"]), 0.12345) == ["5", "5.3", "5.373"]
    assert plus(pa.array(["5.2"]), 0.12345) == ["5.3"]


def test_the_decimals_asked_for_are_the_decimals_of_every_text() -> None:
    assert plus(pa.array(["5", "-5.255"]), 0.0, decimals=2) == ["5.00", "-5.26"]


def test_decimals_keep_their_scale_and_round_to_what_is_asked_for() -> None:
    assert plus(pa.array([Decimal("1.25")]), 0.1, decimals=1) == [Decimal("1.40")]
    assert plus(pa.array([Decimal("1.25")]), 0.1, decimals=5) == [Decimal("1.35")]


def test_whole_numbers_stand_at_the_end_of_their_type() -> None:
    assert plus(pa.array([120, -120], pa.int8()), 10.0) == [127, -110]
    assert plus(pa.array([3, 250], pa.uint8()), -10.0) == [0, 240]


def test_bounds_between_two_digits_are_rounded_inwards() -> None:
    assert plus(pa.array([1, 9]), 0.0, minimum=1.5, maximum=8.5) == [2, 8]
    assert plus(pa.array(["1", "9.00"]), 0.0, minimum=1.5, maximum=8.505) == ["2", "8.50"]


def test_large_whole_numbers_are_not_rounded_to_binary_fractions() -> None:
    assert plus(pa.array([2**53 + 1, 10**18 - 1]), 1.0) == [2**53 + 2, 10**18 - 1]
    assert plus(pa.array([2**63 - 1, -(2**63)]), 0.0) == [None, None]


def test_binary_fractions_a_hair_below_a_step_are_meant_to_be_it() -> None:
    assert Numbers.of(pa.array([0.29, 0.3, 1.15])).at(2, "down")[0].tolist() == [29, 30, 115]


@given(st.lists(st.integers(-(10**15), 10**15), min_size=1), st.integers(1, 10**6))
def test_multiples_are_those_of_exact_arithmetic(numbers: list[int], step: int) -> None:
    words = np.array(numbers)
    assert multiples(words, step, "down").tolist() == [number // step for number in numbers]
    assert multiples(words, step, "up").tolist() == [-(-number // step) for number in numbers]
    assert multiples(words, step, "nearest").tolist() == [
        (1 if number > 0 else -1) * int(Decimal(abs(number)) / step + Decimal("0.5")) for number in numbers
    ]


@given(st.lists(st.tuples(st.integers(-(10**17), 10**17), st.integers(0, 17)), min_size=1))
def test_texts_of_numbers_are_read_back_as_they_were(pairs: list[tuple[int, int]]) -> None:
    words, scale = (np.array(part, np.int64) for part in zip(*pairs, strict=True))
    texts = number_texts(words, scale, np.ones(len(words), bool))
    numbers = Numbers.of(texts)
    assert numbers.words.tolist() == words.tolist()
    assert np.asarray(numbers.scale).tolist() == scale.tolist()


def test_slices_of_decimals_are_read_from_where_they_begin() -> None:
    assert plus(pa.array([Decimal("1.5"), Decimal("2.5"), None]).slice(1), 0.0) == [Decimal("2.5"), None]


TIMES = [
    pa.array(["2020-01-31", None, "2020-02-28"]),
    pa.array(["2020-01-31T12:30:00Z", None, "2020-02-28T00:00:00.5Z"]),
    pa.array([18292, None, 0], pa.date32()),
    pa.array([18292 * 86_400_000, None, 0], pa.date64()),
    pa.array([1, None, -1], pa.timestamp("s")),
    pa.array([1_500, None, -1], pa.timestamp("ms", tz="UTC")),
    pa.array([1_000, None, -1_000], pa.timestamp("ns", tz="Europe/Berlin")),
]


@pytest.mark.parametrize("values", TIMES, ids=lambda values: str(values.type))
def test_times_come_back_in_the_type_they_had(values: pa.Array) -> None:
    times = Times.of(values)
    back = times.put(times.microseconds, times.valid)
    assert back.type == values.type
    assert back.to_pylist() == values.to_pylist()


@pytest.mark.parametrize("text", ["", "2020-02-30", "2020-13-01", "31.01.2020", "20200131", "2020-01-31T25:00:00Z", "🙂", "12"])
def test_what_is_no_time_is_null(text: str) -> None:
    times = Times.of(pa.array([text, "2020-01-31"]))
    assert times.put(times.microseconds, times.valid).to_pylist() == [None, "2020-01-31"]


def test_instants_of_other_zones_are_written_in_utc() -> None:
    times = Times.of(pa.array(["2020-01-31T01:30:00+02:00", "2020-01-31 12:30"]))
    assert times.put(times.microseconds, times.valid).to_pylist() == ["2020-01-30T23:30:00Z", "2020-01-31T12:30:00Z"]


def test_days_and_instants_may_stand_side_by_side() -> None:
    times = Times.of(pa.array(["2020-01-31", "2020-01-31T12:30:00Z"]))
    assert times.put(times.microseconds + DAY, times.valid).to_pylist() == ["2020-02-01", "2020-02-01T12:30:00Z"]


def test_a_time_outside_the_calendar_is_null() -> None:
    times = Times.of(pa.array(["9999-12-31", "0001-01-01"]))
    assert times.put(times.microseconds + DAY, times.valid).to_pylist() == [None, "0001-01-02"]
    assert times.put(times.microseconds - DAY, times.valid).to_pylist() == ["9999-12-30", None]


def test_nanoseconds_that_no_machine_holds_are_null() -> None:
    times = Times.of(pa.array([0], pa.timestamp("ns")))
    assert times.put(np.array([400 * 366 * DAY]), times.valid).to_pylist() == [None]
