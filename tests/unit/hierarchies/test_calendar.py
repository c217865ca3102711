from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core import canonical
from sfumato.core.hierarchy import Hierarchy
from sfumato.errors import DataError, PolicyError
from sfumato.hierarchies.calendar import Calendar


def built(texts: list[str], kind: canonical.ValueType, **settings: object) -> Hierarchy:
    values = canonical.parse(pa.array(texts), kind)
    return Calendar(**settings).build("at", values, np.ones(len(texts), np.int64))


def labels(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    return [level.labels for level in hierarchy.levels]


def test_dates_climb_by_month_quarter_year_and_decade() -> None:
    days = built(["1999-12-31", "2000-01-01", "2001-05-17"], "date")

    assert labels(days) == [
        ("1999-12", "2000-01", "2001-05"),
        ("1999-Q4", "2000-Q1", "2001-Q2"),
        ("1999", "2000", "2001"),
        ("1990s", "2000s"),
        ("*",),
    ]


def test_instants_climb_from_the_levels_asked_for() -> None:
    instants = built(
        ["2024-05-17T10:15:01Z", "2024-05-17T10:15:59Z", "2024-05-17T10:16:00Z"], "timestamp", levels=["second", "minute", "hour", "day"]
    )

    assert labels(instants)[:4] == [
        ("2024-05-17T10:15:01Z", "2024-05-17T10:15:59Z", "2024-05-17T10:16:00Z"),
        ("2024-05-17T10:15Z", "2024-05-17T10:16Z"),
        ("2024-05-17T10Z",),
        ("2024-05-17",),
    ]


def test_weeks_are_those_of_the_standard_and_cross_years() -> None:
    # 30 December 2024 is a Monday, and the first day of the first week of 2025
    assert labels(built(["2024-12-29", "2024-12-30", "2025-01-05", "2025-01-06"], "date", levels=["week"]))[0] == ("2024-W52", "2025-W01", "2025-W02")


def test_midnight_is_that_of_the_time_zone() -> None:
    instants = ["2024-05-17T21:59:00Z", "2024-05-17T22:01:00Z"]

    assert labels(built(instants, "timestamp", levels=["day"], time_zone="Europe/Berlin"))[0] == ("2024-05-17", "2024-05-18")
    assert labels(built(instants, "timestamp", levels=["day"]))[0] == ("2024-05-17",)


def test_the_hour_that_comes_twice_is_two_hours() -> None:
    instants = ["2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z", "2024-10-27T02:30:00Z"]

    assert labels(built(instants, "timestamp", levels=["hour", "day"], time_zone="Europe/Berlin"))[:2] == [
        ("2024-10-27T02+02:00", "2024-10-27T02+01:00", "2024-10-27T03+01:00"),
        ("2024-10-27",),
    ]


def test_old_and_late_years_have_four_digits() -> None:
    assert labels(built(["0101-01-01", "1850-06-30", "9999-12-31"], "date", levels=["month", "year", "decade"]))[:3] == [
        ("0101-01", "1850-06", "9999-12"),
        ("0101", "1850", "9999"),
        ("0100s", "1850s", "9990s"),
    ]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"levels": ["month", "day"]}, "rise from short to long"),
        ({"levels": ["week", "month"]}, "cannot put weeks into anything longer"),
        ({"levels": ["fortnight"]}, "levels"),
        ({"time_zone": "Mars/Olympus"}, "is no time zone"),
        ({"time_zone": "../etc/passwd"}, "is no time zone"),
    ],
    ids=str,
)
def test_what_does_not_nest_or_is_not_there_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        Calendar(**settings)


def test_a_column_of_numbers_has_no_calendar() -> None:
    with pytest.raises(DataError) as caught:
        Calendar().build("age", pa.array([1, 2]), np.ones(2, np.int64))

    assert caught.value.code == "hierarchy-type"


def test_a_distance_from_utc_with_seconds_is_told_with_them() -> None:
    instants = pa.array(["1850-01-01T00:00:07"]).cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC"))
    ladder = Calendar(levels=["minute"], time_zone="America/New_York").build("at", instants, np.array([1]))

    assert ladder.levels[0].labels == ("1849-12-31T19:04-04:56:02",)
