"""Intervals of numbers, dates and instants, nested from narrow to wide.

The narrowest level is given by a width, a number of bins, quantiles or cut points; above it two neighbours become one until one is left.
Without any of them the narrowest hold about equally many rows. Searches with boxes may publish any interval; only full-domain ones use the levels.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from sfumato.core import canonical
from sfumato.core.hierarchy import ROOT, Hierarchy, Level, interval_text
from sfumato.core.settings import Settings
from sfumato.errors import DataError
from sfumato.hierarchies._line import Line, as_float

_MANY = 4096
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime.date) else value


Bound = Annotated[int | float | str, BeforeValidator(_plain)]
"""A number, or a date or an instant as text."""


class Interval(Settings):
    """Intervals of an ordered column. Widths are in the column's unit; days for dates, seconds for instants.

    Quantiles hold about equally many rows, bins are equally wide. Values below ``minimum`` or above ``maximum`` are outside the hierarchy.

    >>> ages = Interval(width=5).build("age", pa.array([17, 21, 30, 31, 38]), np.ones(5, int))
    >>> [level.labels for level in ages.levels]
    [('[15, 19]', '[20, 24]', '[30, 34]', '[35, 39]'), ('[10, 19]', '[20, 29]', '[30, 39]'), ('[0, 19]', '[20, 39]'), ('*',)]
    """

    width: Annotated[float | None, Field(gt=0, allow_inf_nan=False, description="the width of the narrowest intervals")] = None
    bins: Annotated[int | None, Field(ge=1, le=1_000_000, description="the number of equally wide narrowest intervals")] = None
    quantiles: Annotated[int | None, Field(ge=1, le=1_000_000, description="the number of narrowest intervals that hold equally many rows")] = None
    edges: Annotated[
        list[Bound] | None, Field(min_length=1, max_length=10_000, description="where one narrowest interval ends and the next begins")
    ] = None
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
        low, high, *edges = self._places(line, column, kind)
        inside = np.ones(len(values), bool)
        if low is not None:
            inside &= line.places >= line.at_least(low)
        if high is not None:
            inside &= line.places <= line.at_most(high)
        line, counts = line.kept(inside), counts[inside]
        levels = _nested(_Ends(line, self._narrowest(line, counts, low, high, edges), low, high)) if len(line.values) else []
        top = Level(np.zeros(1, np.int32), (ROOT,))
        return Hierarchy(column, True, kind, line.values, (*levels, top), tells_values=not self._says_all_ends)

    @property
    def _says_all_ends(self) -> bool:
        """Whether every interval ends where the policy says; the outermost of edges and bins end with the values where it says no bounds."""
        bounded = self.minimum is not None and self.maximum is not None
        return self.width is not None or (bounded and (self.edges is not None or self.bins is not None))

    def _places(self, line: Line, column: str, kind: canonical.ValueType) -> list[Any]:
        """Return where minimum, maximum and the edges stand on the line."""
        try:
            places = [None if bound is None else line.place(bound, kind) for bound in (self.minimum, self.maximum, *(self.edges or []))]
            if _falls(places[2:]) or _falls(places[:2]):
                raise ValueError
        except ValueError:
            raise DataError(
                f"column {column} has type {kind}, and the bounds or edges of its intervals are not of that type or do not rise",
                code="hierarchy-type",
                hint="write bounds as the column writes its values, the smallest first",
            ) from None
        return places

    def _narrowest(self, line: Line, counts: NDArray[np.int64], low: Fraction | None, high: Fraction | None, edges: list[Fraction]) -> _Bins:
        first = line.at(0) if low is None else low
        last = line.at(-1) if high is None else high
        if self.width is not None:
            return _by_width(line, Fraction(0) if low is None else low, line.place(self.width, "decimal"))
        if self.bins is not None:
            return _by_number(line, first, last, self.bins)
        if edges:
            begins = [first, *edges, last + 1]
            cuts = line.cuts(edges)
            return _Bins(np.searchsorted(cuts, line.places, side="right"), lambda number: begins[min(number, len(edges) + 1)])
        before = np.cumsum(counts) - counts
        return _Bins((before * (self.quantiles or _MANY) // max(1, int(counts.sum()))).astype(np.int64), None)


def _falls(bounds: Sequence[Any]) -> bool:
    """Return whether bounds do not rise; a number and a text, or texts that are numbers, are compared only where the column's type is known.

    >>> _falls([2, 10.5]), _falls([10, 2]), _falls(["9", "10"]), _falls(["2020-02-01", "2020-01-01"]), _falls([None, 3])
    (False, True, False, True, False)
    """
    return any(_are_alike(one, other) and one >= other for one, other in pairwise(bounds))


def _are_alike(one: Any, other: Any) -> bool:
    """Return whether two bounds can be compared as they are: days and instants as texts, which begin with the year."""
    if isinstance(one, str) and isinstance(other, str):
        return bool(_DAY.match(one) and _DAY.match(other))
    return None not in (one, other) and not isinstance(one, str) and not isinstance(other, str)


@dataclass(frozen=True, eq=False)
class _Bins:
    """The number of each value's narrowest interval, and where the interval of a number begins; None where it begins with its first value."""

    numbers: NDArray[Any]
    begin: Callable[[int], Fraction | int] | None


