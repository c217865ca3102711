"""Strict multidimensional partitioning where only the sizes of classes matter: parts are found by counting, without sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inlined_kernel, kernel
from sfumato.core.kernels.mondrian import COUNT, DONE, OPEN, close, find_keys, measure, move, next_open, sort, widest


@kernel
def partition_by_size(
    codes: Any,
    rows: Any,
    ladders: Any,
    positions: Any,
    nodes: Any,
    shares: Any,
    weights: Any,
    smallest: Any,  # fewest rows that a class can have
    stack: Any,
    class_of: Any,
    lows: Any,
    highs: Any,
    state: Any,
    until: Any,  # stop when so many rows are done
) -> None:
    """Work off the stack of open partitions; each that cannot be cut becomes a class."""
    columns, most = codes.shape
    low, high, width = np.empty(columns, np.int64), np.empty(columns, np.int64), np.empty(columns, np.float64)
    keys, order, spare = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int32)
    moved = np.empty(most, codes.dtype)
    # no column has more keys than leaves, the missing one and the one outside
    largest: Any = np.int64(0)
    for column in range(columns):
        largest = max(largest, ladders[column, 1] + 3)
    largest = min(largest, 2 * most + 65)
    slots = np.empty(max(65537, largest), np.int32)
    mass = np.empty(largest, np.int64)
    while state[OPEN] > 0 and state[DONE] < until:
        begin, number = next_open(stack, state)
        total = measure(codes, rows, begin, number, ladders, positions, nodes, shares, weights, smallest, low, high, width)
        groups = np.int64(0)
        while groups == 0:
            best = widest(width)
            if best < 0:
                break
            span = find_keys(codes, begin, number, best, low[best], high[best], ladders, nodes, keys)
            special = ladders[best, 1] - low[best]
            if span > 2 * number + 64:
                sort(keys, order, spare, slots, number, span)
                special = _ranked(keys, order, spare, number, special)
                span = spare[number - 1] + 1
            groups = _parts(rows, begin, number, keys, span, ladders[best, 0], special, total, smallest, mass, slots, order, spare, state, stack)
        if groups == 0:
            close(rows, begin, number, low, high, class_of, lows, highs, state)
        else:
            state[OPEN] += groups
            move(codes, begin, number, order, moved)
            move(rows, begin, number, order, spare)


@inlined_kernel
def _ranked(keys: Any, order: Any, spare: Any, number: Any, special: Any) -> Any:
    """Replace keys by their ranks, the last of which is then the last of ``spare``; return the rank of the first key from ``special`` on."""
    rank, rank_of_special = np.int64(-1), np.int64(-1)
    for place in range(number):
        if place == 0 or keys[order[place]] != keys[order[place - 1]]:
            rank += 1
            if rank_of_special < 0 and keys[order[place]] >= special:
                rank_of_special = rank
        spare[place] = rank
    for place in range(number):
        keys[order[place]] = spare[place]
    return rank_of_special


@inlined_kernel
def _parts(
    rows: Any,
    begin: Any,
    number: Any,
    keys: Any,
    span: Any,
    ordered: Any,
    special: Any,
    total: Any,
    smallest: Any,
    mass: Any,
    heads: Any,
    order: Any,
    spare: Any,
    state: Any,
    stack: Any,
) -> Any:
    """Find the parts of a partition, put them on the stack and its rows in order; return their number, 0 where it cannot be cut.

    ``mass`` is the number of table rows of each key, ``heads`` where the part that it goes to has its next free place.
    """
    for key in range(span):
        mass[key] = 0
        heads[key] = 0
    for row in range(number):
        mass[keys[row]] += rows[COUNT, begin + row]
        heads[keys[row]] += 1
    groups = np.int64(2)
    if ordered:
        cut = _cut(mass, span, special, total, smallest)
        if cut == 0:
            return np.int64(0)
        left = np.int64(0)
        for key in range(cut):
            left += heads[key]
        stack[state[OPEN], 0], stack[state[OPEN], 1] = begin, begin + left
        stack[state[OPEN] + 1, 0], stack[state[OPEN] + 1, 1] = begin + left, begin + number
        # written on both sides, of which one counts: a branch here would be mispredicted every other time
        left, right = np.int64(0), np.int64(0)
        for row in range(number):
            order[left], spare[right] = row, row
            before = np.int64(keys[row] < cut)
            left += before
            right += 1 - before
        for place in range(right):
            order[left + place] = spare[place]
        return groups
    rest = _rest(mass, heads, span, smallest)
    if rest < 0:
        return np.int64(0)
    # each good child has a part of its own, in order; all others share the last
    place, groups = np.int64(0), np.int64(0)
    for key in range(span):
        if mass[key] >= smallest:
            stack[state[OPEN] + groups, 0] = begin + place
            place, heads[key] = place + heads[key], place
            stack[state[OPEN] + groups, 1] = begin + place
            groups += 1
    if place < number:
        stack[state[OPEN] + groups, 0], stack[state[OPEN] + groups, 1] = begin + place, begin + number
        groups += 1
        for key in range(span):
            if mass[key] < smallest:
                place, heads[key] = place + heads[key], place
    for row in range(number):
        order[heads[keys[row]]] = row
        heads[keys[row]] += 1
    return groups


@inlined_kernel
def _cut(mass: Any, span: Any, special: Any, total: Any, smallest: Any) -> Any:
    """Return the first key right of the best cut of an ordered column, 0 where there is none."""
    below = np.int64(0)
    best, distance = np.int64(0), np.int64(-1)
    for key in range(span - 1):
        below += mass[key]
        if below >= smallest and total - below >= smallest:
            if key + 1 == special:
                return special
            if mass[key] > 0 and (best == 0 or abs(2 * below - total) < distance):
                best, distance = np.int64(key + 1), abs(2 * below - total)
    return best


@inlined_kernel
def _rest(mass: Any, heads: Any, span: Any, smallest: Any) -> Any:
    """Join small children until they are enough, marking a child that joins them by a mass of 0; return -1 where no two parts are left."""
    kept, children = np.int64(0), np.int64(0)
    rest = np.int64(0)
    for key in range(span):
        children += heads[key] > 0
        kept += mass[key] >= smallest
        rest += mass[key] if mass[key] < smallest else np.int64(0)
    while kept > 0 and 0 < rest < smallest:
        least = np.int64(-1)
        for key in range(span):
            if mass[key] >= smallest and (least < 0 or heads[key] < heads[least]):
                least = np.int64(key)
        rest += mass[least]
        mass[least] = 0
        kept -= 1
    if kept == 0 or (kept == 1 and children == 1) or kept + (kept < children) < 2:
        return np.int64(-1)
    return rest
