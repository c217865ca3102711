"""Strict multidimensional partitioning with promises of any kind that is compiled here, checked at every cut.

``layout`` has one line a sensitive column: where its values begin in ``histogram``, and where its pairs begin in ``stamps``; persons come
first there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inlined_kernel, inner_kernel, kernel
from sfumato.core.kernels.mondrian import COUNT, DONE, EPOCH, OPEN, VALUES, close, find_keys, measure, move, next_open, sort, widest

SIZE, DISTINCT, ENTROPY, RECURSIVE, EQUAL_DISTANCE = 0, 1, 2, 3, 4
# stricter than the promises' own guard against rounding, so that what holds here holds there
GUARD = 5e-10


@kernel
def partition_by_promises(
    codes: Any,
    rows: Any,
    layout: Any,
    stamps: Any,  # by person, then by pair: the epoch in which it was last counted; empty where rows are counted
    histogram: Any,  # by value
    touched: Any,  # by value
    reference: Any,  # by value: its share in the table as read
    promises: Any,  # kind, sensitive column, two parameters
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
    starts, good = np.empty(most + 1, np.int32), np.empty(most + 1, np.int8)
    slots = np.empty(65537, np.int32)
    # what is needed to count people and values and to check promises on the counts
    counting = (np.zeros(1 + len(layout), np.int64), layout, stamps, histogram, touched, reference, promises, state)
    while state[OPEN] > 0 and state[DONE] < until:
        begin, number = next_open(stack, state)
        total = measure(codes, rows, begin, number, ladders, positions, nodes, shares, weights, smallest, low, high, width)
        groups = np.int64(0)
        while groups == 0:
            best = widest(width)
            if best < 0:
                break
            span = find_keys(codes, begin, number, best, low[best], high[best], ladders, nodes, keys)
            sort(keys, order, spare, slots, number, span)
            segments = np.int64(0)
            for place in range(number):
                if place == 0 or keys[order[place]] != keys[order[place - 1]]:
                    starts[segments] = place
                    segments += 1
            starts[segments] = number
            if segments < 2:
                continue
            if ladders[best, 0]:
                first, second = middle(rows, begin, order, starts, segments, keys, ladders[best, 1] - low[best], total, smallest, good)
                cut = admissible_cut(rows, begin, order, starts, segments, first, second, total, good, counting)
                if cut > 0:
                    stack[state[OPEN], 0], stack[state[OPEN], 1] = begin, begin + starts[cut]
                    stack[state[OPEN] + 1, 0], stack[state[OPEN] + 1, 1] = begin + starts[cut], begin + number
                    groups = np.int64(2)
            else:
                groups = _children(rows, begin, order, spare, starts, segments, smallest, good, counting, stack)
        if groups == 0:
            close(rows, begin, number, low, high, class_of, lows, highs, state)
        else:
            state[OPEN] += groups
            move(codes, begin, number, order, moved)
            move(rows, begin, number, order, spare)


@inlined_kernel
def middle(rows: Any, begin: Any, order: Any, starts: Any, segments: Any, keys: Any, special: Any, total: Any, smallest: Any, good: Any) -> Any:
    """Mark the cuts of an ordered column that leave enough rows on both sides; return the best two, 0 where there is none.

    The cut nearest to the median is best; where missing values are mixed in, parting them comes before it.
    """
    below = np.int64(0)
    nearest, distance, apart = np.int64(0), np.int64(-1), np.int64(0)
    for segment in range(1, segments):
        for place in range(starts[segment - 1], starts[segment]):
            below += rows[COUNT, begin + order[place]]
        good[segment] = below >= smallest and total - below >= smallest
        if good[segment]:
            if keys[order[starts[segment]]] >= special > keys[order[starts[segment - 1]]]:
                apart = segment
            if nearest == 0 or abs(2 * below - total) < distance:
                nearest, distance = segment, abs(2 * below - total)
    if apart:
        return apart, nearest
    return nearest, np.int64(0)


@inlined_kernel
def admissible_cut(
    rows: Any, begin: Any, order: Any, starts: Any, segments: Any, first: Any, second: Any, total: Any, good: Any, counting: Any
) -> Any:
    """Return the best cut both sides of which keep the promises, 0 where there is none: the first, the second, then the nearest to the median."""
    if first == 0:
        return np.int64(0)
    for attempt in range(2):
        cut = first if attempt == 0 else second
        holds = cut > 0
        for side in range(2):
            if holds:
                begins = np.int64(starts[cut]) if side else np.int64(0)
                ends = np.int64(starts[segments]) if side else np.int64(starts[cut])
                holds = _holds(rows, begin, order, begins, ends, counting)
                clear(counting)
        if holds:
            return cut
    # grow one side segment by segment, then the other, and see at each cut whether it holds
    for side in range(2):
        for step in range(1, segments):
            cut = segments - step if side else step
            grown = cut if side else cut - 1
            # counts on top of the segments before: nobody is counted twice
            holds = _holds(rows, begin, order, np.int64(starts[grown]), np.int64(starts[grown + 1]), counting)
            good[cut] = good[cut] and holds
        clear(counting)
    below = np.int64(0)
    best, distance = np.int64(0), np.int64(-1)
    for segment in range(1, segments):
        for place in range(starts[segment - 1], starts[segment]):
            below += rows[COUNT, begin + order[place]]
        if good[segment] and (best == 0 or abs(2 * below - total) < distance):
            best, distance = segment, abs(2 * below - total)
    return best


@inlined_kernel
def _children(rows: Any, begin: Any, order: Any, spare: Any, starts: Any, segments: Any, smallest: Any, good: Any, counting: Any, stack: Any) -> Any:
    """Part the children of a node that keep the promises; the others stay together, joined by the smallest until they keep them too.

    Puts the parts on the stack and their rows in order, and returns their number; 0 where there would be only one.
    """
    kept = np.int64(0)
    for segment in range(segments):
        size = np.int64(0)
        for place in range(starts[segment], starts[segment + 1]):
            size += rows[COUNT, begin + order[place]]
        good[segment] = size >= smallest
        if good[segment]:
            good[segment] = _holds(rows, begin, order, np.int64(starts[segment]), np.int64(starts[segment + 1]), counting)
            clear(counting)
        kept += good[segment]
    number = np.int64(starts[segments])
    while kept > 0:
        # good children first, then the rest
        place = np.int64(0)
        size = np.int64(0)
        middle = np.int64(0)
        for wanted in range(1, -1, -1):
            for segment in range(segments):
                if good[segment] == wanted:
                    for inner in range(starts[segment], starts[segment + 1]):
                        spare[place] = order[inner]
                        size += rows[COUNT, begin + order[inner]] * (1 - wanted)
                        place += 1
            if wanted:
                middle = place
        holds = middle == number or size >= smallest
        if holds and middle < number:
            holds = _holds(rows, begin, spare, middle, number, counting)
            clear(counting)
        if holds:
            break
        least = -1
        for segment in range(segments):
            if good[segment] and (least < 0 or starts[segment + 1] - starts[segment] < starts[least + 1] - starts[least]):
                least = segment
        good[least] = 0
        kept -= 1
    _, _, _, _, _, _, _, state = counting
    parts = kept + (kept < segments)
    if kept == 0 or parts < 2:
        return np.int64(0)
    place = begin
    top = state[OPEN]
    for segment in range(segments):
        if good[segment]:
            stack[top, 0] = place
            place += starts[segment + 1] - starts[segment]
            stack[top, 1] = place
            top += 1
    if kept < segments:
        stack[top, 0], stack[top, 1] = place, begin + number
    for inner in range(number):
        order[inner] = spare[inner]
    return parts


@inner_kernel
def clear(counting: Any) -> None:
    """Count from nothing again."""
    tally, layout, _, histogram, touched, _, _, _ = counting
    for column in range(len(layout)):
        for place in range(tally[1 + column]):
            histogram[touched[layout[column, 0] + place]] = 0
        tally[1 + column] = 0
    tally[0] = 0


@inner_kernel
def _holds(rows: Any, begin: Any, order: Any, first: Any, last: Any, counting: Any) -> Any:
    """Count a stretch of the order on top of what is counted already, and return whether every promise holds for it all."""
    tally, layout, stamps, histogram, touched, _, _, state = counting
    people = len(stamps) > 0
    person = rows.shape[0] - 1
    sensitive = len(layout)
    if tally[0] == 0:
        state[EPOCH] += 1
    epoch = state[EPOCH]
    for place in range(first, last):
        row = begin + order[place]
        count = np.int64(rows[COUNT, row])
        if not people:
            tally[0] += count
        elif stamps[rows[person, row]] != epoch:
            stamps[rows[person, row]] = epoch
            tally[0] += 1
        for column in range(sensitive):
            if people:
                pair = layout[column, 1] + rows[VALUES + sensitive + column, row]
                if stamps[pair] == epoch:
                    continue
                stamps[pair] = epoch
                count = np.int64(1)
            value = layout[column, 0] + rows[VALUES + column, row]
            if histogram[value] == 0:
                touched[layout[column, 0] + tally[1 + column]] = value
                tally[1 + column] += 1
            histogram[value] += count
    return kept(counting)


@inner_kernel
def kept(counting: Any) -> Any:
    """Return whether every promise holds for what has been counted."""
    tally, layout, _, histogram, touched, reference, promises, _ = counting
    for promise in range(len(promises)):
        kind = promises[promise, 0]
        if kind == SIZE:
            if tally[0] < promises[promise, 2]:
                return False
            continue
        column = np.int64(promises[promise, 1])
        begins = layout[column, 0]
        ends = begins + tally[1 + column]
        if kind == DISTINCT:
            if ends - begins < promises[promise, 2]:
                return False
            continue
        total = np.int64(0)
        for place in range(begins, ends):
            total += histogram[touched[place]]
        if kind == ENTROPY:
            entropy = 0.0
            for place in range(begins, ends):
                share = histogram[touched[place]] / total
                entropy -= share * np.log(share)
            if entropy < np.log(promises[promise, 2]) - GUARD:
                return False
        elif kind == EQUAL_DISTANCE:
            distance = 0.0
            for place in range(begins, ends):
                distance += max(0.0, histogram[touched[place]] / total - reference[touched[place]])
            if distance > promises[promise, 2] + GUARD:
                return False
        else:
            # the largest count must be below c times what is left without the l - 1 largest
            tail, most, bound, taken = total, np.int64(0), np.int64(0), np.int64(0)
            wanted = np.int64(promises[promise, 3]) - 1
            while taken < max(1, wanted) and taken < ends - begins:
                # the largest count below the last one taken, and how many values have it
                largest, equal = np.int64(0), np.int64(0)
                for place in range(begins, ends):
                    count = histogram[touched[place]]
                    if (bound == 0 or count < bound) and count >= largest:
                        equal = equal + 1 if count == largest else np.int64(1)
                        largest = count
                most = max(most, largest)
                tail -= min(equal, wanted - taken) * largest
                taken += equal
                bound = largest
            if not most < promises[promise, 2] * tail:
                return False
    return True
