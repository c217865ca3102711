"""What thresholds would do to the people in the window: a whole grid of them in one pass.

A person's set of published attributes is known by the sum of keyed digests of its nodes, whatever their order. Levels are counted from the widest
category, so that a node is met at one level wherever it stands in a path.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel, plain_kernel


# fmt: off
@plain_kernel
def try_thresholds(person_of: Any, path_of: Any, rows: Any, heights: Any, grid: Any, k: int, rest: Any, generalise: Any, secret: Any, counts: Any,
                   stamps: Any, active: Any, released: Any, sets: Any, slots: Any, answers: Any) -> None:
    # fmt: on
    """Write down for each threshold how many people share their set with ``k`` or more, and how many have something published.

    ``person_of`` and ``path_of`` are who shows what, each pair once, in order of people, who are numbered from 0. The other arrays are room.
    """
    stamp = np.int64(0)
    if not rest:
        _count_all(person_of, path_of, rows, heights, counts, stamps)
        stamp = np.int64(len(person_of))
    for attempt in range(len(grid)):
        asked = grid[attempt]
        number = np.int64(len(person_of))
        for item in range(number):
            active[item], released[item] = item, -1
        for depth in range(rows.shape[1], 0, -1):
            if rest:
                stamp = _count_rest(number, depth, active, person_of, path_of, rows, heights, counts, stamps, stamp)
            kept = np.int64(0)
            for place in range(number):
                item = active[place]
                level = heights[path_of[item]] - depth
                if level == 0 or (level > 0 and generalise):
                    node = rows[path_of[item], level]
                    if counts[node] >= asked:
                        released[item] = node
                        continue
                active[kept] = item
                kept += 1
            number = kept
        stamp = _add_up(person_of, released, stamps, stamp, secret, sets)
        answers[attempt, 0], answers[attempt, 1] = _shared(sets, k, slots)


@inner_kernel
def _count_all(person_of: Any, path_of: Any, rows: Any, heights: Any, counts: Any, stamps: Any) -> None:
    """Count the people of each node; who is counted is marked by the number of their last pair, which nobody else has."""
    for node in range(len(counts)):
        counts[node], stamps[node] = 0, -1
    mark = np.int64(0)
    for item in range(len(person_of)):
        if item > 0 and person_of[item] != person_of[item - 1]:
            mark += 1
        for level in range(heights[path_of[item]]):
            node = rows[path_of[item], level]
            if stamps[node] != mark:
                stamps[node] = mark
                counts[node] += 1


@inner_kernel
def _count_rest(
    number: Any, depth: int, active: Any, person_of: Any, path_of: Any, rows: Any, heights: Any, counts: Any, stamps: Any, stamp: Any
) -> Any:
    """Count the people of each node of a depth of whom something below it is not published."""
    for place in range(number):
        level = heights[path_of[active[place]]] - depth
        if level >= 0:
            counts[rows[path_of[active[place]], level]] = 0
    before = np.int64(-1)
    for place in range(number):
        item = active[place]
        if person_of[item] != before:
            before = person_of[item]
            stamp += 1
        level = heights[path_of[item]] - depth
        if level >= 0:
            node = rows[path_of[item], level]
            if stamps[node] != stamp:
                stamps[node] = stamp
                counts[node] += 1
    return stamp


@inner_kernel
def _add_up(person_of: Any, released: Any, stamps: Any, stamp: Any, secret: Any, sets: Any) -> Any:
    """Write down what stands for each person's set, 0 where it is empty."""
    for person in range(len(sets)):
        sets[person] = 0
    before = np.int64(-1)
    for item in range(len(person_of)):
        if person_of[item] != before:
            before = person_of[item]
            stamp += 1
        node = released[item]
        if node >= 0 and stamps[node] != stamp:
            stamps[node] = stamp
            mixed = np.uint64(node) * np.uint64(0x9E3779B97F4A7C15) ^ secret
            mixed ^= mixed >> np.uint64(30)
            mixed *= np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(27)
            mixed *= np.uint64(0x94D049BB133111EB)
            sets[before] += mixed ^ (mixed >> np.uint64(31))
    return stamp


@inner_kernel
def _shared(sets: Any, k: int, slots: Any) -> Any:
    """Return how many people share a set that is not empty with ``k`` or more, and how many have one."""
    mask = len(slots) - 1
    for slot in range(len(slots)):
        slots[slot, 1] = 0
    some = np.int64(0)
    for person in range(len(sets)):
        if sets[person] != 0:
            some += 1
            slot = np.int64(sets[person] & np.uint64(mask))
            while slots[slot, 1] != 0 and slots[slot, 0] != sets[person]:
                slot = (slot + 1) & mask
            slots[slot, 0] = sets[person]
            slots[slot, 1] += np.uint64(1)
    alike = np.int64(0)
    for slot in range(len(slots)):
        if slots[slot, 1] >= np.uint64(k):
            alike += np.int64(slots[slot, 1])
    return alike, some
