"""The mean that a cluster shows, counted once more from the texts of its people's values.

Every person counts once, with the mean of their own values. What may differ is half a unit of the last digit that is written, and what may be lost by
adding so many numbers one after the other. Here sums are rounded once, at their end.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from decimal import Decimal

from sfumato.measures.covering import place_of

_DAY = 86_400_000_000
_DIGITS = 6


def is_mean(text: str, values: Sequence[tuple[Hashable, str | None]]) -> bool | None:
    """Return whether a text is the mean of people whose values these are; None where the place of one is not known here.

    >>> is_mean("43.5", [("ada", "40"), ("ben", "40"), ("ben", "54")]), is_mean("43.6", [("ada", "40"), ("ben", "40"), ("ben", "54")])
    (True, False)
    >>> is_mean("2024-01-02", [("ada", "2024-01-01"), ("ben", "2024-01-04")]), is_mean("40", [("ada", "40"), ("ben", None)])
    (True, False)
    """
    line, shown = place_of(text) or ("", None)
    if shown is None or line not in ("number", "time") or any(not value for _, value in values):
        return False
    people: dict[Hashable, list[float]] = {}
    largest = 0.0
    for person, value in values:
        place = place_of(value or "")
        if place is None or not math.isfinite(float(place[1])):
            return None
        if place[0] != line:
            return False
        people.setdefault(person, []).append(float(place[1]))
        largest = max(largest, abs(float(place[1])))
    own = [math.fsum(each) / len(each) for each in people.values()]
    lost = (len(values) + len(own) + 4) * sys.float_info.epsilon * largest
    return abs(float(shown) - math.fsum(own) / len(own)) <= _unit(text, line, values) / 2 + lost


def _unit(text: str, line: str, values: Sequence[tuple[Hashable, str | None]]) -> float:
    """Return how far apart two means are that are written one after the other: a microsecond, a day between days, the last digit of a number."""
    if line == "time":
        return _DAY if not any(":" in (value or "") for _, value in values) else 1
    return 10.0 ** -max(_DIGITS, -int(Decimal(text).as_tuple().exponent))
