"""Intervals of numbers, dates and instants, nested from narrow to wide.

The narrowest level is given by a width, a number of bins, quantiles or cut points; above it two neighbours become one until one is left.
Without any of them neighbouring values are grouped evenly. Searches with boxes may publish any interval; only full-domain ones use the levels.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from sfumato.core import canonical
from sfumato.core.hierarchy import ROOT, Hierarchy, Level, interval_text
from sfumato.core.settings import Settings
from sfumato.errors import DataError
from sfumato.hierarchies._line import Line

_WIDEST_FIRST_LEVEL = 4096


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime.date) else value


Bound = Annotated[float | str, BeforeValidator(_plain)]
"""A number, or a date or an instant as text."""


class Interval(Settings):
    """Intervals of an ordered column. Widths are in the column's unit; days for dates, seconds for instants.

    Quantiles hold about equally many rows, bins are equally wide. Values below ``minimum`` or above ``maximum`` are outside the hierarchy.

    >>> ages = Interval(width=5).build("age", pa.array([17, 21, 30, 31, 38]), np.ones(5, int))
    >>> [level.labels for level in ages.levels]
    [('[15, 19]', '[20, 24]', '[30, 34]', '[35, 39]'), ('[10, 19]', '[20, 29]', '[30, 39]'), ('[0, 19]', '[20, 39]'), ('*',)]
    """

    width: Annotated[float | None, Field(gt=0, allow_inf_nan=False, description="the width of the narrowest intervals")] = None
    bins: Annotated[int | None, Field(ge=1, description="the number of equally wide narrowest intervals")] = None
    quantiles: Annotated[int | None, Field(ge=1, description="the number of narrowest intervals that hold equally many rows")] = None
    edges: Annotated[list[Bound] | None, Field(min_length=1, description="where one narrowest interval ends and the next begins")] = None
    minimum: Annotated[Bound | None, Field(description="the smallest value that belongs to the column")] = None
    maximum: Annotated[Bound | None, Field(description="the largest value that belongs to the column")] = None

    @model_validator(mode="after")
    def _consistent(self) -> Interval:
        if sum(way is not None for way in (self.width, self.bins, self.quantiles, self.edges)) > 1:
            raise ValueError("takes only one of width, bins, quantiles, edges")
        bounds = [*(self.edges or []), *(bound for bound in (self.minimum, self.maximum) if bound is not None)]
        if any(isinstance(bound, float) and not math.isfinite(bound) for bound in bounds):
            raise ValueError("needs bounds that are finite")
        if _falls(self.edges or []):
            raise ValueError("needs edges that rise")
        if _falls([self.minimum, self.maximum]):
            raise ValueError("needs a minimum below the maximum")
        return self

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build the levels over the distinct values of an ordered column."""
        kind = "text" if pa.types.is_string(values.type) else canonical.infer(values)
        if not canonical.is_ordered(kind):
            raise DataError(
                f"column {column} has type {kind}, which has no intervals",
                code="hierarchy-type",
                hint="declare another type, list what stands for a missing value under `missing`, or use taxonomy, table or prefix",
            )
        line = Line.of(values)
        low, high = (self._place(line, column, kind, bound) for bound in (self.minimum, self.maximum))
        inside = np.ones(len(values), bool)
        if low is not None:
            inside &= line.places >= _number(line, low)
        if high is not None:
            inside &= line.places <= _number(line, high)
        line, counts = line.kept(inside), counts[inside]
        levels: tuple[Level, ...] = ()
        if len(line.values):
            edges = [self._place(line, column, kind, edge) for edge in self.edges or []]
            levels = _nested(line, self._narrowest(line, counts, low, high, edges), low, high)
        return Hierarchy(column, True, kind, line.values, (*levels, Level(np.zeros(1, np.int32), (ROOT,))))

    def _place(self, line: Line, column: str, kind: canonical.ValueType, bound: float | str | None) -> Any:
        if bound is None:
            return None
        try:
            return line.place(bound, kind)
        except ValueError:
            raise DataError(
                f"column {column} has type {kind}, and a bound or an edge of its intervals is not of that type",
                code="hierarchy-type",
                hint="write bounds as the column writes its values, or as numbers",
            ) from None

    def _narrowest(self, line: Line, counts: NDArray[np.int64], low: Fraction | None, high: Fraction | None, edges: list[Fraction]) -> _Bins:
        """Return the number of each value's narrowest interval, and where each begins on the line if that does not hang on the values."""
        if self.width is not None:
            return _even(line, low or Fraction(0), line.place(self.width, "decimal"))
        if self.bins is not None:
            first = Fraction(line.places[0]) if low is None else low
            last = Fraction(line.places[-1]) if high is None else high
            # where there is a unit, the last value takes up room like any other
            extent = last - first + (1 if line.unit else 0)
            bins = _even(line, first, extent / self.bins) if extent else _Bins(np.zeros(len(line.places), np.int64), None)
            return _Bins(np.minimum(bins.numbers, self.bins - 1), bins.begin and (lambda n: first + min(n, self.bins or n) * extent / self.bins))
        if edges:
            ends = np.array([_number(line, edge) for edge in edges])
            begins = [Fraction(line.places[0]), *edges, Fraction(line.places[-1]) + 1]
            return _Bins(np.searchsorted(ends, line.places, side="right"), lambda n: begins[min(n, len(begins) - 1)])
        if self.quantiles is not None:
            before = np.cumsum(counts) - counts
            return _Bins((before * self.quantiles // max(1, int(counts.sum()))).astype(np.int64), None)
        step = max(2, -(-len(line.places) // _WIDEST_FIRST_LEVEL))
        return _Bins(np.arange(len(line.places)) // step, None)


@dataclass(frozen=True, eq=False)
class _Bins:
    """The narrowest interval of each value, and where the one of a number begins; None where it begins with its first value."""

    numbers: NDArray[Any]
    begin: Callable[[int], Fraction] | None


def _falls(bounds: list[Any]) -> bool:
    """Return whether bounds that can be compared do not rise; those of two types are compared where the column's type is known."""
    pairs = zip(bounds, bounds[1:], strict=False)
    return any(type(a) is type(b) and a is not None and a >= b for a, b in pairs)


def _number(line: Line, place: Fraction) -> Any:
    """Return a place as a number that compares exactly with those of the line."""
    if line.unit is None:
        return float(place)
    return int(place) if place.denominator == 1 else float(place)


def _even(line: Line, origin: Fraction, width: Fraction) -> _Bins:
    return _Bins(line.divided(origin, width), lambda number: origin + number * width)


def _nested(line: Line, bins: _Bins, low: Fraction | None, high: Fraction | None) -> list[Level]:
    """Return the levels below the root. One that merges nothing is left out, except the narrowest."""
    levels: list[Level] = []
    numbers, doublings = bins.numbers, 0
    while True:
        starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]]).astype(np.int32)
        if not levels or 1 < len(starts) < len(levels[-1].starts):
            levels.append(Level(starts, _labels(line, starts, bins.begin, numbers[starts].tolist(), doublings, low, high)))
        wider = numbers >> 1
        if len(starts) == 1 or (wider == numbers).all():
            return levels
        numbers, doublings = wider, doublings + 1