def _by_width(line: Line, origin: Fraction, width: Fraction) -> _Bins:
    if origin.denominator == width.denominator == 1:
        whole_origin, whole_width = int(origin), int(width)
        return _Bins(line.divided(origin, width), lambda number: whole_origin + number * whole_width)
    return _Bins(line.divided(origin, width), lambda number: origin + number * width)


def _by_number(line: Line, first: Fraction, last: Fraction, bins: int) -> _Bins:
    # where there is a unit, the last value takes up room like any other
    extent = last - first + (1 if line.unit else 0)
    if not extent:
        return _Bins(np.zeros(len(line.places), np.int64), None)
    width = extent / bins
    return _Bins(np.minimum(line.divided(first, width), bins - 1), lambda number: first + min(number, bins) * width)


def _nested(ends: _Ends) -> list[Level]:
    """Return the levels below the root. One that merges nothing is left out, except the narrowest where the policy says its bounds."""
    levels: list[Level] = []
    numbers, doublings = ends.bins.numbers, 0
    while True:
        starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]]).astype(np.int32)
        below = len(levels[-1].starts) if levels else len(numbers)
        if 1 < len(starts) < below or (not levels and ends.bins.begin):
            levels.append(Level(starts, ends.labels(starts, numbers[starts].tolist(), doublings)))
        wider = numbers >> 1
        if len(starts) == 1 or (wider == numbers).all():
            return levels
        numbers, doublings = wider, doublings + 1


@dataclass(frozen=True, eq=False)
class _Ends:
    """Where intervals begin and end: in round numbers where the policy says some, else with their first and last value."""

    line: Line
    bins: _Bins
    low: Fraction | None
    high: Fraction | None

    def labels(self, starts: NDArray[np.int32], numbers: list[int], doublings: int) -> tuple[str, ...]:
        """Return the labels of the intervals of a level, each of which joins 2 to the power of ``doublings`` narrowest ones."""
        stops = np.append(starts[1:], len(self.line.values)) - 1
        if self.bins.begin is None:
            firsts, lasts = (self._texts.take(pa.array(places)).to_pylist() for places in (starts, stops))
        elif self.line.unit is None:
            firsts, lasts = self._float_ends(starts, stops, numbers, doublings)
        else:
            begins = [self._first(self.bins.begin(number << doublings)) for number in numbers]
            ends = [self._last(self.bins.begin((number + 1) << doublings)) for number in numbers]
            places = self.line.places
            firsts = self.line.texts([min(begin, int(place)) for begin, place in zip(begins, places[starts], strict=True)])
            lasts = self.line.texts([max(end, int(place)) for end, place in zip(ends, places[stops], strict=True)])
        return tuple(interval_text(first, last) for first, last in zip(firsts, lasts, strict=True))

    def _float_ends(self, starts: NDArray[np.int32], stops: NDArray[np.int32], numbers: list[int], doublings: int) -> tuple[list[str], list[str]]:
        """Return where intervals of binary fractions begin, and the last number before the next; a value a hair outside is let in."""
        begin, places = self.bins.begin, self.line.places
        if begin is None:
            raise AssertionError("intervals without a beginning are named after their values")
        low, high = (None if bound is None else float(bound) for bound in (self.low, self.high))
        begins = [as_float(begin(number << doublings)) for number in numbers]
        ends = [math.nextafter(as_float(begin((number + 1) << doublings)), -math.inf) for number in numbers]
        firsts = [min(first if low is None else max(first, low), float(place)) for first, place in zip(begins, places[starts], strict=True)]
        lasts = [max(last if high is None else min(last, high), float(place)) for last, place in zip(ends, places[stops], strict=True)]
        return self.line.float_texts(firsts), self.line.float_texts(lasts)

    @cached_property
    def _texts(self) -> pa.Array:
        return canonical.render(self.line.values)

    def _first(self, begin: Fraction | int) -> int:
        return math.ceil(begin if self.low is None else max(begin, self.low))

    def _last(self, end: Fraction | int) -> int:
        last = math.ceil(end) - 1
        return last if self.high is None else min(last, math.floor(self.high))
