"""Periods of the calendar, up to its end."""

from __future__ import annotations

from datetime import datetime
from typing import get_args

import pytest

from sfumato.core.periods import PeriodLength, closed_periods

LAST = datetime(9999, 12, 31, 23, 59, 59, 999999)


@pytest.mark.parametrize("earliest", [LAST, datetime(9999, 12, 31), datetime(9999, 12, 27)])
@pytest.mark.parametrize("length", get_args(PeriodLength))
def test_the_last_period_of_the_calendar_never_ends(length: PeriodLength, earliest: datetime) -> None:
    found = list(closed_periods(length, earliest, LAST))

    assert all(period.end <= LAST for period in found)
    assert len(found) <= 4


@pytest.mark.parametrize(("length", "many"), [("day", 364), ("week", 52), ("month", 11), ("quarter", 3), ("year", 0)])
def test_those_before_it_end(length: PeriodLength, many: int) -> None:
    assert len(list(closed_periods(length, datetime(9999, 1, 1), LAST))) == many
