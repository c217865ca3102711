"""Strict multidimensional partitioning over leaf codes, with the promises checked inside.

LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity" (2006). The columns of a partition are tried from the widest to the
narrowest. An ordered column is cut at the admissible boundary nearest to its median; a tree column at the children of the lowest node that
holds the partition: children that keep the promises part, the others stay together, joined by the smallest until they keep them too.

Rows are moved, not pointed at: a partition is a stretch of the arrays. The columns of ``rows`` are the frequency row's number, its count, the
person (or 0), then one sensitive value and one (person, value) pair a sensitive column. ``layout`` has one line a sensitive column: where its
values begin in ``histogram``, and where its pairs begin in ``stamps``; persons come first there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel, kernel

SIZE, DISTINCT, ENTROPY, RECURSIVE, EQUAL_DISTANCE = 0, 1, 2, 3, 4
# stricter than the promises' own guard against rounding, so that what holds here holds there
GUARD = 5e-10
NUMBER, COUNT, PERSON, VALUES = 0, 1, 2, 3
# what the state says: open partitions, classes, epoch of the stamps, rows done
OPEN, CLASSES, EPOCH, DONE = 0, 1, 2, 3


@kernel
def partition(
    codes: Any,  # rows x columns: leaf codes
    rows: Any,
    layout: Any,
    stamps: Any,  # by person, then by pair: the epoch in which it was last counted; empty where rows are counted
    histogram: Any,  # by value
    touched: Any,  # by value
    reference: Any,  # by value: its share in the table as read
    promises: Any,  # kind, sensitive column, two parameters
    ladders: Any,  # columns: ordered, leaves, levels, where positions begin, where nodes begin
    positions: Any,  # by leaf
    nodes: Any,  # by level and leaf: the node that the leaf belongs to
    shares: Any,  # by level and leaf: that node's part of all leaves
    weights: Any,  # columns: how much width matters
    smallest: Any,  # fewest rows that a class can have
    stack: Any,
    class_of: Any,
    lows: Any,
    highs: Any,
    state: Any,
    until: Any,  # stop when so many rows are done
) -> None:
    """Work off the stack of open partitions; each that cannot be cut becomes a class."""
    columns = codes.shape[1]
    plain = len(stamps) == 0 and len(promises) == 1 and promises[0, 0] == SIZE
    low = np.empty(columns, np.int64)
    high = np.empty(columns, np.int64)
    width = np.empty(columns, np.float64)
    keys = np.empty(len(rows), np.int32)
    order = np.empty(len(rows), np.int32)
    spare = np.empty(len(rows), np.int32)
    starts = np.empty(len(rows) + 1, np.int32)
    good = np.empty(len(rows) + 1, np.int8)
    slots = np.empty(65537, np.int32)
    mass = np.empty(65537, np.int64)
    # what is needed to count people and values and to check promises on the counts
    counting = (np.zeros(1 + len(layout), np.int64), layout, stamps, histogram, touched, reference, promises, state)
    while state[OPEN] > 0 and state[DONE] < until:
        state[OPEN] -= 1
        begin, end = np.int64(stack[state[OPEN], 0]), np.int64(stack[state[OPEN], 1])
        number = end - begin
        total = _ranges(codes, rows, begin, end, low, high)
        for column in range(columns):
            width[column] = 0.0
            if total >= 2 * smallest:
                width[column] = weights[column] * _width(low[column], high[column], ladders[column], positions, nodes, shares)
        groups = np.int64(0)
        while groups == 0:
            best = np.int64(0)
            for column in range(1, columns):
                if width[column] > width[best]:
                    best = column
            if width[best] <= 0.0:
                break
            width[best] = 0.0
            ladder = ladders[best]
            span = _keys(codes, begin, number, best, low[best], high[best], ladder, nodes, keys)
            if plain and span <= 2 * number + 64 and span < len(slots):
                groups = _quick_parts(rows, begin, number, keys, span, ladder, low[best], total, smallest, mass, slots, order, state, stack)
                continue
            _sort(keys, order, spare, slots, number, span)
            segments = np.int64(0)
            for place in range(number):
                if place == 0 or keys[order[place]] != keys[order[place - 1]]:
                    starts[segments] = place
                    segments += 1
            starts[segments] = number
            if segments < 2:
                continue
            if ladder[0]:
                first, second = _middle(rows, begin, order, starts, segments, keys, ladder[1] - low[best], total, smallest, good)
                cut = first if plain else np.int64(0)
                if not plain:
                    cut = _admissible_cut(rows, begin, order, starts, segments, first, second, total, good, counting)
                if cut > 0:
                    stack[state[OPEN], 0], stack[state[OPEN], 1] = begin, begin + starts[cut]
                    stack[state[OPEN] + 1, 0], stack[state[OPEN] + 1, 1] = begin + starts[cut], end
                    groups = np.int64(2)
            else:
                groups = _children(rows, begin, order, spare, starts, segments, smallest, plain, good, counting, stack)
        if groups == 0:
            for row in range(begin, end):
                class_of[rows[row, NUMBER]] = state[CLASSES]
            for column in range(columns):
                lows[state[CLASSES], column] = low[column]
                highs[state[CLASSES], column] = high[column]
            state[CLASSES] += 1
            state[DONE] += number
        else:
            state[OPEN] += groups
            _move(codes, begin, number, order)
            _move(rows, begin, number, order)


@inner_kernel
def _ranges(codes: Any, rows: Any, begin: Any, end: Any, low: Any, high: Any) -> Any:
    """Find the smallest and largest code of each column, and return the number of table rows."""
    total = np.int64(0)
    for column in range(codes.shape[1]):
        low[column] = codes[begin, column]
        high[column] = low[column]
    for row in range(begin, end):
        total += rows[row, COUNT]
        for column in range(codes.shape[1]):
            code = np.int64(codes[row, column])
            low[column] = min(low[column], code)
            high[column] = max(high[column], code)
    return total


@inner_kernel
def _width(low: Any, high: Any, ladder: Any, positions: Any, nodes: Any, shares: Any) -> Any:
    """Return what the smallest published value that holds the interval would lose: 0 for one leaf, 1 for everything."""
    size = ladder[1]
    if low == high:
        return 0.0
    if high >= size:
        return 1.0
    if ladder[0]:
        offset = ladder[3]
        return (positions[offset + high] - positions[offset + low]) / (positions[offset + size - 1] - positions[offset])
    place = ladder[4] + size
    while nodes[place + low] != nodes[place + high]:
        place += size
    return shares[place + low]


@inner_kernel
def _keys(codes: Any, begin: Any, number: Any, column: Any, low: Any, high: Any, ladder: Any, nodes: Any, keys: Any) -> Any:
    """Give each row the number of its part, from 0: its code in an ordered column, its child of the lowest node in a tree."""
    if ladder[0]:
        for row in range(number):
            keys[row] = codes[begin + row, column] - low
        return high - low + 1
    size = ladder[1]
    last = min(high, size - 1)
    place = ladder[4]
    if high >= size:
        place += (ladder[2] - 1) * size
    else:
        while nodes[place + size + low] != nodes[place + size + last]:
            place += size
    first_child = nodes[place + low] if low < size else np.int32(0)
    children = np.int64(nodes[place + last] - first_child + 1) if low < size else np.int64(0)
    for row in range(number):
        code = np.int64(codes[begin + row, column])
        # missing and outside hang below the root, after its last child
        keys[row] = nodes[place + code] - first_child if code < size else children + code - size
    return children + 2


@inner_kernel
def _sort(keys: Any, order: Any, spare: Any, slots: Any, number: Any, span: Any) -> None:
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
def _quick_parts(
    rows: Any,
    begin: Any,
    number: Any,
    keys: Any,
    span: Any,
    ladder: Any,
    low: Any,
    total: Any,
    smallest: Any,
    mass: Any,
    heads: Any,
    order: Any,
    state: Any,
    stack: Any,
) -> Any:
    """Find the parts where only sizes matter, without sorting: the same parts as ``_middle`` and ``_children`` find.

    ``mass`` is the number of table rows of each key, ``heads`` where the part that it goes to has its next free place.
    """
    for key in range(span):
        mass[key] = 0
        heads[key] = 0
    for row in range(number):
        mass[keys[row]] += rows[begin + row, COUNT]
        heads[keys[row]] += 1
    groups = np.int64(2)
    if ladder[0]:
        cut = _quick_cut(mass, span, ladder[1] - low, total, smallest)
        if cut == 0:
            return np.int64(0)
        left = np.int64(0)
        for key in range(cut):
            left += heads[key]
        stack[state[OPEN], 0], stack[state[OPEN], 1] = begin, begin + left
        stack[state[OPEN] + 1, 0], stack[state[OPEN] + 1, 1] = begin + left, begin + number
        right = left
        left = np.int64(0)
        for row in range(number):
            if keys[row] < cut:
                order[left] = row
                left += 1
            else:
                order[right] = row
                right += 1
        return groups
    rest = _quick_rest(mass, heads, span, smallest)
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
    for row in range(number):
        key = keys[row]
        if mass[key] >= smallest:
            order[heads[key]] = row
            heads[key] += 1
        else:
            order[place] = row
            place += 1
    return groups


@inner_kernel
def _quick_cut(mass: Any, span: Any, special: Any, total: Any, smallest: Any) -> Any:
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


@inner_kernel
def _quick_rest(mass: Any, heads: Any, span: Any, smallest: Any) -> Any:
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


@inner_kernel
def _move(table: Any, begin: Any, number: Any, order: Any) -> None:
    """Bring the rows of a partition into the order of its parts."""
    moved = np.empty((number, table.shape[1]), table.dtype)
    for place in range(number):
        for column in range(table.shape[1]):
            moved[place, column] = table[begin + order[place], column]
    for place in range(number):
        for column in range(table.shape[1]):
            table[begin + place, column] = moved[place, column]


@inner_kernel
def _middle(rows: Any, begin: Any, order: Any, starts: Any, segments: Any, keys: Any, special: Any, total: Any, smallest: Any, good: Any) -> Any:
    """Mark the cuts of an ordered column that leave enough rows on both sides; return the best two, 0 where there is none.

    The cut nearest to the median is best; where missing values are mixed in, parting them comes before it.
    """
    below = np.int64(0)
    nearest, distance, apart = np.int64(0), np.int64(-1), np.int64(0)
    for segment in range(1, segments):
        for place in range(starts[segment - 1], starts[segment]):
            below += rows[begin + order[place], COUNT]
        good[segment] = below >= smallest and total - below >= smallest
        if good[segment]:
            if keys[order[starts[segment]]] >= special > keys[order[starts[segment - 1]]]:
                apart = segment
            if nearest == 0 or abs(2 * below - total) < distance:
                nearest, distance = segment, abs(2 * below - total)
    if apart:
        return apart, nearest
    return nearest, np.int64(0)


@inner_kernel
def _admissible_cut(
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
                _clear(counting)
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
        _clear(counting)
    below = np.int64(0)
    best, distance = np.int64(0), np.int64(-1)
    for segment in range(1, segments):
        for place in range(starts[segment - 1], starts[segment]):
            below += rows[begin + order[place], COUNT]
        if good[segment] and (best == 0 or abs(2 * below - total) < distance):
            best, distance = segment, abs(2 * below - total)
    return best


@inner_kernel
def _children(
    rows: Any, begin: Any, order: Any, spare: Any, starts: Any, segments: Any, smallest: Any, plain: Any, good: Any, counting: Any, stack: Any
) -> Any:
    """Part the children of a node that keep the promises; the others stay together, joined by the smallest until they keep them too.

    Puts the parts on the stack and their rows in order, and returns their number; 0 where there would be only one.
    """
    kept = np.int64(0)
    for segment in range(segments):
        size = np.int64(0)
        for place in range(starts[segment], starts[segment + 1]):
            size += rows[begin + order[place], COUNT]
        good[segment] = size >= smallest
        if good[segment] and not plain:
            good[segment] = _holds(rows, begin, order, np.int64(starts[segment]), np.int64(starts[segment + 1]), counting)
            _clear(counting)
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
                        size += rows[begin + order[inner], COUNT] * (1 - wanted)
                        place += 1
            if wanted:
                middle = place
        holds = middle == number or size >= smallest
        if holds and middle < number and not plain:
            holds = _holds(rows, begin, spare, middle, number, counting)
            _clear(counting)
        if holds:
            break
        least = -1
        for segment in range(segments):
            if good[segment] and (least < 0 or starts[segment + 1] - starts[segment] < starts[least + 1] - starts[least]):
                least = segment
        good[least] = 0
        kept -= 1
    state = counting[7]
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
def _clear(counting: Any) -> None:
    tally, layout, _, histogram, touched, _, _, _ = counting
    for column in range(len(layout)):
        for place in range(tally[1 + column]):
            histogram[touched[layout[column, 0] + place]] = 0
        tally[1 + column] = 0
    tally[0] = 0


@inner_kernel
def _holds(rows: Any, begin: Any, order: Any, first: Any, last: Any, counting: Any) -> Any:
    """Count a stretch of the order on top of what is counted already, and return whether every promise holds for it all."""
    tally, layout, stamps, histogram, touched, reference, promises, state = counting
    people = len(stamps) > 0
    sensitive = len(layout)
    if tally[0] == 0:
        state[EPOCH] += 1
    epoch = state[EPOCH]
    for place in range(first, last):
        row = begin + order[place]
        count = np.int64(rows[row, COUNT])
        if not people:
            tally[0] += count
        elif stamps[rows[row, PERSON]] != epoch:
            stamps[rows[row, PERSON]] = epoch
            tally[0] += 1
        for column in range(sensitive):
            if people:
                pair = layout[column, 1] + rows[row, VALUES + sensitive + column]
                if stamps[pair] == epoch:
                    continue
                stamps[pair] = epoch
                count = np.int64(1)
            value = layout[column, 0] + rows[row, VALUES + column]
            if histogram[value] == 0:
                touched[layout[column, 0] + tally[1 + column]] = value
                tally[1 + column] += 1
            histogram[value] += count
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
