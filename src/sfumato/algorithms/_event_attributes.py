"""What events show: paths in texts, categories of a ladder, or places on the globe in cells of several sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.algorithms._event_window import Window
from sfumato.core.globe import on_the_globe
from sfumato.core.hierarchy import ROOT, Hierarchy, interval_text
from sfumato.core.kernels.event_paths import cut_texts
from sfumato.core.kernels.pieces import MARGIN, gather

_DEGREE = 111.195
"""Kilometres of a degree of latitude, on a globe of the mean radius of 6,371 km."""
_DIGITS = 5
_Bytes = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]


class Attribute(Protocol):
    """How a column, or two, are read as paths and written again."""

    levels: int

    def read(self, attributes: Any) -> Any:
        """Return the attributes of some records as the other two take them."""
        ...

    def numbered(self, window: Window, read: Any, first: int, end: int) -> NDArray[np.int32]:
        """Return the path of each record from one place to another, -1 where it has none."""
        ...

    def published(self, read: Any, levels: NDArray[np.int8]) -> list[pa.Array]:
        """Return what stands in each column, null where the level is below 0."""
        ...


class TextPaths:
    """Texts such as ``electronics.audio.headphone``."""

    def __init__(self, separator: str, coarsest_first: bool, levels: int) -> None:
        self.levels = levels
        self._separator, self._coarsest_first = separator.encode(), coarsest_first

    def read(self, attributes: Any) -> _Bytes:
        """Return the bytes of texts with room behind them, where each begins, and which are there."""
        texts = attributes.combine_chunks() if isinstance(attributes, pa.ChunkedArray) else attributes
        if pa.types.is_dictionary(texts.type):
            texts = texts.dictionary_decode()
        if not pa.types.is_large_string(texts.type):
            texts = texts if pa.types.is_string(texts.type) else texts.cast(pa.string())
        if not len(texts):
            return np.zeros(MARGIN, np.uint8), np.zeros(1, np.int64), np.empty(0, np.bool_)
        kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
        _, places, values = texts.buffers()
        offsets = np.frombuffer(places, kind)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
        first, last = int(offsets[0]), int(offsets[-1])
        data = np.empty(last - first + MARGIN, np.uint8)
        if last > first:
            data[: last - first] = np.frombuffer(values, np.uint8)[first:last]
        valid = texts.is_valid().to_numpy(zero_copy_only=False) if texts.null_count else np.ones(len(texts), np.bool_)
        return data, offsets - first, valid

    def numbered(self, window: Window, read: _Bytes, first: int, end: int) -> NDArray[np.int32]:
        """Return the path of each text."""
        data, offsets, valid = read
        return window.number_texts(data, offsets[first : end + 1], valid[first:end], self._separator, self._coarsest_first)

    def published(self, read: _Bytes, levels: NDArray[np.int8]) -> list[pa.Array]:
        """Return the part of each text down to its level."""
        data, offsets, _ = read
        starts, lengths = np.empty(len(levels), np.int64), np.empty(len(levels), np.int64)
        separator = np.frombuffer(self._separator, np.uint8)
        cut_texts(data, offsets, separator, self._coarsest_first, self.levels, levels, starts, lengths)
        places = np.zeros(len(levels) + 1, np.int64)
        np.cumsum(lengths, out=places[1:])
        text = np.empty(int(places[-1]) + MARGIN, np.uint8)
        gather(data, starts, lengths, places[:-1], text)
        valid = pa.array(levels >= 0).buffers()[1]
        buffers = [valid, pa.py_buffer(places.astype(np.int32)), pa.py_buffer(text)]
        return [pa.Array.from_buffers(pa.string(), len(levels), buffers)]


class LadderPaths:
    """Leaf codes of a hierarchy. The root is published only where it has a name."""

    def __init__(self, ladder: Hierarchy) -> None:
        self._size = ladder.size
        self._labels = pa.concat_arrays([labels.cast(pa.string()) for labels in ladder.ancestors()])
        last = ladder.height - (ladder.root == ROOT)
        self._codes = np.zeros((ladder.size, max(1, last + 1)), np.int64)
        self._rungs = np.zeros_like(self._codes)
        self._heights = np.zeros(ladder.size + 1, np.int64)
        every = np.arange(ladder.size)
        for rung in range(max(0, last) + 1):
            lows, highs = (ends[ladder.groups(rung)].astype(np.int64) for ends in ladder.nodes(rung))
            code = (lows << 32) | highs
            # a branch that is not so deep has the same node on several rungs
            is_new = np.ones(ladder.size, np.bool_) if rung == 0 else self._codes[every, self._heights[:-1] - 1] != code
            heights = self._heights[:-1]
            self._codes[every[is_new], heights[is_new]] = code[is_new]
            self._rungs[every[is_new], heights[is_new]] = rung
            self._heights[:-1] += is_new
        self.levels = self._codes.shape[1]

    def read(self, attributes: Any) -> NDArray[np.int64]:
        """Return the leaves as whole numbers."""
        return np.asarray(attributes, np.int64)

    def numbered(self, window: Window, read: NDArray[np.int64], first: int, end: int) -> NDArray[np.int32]:
        """Return the path of each leaf."""
        leaves = read[first:end]
        known = (leaves >= 0) & (leaves < self._size)
        heights = np.where(known, self._heights[np.where(known, leaves, self._size)], 0)
        codes = self._codes[np.where(known, leaves, 0)] if self._size else np.zeros((len(leaves), self.levels), np.int64)
        return window.number_codes(codes, heights)

    def published(self, read: NDArray[np.int64], levels: NDArray[np.int8]) -> list[pa.Array]:
        """Return the label of each leaf's node."""
        kept = np.flatnonzero(levels >= 0)
        leaves = read[kept]
        places = np.zeros(len(levels), np.int64)
        places[kept] = self._rungs[leaves, levels[kept]] * self._size + leaves
        return [self._labels.take(pa.array(places, mask=levels < 0))]


