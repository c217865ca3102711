"""Groups of sorted numbers that grow until nobody makes up more than a part of what is told of them.

Hundepool and others, "Statistical disclosure control" (2012), call it the dominance rule: a mean of which one person makes up most is nearly that
person's own value. The highest and the lowest group grow inwards; where that is of no use they are left as they are, and nothing may be told of them.
All others grow away from zero, towards numbers beside which their own are small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Bounds = NDArray[np.int64]
_NEARLY = 1e-9


def undominated(values: Numbers, bounds: Bounds, limit: float, most_in_middle: int | None = None) -> tuple[Bounds, NDArray[np.bool_]]:
    """Return where groups of sorted numbers begin and the last one ends once they have grown, and of which groups nothing may be told.

    With ``most_in_middle`` only so many of a group are looked at, or one more, those in its middle: what is told is told of these.

    >>> bounds, dominated = undominated(np.array([1.0, 1, 9, 10, 11, 12]), np.array([0, 3, 6]), 0.5)
    >>> bounds.tolist(), dominated.tolist()
    ([0, 6], [False])
    >>> undominated(np.array([1.0, 1, 1, 0, 0, 90]), np.array([0, 3, 6]), 0.5)[1].tolist()
    [False, True]
    """
    sizes = np.abs(values)
    # a sum may be more than a float holds
    sizes = sizes / (sizes.max(initial=0.0) or 1.0)
    if limit * (len(values) if most_in_middle is None else min(len(values), most_in_middle + 1)) < 1:
        # the largest is never less than the mean: however far a group grows, somebody dominates it unless all have nothing
        return bounds, _dominated(sizes, bounds, limit, most_in_middle)
    bounds, above = _inwards(sizes, bounds, limit, most_in_middle)
    # the lowest group grows as the highest one does where everything is turned round
    turned, below = _inwards(sizes[::-1], bounds[-1] - bounds[::-1], limit, most_in_middle, above)
    bounds = turned[-1] - turned[::-1]
    while True:
        upwards, downwards = _outwards(values, bounds, _dominated(sizes, bounds, limit, most_in_middle), below, above)
        if not (upwards | downwards).any():
            return bounds, _dominated(sizes, bounds, limit, most_in_middle)
        joined = np.zeros(len(bounds), bool)
        joined[1:][upwards] = True
        joined[:-1][downwards] = True
        # two become one at a time: a row of groups that are all to grow would else become a single one
        place = np.arange(len(joined))
        before = np.maximum.accumulate(np.where(joined, -1, place))
        bounds = bounds[~(joined & ((place - before) % 2 == 1))]


def in_the_middle(bounds: Bounds, most: int | None) -> NDArray[np.bool_]:
    """Return which numbers stand in the middle of their group: so many, or one more to leave as many on both sides; all where none is given.

    >>> in_the_middle(np.array([0, 2, 6]), 2).tolist()
    [True, True, False, True, True, False]
    """
    sizes = np.diff(bounds)
    beyond = (sizes - most) // 2 if most is not None else np.zeros_like(sizes)
    place = np.arange(bounds[-1]) - np.repeat(bounds[:-1], sizes)
    middle: NDArray[np.bool_] = (place >= np.repeat(beyond, sizes)) & (place < np.repeat(sizes - beyond, sizes))
    return middle


def _dominated(sizes: Numbers, bounds: Bounds, limit: float, most: int | None) -> NDArray[np.bool_]:
    shares = np.where(in_the_middle(bounds, most), sizes, 0.0)
    found: NDArray[np.bool_] = np.maximum.reduceat(shares, bounds[:-1]) > limit * np.add.reduceat(shares, bounds[:-1])
    return found


def _inwards(sizes: Numbers, bounds: Bounds, limit: float, most: int | None, beyond: int = 0) -> tuple[Bounds, int]:
    """Return the groups with the last one grown downwards until nobody dominates it, and how many are left as they are above it.

    It grows twice as far each time. One that somebody always dominates is left as it is, and the one below it is the last. The first groups may be
    ``beyond`` too.
    """
    stretches = _Stretches.of(sizes, limit, most)
    for left in range(len(bounds) - 1 - beyond):
        last, taken = len(bounds) - 1 - left, 1
        while True:
            begin, end = int(bounds[last - taken]), int(bounds[last])
            if stretches.may_be_told(begin, end) and not _dominated(sizes[begin:end], np.array([0, end - begin]), limit, most)[0]:
                return np.delete(bounds, np.arange(last - taken + 1, last)), left
            if taken == last - beyond:
                break
            taken = min(last - beyond, 2 * taken)
    return bounds, len(bounds) - 1 - beyond


@dataclass(frozen=True, eq=False)
class _Stretches:
    """Says of a stretch of sorted numbers, without looking at all of it, whether somebody dominates it: what sizes add up to is known beforehand.

    Where it is so near that digits would decide, it says that nobody does, and all numbers have to be looked at.
    """

    sizes: Numbers
    totals: NDArray[np.longdouble]
    limit: float
    most: int | None

    @classmethod
    def of(cls, sizes: Numbers, limit: float, most: int | None) -> _Stretches:
        return cls(sizes, np.concatenate([[0], np.cumsum(sizes, dtype=np.longdouble)]), limit, most)

    def may_be_told(self, begin: int, end: int) -> bool:
        beyond = (end - begin - self.most) // 2 if self.most is not None else 0
        begin, end = begin + beyond, end - beyond
        # the numbers are sorted: the largest size is at one of the ends
        largest = max(self.sizes[begin], self.sizes[end - 1])
        total = self.totals[end] - self.totals[begin]
        return bool(largest <= self.limit * total * (1 + _NEARLY) + _NEARLY * _NEARLY)


def _outwards(values: Numbers, bounds: Bounds, dominated: NDArray[np.bool_], below: int, above: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which groups are to grow upwards, and which downwards: away from zero, but not to where groups are left as they are."""
    larger = np.abs(values[bounds[1:] - 1]) >= np.abs(values[bounds[:-1]])
    upwards, downwards = dominated & larger, dominated & ~larger
    place = np.arange(len(dominated))
    inside = (place >= below) & (place < len(dominated) - above)
    return upwards & inside & (place < len(dominated) - above - 1), downwards & inside & (place > below)
