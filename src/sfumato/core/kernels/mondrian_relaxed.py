"""Relaxed multidimensional partitioning: boxes may overlap, so that rows which are alike are parted wherever a cut asks for it.

LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity" (2006). An ordered column is cut at its median row: of the rows that have
the median value as many go to each side as make the sides equal. Where that breaks a promise, these rows are parted in proportion to
their sensitive values; where that does not help either, the strict cuts are tried. A tree column is cut at the children of its lowest node, as
in strict partitioning, but what does not keep the promises borrows rows from the largest child that does, in place of whole children.

The arrays are a stack: the partition at hand is their last stretch, and grows behind it where rows are parted. ``dealt`` takes what has become of
closed partitions, in lines: frequency row, class, number of table rows. Where an array is full the state says so, and the call is repeated
with larger ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inlined_kernel, inner_kernel, kernel
from sfumato.core.kernels.mondrian import CLASSES, COUNT, DONE, EPOCH, NUMBER, OPEN, VALUES, find_keys, measure, move, next_open, sort, widest
from sfumato.core.kernels.mondrian_promises import admissible_cut, clear, kept, middle

# further things that the state says: triples that were dealt, and whether an array is full
DEALT, FULL = 4, 5


@kernel
def partition_relaxed(
    codes: Any,
    rows: Any,
    layout: Any,
    stamps: Any,  # empty: people are not counted here
    histogram: Any,
    touched: Any,
    reference: Any,
    promises: Any,  # those about values; sizes are those of ``smallest``
    ladders: Any,
    positions: Any,
    nodes: Any,
    shares: Any,
    weights: Any,
    smallest: Any,  # fewest rows that a class can have
    stack: Any,
    dealt: Any,
    lows: Any,
    highs: Any,
    state: Any,
    until: Any,  # stop when so many table rows are done
) -> None:
    """Work off the stack of open partitions; each that cannot be cut becomes a class."""
    columns, most = codes.shape
    low, high, width = np.empty(columns, np.int64), np.empty(columns, np.int64), np.empty(columns, np.float64)
    keys, order, spare = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int32)
    new_order, amount = np.empty(most, np.int32), np.empty(most, np.int32)
    moved = np.empty(most, codes.dtype)
    starts, good = np.empty(most + 1, np.int32), np.empty(most + 1, np.int8)
    slots = np.empty(65537, np.int32)
    counting = (np.zeros(1 + len(layout), np.int64), layout, stamps, histogram, touched, reference, promises, state)
    state[FULL] = 0
    while state[OPEN] > 0 and state[DONE] < until:
        begin, number = next_open(stack, state)
        # every row may be parted, and every row may be a part
        if (
            begin + 2 * number > most
            or state[DEALT] + number > dealt.shape[1]
            or state[CLASSES] == lows.shape[0]
            or state[OPEN] + number + 2 > stack.shape[0]
        ):
            state[OPEN] += 1
            state[FULL] = 1
            return
        total = measure(codes, rows, begin, number, ladders, positions, nodes, shares, weights, smallest, low, high, width)
        length = np.int64(0)
        while length == 0:
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
                special = ladders[best, 1] - low[best]
                length, cut = _halves(
                    rows, begin, number, order, starts, segments, keys, special, total, smallest, spare, new_order, amount, counting
                )
                if length == 0 and len(promises):
                    first, second = middle(rows, begin, order, starts, segments, keys, special, total, smallest, good)
                    segment = admissible_cut(rows, begin, order, starts, segments, first, second, total, good, counting)
                    if segment > 0:
                        length, cut = _as_they_are(rows, begin, number, order, new_order, amount), np.int64(starts[segment])
                if length > 0:
                    stack[state[OPEN], 0], stack[state[OPEN], 1] = begin, begin + cut
                    stack[state[OPEN] + 1, 0], stack[state[OPEN] + 1, 1] = begin + cut, begin + length
                    state[OPEN] += 2
            else:
                length = _branches(rows, begin, order, starts, segments, smallest, spare, new_order, amount, good, counting, stack)
        if length == 0:
            _close(rows, begin, number, low, high, dealt, lows, highs, state)
        else:
            move(codes, begin, length, new_order, moved)
            move(rows, begin, length, new_order, spare)
            for place in range(length):
                rows[COUNT, begin + place] = amount[place]


@inlined_kernel
def _halves(
    rows: Any,
    begin: Any,
    number: Any,
    order: Any,
    starts: Any,
    segments: Any,
    keys: Any,
    special: Any,
    total: Any,
    smallest: Any,
    spare: Any,
    new_order: Any,
    amount: Any,
    counting: Any,
) -> Any:
    """Cut an ordered column at its median row; parting missing values comes first. Return the new number of rows and where the cut is, 0 for none."""
    for segment in range(1, segments):
        if keys[order[starts[segment]]] >= special > keys[order[starts[segment - 1]]]:
            length, cut = _as_they_are(rows, begin, number, order, new_order, amount), np.int64(starts[segment])
            if _both_hold(rows, begin, new_order, amount, cut, length, smallest, counting):
                return length, cut
    half = total // 2
    below, mass, tie = np.int64(0), np.int64(0), np.int64(0)
    for segment in range(segments):
        mass = _mass(rows, begin, order, starts[segment], starts[segment + 1])
        if below + mass >= half:
            tie = np.int64(segment)
            break
        below += mass
    first, last = np.int64(starts[tie]), np.int64(starts[tie + 1])
    _, _, _, _, _, _, promises, _ = counting
    for attempt in range(2):
        if attempt == 1 and len(promises) == 0:
            break
        for place in range(first, last):
            spare[place] = order[place]
        if attempt == 1:
            _by_value(rows, begin, spare, first, last)
        length = np.int64(0)
        for place in range(first):
            new_order[length], amount[length] = order[place], rows[COUNT, begin + order[place]]
            length += 1
        length = _share(rows, begin, spare, first, last, half - below, mass, attempt, True, new_order, amount, length)
        cut = length
        length = _share(rows, begin, spare, first, last, half - below, mass, attempt, False, new_order, amount, length)
        for place in range(last, number):
            new_order[length], amount[length] = order[place], rows[COUNT, begin + order[place]]
            length += 1
        if _both_hold(rows, begin, new_order, amount, cut, length, smallest, counting):
            return length, cut
    return np.int64(0), np.int64(0)


@inlined_kernel
def _branches(
    rows: Any,
    begin: Any,
    order: Any,
    starts: Any,
    segments: Any,
    smallest: Any,
    spare: Any,
    new_order: Any,
    amount: Any,
    good: Any,
    counting: Any,
    stack: Any,
) -> Any:
    """Part the children of a node that keep the promises; the others stay together, with rows of the largest until they keep them too.

    Puts the parts on the stack and returns the new number of rows; 0 where there would be only one part.
    """
    _, _, _, _, _, _, promises, state = counting
    number = np.int64(starts[segments])
    remaining = np.int64(0)
    _as_they_are(rows, begin, number, order, new_order, amount)
    for segment in range(segments):
        good[segment] = _hold(rows, begin, new_order, amount, np.int64(starts[segment]), np.int64(starts[segment + 1]), smallest, counting)
        remaining += good[segment]
    while remaining > 0:
        donor, most, rest = np.int64(-1), np.int64(0), np.int64(0)
        for segment in range(segments):
            mass = _mass(rows, begin, order, starts[segment], starts[segment + 1])
            if not good[segment]:
                rest += mass
            elif mass > most:
                donor, most = np.int64(segment), mass
        # nothing is borrowed at first, then what is lacking, then ever more
        borrowed = np.int64(0)
        while most - borrowed >= smallest:
            length, middle_of = np.int64(0), np.int64(0)
            top = np.int64(state[OPEN])
            for place in range(starts[donor], starts[donor + 1]):
                spare[place] = order[place]
            way = 1 if len(promises) > 0 and borrowed > 0 else 0
            if way == 1:
                _by_value(rows, begin, spare, np.int64(starts[donor]), np.int64(starts[donor + 1]))
            for segment in range(segments):
                if good[segment]:
                    stack[top, 0] = begin + length
                    if segment == donor:
                        length = _share(
                            rows,
                            begin,
                            spare,
                            np.int64(starts[segment]),
                            np.int64(starts[segment + 1]),
                            borrowed,
                            most,
                            way,
                            False,
                            new_order,
                            amount,
                            length,
                        )
                    else:
                        for place in range(starts[segment], starts[segment + 1]):
                            new_order[length], amount[length] = order[place], rows[COUNT, begin + order[place]]
                            length += 1
                    stack[top, 1] = begin + length
                    top += 1
            middle_of = length
            for segment in range(segments):
                if not good[segment]:
                    for place in range(starts[segment], starts[segment + 1]):
                        new_order[length], amount[length] = order[place], rows[COUNT, begin + order[place]]
                        length += 1
            if rest == 0:
                if remaining < 2:
                    return np.int64(0)
                state[OPEN] = top
                return length
            length = _share(
                rows,
                begin,
                spare,
                np.int64(starts[donor]),
                np.int64(starts[donor + 1]),
                borrowed,
                most,
                way,
                True,
                new_order,
                amount,
                length,
            )
            holds = _hold(rows, begin, new_order, amount, middle_of, length, smallest, counting)
            if holds and borrowed > 0:
                # the donor's part stands among the good ones, in their order
                place = np.int64(state[OPEN])
                for segment in range(donor):
                    place += good[segment]
                holds = _hold(rows, begin, new_order, amount, stack[place, 0] - begin, stack[place, 1] - begin, smallest, counting)
            if holds:
                stack[top, 0], stack[top, 1] = begin + middle_of, begin + length
                state[OPEN] = top + 1
                return length
            borrowed = max(np.int64(1), smallest - rest) if borrowed == 0 else 2 * borrowed
        least = -1
        for segment in range(segments):
            if good[segment] and (least < 0 or starts[segment + 1] - starts[segment] < starts[least + 1] - starts[least]):
                least = segment
        good[least] = 0
        remaining -= 1
    return np.int64(0)


@inner_kernel
def _as_they_are(rows: Any, begin: Any, number: Any, order: Any, new_order: Any, amount: Any) -> Any:
    """Take rows over whole; return their number."""
    for place in range(number):
        new_order[place], amount[place] = order[place], rows[COUNT, begin + order[place]]
    return np.int64(number)


@inner_kernel
def _mass(rows: Any, begin: Any, order: Any, first: Any, last: Any) -> Any:
    """Return the number of table rows of a stretch."""
    mass = np.int64(0)
    for place in range(first, last):
        mass += rows[COUNT, begin + order[place]]
    return mass


@inner_kernel
def _share(
    rows: Any,
    begin: Any,
    order: Any,
    first: Any,
    last: Any,
    wanted: Any,
    mass: Any,
    way: Any,
    is_wanted: Any,
    new_order: Any,
    amount: Any,
    length: Any,
) -> Any:
    """Part a stretch of ``mass`` table rows so that ``wanted`` of them are on one side, and write down that side or the other.

    The first rows of the stretch are taken, or (``way`` 1) of all of them in proportion. Return where what was written ends.
    """
    below = np.int64(0)
    for place in range(first, last):
        row = order[place]
        count = np.int64(rows[COUNT, begin + row])
        if way == 0:
            taken = min(count, max(np.int64(0), wanted - below))
        else:
            taken = (below + count) * wanted // mass - below * wanted // mass
        below += count
        part = taken if is_wanted else count - taken
        if part > 0:
            new_order[length], amount[length] = row, part
            length += 1
    return length


@inner_kernel
def _by_value(rows: Any, begin: Any, order: Any, first: Any, last: Any) -> None:
    """Put a stretch into the order of the first sensitive column, and of equal values as it was: Shell's sort."""
    gap = np.int64(1)
    while gap < (last - first) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(first + gap, last):
            own = order[place]
            value = rows[VALUES, begin + own]
            before = place - gap
            while before >= first and (
                rows[VALUES, begin + order[before]] > value or (rows[VALUES, begin + order[before]] == value and order[before] > own)
            ):
                order[before + gap] = order[before]
                before -= gap
            order[before + gap] = own
        gap //= 3