class CellPaths:
    """Latitudes and longitudes in degrees, in cells of so many kilometres. A cell holds its southern and its western edge.

    Rows of cells are as high as the size says; in each there are as many cells as fit round the globe, so that near the poles there are fewer.
    """

    def __init__(self, sizes: Sequence[float]) -> None:
        self._sizes = sorted(sizes)
        self.levels = len(self._sizes)

    def read(self, attributes: Any) -> NDArray[np.float64]:
        """Return the places as two columns of numbers."""
        return np.asarray(attributes, np.float64).reshape(-1, 2)

    def numbered(self, window: Window, read: NDArray[np.float64], first: int, end: int) -> NDArray[np.int32]:
        """Return the path of each place."""
        places = read[first:end]
        inside = on_the_globe({"latitude": places[:, 0], "longitude": places[:, 1]})
        latitude, longitude = (np.where(inside, axis, 0.0) for axis in places.T)
        codes = np.empty((len(places), self.levels), np.int64)
        for level, size in enumerate(self._sizes):
            row, column, _ = _cell(latitude, longitude, size)
            codes[:, level] = (level << 56) | (row << 28) | column
        return window.number_codes(codes, np.where(inside, self.levels, 0).astype(np.int64))

    def published(self, read: NDArray[np.float64], levels: NDArray[np.int8]) -> list[pa.Array]:
        """Return the edges of each cell, of the latitude and of the longitude."""
        places = read
        texts = np.full((2, len(levels)), None, object)
        for level, size in enumerate(self._sizes):
            at = np.flatnonzero(levels == level)
            row, column, columns = _cell(places[at, 0], places[at, 1], size)
            height, width = size / _DEGREE, 360.0 / columns
            edges = (row * height - 90, np.minimum((row + 1) * height - 90, 90)), (column * width - 180, (column + 1) * width - 180)
            for axis, (low, high) in enumerate(edges):
                texts[axis, at] = [
                    interval_text(_written(one, math.floor), _written(other, math.ceil))
                    for one, other in zip(low.tolist(), high.tolist(), strict=True)
                ]
        return [pa.array(axis, pa.string()) for axis in texts]


def _cell(
    latitude: NDArray[np.float64], longitude: NDArray[np.float64], size: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return row and column of the cell of each place, and how many columns its row has."""
    height = size / _DEGREE
    last = int(np.ceil(180.0 / height)) - 1
    row = np.minimum(np.floor((latitude + 90) / height).astype(np.int64), last)
    middle = np.minimum((row + 0.5) * height - 90, 90.0)
    columns = np.maximum(np.floor(360.0 * np.cos(np.radians(middle)) / height), 1).astype(np.int64)
    # the date line is one line
    column = np.minimum(np.floor(((longitude + 180.0) % 360.0) / 360.0 * columns).astype(np.int64), columns - 1)
    return row, column, columns


def _written(edge: float, outwards: Callable[[float], int]) -> str:
    """Return an edge with few digits, rounded so that what is written covers the whole cell; what computing adds to its last ones is no part of it.

    >>> _written(45.446738, math.floor), _written(45.446738, math.ceil), _written(-1e-12, math.floor)
    ('45.44673', '45.44674', '0.00000')
    """
    # adding zero makes no difference but to the sign of zero
    return f"{outwards(round(edge * 10**_DIGITS, 4)) / 10**_DIGITS + 0.0:.{_DIGITS}f}"
