"""Cells of a geographic grid: places in cells of a hundredth of a degree, these in cells of a tenth, and so on.

A column holds places, ``52.5163, 13.3777``, latitude first, or one coordinate. A cell holds its southern and western edge; the last one up to
the pole or the date line also the other.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, field_validator

from sfumato.core import canonical
from sfumato.core.globe import FURTHEST, on_the_globe
from sfumato.core.hierarchy import Hierarchy, Level
from sfumato.core.settings import Settings
from sfumato.hierarchies._places import coordinates
from sfumato.hierarchies._tree import tree, wrong_type

_NEAR = 1e-6


class Grid(Settings):
    """Square cells, measured in degrees. What is no place on the globe is outside the hierarchy.

    >>> places = Grid(sizes=[0.1, 1]).build("home", pa.array(["52.51,13.37", "52.49,13.41"]), np.array([1, 1]))
    >>> [level.labels for level in places.levels]
    [('52.4 to 52.5, 13.4 to 13.5', '52.5 to 52.6, 13.3 to 13.4'), ('52 to 53, 13 to 14',), ('*',)]
    """

    sizes: Annotated[
        list[float],
        Field(min_length=1, description="the width of the cells of each level in degrees, rising; each divides the next"),
    ] = [0.01, 0.1, 1, 10]
    holds: Annotated[
        Literal["place", "latitude", "longitude"],
        Field(description="what a value is: a latitude and a longitude, or one of them"),
    ] = "place"

    @field_validator("sizes")
    @classmethod
    def _dividing(cls, value: list[float]) -> list[float]:
        exact = [Fraction(repr(size)) for size in value if 0 < size <= FURTHEST["longitude"]]
        if len(exact) < len(value) or any(later <= earlier or (later / earlier).denominator != 1 for earlier, later in pairwise(exact)):
            raise ValueError("needs sizes above 0 and up to 180 that rise, each dividing the next: otherwise cells do not nest")
        return value

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build one level a size over the distinct places."""
        del counts
        texts = canonical.as_text(values)
        axes = coordinates(texts, self.holds)
        inside = on_the_globe(axes)
        if len(texts) and not inside.any():
            kind = "text" if pa.types.is_string(values.type) else canonical.infer(values)
            hint = "write places as latitude, longitude in degrees, or say with `holds` which of the two the column is"
            raise wrong_type(column, kind, "places on the globe", hint)
        known = {name: axis[inside] for name, axis in axes.items()}
        smallest = [_cells(axis, self.sizes[0], FURTHEST[name]) for name, axis in known.items()]
        exact = [Fraction(repr(size)) for size in self.sizes]
        cells = [[axis // int(size / exact[0]) for axis in smallest] for size in exact]
        # cells of cells: what shares a large cell stands together, and within it what shares a smaller one
        order = np.lexsort([axis for level in cells for axis in reversed(level)]) if inside.any() else np.empty(0, np.int64)
        kind = "text" if pa.types.is_string(values.type) else canonical.infer(values)
        leaves = values.filter(pa.array(inside)).take(pa.array(order))
        levels = [_level([axis[order] for axis in level], size) for level, size in zip(cells, exact, strict=True)] if len(leaves) else []
        return tree(column, kind, leaves, levels, self)


def _cells(axis: NDArray[np.float64], size: float, furthest: float) -> NDArray[np.int64]:
    # a tenth has no exact binary form: 0.3 is three tenths, and what lies just below an edge is below it
    exact, parts = Fraction(repr(size)), axis / size
    numbers = np.floor(parts).astype(np.int64)
    near = np.flatnonzero(np.abs(parts - np.round(parts)) < _NEAR)
    numbers[near] = [math.floor(Fraction(repr(value)) / exact) for value in axis[near].tolist()]
    last = math.ceil(Fraction(repr(furthest)) / exact) - 1
    return np.minimum(numbers, last)


def _level(cells: list[NDArray[np.int64]], size: Fraction) -> Level:
    changes = np.any([axis[1:] != axis[:-1] for axis in cells], axis=0)
    starts = np.flatnonzero(np.r_[True, changes]).astype(np.int32)
    labels = [", ".join(_stretch(int(axis[start]), size) for axis in cells) for start in starts.tolist()]
    return Level(starts, tuple(labels))


def _stretch(number: int, size: Fraction) -> str:
    return f"{_degrees(number * size)} to {_degrees((number + 1) * size)}"


def _degrees(value: Fraction) -> str:
    return f"{float(value):.10f}".rstrip("0").rstrip(".")
