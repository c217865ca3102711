"""Optimal univariate microaggregation: sorted values in groups of at least k, none of which one value dominates, that are as alike as they can be.

Hansen, Mukherjee, "A polynomial algorithm for optimal univariate microaggregation" (2003): the best partition of a sorted line is the shortest path
from its beginning to its end, and no group of it can be divided into two. Theirs therefore has groups of k to 2k - 1 values. Here a group of which
one value makes up more than a part is no step of the path: a step may have to be longer, and which steps can be divided follows from the shortest
step to each place. Groups on one side of zero may be told if they are long enough, those across zero are few that cannot be divided at zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import plain_kernel

_NEARLY = 1.0 + 1e-9
"""What sums that were added up in another order may differ by; only for what is not looked at."""


@plain_kernel
def shortest_path(values: Any, sizes: Any, zero: int, k: int, limit: float, cost: Any, before: Any, steps: Any) -> None:
    """Write down where the last group of the best partition of the first ``place`` values begins, for each place; -1 where there is none.

    ``values`` are sorted and begin near zero, so that squares keep their digits. ``sizes`` are how much each adds to a total: they fall up to the
    place ``zero`` and rise from there on. No group has a size of more than ``limit`` of its sum. ``cost`` and ``before`` have one entry more
    than there are values; ``steps`` has three rows of as many, to work with.
    """
    number = len(values)
    cost[:] = np.inf
    before[:] = -1
    cost[0] = 0.0
    nearest, reached, furthest = steps[0], steps[1], steps[2]
    _shortest_steps(sizes, zero, k, limit, nearest, reached)
    _falling(values, zero, nearest, reached, cost, before)
    _across_from_below(values, sizes, zero, k, limit, nearest, furthest, cost, before)
    _across_from_above(values, sizes, zero, k, limit, nearest, furthest, cost, before)
    for end in range(zero + 1, number + 1):
        if nearest[end] < 0:
            continue
        # a longer step can be divided at a place that is reached from further on
        first = max(zero, reached[nearest[end]] + 1)
        total, squares = 0.0, 0.0
        for begin in range(end - 1, first - 1, -1):
            distance = values[begin] - values[end - 1]
            total += distance
            squares += distance * distance
            if begin <= nearest[end]:
                found = cost[begin] + squares - total * total / (end - begin)
                if found < cost[end]:
                    cost[end] = found
                    before[end] = begin


@plain_kernel
def _shortest_steps(sizes: Any, zero: int, k: int, limit: float, nearest: Any, reached: Any) -> None:
    """Write down the shortest group that ends at each place above zero, or begins at one below, on its side of zero; -1 where there is none.

    ``reached`` is the furthest place from which one up to there can be reached, or down to there.
    """
    number = len(sizes)
    nearest[:] = -1
    whole = 0.0
    reached[zero] = -1
    for end in range(zero + 1, number + 1):
        whole += sizes[end - 1]
        if sizes[end - 1] <= limit * whole * _NEARLY:
            total = 0.0
            for begin in range(end - 1, zero - 1, -1):
                total += sizes[begin]
                if end - begin >= k and sizes[end - 1] <= limit * total:
                    nearest[end] = begin
                    break
        reached[end] = max(reached[end - 1], nearest[end])
    whole = 0.0
    least = number + 1
    for begin in range(zero - 1, -1, -1):
        whole += sizes[begin]
        if sizes[begin] <= limit * whole * _NEARLY:
            total = 0.0
            for end in range(begin + 1, zero + 1):
                total += sizes[end - 1]
                if end - begin >= k and sizes[begin] <= limit * total:
                    nearest[begin] = end
                    least = min(least, end)
                    break
        reached[begin] = least


@plain_kernel
def _falling(values: Any, zero: int, nearest: Any, reached: Any, cost: Any, before: Any) -> None:
    """Take the steps on the side on which sizes fall, each from where it begins."""
    for begin in range(zero):
        if nearest[begin] < 0 or cost[begin] == np.inf:
            continue
        last = zero if nearest[begin] == zero else min(zero, reached[nearest[begin]] - 1)
        total, squares = 0.0, 0.0
        for end in range(begin + 1, last + 1):
            distance = values[end - 1] - values[begin]
            total += distance
            squares += distance * distance
            if end >= nearest[begin]:
                found = cost[begin] + squares - total * total / (end - begin)
                if found < cost[end]:
                    cost[end] = found
                    before[end] = begin


@plain_kernel
def _across_from_below(values: Any, sizes: Any, zero: int, k: int, limit: float, nearest: Any, furthest: Any, cost: Any, before: Any) -> None:
    """Take the steps across zero from places from which none ends below it."""
    number = len(values)
    # the last place that cannot be reached from this one on
    furthest[:] = 0
    for end in range(zero + 1, number + 1):
        if nearest[end] >= 0:
            furthest[nearest[end] + 1] = end
    for place in range(1, number + 1):
        furthest[place] = max(furthest[place], furthest[place - 1])
    for begin in range(zero):
        if nearest[begin] >= 0 or cost[begin] == np.inf:
            continue
        total, squares, size = 0.0, 0.0, 0.0
        last = number
        for end in range(begin + 1, number + 1):
            if end > last:
                break
            distance = values[end - 1] - values[begin]
            total += distance
            squares += distance * distance
            size += sizes[end - 1]
            if end > zero and end - begin >= k and max(sizes[begin], sizes[end - 1]) <= limit * size:
                if last == number:
                    last = furthest[end]
                found = cost[begin] + squares - total * total / (end - begin)
                if found < cost[end]:
                    cost[end] = found
                    before[end] = begin


@plain_kernel
def _across_from_above(values: Any, sizes: Any, zero: int, k: int, limit: float, nearest: Any, furthest: Any, cost: Any, before: Any) -> None:
    """Take the steps across zero to places to which none begins above it."""
    number = len(values)
    # the first place from which this one cannot be reached, nor any before it
    furthest[:] = number
    for begin in range(zero - 1, -1, -1):
        furthest[nearest[begin] - 1 if nearest[begin] >= 0 else number] = begin
    for place in range(number - 1, -1, -1):
        furthest[place] = min(furthest[place], furthest[place + 1])
    for end in range(zero + 1, number + 1):
        if nearest[end] >= 0:
            continue
        total, squares, size = 0.0, 0.0, 0.0
        first = -1
        for begin in range(end - 1, -1, -1):
            if begin < first:
                break
            distance = values[begin] - values[end - 1]
            total += distance
            squares += distance * distance
            size += sizes[begin]
            if begin < zero and end - begin >= k and max(sizes[begin], sizes[end - 1]) <= limit * size:
                if first < 0:
                    first = furthest[begin]
                found = cost[begin] + squares - total * total / (end - begin)
                if found < cost[end]:
                    cost[end] = found
                    before[end] = begin


@plain_kernel
def undominated_stretch(sizes: Any, zero: int, k: int, limit: float, totals: Any) -> tuple[int, int]:
    """Return where the longest stretch begins and ends of which nobody makes up more than ``limit``, without k or more at an end of whom one does.

    ``totals`` has one entry more than there are sizes, to work with: sums from ``zero`` outwards, so that small sizes are not lost beside large ones.
    """
    number = len(sizes)
    totals[zero] = 0.0
    for place in range(zero, number):
        totals[place + 1] = totals[place] + sizes[place]
    for place in range(zero - 1, -1, -1):
        totals[place] = totals[place + 1] + sizes[place]
    begin, end = 0, number
    while end - begin >= k:
        total = (totals[begin] if begin <= zero else -totals[begin]) + (totals[end] if end >= zero else -totals[end])
        if max(sizes[begin], sizes[end - 1]) <= limit * total:
            return begin, end
        if sizes[begin] > sizes[end - 1]:
            begin += k if begin == 0 else 1
        else:
            end -= k if end == number else 1
    return 0, 0
