"""Durations: stretches of a stream's time, written as a number and a unit."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_WRITTEN = re.compile(r"([1-9][0-9]{0,5})([smhdw])")
SECOND = 1_000_000


def microseconds(duration: str) -> int:
    """Return how long a duration is.

    >>> microseconds("90s"), microseconds("1h") // SECOND
    (90000000, 3600)
    """
    found = _WRITTEN.fullmatch(duration)
    if found is None:
        raise ValueError("must be a number and s, m, h, d or w, such as 30m or 1h")
    return int(found[1]) * _UNITS[found[2]] * SECOND


def _is_duration(text: str) -> str:
    microseconds(text)
    return text


Duration = Annotated[str, AfterValidator(_is_duration), Field(json_schema_extra={"pattern": f"^{_WRITTEN.pattern}$"})]
