"""Relaxed partitioning for promises that the fused kernel does not know: the same cuts, checked through the promises' own ``holds``.

It makes the same decisions in the same order as ``core/kernels/mondrian_relaxed.py``, and tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms._any_promise import child_keys, width
from sfumato.algorithms._relaxed import dealt_recoding
from sfumato.core.classes import Classes
from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Progress
from sfumato.core.problem import Problem
from sfumato.core.recoding import Recoding


@dataclass(frozen=True, eq=False)
class _Part:
    """Some entries of the frequencies, and how many table rows of each."""

    entries: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def mass(self) -> int:
        return int(self.counts.sum())

    def __getitem__(self, places: slice | NDArray[np.int64]) -> _Part:
        return _Part(self.entries[places], self.counts[places])

    def less(self, counts: NDArray[np.int64]) -> _Part:
        """Return what is left without some rows of each entry."""
        return _Part(self.entries, self.counts - counts).there

    @property
    def there(self) -> _Part:
        return self[np.flatnonzero(self.counts)]


def _together(parts: Sequence[_Part]) -> _Part:
    return _Part(np.concatenate([part.entries for part in parts]), np.concatenate([part.counts for part in parts]))


def partition(problem: Problem, frequencies: Frequencies, smallest: int, progress: Progress) -> Recoding:
    """Return the boxes and how many rows of each entry go to which; ``smallest`` is the fewest rows that a class can have."""
    search = _Search(problem, frequencies, smallest)
    closed: list[_Part] = []
    stack = [_Part(np.arange(len(frequencies.counts)), frequencies.counts)]
    while stack:
        part = stack.pop()
        parts = search.parts(part)
        if parts:
            stack += parts
            continue
        closed.append(part)
        progress.advance(part.mass)
    lows, highs = (np.array([end(search.codes[part.entries], axis=0) for part in closed], np.int32) for end in (np.min, np.max))
    classes = np.repeat(np.arange(len(closed)), [len(part.entries) for part in closed])
    everything = _together(closed)
    return dealt_recoding(frequencies, (everything.entries, classes, everything.counts), lows, highs)


class _Search:
    """Finds the parts of a partition."""

    def __init__(self, problem: Problem, frequencies: Frequencies, smallest: int) -> None:
        self._problem = problem
        self._frequencies = frequencies
        self._smallest = smallest
        self.codes = frequencies.combinations[frequencies.combination].astype(np.int64)
        known = [promise.compiled() for promise in problem.promises]
        # where only sizes matter any rows will do, and the median always does
        self._sizes_alone = all(how is not None and how[0] == "size" for how in known)
        self._by_value = None if self._sizes_alone else next(iter(frequencies.sensitive.values()), None)

    def parts(self, part: _Part) -> list[_Part]:
        """Return the parts of a partition by its widest column that can be cut; none where no column can."""
        if part.mass < 2 * self._smallest:
            return []
        codes = self.codes[part.entries]
        widths = [
            weight * width(hierarchy, int(column.min()), int(column.max()))
            for hierarchy, weight, column in zip(self._problem.hierarchies, self._problem.weights, codes.T, strict=True)
        ]
        # the widest first; the first of equally wide ones
        for place in np.argsort(-np.array(widths), kind="stable"):
            if widths[place] > 0:
                hierarchy = self._problem.hierarchies[place]
                find = self._cut if hierarchy.ordered else self._children
                parts = find(part, codes[:, place], hierarchy)
                if parts:
                    return parts
        return []

    def _cut(self, part: _Part, codes: NDArray[np.int64], hierarchy: Hierarchy) -> list[_Part]:
        order = np.argsort(codes, kind="stable")
        part, codes = part[order], codes[order]
        for pair in self._cuts(part, codes, hierarchy):
            if self._holds(pair[0]) and self._holds(pair[1]):
                return pair
        return []

    def _cuts(self, part: _Part, codes: NDArray[np.int64], hierarchy: Hierarchy) -> Iterator[list[_Part]]:
        """Yield what is tried: missing values apart, the median row, the same in proportion, and strict cuts from the nearest to the median on."""
        cuts = np.flatnonzero(codes[1:] != codes[:-1]) + 1
        yield from ([part[:cut], part[cut:]] for cut in cuts if codes[cut - 1] < hierarchy.size <= codes[cut])
        yield self._halves(part, codes, None)
        if self._by_value is not None:
            yield self._halves(part, codes, self._by_value)
        if not self._sizes_alone:
            sizes = np.cumsum(part.counts)[cuts - 1]
            nearest = np.argsort(np.abs(2 * sizes - part.mass), kind="stable")
            yield from ([part[:cut], part[cut:]] for cut in cuts[nearest])

    def _halves(self, part: _Part, codes: NDArray[np.int64], values: NDArray[np.int32] | None) -> list[_Part]:
        half = part.mass // 2
        below = np.cumsum(part.counts)
        value = codes[np.searchsorted(below, half)]
        first, last = (int(np.searchsorted(codes, value, side=side)) for side in ("left", "right"))
        ties = part[first:last]
        wanted = half - (int(below[first - 1]) if first else 0)
        if values is not None:
            ties = ties[np.argsort(values[ties.entries], kind="stable")]
        taken = _shares(ties, wanted, values is not None)
        return [_together([part[:first], _Part(ties.entries, taken).there]), _together([ties.less(taken), part[last:]])]

    def _children(self, part: _Part, codes: NDArray[np.int64], hierarchy: Hierarchy) -> list[_Part]:
        """Part the children that hold; the others stay together, with rows of the largest until they hold too."""
        keys = child_keys(hierarchy, codes)
        order = np.argsort(keys, kind="stable")
        part, keys = part[order], keys[order]
        ends = [0, *(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), len(keys)]
        segments = [part[begin:end] for begin, end in pairwise(ends)]
        good = [self._holds(segment) for segment in segments]
        while len(segments) > 1 and any(good):
            parts = self._with_borrowed(segments, good)
            if parts is not None:
                return parts if len(parts) > 1 else []
            good[min((number for number, fine in enumerate(good) if fine), key=lambda number: len(segments[number].entries))] = False
        return []

    def _with_borrowed(self, segments: Sequence[_Part], good: Sequence[bool]) -> list[_Part] | None:
        """Return the good segments and the rest with as many rows of the largest as it needs; None where that cannot be."""
        fine = [segment for segment, is_good in zip(segments, good, strict=True) if is_good]
        rest = [segment for segment, is_good in zip(segments, good, strict=True) if not is_good]
        if not rest or self._holds(_together(rest)):
            return [*fine, _together(rest)] if rest else fine
        donor = max(range(len(fine)), key=lambda number: (fine[number].mass, -number))
        ordered = fine[donor]
        if self._by_value is not None:
            ordered = ordered[np.argsort(self._by_value[ordered.entries], kind="stable")]
        borrowed = max(1, self._smallest - _together(rest).mass)
        while ordered.mass - borrowed >= self._smallest:
            taken = _shares(ordered, borrowed, self._by_value is not None)
            left, enough = ordered.less(taken), _together([*rest, _Part(ordered.entries, taken).there])
            if self._holds(enough) and self._holds(left):
                return [*fine[:donor], left, *fine[donor + 1 :], enough]
            borrowed *= 2
        return None

    def _holds(self, part: _Part) -> bool:
        """Return whether a part has enough rows and keeps every promise."""
        if part.mass < self._smallest:
            return False
        frequencies = self._frequencies
        one = Classes(
            number=1,
            class_of=np.zeros(len(part.entries), np.int32),
            counts=part.counts,
            sensitive={name: codes[part.entries] for name, codes in frequencies.sensitive.items()},
            references=frequencies.references,
            ladders=frequencies.ladders,
        )
        return all(bool(promise.holds(one).all()) for promise in self._problem.promises)


def _shares(part: _Part, wanted: int, in_proportion: bool) -> NDArray[np.int64]:
    """Return how many rows of each entry are taken, so many in all: the first ones, or of all in proportion."""
    ends = np.cumsum(part.counts)
    before = ends - part.counts
    taken = ends * wanted // part.mass - before * wanted // part.mass if in_proportion else np.clip(wanted - before, 0, part.counts)
    shares: NDArray[np.int64] = taken
    return shares
