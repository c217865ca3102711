"""Whole numbers in the SQL of databases: what ``core/typed_column.py`` does with numbers of a column. A private part of masks of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.typed_column import DIGITS, Rounding

MOST = 10**DIGITS - 1


@dataclass(frozen=True, eq=False)
class WholeNumber:
    """A number as a whole number of its last digit, and whether it has no more digits than masks calculate with."""

    number: Any
    scale: int
    fits: Any
    kind: Any


def whole_within(value: Any) -> WholeNumber | None:
    """Return the whole number of a column; None for text and binary fractions."""
    from sfumato.databases.server_functions import whole

    found = whole(value)
    if found is None:
        return None
    number, scale = found
    return WholeNumber(number, scale, (number >= -MOST) & (number <= MOST), value.type())


def multiple(number: Any, step: int, rounding: Rounding) -> Any:
    """Return the multiple of a step that is nearest, with halves away from zero, or next below or above.

    Of what is not negative the rest is taken away: engines agree on that, and not on how to divide.
    """
    size = number.abs()
    outwards, inwards = size + (step - 1), size
    if rounding == "nearest":
        below = above = size + step // 2
    else:
        below, above = (outwards, inwards) if rounding == "down" else (inwards, outwards)
    return (number < 0).ifelse((below % step) - below, above - (above % step))


def largest(kind: Any) -> tuple[int, int]:
    """Return the smallest and the largest whole number of the last digit that a column's type holds, of those that masks calculate with."""
    if kind.is_decimal():
        most = min(MOST, 10**kind.precision - 1)
        return -most, most
    limits = np.iinfo(str(kind).lower())
    return max(-MOST, int(limits.min)), min(MOST, int(limits.max))
