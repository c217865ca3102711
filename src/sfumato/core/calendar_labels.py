"""What stretches of the calendar are called: ``2024-05-17``, ``2024-W20``, ``2024-05``, ``2024-Q2``, ``2024``, ``2020s``."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

Stretch = Literal["day", "week", "month", "quarter", "year", "decade"]

_PATTERNS = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}


def calendar_labels(local: pa.Array, stretch: Stretch) -> pa.Array:
    """Return the stretch in which each instant lies, by the clock that it was read from. Weeks are those of ISO 8601.

    >>> days = pa.array(["2024-12-30"]).cast(pa.date32()).cast(pa.timestamp("s"))
    >>> [calendar_labels(days, stretch)[0].as_py() for stretch in ("week", "quarter", "decade")]
    ['2025-W01', '2024-Q4', '2020s']
    """
    if stretch == "week":
        parts = pc.iso_calendar(local)
        year, week = (pc.cast(pc.struct_field(parts, part), pa.string()) for part in ("iso_year", "iso_week"))
        return pc.binary_join_element_wise(_padded(year, 4), "-W", _padded(week, 2), "")
    if stretch == "quarter":
        return pc.binary_join_element_wise(clock_text(local, "%Y"), "-Q", pc.cast(pc.quarter(local), pa.string()), "")
    if stretch == "decade":
        tens = pc.cast(pc.divide(pc.year(local), 10), pa.string())
        return pc.binary_join_element_wise(_padded(tens, 3), "0s", "")
    return clock_text(local, _PATTERNS[stretch])


def clock_text(local: pa.Array, pattern: str) -> pa.Array:
    """Return instants as a clock shows them."""
    # whole seconds: with a finer unit, %S writes fractions
    return pc.strftime(pc.cast(pc.floor_temporal(local, unit="second"), pa.timestamp("s")), format=pattern)


def _padded(digits: pa.Array, width: int) -> pa.Array:
    return pc.utf8_lpad(digits, width=width, padding="0")
