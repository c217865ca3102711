"""People by small numbers: from 0 in the order in which they first appear, so that they can be counted by stamps."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel, plain_kernel


@plain_kernel
def number_people(people: Any, values: Any, persons: Any, pairs: Any, slots: Any, sizes: Any) -> None:
    """Number the people of some records, and for each sensitive column their (person, value) pairs; ``sizes`` gets how many there are of each.

    ``slots`` has a power of two of places, at least twice as many as there are records. Where nobody comes twice no pairs are numbered.
    """
    mask = np.uint64(len(slots) - 1)
    rows = len(people)
    for slot in range(len(slots)):
        slots[slot] = -1
    found = np.int64(0)
    for row in range(rows):
        slot = np.int64(mixed(people[row], np.int64(0)) & mask)
        while slots[slot] >= 0 and people[slots[slot]] != people[row]:
            slot = np.int64(np.uint64(slot + 1) & mask)
        if slots[slot] < 0:
            slots[slot] = row
            persons[row] = found
            found += 1
        else:
            persons[row] = persons[slots[slot]]
    sizes[0] = found
    if found == rows:
        return
    for column in range(values.shape[1]):
        for slot in range(len(slots)):
            slots[slot] = -1
        found = np.int64(0)
        for row in range(rows):
            slot = np.int64(mixed(people[row], np.int64(values[row, column]) + 1) & mask)
            while slots[slot] >= 0 and (people[slots[slot]] != people[row] or values[slots[slot], column] != values[row, column]):
                slot = np.int64(np.uint64(slot + 1) & mask)
            if slots[slot] < 0:
                slots[slot] = row
                pairs[row, column] = found
                found += 1
            else:
                pairs[row, column] = pairs[slots[slot], column]
        sizes[1 + column] = found


@inner_kernel
def mixed(one: Any, other: Any) -> Any:
    """Return a number that hangs on all bits of two."""
    bits = np.uint64(one) + np.uint64(other) * np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(32)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(32)
    return bits
