"""How often each pair of numbers is there: a table with open places, in which what comes can go again."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel, plain_kernel
from sfumato.core.kernels.people import mixed


@inner_kernel
def add(table: Any, one: Any, other: Any) -> Any:
    """Count a pair once more; return how often it is there now. The table has a power of two of places, and is never full."""
    ones, others, counts = table
    mask = len(counts) - 1
    slot = np.int64(mixed(one, other) & np.uint64(mask))
    while counts[slot] > 0 and (ones[slot] != one or others[slot] != other):
        slot = (slot + 1) & mask
    ones[slot], others[slot] = one, other
    counts[slot] += 1
    return counts[slot]


@inner_kernel
def take(table: Any, one: Any, other: Any) -> Any:
    """Count a pair once less; return how often it is still there. It must be there."""
    ones, others, counts = table
    mask = len(counts) - 1
    slot = np.int64(mixed(one, other) & np.uint64(mask))
    while ones[slot] != one or others[slot] != other or counts[slot] == 0:
        slot = (slot + 1) & mask
    counts[slot] -= 1
    left = counts[slot]
    if left == 0:
        # whoever stands behind and could not stand here moves up, so that no search ends too early
        hole, place = slot, (slot + 1) & mask
        while counts[place] > 0:
            home = np.int64(mixed(ones[place], others[place]) & np.uint64(mask))
            if ((place - home) & mask) >= ((place - hole) & mask):
                ones[hole], others[hole], counts[hole] = ones[place], others[place], counts[place]
                counts[place] = 0
                hole = place
            place = (place + 1) & mask
    return left


@plain_kernel
def moved(ones: Any, others: Any, counts: Any, table: Any) -> None:
    """Put all pairs into another table, which is empty."""
    for slot in range(len(counts)):
        for _ in range(counts[slot]):
            add(table, ones[slot], others[slot])
