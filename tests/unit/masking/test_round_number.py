from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.round_number import RoundNumber


def masked(values: pa.Array, **settings: Any) -> list[Any]:
    found: list[Any] = RoundNumber(**settings).apply(pa.RecordBatch.from_arrays([values], names=["value"]), MaskContext("value")).to_pylist()
    return found


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [("nearest", [0, 10, -10, 0, 120]), ("down", [0, 0, -10, -10, 120]), ("up", [10, 10, 0, 0, 120])],
)
def test_whole_numbers_go_to_a_multiple(mode: str, wanted: list[int]) -> None:
    assert masked(pa.array([4, 5, -5, -4, 120]), base=10, mode=mode) == wanted


def test_texts_are_rounded_exactly_and_written_with_the_decimals_of_the_base() -> None:
    assert masked(pa.array(["2649.99", "0.025", "-0.025", "7", "1e1"]), base=0.05) == ["2650.00", "0.05", "-0.05", "7.00", "10.00"]
    assert masked(pa.array(["999999999999999.5"]), base=1) == ["1000000000000000"]


def test_decimals_are_rounded_exactly() -> None:
    assert masked(pa.array([Decimal("1.005"), Decimal("-1.005")]), decimals=2) == [Decimal("1.010"), Decimal("-1.010")]
    assert masked(pa.array([Decimal("12.50"), None]), base=5) == [Decimal("15.00"), None]


def test_binary_fractions_go_to_the_multiple_they_are_meant_to_be() -> None:
    assert masked(pa.array([0.15, 0.3, 1e300, -2.5]), base=0.05, mode="down") == [0.15, 0.3, 1e300, -2.5]
    assert masked(pa.array([2.675, 2.665]), decimals=1) == [2.7, 2.7]


def test_decimals_are_those_that_are_left() -> None:
    assert masked(pa.array(["3.14159", "3"]), decimals=2) == ["3.14", "3.00"]
    assert masked(pa.array([17, None]), decimals=1) == [17, None]


def test_a_result_that_the_type_does_not_hold_is_null() -> None:
    assert masked(pa.array([127, 5], pa.int8()), base=10) == [None, 10]


def test_what_is_no_number_is_null() -> None:
    assert masked(pa.array(["", "ten", "٣", None, "x" * 10_000]), base=10) == [None] * 5


def test_a_base_with_more_decimals_than_the_column_is_refused() -> None:
    words = "rounds to a base with 1 decimals, and the column's type int64 has 0"
    assert RoundNumber(base=0.5).misfit(pa.int64(), None) == words
    assert RoundNumber(base=0.5).misfit(pa.float64(), None) is None
    assert RoundNumber(decimals=2).misfit(pa.int64(), None) is None


@pytest.mark.parametrize("settings", [{}, {"base": 10, "decimals": 1}])
def test_base_and_decimals_are_one_or_the_other(settings: dict[str, Any]) -> None:
    with pytest.raises(PolicyError) as raised:
        RoundNumber(**settings)
    assert raised.value.mistakes[0].message == "needs a base or a number of decimals, one of them"
