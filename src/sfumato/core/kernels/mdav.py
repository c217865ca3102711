"""MDAV: points in groups of k that are near each other.

Domingo-Ferrer, Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation" (2005): around the point that is farthest from the
middle of all that are left, and around the one farthest from that, the k nearest make a group each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel, kernel


@kernel
def grouped(points: Any, k: Any, left: Any, distances: Any, nearest: Any, group_of: Any) -> Any:
    """Give each point its group, from 0; return how many there are. All groups have k to 2k - 1 points, but for one of fewer than k where all are."""
    number, columns = points.shape
    middle = np.empty(columns)
    for place in range(number):
        left[place] = place
    groups = np.int64(0)
    while number >= 2 * k:
        for column in range(columns):
            middle[column] = 0.0
        for place in range(number):
            for column in range(columns):
                middle[column] += points[left[place], column] / number
        first = _farthest(points, left, number, middle)
        pair = number >= 3 * k
        seed = points[first]
        second = _farthest(points, left, number, seed) if pair else first
        number = _take(points, k, left, number, seed, distances, nearest, group_of, groups)
        groups += 1
        if pair:
            # the other end is taken by the first group only where all are in one place
            other = points[second] if group_of[second] != groups - 1 else points[left[0]]
            number = _take(points, k, left, number, other, distances, nearest, group_of, groups)
            groups += 1
    for place in range(number):
        group_of[left[place]] = groups
    return groups + (number > 0)


@inner_kernel
def _apart(one: Any, other: Any) -> Any:
    total = 0.0
    for column in range(len(one)):
        total += (one[column] - other[column]) * (one[column] - other[column])
    return total


@inner_kernel
def _farthest(points: Any, left: Any, number: Any, seed: Any) -> Any:
    best, most = np.int64(left[0]), -1.0
    for place in range(number):
        apart = _apart(points[left[place]], seed)
        if apart > most:
            best, most = np.int64(left[place]), apart
    return best


@inner_kernel
def _take(points: Any, k: Any, left: Any, number: Any, seed: Any, distances: Any, nearest: Any, group_of: Any, group: Any) -> Any:
    """Make the k points that are nearest to a seed a group; return how many are left."""
    taken = np.int64(0)
    for place in range(number):
        apart = _apart(points[left[place]], seed)
        if taken == k and not apart < distances[k - 1]:
            continue
        at = taken if taken < k else k - 1
        while at > 0 and distances[at - 1] > apart:
            distances[at], nearest[at] = distances[at - 1], nearest[at - 1]
            at -= 1
        distances[at], nearest[at] = apart, left[place]
        taken = min(taken + 1, k)
    for at in range(k):
        group_of[nearest[at]] = group
    kept = np.int64(0)
    for place in range(number):
        own = left[place]
        if group_of[own] != group:
            left[kept] = own
            kept += 1
    return kept
