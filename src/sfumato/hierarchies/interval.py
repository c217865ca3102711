"""Intervals of numbers, dates and instants, nested from narrow to wide.

The narrowest level is given by a width, a number of bins, quantiles or cut points; above it two neighbours become one until one is left.
Without any of them neighbouring values are grouped evenly. Searches with boxes may publish any interval; only full-domain ones use the levels.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sfumato.core import canonical
from sfumato.core.hierarchy import ROOT, Hierarchy, Level, interval_text
from sfumato.core.settings import Settings
from sfumato.errors import DataError

_WIDEST_FIRST_LEVEL = 4096


class Interval(Settings):
    """Intervals of an ordered column. Widths are in the column's unit; days for dates, seconds for instants.

    Quantiles hold about equally many rows, bins are equally wide. Values below ``minimum`` or above ``maximum`` are outside the hierarchy.
    """

    width: Annotated[float | None, Field(gt=0, description="the width of the narrowest intervals")] = None
    bins: Annotated[int | None, Field(ge=1, description="the number of equally wide narrowest intervals")] = None
    quantiles: Annotated[int | None, Field(ge=1, description="the number of narrowest intervals that hold equally many rows")] = None
    edges: Annotated[list[float] | None, Field(min_length=1, description="where one narrowest interval ends and the next begins")] = None
    minimum: Annotated[float | None, Field(description="the smallest value that belongs to the column")] = None
    maximum: Annotated[float | None, Field(description="the largest value that belongs to the column")] = None

    @model_validator(mode="after")
    def _consistent(self) -> Interval:
        if sum(way is not None for way in (self.width, self.bins, self.quantiles, self.edges)) > 1:
            raise ValueError("takes only one of width, bins, quantiles, edges")
        if self.edges is not None and self.edges != sorted(set(self.edges)):
            raise ValueError("needs edges that rise")
        if self.minimum is not None and self.maximum is not None and self.minimum >= self.maximum:
            raise ValueError("needs a minimum below the maximum")
        return self

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build the levels over the distinct values of an ordered column."""
        kind = canonical.infer(values)
        if not canonical.is_ordered(kind):
            raise DataError(
                f"column {column} has type {kind}, which has no intervals",
                code="hierarchy-type",
                hint="declare another type, list what stands for a missing value under `missing`, or use taxonomy, table or prefix",
            )
        places = _places(values)
        inside = np.ones(len(places), bool)
        if self.minimum is not None:
            inside &= places >= self.minimum
        if self.maximum is not None:
            inside &= places <= self.maximum
        values, places, counts = values.filter(pa.array(inside)), places[inside], counts[inside]
        if not len(values):
            return Hierarchy(column, True, kind, values, (Level(np.zeros(1, np.int32), (ROOT,)),))
        starts, cuts = self._narrowest(places, counts)
        return Hierarchy(column, True, kind, values, _nested(values, starts, cuts, self.minimum, self.maximum))

    def _narrowest(self, places: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
        """Return the first leaf of each narrowest interval, and where each begins on the line if that is round."""
        low = places[0] if self.minimum is None else self.minimum
        high = places[-1] if self.maximum is None else self.maximum
        if self.width is not None:
            origin = 0.0 if self.minimum is None else self.minimum
            return _by_number(np.floor((places - origin) / self.width), lambda n: origin + n * self.width)
        if self.bins is not None:
            width = (high - low) / self.bins or 1.0
            return _by_number(np.minimum(np.floor((places - low) / width), self.bins - 1), lambda n: low + n * width)
        if self.edges is not None:
            edges = np.array(self.edges)
            return _by_number(np.searchsorted(edges, places, side="right"), lambda n: np.append(low, edges)[n.astype(int)])
        if self.quantiles is not None:
            before = np.cumsum(counts) - counts
            return _by_number(np.floor(before * self.quantiles / max(1, counts.sum())), None)
        step = max(2, -(-len(places) // _WIDEST_FIRST_LEVEL))
        return np.arange(0, len(places), step, dtype=np.int32), None


def _by_number(numbers: NDArray[Any], begins: object) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
    starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]]).astype(np.int32)
    return starts, begins(numbers[starts]) if callable(begins) else None


def _places(values: pa.Array) -> NDArray[np.float64]:
    places = canonical.positions(values)
    return places / 1e6 if pa.types.is_timestamp(values.type) else places


def _nested(
    values: pa.Array,
    starts: NDArray[np.int32],
    cuts: NDArray[np.float64] | None,
    minimum: float | None,
    maximum: float | None,
) -> tuple[Level, ...]:
    texts = canonical.render(values)
    first = [texts[int(start)].as_py() for start in starts]
    last = [texts[int(end) - 1].as_py() for end in [*starts[1:], len(values)]]
    if cuts is not None:
        first, last = _round_ends(values, cuts, first, last, minimum, maximum)
    levels = []
    step = 1
    while True:
        own = starts[::step]
        ends = [*range(step, len(starts), step), len(starts)]
        labels = tuple(interval_text(first[i * step], last[end - 1]) for i, end in enumerate(ends))
        if len(own) == 1:
            break
        levels.append(Level(own, labels))
        step *= 2
    return (*levels, Level(np.zeros(1, np.int32), (ROOT,)))


def _round_ends(
    values: pa.Array,
    cuts: NDArray[np.float64],
    first: list[str],
    last: list[str],
    minimum: float | None,
    maximum: float | None,
) -> tuple[list[str], list[str]]:
    """Return where intervals begin and end in round numbers: each ends one unit before the next begins."""
    if not pa.types.is_integer(values.type) or any(cut != int(cut) for cut in cuts):
        return first, last
    begins = [str(int(cut)) for cut in cuts]
    begins[0] = str(int(minimum)) if minimum is not None and minimum == int(minimum) else min(begins[0], first[0], key=int)
    ends = [str(int(cut) - 1) for cut in cuts[1:]]
    final = str(int(maximum)) if maximum is not None and maximum == int(maximum) else last[-1]
    return begins, [*ends, final]
