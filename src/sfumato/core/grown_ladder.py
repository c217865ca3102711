"""Grown ladders: one that has grown by values which came later, and where the leaves of before stand on it.

What a box says must not change where it has been published: one whose text would be another is known, and is not used again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.encoding import encode
from sfumato.core.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class GrownLadder:
    """The ladder of a column before and after; leaves of before may be gone, but their order is the same.

    >>> first, later = (Hierarchy.of_paths("zip", [[text, text[:1] + "*"] for text in texts]) for texts in (["11", "13"], ["11", "12", "13"]))
    >>> GrownLadder(first, later).places(np.array([0.0, 1.0, np.inf])).tolist()
    [0.0, 2.0, inf]
    """

    before: Hierarchy
    after: Hierarchy

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The leaf code after of each leaf before; -1 where it is gone."""
        found = encode(self.after, self.before.values).codes.astype(np.int64)
        found[found >= self.after.size] = -1
        if (np.diff(found[found >= 0]) <= 0).any():
            raise AssertionError("a ladder that grows keeps its leaves in their order")
        return found

    def places(self, before: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where coordinates stand now; what is missing has none, and stays as it is."""
        found = before.copy()
        there = np.isfinite(before)
        found[there] = self.codes[before[there].astype(np.int64)]
        return found

    def say_the_same(self, lows: NDArray[np.float64], highs: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which boxes of before are published in the same words after, at whatever level."""
        found = np.ones(len(lows), bool)
        there = np.flatnonzero(np.isfinite(lows) & np.isfinite(highs))
        low, high = (ends[there].astype(np.int64) for ends in (lows, highs))
        words = pc.equal(self.before.labels(low, high), self.after.labels(self.codes[low], self.codes[high]))
        found[there] = words.to_numpy(zero_copy_only=False) & self._same_above[low]
        return found

    @cached_property
    def _same_above(self) -> NDArray[np.bool_]:
        """Which leaves of before have the same nodes above them, but for the root."""
        same = self.codes >= 0
        kept = np.flatnonzero(same)
        for own, now in zip(self.before.ancestors()[1:-1], self.after.ancestors()[1:], strict=False):
            same[kept] &= pc.equal(own.take(kept), now.take(self.codes[kept])).to_numpy(zero_copy_only=False)
        return same
