from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.date_jitter import DateJitter

KEYS = Keys({"main": (Key("k1", bytes(range(32))),)})


def masked(values: pa.Array, **settings: Any) -> pa.Array:
    return DateJitter(**settings).apply(pa.RecordBatch.from_arrays([values], names=["value"]), MaskContext("value", keys=KEYS))


def test_days_move_by_every_number_of_days_up_to_the_most() -> None:
    found = masked(pa.array([date(2020, 2, 28)] * 1_000), days=2).to_pylist()
    assert set(found) == {date(2020, 2, 26), date(2020, 2, 27), date(2020, 2, 28), date(2020, 2, 29), date(2020, 3, 1)}


def test_instants_move_by_seconds_and_keep_no_fraction_of_their_own() -> None:
    values = pa.array(["2020-01-31T12:30:00Z"] * 200 + ["2020-01-31T12:30:00.25Z"] * 200)
    found = masked(values, hours=1, minutes=30).to_pylist()
    assert all("2020-01-31T11:00:00Z" <= text <= "2020-01-31T14:00:00Z" and len(text) == 20 for text in found[:200])
    assert sum(text.endswith(".25Z") for text in found[200:]) < 5


def test_results_stay_within_the_bounds() -> None:
    found = masked(pa.array(["2020-01-02"] * 5000), days=20, first="2020-01-01", last="2020-01-05").to_pylist()
    assert set(found) == {f"2020-01-0{day}" for day in range(1, 6)}


def test_the_last_day_of_the_calendar_is_not_left() -> None:
    assert max(masked(pa.array(["9999-12-31"] * 50), days=3).to_pylist()) == "9999-12-31"


def test_under_a_key_equal_dates_move_alike() -> None:
    one, other = (masked(pa.array(["2020-01-31", "2020-02-01", "2020-01-31"]), days=1_000, key="main").to_pylist() for _ in range(2))
    assert one == other
    assert one[0] == one[2]


def test_a_day_cannot_move_by_hours() -> None:
    assert masked(pa.array(["2020-01-31", "2020-01-31T00:00:00Z"]), hours=23).is_valid().to_pylist() == [False, True]
    assert DateJitter(hours=23).misfit(pa.date32(), None) == "moves by less than a day, and the column is of type date"
    assert DateJitter(hours=24).misfit(pa.date32(), None) is None
    assert DateJitter(days=1).misfit(pa.int64(), None) == "takes date or timestamp, and the column is of type integer"


def test_what_is_no_date_is_null() -> None:
    assert masked(pa.array(["soon", "2020-02-30", "🙂", "", None]), days=1).null_count == 5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "needs days, hours or minutes"),
        ({"days": 1, "first": "2020-01-02", "last": "2020-01-01"}, "needs a first that is not after the last"),
        ({"days": 1, "first": "January"}, "needs a date such as 2020-01-31 or an instant such as 2020-01-31T12:30:00Z"),
        ({"days": -1}, "must be at least 0"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as raised:
        DateJitter(**settings)
    assert raised.value.mistakes[0].message == words