@inner_kernel
def _both_hold(rows: Any, begin: Any, order: Any, amount: Any, cut: Any, length: Any, smallest: Any, counting: Any) -> Any:
    return _hold(rows, begin, order, amount, np.int64(0), cut, smallest, counting) and _hold(
        rows, begin, order, amount, cut, length, smallest, counting
    )


@inner_kernel
def _hold(rows: Any, begin: Any, order: Any, amount: Any, first: Any, last: Any, smallest: Any, counting: Any) -> Any:
    """Return whether a stretch has enough rows and keeps every promise."""
    tally, layout, _, histogram, touched, _, promises, state = counting
    total = np.int64(0)
    for place in range(first, last):
        total += amount[place]
    if total < smallest:
        return False
    if len(promises) == 0:
        return True
    state[EPOCH] += 1
    tally[0] = total
    for place in range(first, last):
        for column in range(len(layout)):
            value = layout[column, 0] + rows[VALUES + column, begin + order[place]]
            if histogram[value] == 0:
                touched[layout[column, 0] + tally[1 + column]] = value
                tally[1 + column] += 1
            histogram[value] += amount[place]
    holds = kept(counting)
    clear(counting)
    return holds


@inlined_kernel
def _close(rows: Any, begin: Any, number: Any, low: Any, high: Any, dealt: Any, lows: Any, highs: Any, state: Any) -> None:
    """Make a partition that cannot be cut a class."""
    for row in range(number):
        dealt[0, state[DEALT]] = rows[NUMBER, begin + row]
        dealt[1, state[DEALT]] = state[CLASSES]
        dealt[2, state[DEALT]] = rows[COUNT, begin + row]
        state[DEALT] += 1
        state[DONE] += rows[COUNT, begin + row]
    for column in range(len(low)):
        lows[state[CLASSES], column] = low[column]
        highs[state[CLASSES], column] = high[column]
    state[CLASSES] += 1
