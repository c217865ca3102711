"""Group by a 64-bit key: a number for each distinct key, in order of first appearance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.kernels import inner_kernel, kernel


@kernel
def group(keys: Any, groups: Any, firsts: Any) -> Any:
    """Write down the group of each key and the place where each group first appears; return the number of groups.

    Arrays come in from outside: a compiled function that returns some can crash when an interrupt is waiting.
    """
    slots = np.empty(2048, np.int32)
    for slot in range(len(slots)):
        slots[slot] = -1
    found = np.int64(0)
    for place in range(len(keys)):
        if 2 * found == len(slots):
            slots = np.empty(4 * found, np.int32)
            for slot in range(len(slots)):
                slots[slot] = -1
            for other in range(found):
                slot = _slot(keys[firsts[other]], len(slots))
                while slots[slot] >= 0:
                    slot = (slot + 1) & (len(slots) - 1)
                slots[slot] = other
        slot = _slot(keys[place], len(slots))
        while slots[slot] >= 0 and keys[firsts[slots[slot]]] != keys[place]:
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] < 0:
            slots[slot] = found
            firsts[found] = place
            found += 1
        groups[place] = slots[slot]
    return found


@inner_kernel
def _slot(key: Any, capacity: int) -> Any:
    mixed = np.uint64(key)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(capacity - 1))


def group_columns(columns: list[NDArray[Any]], sizes: list[int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the group of each row and the first row of each group; column ``i`` holds codes from 0 to ``sizes[i]`` - 1.

    >>> groups, firsts = group_columns([np.array([1, 1, 0, 1]), np.array([2, 0, 2, 2])], [2, 3])
    >>> groups.tolist(), firsts.tolist()
    ([0, 1, 2, 0], [0, 1, 2])
    """
    rows = len(columns[0]) if columns else 0
    keys = np.zeros(rows, np.int64)
    span = 1
    for column, size in zip(columns, sizes, strict=True):
        if span * size >= 2**62:
            # the key is full: what has been packed so far becomes one dense code
            groups, firsts = group_keys(keys)
            keys, span = groups.astype(np.int64), len(firsts)
        keys *= size
        keys += column
        span *= size
    return group_keys(keys)


def group_keys(keys: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the group of each key, numbered in order of first appearance, and where each first appears."""
    groups, firsts = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
    found = group(keys, groups, firsts)
    return groups, firsts[:found].copy()
