"""What both ways of partitioning share: an open partition's ranges, its widest column, the keys of its rows, their order, and its end.

LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity" (2006). The columns of a partition are tried from the widest to the
narrowest. An ordered column is cut at the admissible boundary nearest to its median; a tree column at the children of the lowest node that
holds the partition: children that keep the promises part, the others stay together, joined by the smallest until they keep them too.

Rows are moved, not pointed at: a partition is a stretch of the arrays. ``codes`` has a line of leaf codes a column. The lines of ``rows`` are
the frequency row's number, its count, one sensitive value a sensitive column, and where people are counted one (person, value) pair a
sensitive column and last the person. ``ladders`` has for each column: ordered, leaves, levels, where its positions begin, where its nodes
begin; ``nodes`` and ``shares`` have by level and leaf the node that the leaf belongs to, and that node's part of all leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inlined_kernel, inner_kernel

NUMBER, COUNT, VALUES = 0, 1, 2
# what the state says: open partitions, classes, epoch of the stamps, rows done
OPEN, CLASSES, EPOCH, DONE = 0, 1, 2, 3


@inlined_kernel
def next_open(stack: Any, state: Any) -> Any:
    """Take the next open partition from the stack: where it begins, and its number of rows."""
    state[OPEN] -= 1
    # through unsigned: an index that is known not to be negative is not checked for it, row by row
    begin = np.int64(np.uint32(stack[state[OPEN], 0]))
    return begin, np.int64(np.uint32(stack[state[OPEN], 1] - begin))


@inlined_kernel
def measure(
    codes: Any,
    rows: Any,
    begin: Any,
    number: Any,
    ladders: Any,
    positions: Any,
    nodes: Any,
    shares: Any,
    weights: Any,
    smallest: Any,
    low: Any,
    high: Any,
    width: Any,
) -> Any:
    """Find each column's smallest and largest code and its weighted width, 0 where nothing can be cut; return the number of table rows."""
    total = np.int64(0)
    for row in range(number):
        total += rows[COUNT, begin + row]
    for column in range(codes.shape[0]):
        least = codes[column, begin]
        most = least
        for row in range(number):
            least = min(least, codes[column, begin + row])
            most = max(most, codes[column, begin + row])
        low[column], high[column], width[column] = least, most, 0.0
        if total >= 2 * smallest:
            width[column] = weights[column] * _width(low[column], high[column], ladders, column, positions, nodes, shares)
    return total


@inlined_kernel
def widest(width: Any) -> Any:
    """Return the widest column that has not been tried, and mark it; -1 where none is left."""
    best = np.int64(0)
    for column in range(1, len(width)):
        if width[column] > width[best]:
            best = np.int64(column)
    if width[best] <= 0.0:
        return np.int64(-1)
    width[best] = 0.0
    return best


@inner_kernel
def _width(low: Any, high: Any, ladders: Any, column: Any, positions: Any, nodes: Any, shares: Any) -> Any:
    """Return what the smallest published value that holds the interval would lose: 0 for one leaf, 1 for everything."""
    size = ladders[column, 1]
    if low == high:
        return 0.0
    if high >= size:
        return 1.0
    if ladders[column, 0]:
        offset = ladders[column, 3]
        return (positions[offset + high] - positions[offset + low]) / (positions[offset + size - 1] - positions[offset])
    place = ladders[column, 4] + size
    while nodes[place + low] != nodes[place + high]:
        place += size
    return shares[place + low]


@inlined_kernel
def find_keys(codes: Any, begin: Any, number: Any, column: Any, low: Any, high: Any, ladders: Any, nodes: Any, keys: Any) -> Any:
    """Give each row the number of its part, from 0: its code in an ordered column, its child of the lowest node in a tree."""
    if ladders[column, 0]:
        for row in range(number):
            keys[row] = codes[column, begin + row] - low
        return high - low + 1
    size = ladders[column, 1]
    last = min(high, size - 1)
    place = ladders[column, 4]
    if high >= size:
        place += (ladders[column, 2] - 1) * size
    else:
        while nodes[place + size + low] != nodes[place + size + last]:
            place += size
    first_child = nodes[place + low] if low < size else np.int32(0)
    children = np.int64(nodes[place + last] - first_child + 1) if low < size else np.int64(0)
    for row in range(number):
        code = np.int64(codes[column, begin + row])
        # missing and outside hang below the root, after its last child
        keys[row] = nodes[place + code] - first_child if code < size else children + code - size
    return children + 2


@inlined_kernel
def sort(keys: Any, order: Any, spare: Any, slots: Any, number: Any, span: Any) -> None:
    """Put the places of keys from 0 to span - 1 in the order of the keys: a counting sort, byte by byte where the keys are wide."""
    for place in range(number):
        order[place] = place
    if number <= 24:
        for place in range(1, number):
            own = order[place]
            before = place - 1
            while before >= 0 and keys[order[before]] > keys[own]:
                order[before + 1] = order[before]
                before -= 1
            order[before + 1] = own
        return
    bits = 8 if span > 65536 or (span > 1024 and span > 4 * number) else 16
    mask = (1 << bits) - 1
    shift = 0
    while shift == 0 or (span - 1) >> shift > 0:
        used = min(mask, (span - 1) >> shift) + 1
        for slot in range(used + 1):
            slots[slot] = 0
        for place in range(number):
            slots[((keys[place] >> shift) & mask) + 1] += 1
        for slot in range(1, used):
            slots[slot] += slots[slot - 1]
        for place in range(number):
            slot = (keys[order[place]] >> shift) & mask
            spare[slots[slot]] = order[place]
            slots[slot] += 1
        for place in range(number):
            order[place] = spare[place]
        shift += bits


@inner_kernel
def move(table: Any, begin: Any, number: Any, order: Any, moved: Any) -> None:
    """Bring the rows of a partition into the order of its parts."""
    for line in range(table.shape[0]):
        for place in range(number):
            moved[place] = table[line, begin + order[place]]
        for place in range(number):
            table[line, begin + place] = moved[place]


@inlined_kernel
def close(rows: Any, begin: Any, number: Any, low: Any, high: Any, class_of: Any, lows: Any, highs: Any, state: Any) -> None:
    """Make a partition that cannot be cut a class."""
    for row in range(number):
        class_of[rows[NUMBER, begin + row]] = state[CLASSES]
    for column in range(len(low)):
        lows[state[CLASSES], column] = low[column]
        highs[state[CLASSES], column] = high[column]
    state[CLASSES] += 1
    state[DONE] += number
