"""How far each class's distribution of a sensitive column is from that of the whole table: the earth mover's distance, by three grounds.

Li, Li, Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity" (2007). All are 0 where the distributions agree, and 1
where everything has to move as far as it can.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Histogram
from sfumato.core.hierarchy import Hierarchy

_AT_ONCE = 1 << 22


def equal_distances(histogram: Histogram, reference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of each class that would have to change its value, whatever the change."""
    # shares add up to one on both sides: what a class has too much of is what it has too little of
    excess = histogram.shares - reference[histogram.values]
    return histogram.sum_by_class(np.maximum(excess, 0.0))


def ordered_distances(histogram: Histogram, reference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance where values stand in a row, one step apart, and the whole row is 1 long.

    It is the sum of |P - Q| over all steps, P and Q being what class and table have up to there. Between two values of a class P stays and
    Q only rises, so that whole stretches are added up at once.
    """
    present = reference > 0
    number = int(present.sum())
    if number < 2:
        return np.zeros(histogram.number)
    ranks = (np.cumsum(present) - 1)[histogram.values]
    table = np.cumsum(reference[present])
    sums = np.r_[0.0, np.cumsum(table)]
    class_sums = np.cumsum(histogram.shares)
    before = np.r_[0.0, class_sums][histogram.offsets[histogram.class_of]]
    own = class_sums - before
    # a stretch reaches from an entry's value to that of the next entry of its class; the first also has one before it, where P is 0
    ends = np.r_[ranks[1:], number - 1]
    ends[histogram.offsets[1:][np.diff(histogram.offsets) > 0] - 1] = number - 1
    stretches = _stretch(own, ranks, np.minimum(ends, number - 1), table, sums)
    firsts = histogram.offsets[:-1][np.diff(histogram.offsets) > 0]
    stretches[firsts] += sums[ranks[firsts]]
    return histogram.sum_by_class(stretches) / (number - 1)


def _stretch(
    level: NDArray[np.float64], begins: NDArray[np.int64], ends: NDArray[np.int64], table: NDArray[np.float64], sums: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sum of |level - table| over the places from ``begins`` up to, not including, ``ends``."""
    middle = np.clip(np.searchsorted(table, level, side="right"), begins, ends)
    below = level * (middle - begins) - (sums[middle] - sums[begins])
    above = (sums[ends] - sums[middle]) - level * (ends - middle)
    return below + above


def hierarchical_distances(histogram: Histogram, reference: NDArray[np.float64], hierarchy: Hierarchy) -> NDArray[np.float64]:
    """Return the distance where two values are as far apart as the lowest node that holds both is high; the root is 1 high.

    At each node its children settle among themselves what some have too much of and others too little; the rest goes up.
    """
    size = hierarchy.size + 2
    step = max(1, _AT_ONCE // size)
    parts = [
        _settled(_excess(histogram, reference, first, min(first + step, histogram.number), size), hierarchy)
        for first in range(0, histogram.number, step)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def _excess(histogram: Histogram, reference: NDArray[np.float64], first: int, last: int, size: int) -> NDArray[np.float64]:
    """Return what some classes have of each value beyond the table's share, one line a class."""
    excess = np.zeros((last - first, size))
    excess[:, : len(reference)] -= reference
    entries = slice(histogram.offsets[first], histogram.offsets[last])
    np.add.at(excess, (histogram.class_of[entries] - first, histogram.values[entries]), histogram.shares[entries])
    return excess


def _settled(excess: NDArray[np.float64], hierarchy: Hierarchy) -> NDArray[np.float64]:
    special = excess[:, hierarchy.size :]
    children = excess[:, : hierarchy.size]
    starts: NDArray[np.integer] = np.arange(hierarchy.size)
    distance = np.zeros(len(excess))
    for height, level in enumerate(hierarchy.levels, start=1):
        nodes = np.searchsorted(starts, level.starts)
        starts = level.starts
        if height == hierarchy.height:
            # missing and unknown values hang below the root only
            children, nodes = np.concatenate([children, special], axis=1), np.zeros(1, np.int64)
        too_much = np.add.reduceat(np.maximum(children, 0.0), nodes, axis=1)
        too_little = np.add.reduceat(np.maximum(-children, 0.0), nodes, axis=1)
        distance += np.minimum(too_much, too_little).sum(axis=1) * height / hierarchy.height
        children = np.add.reduceat(children, nodes, axis=1)
    return distance
