"""Periods of the calendar: days, weeks, months, quarters and years, and which of them are over for long enough."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, datetime, timedelta
from typing import Literal

PeriodLength = Literal["day", "week", "month", "quarter", "year"]
AGE = r"^[1-9][0-9]{0,4}[hdw]$"
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class Period:
    """A stretch of time from its first instant up to, but without, that of the next one, in UTC without saying so."""

    first: datetime
    end: datetime
    name: str


def age(text: str) -> timedelta:
    """Return how long something is: ``36h``, ``90d`` or ``12w``.

    >>> age("90d").days
    90
    """
    found = re.fullmatch(r"([0-9]+)([hdw])", text)
    if found is None:
        raise ValueError("must be a number and h, d or w, such as 90d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def closed_periods(length: PeriodLength, earliest: datetime, before: datetime) -> Iterator[Period]:
    """Yield the periods that hold an instant or follow it, and that have ended by another; the last ones of the calendar never end.

    >>> [period.name for period in closed_periods("month", datetime(2025, 12, 31), datetime(2026, 2, 28))]
    ['2025-12', '2026-01']
    >>> [period.name for period in closed_periods("week", datetime(2026, 1, 1), datetime(2026, 1, 12))]
    ['2026-W01', '2026-W02']
    """
    first = _beginning(length, earliest)
    while (end := _next(length, first)) is not None and end <= before:
        yield Period(first, end, _name(length, first))
        first = end


def _beginning(length: PeriodLength, instant: datetime) -> datetime:
    day = instant.replace(hour=0, minute=0, second=0, microsecond=0)
    if length == "day":
        return day
    if length == "week":
        return day - timedelta(days=day.weekday())
    months = _MONTHS[length]
    return day.replace(day=1, month=(day.month - 1) // months * months + 1)


def _next(length: PeriodLength, first: datetime) -> datetime | None:
    """Return the beginning of the period that follows; None beyond the calendar."""
    if length in ("day", "week"):
        days = timedelta(days=1 if length == "day" else 7)
        return first + days if datetime.max - first >= days else None
    month = first.month - 1 + _MONTHS[length]
    year = first.year + month // 12
    return first.replace(year=year, month=month % 12 + 1) if year <= MAXYEAR else None


def _name(length: PeriodLength, first: datetime) -> str:
    """Return what a period is called: by ISO 8601 where that has a name for it."""
    year, week, _ = first.isocalendar()
    names = {"day": f"{first:%Y-%m-%d}", "week": f"{year}-W{week:02}", "month": f"{first:%Y-%m}", "year": f"{first:%Y}"}
    return names.get(length) or f"{first:%Y}-Q{(first.month - 1) // 3 + 1}"
