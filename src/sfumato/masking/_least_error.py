"""The groups of sorted numbers with the least squared error in which nobody makes up more than a part. A private part of ``microaggregate``."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.core.kernels.microaggregation import shortest_path, undominated_stretch

Numbers = NDArray[np.float64]
Bounds = NDArray[np.int64]


def with_least_error(values: Numbers, k: int, limit: float = 1.0) -> tuple[Bounds, NDArray[np.bool_]]:
    """Return where the groups of k or more sorted numbers begin and the last one ends, and of which of them nothing may be told.

    Where one number is more than ``limit`` of all together, no partition keeps the limit: it is left in a group of its own with those beside it, as
    few as there may be, and the others are grouped without them.

    >>> bounds, dominated = with_least_error(np.array([1.0, 2, 3, 4, 5, 6, 900]), 3, 0.5)
    >>> bounds.tolist(), dominated.tolist()
    ([0, 4, 7], [False, True])
    """
    # by a power of two, which changes no digit: a sum may be more than a float holds
    sizes = np.ldexp(np.abs(values), -math.frexp(np.abs(values).max(initial=0.0))[1])
    zero, number = int(np.searchsorted(values, 0.0)), len(values)
    begin, end = undominated_stretch(sizes, zero, k, limit, np.empty(number + 1))
    if begin == end:
        return np.array([0, number]), np.array([True])
    inside = begin + _path(values[begin:end], sizes[begin:end], min(max(zero - begin, 0), end - begin), k, limit)
    bounds = np.unique(np.concatenate([[0], inside, [number]]))
    return bounds, (bounds[:-1] < begin) | (bounds[:-1] >= end)


def _path(values: Numbers, sizes: Numbers, zero: int, k: int, limit: float) -> Bounds:
    number = len(values)
    cost, before, steps = np.empty(number + 1), np.empty(number + 1, np.int64), np.empty((3, number + 1), np.int64)
    # squares of large numbers, and their differences, would be more than a float holds
    apart = values / 2 - values[0] / 2
    shortest_path(apart / (apart[-1] or 1.0), sizes, zero, k, limit, cost, before, steps)
    ends = [number]
    while ends[-1]:
        # where only the order of adding up decides whether anything keeps the limit, all are one group
        ends.append(max(int(before[ends[-1]]), 0))
    return np.array(ends[::-1])
