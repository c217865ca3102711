"""Stretches of the calendar at the edges of it, and far ahead: what a hierarchy calls them is what the check reads."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from sfumato.hierarchies.calendar import Calendar
from sfumato.measures.covering import stretch_of

FIRST, LAST = -62_135_596_800, 253_402_300_800
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Pacific/Kiritimati", "Asia/Kathmandu", "Pacific/Auckland"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("levels", [("second", "minute", "hour", "day", "month", "quarter", "year", "decade"), ("day", "week")])
def test_every_label_of_a_calendar_is_told_of_its_instant(zone: str, levels: tuple[str, ...]) -> None:
    chance = random.Random(7)
    edges = [FIRST, FIRST + 1800, LAST - 1, LAST - 1800]
    seconds = sorted({*edges, *(chance.randrange(FIRST, LAST) for _ in range(100)), *(chance.randrange(-(10**9), 4 * 10**9) for _ in range(100))})
    instants = pa.array([second * 1_000_000 for second in seconds], pa.timestamp("us", tz="UTC"))
    ladder = Calendar.model_validate({"time_zone": zone, "levels": list(levels)}).build("at", instants, np.ones(len(instants), np.int64))
    tells = stretch_of(zone)

    untold = [
        (original, label)
        for level in ladder.ancestors()[1:-1]
        for original, label in zip(ladder.leaves.to_pylist(), level.to_pylist(), strict=True)
        if not tells(label, original)
    ]

    assert untold == []


def test_another_stretch_is_not_told_at_the_end_of_the_calendar() -> None:
    tells = stretch_of("Europe/Berlin")

    assert tells("9999-W52", "9999-12-31T23:59:59Z")
    assert tells("10000-01-01", "9999-12-31T23:59:59Z")
    assert not tells("9999-12-31", "9999-12-31T23:59:59Z")
