"""Publication: how the generalised values of one column are written, and what a written value covers when it is read back.

Writing starts from intervals of leaf codes; reading starts from the text alone, so that verification sees what a reader will see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.hierarchy import ROOT, Hierarchy, interval_ends, interval_text
from sfumato.core.recoding import Recoding

Style = Literal["interval", "bounds", "set", "label"]
UNREADABLE = -1
_DOUBTFUL = re.compile(r'[,{}"]|^\s|\s$')


@dataclass(frozen=True, eq=False)
class Publication:
    """One quasi-identifier as it is published: as one column, or with the style ``bounds`` as two."""

    column: str
    hierarchy: Hierarchy
    style: Style | None = None
    least: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the published columns."""
        return (f"{self.column}_from", f"{self.column}_to") if self.style == "bounds" else (self.column,)

    def render(self, recoding: Recoding, place: int) -> tuple[pa.DictionaryArray, ...]:
        """Return what each class publishes, one array a published column; ``place`` is the column's place in the recoding."""
        span = self.hierarchy.size + 2
        keys = recoding.lows[:, place].astype(np.int64) * span + recoding.highs[:, place]
        distinct, index = np.unique(keys, return_inverse=True)
        lows, highs = np.divmod(distinct, span)
        level = recoding.levels[place] if recoding.levels is not None else None
        parts = self.texts(lows, highs, level)
        return tuple(pa.DictionaryArray.from_arrays(pa.array(index.astype(np.int32)), part) for part in parts)

    def ranks(self, recoding: Recoding, place: int) -> NDArray[np.int64]:
        """Return for each class where its published value stands among all of them: by what the text alone covers, then by the text."""
        arrays = self.render(recoding, place)
        distinct = [array.dictionary for array in arrays]
        lows, highs = self.read(*distinct)
        texts = [np.array(["" if text is None else text for text in part.to_pylist()], object) for part in distinct]
        _, codes = np.unique(np.array(["\0".join(parts) for parts in zip(*texts, strict=True)], object), return_inverse=True)
        _, ranks = np.unique(np.stack([lows, highs, codes.reshape(-1)], axis=1), axis=0, return_inverse=True)
        ranked: NDArray[np.int64] = ranks.reshape(-1)[arrays[0].indices.to_numpy()]
        return ranked

    def texts(self, lows: NDArray[np.int64], highs: NDArray[np.int64], level: int | None = None) -> tuple[pa.Array, ...]:
        """Return how intervals of codes are written, one array a published column; of nodes of a level, as that level calls them."""
        if level:
            labels = self._level_labels(lows, highs, level)
        else:
            labels = self._least_labels(lows, highs) if self.least else self.hierarchy.labels(lows, highs)
        return self._styled(lows, highs, level, labels)

    def read(self, *texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the interval of leaf codes that each written value covers, -1 where the text means nothing."""
        if self.style == "bounds":
            return self._with_special(texts[0], *self._between(texts[0], texts[1]))
        return self._read_one(texts[0])

    def extents(self, *texts: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return for each written value the share of all leaves it stands for, and how much of the column's range it spans.

        The first is that of the loss measure (one leaf of n is 1/n), the second the normalised certainty penalty (one leaf is 0).
        """
        lows, highs = self.read(*texts)
        hierarchy = self.hierarchy
        special = highs >= hierarchy.size
        whole = special & (lows != highs) | (lows == hierarchy.outside)
        number = max(1, hierarchy.size)
        share = np.where(whole, 1.0, np.where(special, 1 / number, (highs - lows + 1) / number))
        if hierarchy.ordered:
            return share, np.where(whole, 1.0, np.where(special, 0.0, self._spans(lows, highs, texts)))
        return share, np.where(whole, 1.0, np.where(highs == lows, 0.0, share))

    def _spans(self, lows: NDArray[np.int64], highs: NDArray[np.int64], texts: Sequence[pa.Array]) -> NDArray[np.float64]:
        positions = self.hierarchy.positions
        if len(positions) < 2:
            return np.zeros(len(lows))
        with np.errstate(over="ignore", invalid="ignore"):
            width = positions[-1] - positions[0]
        if not 0 < width < np.inf:
            # numbers too large or too close for their distance to be told: leaves are counted instead
            return np.asarray((highs - lows) / (len(positions) - 1), np.float64)
        if self.style == "bounds":
            first, last = texts
        else:
            first, last = interval_columns(texts[0])
        low, high = (_positions(end, self.hierarchy.kind) for end in (first, last))
        inner = positions[np.clip(highs, 0, len(positions) - 1)] - positions[np.clip(lows, 0, len(positions) - 1)]
        written = np.where(np.isnan(high - low), inner, high - low)
        shares: NDArray[np.float64] = np.minimum(1.0, written / width)
        return shares

    def _level_labels(self, lows: NDArray[np.int64], highs: NDArray[np.int64], level: int) -> pa.Array:
        """Return the labels of nodes of one level of a full-domain recoding."""
        names = self.hierarchy.levels[level - 1].labels
        nodes = np.searchsorted(self.hierarchy.levels[level - 1].starts, lows, side="right") - 1
        return pa.array(
            [
                names[node] if high < self.hierarchy.size else self.hierarchy.label(low, high)
                for node, low, high in zip(nodes.tolist(), lows.tolist(), highs.tolist(), strict=True)
            ],
            pa.string(),
        )

    def _least_labels(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> pa.Array:
        """Return the labels of boxes in a column with a least level: never one of a lower level."""
        hierarchy, texts = self.hierarchy, []
        starts = hierarchy.levels[self.least - 1].starts
        for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
            first, last = (int(np.searchsorted(starts, end, side="right") - 1) for end in (low, high))
            if high >= hierarchy.size:
                texts.append(hierarchy.label(low, high))
            elif first == last:
                texts.append(hierarchy.node_label(self.least, first))
            elif hierarchy.ordered:
                ends = [interval_ends(label) or (label, label) for label in (hierarchy.node_label(self.least, node) for node in (first, last))]
                texts.append(interval_text(ends[0][0], ends[1][1]))
            else:
                texts.append(hierarchy.node_label(*hierarchy.lowest_level(low, high)))
        return pa.array(texts, pa.string())

    def _styled(self, lows: NDArray[np.int64], highs: NDArray[np.int64], level: int | None, labels: pa.Array) -> tuple[pa.Array, ...]:
        if self.style == "bounds":
            return interval_columns(labels)
        if self.style != "set" or self.hierarchy.ordered:
            return (labels,)
        sets = [
            label if label is None or high >= self.hierarchy.size else self._set_text(*self._node(low, high, level))
            for label, low, high in zip(labels.to_pylist(), lows.tolist(), highs.tolist(), strict=True)
        ]
        return (pa.array(sets, pa.string()),)

    def _node(self, low: int, high: int, level: int | None) -> tuple[int, int]:
        number, node = (level, -1) if level else self.hierarchy.lowest_level(low, high)
        if number < self.least:
            number, node = self.least, -1
        firsts, lasts = self.hierarchy.nodes(number)
        if node < 0:
            node = int(np.searchsorted(firsts, low, side="right") - 1)
        return int(firsts[node]), int(lasts[node])

    def _set_text(self, low: int, high: int) -> str:
        if low == high:
            return str(self.hierarchy.leaves[low].as_py())
        return "{" + ", ".join(map(_in_set, self.hierarchy.leaves[low : high + 1].to_pylist())) + "}"

    def _read_one(self, texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self.hierarchy.ordered:
            lows, highs = self._between(*interval_columns(texts))
        else:
            pairs = [self._labels.get(text, (UNREADABLE, UNREADABLE)) for text in texts.to_pylist()]
            lows, highs = np.array(pairs, np.int64).reshape(-1, 2).T
        return self._with_special(texts, lows, highs)

    def _with_special(self, texts: pa.Array, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Put in what null and the root cover."""
        null = texts.is_null().to_numpy(zero_copy_only=False)
        root = pc.fill_null(pc.equal(texts, ROOT), False).to_numpy(zero_copy_only=False)
        lows = np.where(null, self.hierarchy.missing, np.where(root, 0, lows))
        highs = np.where(null, self.hierarchy.missing, np.where(root, self.hierarchy.outside, highs))
        return lows, highs

    def _between(self, first: pa.Array, last: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the leaves from one end to the other."""
        ends = (canonical.parse(end, self.hierarchy.kind) for end in (first, last))
        positions, low, high = canonical.compared(self.hierarchy.values, *ends)
        lows = np.searchsorted(positions, low, side="left")
        highs = np.searchsorted(positions, high, side="right") - 1
        broken = np.isnan(low) | np.isnan(high) | (highs < lows)
        return np.where(broken, UNREADABLE, lows), np.where(broken, UNREADABLE, highs)

    @cached_property
    def _labels(self) -> dict[str | None, tuple[int, int]]:
        """What each label of the tree covers; where a node is called like one of its own descendants, the wider."""
        known: dict[str | None, tuple[int, int]] = {}
        for number in range(self.hierarchy.height + 1):
            firsts, lasts = self.hierarchy.nodes(number)
            for node, (low, high) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True)):
                if self.style == "set":
                    known[self._set_text(low, high)] = (low, high)
                known[self.hierarchy.node_label(number, node)] = (low, high)
        return known


def labels_of(recoding: Recoding, publications: Sequence[Publication]) -> dict[str, pa.Array]:
    """Return what each class shows in each published column."""
    return {
        name: array.dictionary_decode()
        for place, publication in enumerate(publications)
        for name, array in zip(publication.columns, publication.render(recoding, place), strict=True)
    }


def in_published_order(recoding: Recoding, publications: Sequence[Publication]) -> Recoding:
    """Return the recoding with its classes numbered by what they publish, and those that publish the same as one.

    A class's own leaves could tell more than its labels do: which of the values below a node it holds, or that a value was unknown.
    """
    if not publications:
        return recoding
    ranks = [publication.ranks(recoding, place) for place, publication in enumerate(publications)]
    order = np.lexsort(tuple(reversed(ranks)))
    changed = np.zeros(recoding.number, bool)
    changed[:1] = True
    for rank in ranks:
        changed[1:] |= rank[order][1:] != rank[order][:-1]
    # suppressed combinations have class -1, which picks the last entry
    numbers = np.full(recoding.number + 1, -1, np.int32)
    numbers[order] = np.cumsum(changed) - 1
    firsts = np.flatnonzero(changed)
    lows = np.minimum.reduceat(recoding.lows[order], firsts, axis=0)
    highs = np.maximum.reduceat(recoding.highs[order], firsts, axis=0)
    return Recoding(recoding.kind, numbers[recoding.class_of], lows, highs, recoding.levels)


def _in_set(text: str) -> str:
    """Return a value as it stands in a set: in quotes where it could be taken for several.

    >>> _in_set("flu"), _in_set("cold, common")
    ('flu', '"cold, common"')
    """
    return json.dumps(text, ensure_ascii=False) if _DOUBTFUL.search(text) or not text else text


def interval_columns(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the two ends of written intervals; a single value is both."""
    inner = pc.extract_regex(texts, r"^\[(?P<low>.*), (?P<high>.*)\]$")
    low, high = (pc.struct_field(inner, part) for part in (0, 1))
    return pc.coalesce(low, texts), pc.coalesce(high, texts)


def _positions(texts: pa.Array, kind: canonical.ValueType) -> NDArray[np.float64]:
    return canonical.positions(canonical.parse(texts, kind))
