"""Sets of attributes: who shows the same ones, and how much that tells.

Jha and others, "z-anonymity: zero-delay anonymization for data streams" (2020), and the work that followed it: the share of people whose set is
shared, and the entropy of the sets. Here a set is a set: neither order nor repetition makes two of one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def group_sizes(people: NDArray[np.int64], attributes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many people there are of each distinct set; ``people`` and ``attributes`` say side by side who shows what.

    >>> group_sizes(np.array([1, 1, 2, 2, 2, 3]), np.array([7, 8, 8, 7, 7, 7])).tolist()
    [1, 2]
    """
    if not len(people):
        return np.empty(0, np.int64)
    order = np.lexsort((attributes, people))
    people, attributes = people[order], attributes[order]
    is_new = np.append(True, (people[1:] != people[:-1]) | (attributes[1:] != attributes[:-1]))
    people, mixed = people[is_new], _mixed(attributes[is_new])
    starts = np.flatnonzero(np.append(True, people[1:] != people[:-1]))
    # two sums of 64 bits: that different sets have both alike does not happen
    sums = np.stack([np.add.reduceat(mixed, starts), np.add.reduceat(_mixed(mixed.view(np.int64) ^ 0x5555), starts)], axis=1)
    sizes = np.unique(sums, axis=0, return_counts=True)[1]
    return np.sort(sizes).astype(np.int64)


def share_with(sizes: NDArray[np.int64], k: int) -> float:
    """Return the share of people whose set is that of at least ``k`` people, NaN where there is nobody.

    >>> share_with(np.array([1, 1, 2]), 2)
    0.5
    """
    return float(sizes[sizes >= k].sum() / sizes.sum()) if len(sizes) else float("nan")


def entropy(sizes: NDArray[np.int64]) -> float:
    """Return the entropy of the sets in bits, NaN where there is nobody.

    >>> entropy(np.array([2, 2])), entropy(np.array([5]))
    (1.0, 0.0)
    """
    if not len(sizes):
        return float("nan")
    shares = sizes / sizes.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def _mixed(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return numbers that have nothing to do with each other (splitmix64)."""
    mixed = (numbers.view(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
