from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.top_bottom_code import TopBottomCode


def masked(values: pa.Array, **settings: Any) -> list[Any]:
    mask = TopBottomCode(**settings)
    found = mask.apply(pa.RecordBatch.from_arrays([values], names=["value"]), MaskContext("value"))
    assert found.type == mask.output_type(values.type)
    result: list[Any] = found.to_pylist()
    return result


def test_numbers_beyond_a_limit_become_the_limit() -> None:
    assert masked(pa.array([17, 18, 90, 91, None]), bottom=18, top=90) == [18, 18, 90, 90, None]
    assert masked(pa.array([17.9, 90.1]), bottom=18, top=90) == [18.0, 90.0]
    assert masked(pa.array([Decimal("17.99"), Decimal("90.01")]), bottom=18, top=90) == [Decimal("18.00"), Decimal("90.00")]
    assert masked(pa.array(["17.99", "44.50", "90.01", "+5e1"]), bottom=18, top=90) == ["18", "44.50", "90", "50"]


def test_with_labels_the_column_is_text_that_says_no_more() -> None:
    assert masked(pa.array([17, 44, 103, None]), bottom=18, top=90, beyond="label") == ["< 18", "44", "> 90", None]
    assert masked(pa.array([0.25, 0.75]), top=0.5, beyond="label") == ["0.25", "> 0.5"]


def test_dates_and_instants_beyond_a_limit_become_the_limit() -> None:
    days = pa.array([date(1899, 12, 31), date(1900, 1, 1), date(2030, 1, 1)])
    assert masked(days, bottom="1900-01-01", top="2020-12-31") == [date(1900, 1, 1), date(1900, 1, 1), date(2020, 12, 31)]
    instants = pa.array(["2020-12-31T23:59:59Z", "2021-01-01T00:00:00Z", "2021-01-01"])
    assert masked(instants, top="2020-12-31") == ["2020-12-31T23:59:59Z", "2020-12-31T23:59:59Z", "2020-12-31"]
    within = pa.array(["2020-12-31T05:00:00Z", "2020-12-31T23:59:59.5Z", "2021-01-01T05:00:00Z"])
    assert masked(within, top="2020-12-31") == ["2020-12-31T05:00:00Z", "2020-12-31T23:59:59Z", "2020-12-31T23:59:59Z"]
    assert masked(within, top="2020-12-31", beyond="label") == ["2020-12-31T05:00:00Z", "2020-12-31T23:59:59.5Z", "> 2020-12-31"]
    assert masked(within, top="2020-12-31T23:59:59.25Z") == ["2020-12-31T05:00:00Z", "2020-12-31T23:59:59.25Z", "2020-12-31T23:59:59.25Z"]
    assert masked(pa.array([datetime(2021, 1, 1)]), top="2020-12-31", beyond="label") == ["> 2020-12-31"]


def test_a_limit_that_the_type_does_not_hold_shows_nothing() -> None:
    assert masked(pa.array([5, 100], pa.int8()), bottom=5_000) == [None, None]
    assert masked(pa.array([5, 100], pa.int8()), top=5_000) == [5, 100]


def test_what_is_of_another_type_is_null() -> None:
    assert masked(pa.array(["old", "", "🙂", "1999-01-01"]), top=90) == [None] * 4
    assert masked(pa.array(["old", "17"]), top="1999-01-01") == [None, None]


def test_limits_that_the_column_cannot_hold_are_refused() -> None:
    assert TopBottomCode(top=0.5).misfit(pa.int64(), None) == "has a limit with 1 decimals, and the column's type int64 has 0"
    assert TopBottomCode(top=0.5, beyond="label").misfit(pa.int64(), None) is None
    assert TopBottomCode(top="2020-01-01").misfit(pa.int64(), None) == "takes date or timestamp, and the column is of type integer"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "needs a bottom or a top"),
        ({"bottom": 1, "top": "2020-01-01"}, "needs two numbers, or two dates or instants"),
        ({"bottom": 2, "top": 2}, "needs a bottom below the top"),
        ({"bottom": "2020-01-02", "top": "2020-01-01"}, "needs a bottom below the top"),
    ],
)
def test_limits_that_do_not_fit_together_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as raised:
        TopBottomCode(**settings)
    assert raised.value.mistakes[0].message == words
