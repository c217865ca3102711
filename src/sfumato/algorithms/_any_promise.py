"""Mondrian for promises that the fused kernel does not know: the same cuts, checked through the promises' own ``holds``.

Slower by far: one call of ``holds`` a column and partition at least. It makes the same decisions in the same order as
``core/kernels/mondrian*.py``, and tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Progress
from sfumato.core.problem import Problem
from sfumato.core.recoding import Recoding

Places = NDArray[np.int64]
_CUTS_AT_ONCE = 32
_ROWS_AT_ONCE = 1 << 20


def partition(problem: Problem, frequencies: Frequencies, smallest: int, progress: Progress) -> Recoding:
    """Return the boxes; ``smallest`` is the fewest rows that a class can have."""
    search = _Search(problem, frequencies, smallest)
    class_of = np.empty(len(frequencies.combinations), np.int32)
    lows: list[NDArray[np.int64]] = []
    highs: list[NDArray[np.int64]] = []
    stack = [np.arange(len(frequencies.counts))]
    while stack:
        rows = stack.pop()
        parts = search.parts(rows)
        if parts:
            stack += parts
            continue
        class_of[frequencies.combination[rows]] = len(lows)
        codes = search.codes[rows]
        lows.append(codes.min(axis=0))
        highs.append(codes.max(axis=0))
        progress.advance(len(rows))
    return Recoding("boxes", class_of, np.array(lows, np.int32), np.array(highs, np.int32))


def parts_of(problem: Problem, column: Frequencies, entries: NDArray[np.int64], smallest: int) -> list[Places]:
    """Return the parts of a partition by one column, of which the frequencies are given; each of their rows stands for so many of the partition's."""
    return _Search(problem, column, smallest, entries).parts(np.arange(len(column.counts)))


class _Search:
    """Finds the parts of a partition; ``entries`` says for how many rows of a larger partition each of its rows stands."""

    def __init__(self, problem: Problem, frequencies: Frequencies, smallest: int, entries: NDArray[np.int64] | None = None) -> None:
        self._problem = problem
        self._frequencies = frequencies
        self._smallest = smallest
        self._entries = np.ones(len(frequencies.counts), np.int64) if entries is None else entries
        self.codes = frequencies.combinations[frequencies.combination].astype(np.int64)

    def parts(self, rows: Places) -> list[Places]:
        """Return the parts of a partition by its widest column that can be cut; none where no column can."""
        codes = self.codes[rows]
        if self._frequencies.counts[rows].sum() < 2 * self._smallest:
            return []
        widths = [
            weight * width(hierarchy, int(column.min()), int(column.max()))
            for hierarchy, weight, column in zip(self._problem.hierarchies, self._problem.weights, codes.T, strict=True)
        ]
        # the widest first; the first of equally wide ones
        for place in np.argsort(-np.array(widths), kind="stable"):
            if widths[place] > 0:
                hierarchy = self._problem.hierarchies[place]
                find = self._cut if hierarchy.ordered else self._children
                parts = find(rows, codes[:, place], hierarchy)
                if parts:
                    return parts
        return []

    def _cut(self, rows: Places, codes: Places, hierarchy: Hierarchy) -> list[Places]:
        """Cut an ordered column at the admissible boundary nearest to the median; parting missing values comes first."""
        order = np.argsort(codes, kind="stable")
        rows, codes = rows[order], codes[order]
        below = np.cumsum(self._frequencies.counts[rows])
        total = below[-1]
        cuts = np.flatnonzero(codes[1:] != codes[:-1]) + 1
        size = below[cuts - 1]
        fine = (size >= self._smallest) & (total - size >= self._smallest)
        cuts, size = cuts[fine], size[fine]
        nearest = cuts[np.argsort(np.abs(2 * size - total), kind="stable")]
        apart = [cut for cut in nearest if codes[cut - 1] < hierarchy.size <= codes[cut]]
        candidates = [*apart, *nearest]
        at_once = min(_CUTS_AT_ONCE, max(1, _ROWS_AT_ONCE // len(rows)))
        for begin in range(0, len(candidates), at_once):
            tried = candidates[begin : begin + at_once]
            holds = self._hold([side for cut in tried for side in (rows[:cut], rows[cut:])])
            for number, cut in enumerate(tried):
                if holds[2 * number] and holds[2 * number + 1]:
                    return [rows[:cut], rows[cut:]]
        return []

    def _children(self, rows: Places, codes: Places, hierarchy: Hierarchy) -> list[Places]:
        """Part the children of the lowest node that hold; the others stay together, joined by the smallest until they hold too."""
        keys = child_keys(hierarchy, codes)
        order = np.argsort(keys, kind="stable")
        rows, keys = rows[order], keys[order]
        segments = np.split(rows, np.flatnonzero(keys[1:] != keys[:-1]) + 1)
        if len(segments) < 2:
            return []
        good = [bool(holds) for holds in self._hold(segments)]
        while any(good):
            rest = [segment for segment, fine in zip(segments, good, strict=True) if not fine]
            if not rest or self._hold([np.concatenate(rest)])[0]:
                parts = [segment for segment, fine in zip(segments, good, strict=True) if fine]
                parts += [np.concatenate(rest)] if rest else []
                return parts if len(parts) > 1 else []
            least = min((number for number, fine in enumerate(good) if fine), key=lambda number: self._entries[segments[number]].sum())
            good[least] = False
        return []

    def _hold(self, groups: Sequence[Places]) -> NDArray[np.bool_]:
        """Return for each group of frequency rows whether it keeps every promise."""
        rows = np.concatenate(groups)
        frequencies = self._frequencies
        classes = Classes(
            number=len(groups),
            class_of=np.repeat(np.arange(len(groups), dtype=np.int32), [len(group) for group in groups]),
            counts=frequencies.counts[rows],
            sensitive={name: codes[rows] for name, codes in frequencies.sensitive.items()},
            subject=None if frequencies.subject is None else frequencies.subject[rows],
            references=frequencies.references,
            ladders=frequencies.ladders,
        )
        holds = classes.rows >= self._smallest
        for promise in self._problem.promises:
            holds &= promise.holds(classes)
        return holds


def width(hierarchy: Hierarchy, low: int, high: int) -> float:
    """Return what the smallest published value that holds the interval would lose: 0 for one leaf, 1 for everything."""
    if low == high:
        return 0.0
    if high >= hierarchy.size:
        return 1.0
    if hierarchy.ordered:
        positions = hierarchy.positions
        return float((positions[high] - positions[low]) / (positions[-1] - positions[0]))
    level, node = hierarchy.lowest_level(low, high)
    firsts, lasts = hierarchy.nodes(level)
    return float((lasts[node] - firsts[node] + 1) / hierarchy.size)


def child_keys(hierarchy: Hierarchy, codes: Places) -> Places:
    """Return the child of the lowest node that each code belongs to; missing and outside hang below the root, after its last child."""
    low, high = int(codes.min()), int(codes.max())
    level = hierarchy.height if high >= hierarchy.size else hierarchy.lowest_level(low, high)[0]
    groups = hierarchy.groups(level - 1)
    special = codes >= hierarchy.size
    inner = groups[np.minimum(codes, hierarchy.size - 1)].astype(np.int64)
    return np.where(special, len(groups) + codes - hierarchy.size, inner)
