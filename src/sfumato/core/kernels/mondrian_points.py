"""Strict multidimensional partitioning of the records of a window, on their coordinates.

The same cuts as ``mondrian_sizes`` and ``mondrian_promises`` make on a table of the same rows: see ``mondrian``. Records are pointed at, not moved: a
window is small. A missing coordinate is infinite here, so that it stands behind all others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inlined_kernel, inner_kernel, kernel
from sfumato.core.kernels.cluster_promises import all_kept, count, forget
from sfumato.core.kernels.mondrian import CLASSES, OPEN, widest
from sfumato.core.kernels.mondrian_promises import SIZE

MISSING = np.inf


@kernel
def partition_points(
    points: Any,  # one row a record, one column a quasi-identifier
    persons: Any,
    pairs: Any,
    values: Any,
    tests: Any,
    references: Any,  # gets how many people of the window have each value
    ladders: Any,  # for each column: ordered, leaves, levels, nothing, where its nodes begin
    nodes: Any,
    shares: Any,
    spans: Any,  # for each column how long its line is; NaN where that is what the window has
    weights: Any,
    smallest: Any,
    order: Any,
    stack: Any,
    cluster_of: Any,
    lows: Any,
    highs: Any,
    state: Any,
) -> bool:
    """Cut until nothing can be cut; return whether all records in one cluster keep the promises: where they do not, nothing does."""
    rows, columns = points.shape
    sensitive = tests[5]
    for row in range(rows):
        order[row] = row
    if rows < smallest:
        return False
    count(persons, pairs, values, order, np.int64(0), rows, tests)
    _take_reference(tests, references, sensitive)
    holds = all_kept(tests)
    forget(tests)
    if not holds:
        return False
    sizes_alone = len(tests[2]) == 0 and len(tests[8]) == 0
    for promise in range(len(tests[6])):
        sizes_alone = sizes_alone and tests[6][promise, 0] == SIZE
    low, high, width = np.empty(columns), np.empty(columns), np.empty(columns)
    for column in range(columns):
        for row in range(rows):
            if np.isnan(points[row, column]):
                points[row, column] = MISSING
    keys, spare, lines = np.empty(rows), np.empty(rows, np.int32), np.empty(rows, np.int32)
    starts, good = np.empty(rows + 2, np.int32), np.empty(rows + 2, np.int8)
    whole = spans.copy()
    stack[0, 0], stack[0, 1] = 0, rows
    state[OPEN] = 1
    while state[OPEN] > 0:
        state[OPEN] -= 1
        begin, end = np.int64(stack[state[OPEN], 0]), np.int64(stack[state[OPEN], 1])
        number = end - begin
        _ends(points, order, begin, end, low, high)
        if begin == 0 and number == rows:
            _whole_lines(points, low, ladders, whole)
        parts = np.int64(0)
        if number >= 2 * smallest and columns > 0:
            for column in range(columns):
                width[column] = weights[column] * _width(low[column], high[column], ladders, column, nodes, shares, whole[column])
            while parts == 0:
                best = widest(width)
                if best < 0:
                    break
                if ladders[best, 0]:
                    parts = _cut(
                        points,
                        persons,
                        pairs,
                        values,
                        tests,
                        order,
                        begin,
                        end,
                        best,
                        smallest,
                        sizes_alone,
                        keys,
                        spare,
                        starts,
                        good,
                        stack,
                        state,
                    )
                else:
                    parts = _children(
                        points,
                        persons,
                        pairs,
                        values,
                        tests,
                        order,
                        begin,
                        end,
                        best,
                        low[best],
                        high[best],
                        ladders,
                        nodes,
                        smallest,
                        sizes_alone,
                        lines,
                        spare,
                        starts,
                        good,
                        stack,
                        state,
                    )
        if parts == 0:
            number_of = state[CLASSES]
            for place in range(begin, end):
                cluster_of[order[place]] = number_of
            for column in range(columns):
                lows[number_of, column], highs[number_of, column] = low[column], high[column]
                if high[column] == MISSING:
                    lows[number_of, column] = np.nan if low[column] == MISSING else -np.inf
                    highs[number_of, column] = np.nan if low[column] == MISSING else np.inf
            state[CLASSES] += 1
        state[OPEN] += parts
    return True


@inlined_kernel
def _take_reference(tests: Any, references: Any, shares: Any) -> None:
    """Make what all records have the reference."""
    _, layout, _, histogram, _, _, _, _, _, trees, _, _ = tests
    for column in range(len(layout)):
        begins = layout[column, 0]
        total = np.int64(0)
        for value in range(begins, begins + trees[column, 0]):
            references[value] = histogram[value]
            total += histogram[value]
        for value in range(begins, begins + trees[column, 0]):
            shares[value] = histogram[value] / total


@inlined_kernel
def _ends(points: Any, order: Any, begin: Any, end: Any, low: Any, high: Any) -> None:
    """Find each column's smallest and largest coordinate."""
    columns = len(low)
    first = order[begin]
    for column in range(columns):
        low[column], high[column] = points[first, column], points[first, column]
    for place in range(begin + 1, end):
        row = order[place]
        for column in range(columns):
            own = points[row, column]
            low[column] = own if own < low[column] else low[column]
            high[column] = own if own > high[column] else high[column]


@inlined_kernel
def _whole_lines(points: Any, low: Any, ladders: Any, whole: Any) -> None:
    """Where nobody says how long a column's line is, let it be as long as the window has it."""
    for column in range(len(whole)):
        if ladders[column, 0] and np.isnan(whole[column]):
            most = low[column]
            for row in range(len(points)):
                if points[row, column] != MISSING:
                    most = max(most, points[row, column])
            whole[column] = most - low[column]


@inner_kernel
def _width(low: Any, high: Any, ladders: Any, column: Any, nodes: Any, shares: Any, whole: Any) -> Any:
    """Return what the smallest published value that holds the interval would lose: 0 for one leaf, 1 for everything."""
    if low == high:
        return 0.0
    if high == MISSING:
        return 1.0
    if ladders[column, 0]:
        return (high - low) / whole
    size = ladders[column, 1]
    place = ladders[column, 4] + size
    while nodes[place + np.int64(low)] != nodes[place + np.int64(high)]:
        place += size
    return shares[place + np.int64(low)]


@inner_kernel
def _hold(persons: Any, pairs: Any, values: Any, order: Any, first: Any, last: Any, tests: Any) -> Any:
    """Return whether a stretch of the order keeps every promise."""
    count(persons, pairs, values, order, first, last, tests)
    holds = all_kept(tests)
    forget(tests)
    return holds


@inner_kernel
def _cut(
    points: Any,
    persons: Any,
    pairs: Any,
    values: Any,
    tests: Any,
    order: Any,
    begin: Any,
    end: Any,
    column: Any,
    smallest: Any,
    sizes_alone: Any,
    keys: Any,
    spare: Any,
    starts: Any,
    good: Any,
    stack: Any,
    state: Any,
) -> Any:
    """Cut an ordered column at the admissible boundary nearest to its median; parting missing values comes first. Return the number of parts."""
    number = end - begin
    missing = np.int64(0)
    for place in range(number):
        keys[place] = points[order[begin + place], column]
        missing += keys[place] == MISSING
    for attempt in range(2):
        if attempt == 0:
            if missing < smallest or number - missing < smallest:
                continue
            limit = MISSING
        else:
            limit = _limit(keys, number, smallest)
            if np.isnan(limit):
                return np.int64(0)
        left = _part(points, order, begin, end, column, limit, spare)
        if sizes_alone or (
            _hold(persons, pairs, values, order, begin, begin + left, tests) and _hold(persons, pairs, values, order, begin + left, end, tests)
        ):
            return _two(begin, left, end, stack, state)
    # grow one side value by value, then the other, and see at each cut whether it holds
    _sort(points, order, begin, end, column)
    segments = np.int64(0)
    for place in range(number):
        if place == 0 or points[order[begin + place], column] != points[order[begin + place - 1], column]:
            starts[segments] = place
            segments += 1
    starts[segments] = number
    for side in range(2):
        for step in range(1, segments):
            cut = segments - step if side else step
            grown = cut if side else cut - 1
            count(persons, pairs, values, order, begin + starts[grown], begin + starts[grown + 1], tests)
            holds = smallest <= starts[cut] <= number - smallest and all_kept(tests)
            good[cut] = holds and (side == 0 or good[cut])
        forget(tests)
    best, distance = np.int64(0), np.int64(-1)
    for segment in range(1, segments):
        if good[segment] and (best == 0 or abs(2 * starts[segment] - number) < distance):
            best, distance = np.int64(starts[segment]), abs(2 * starts[segment] - number)
    if best == 0:
        return np.int64(0)
    return _two(begin, best, end, stack, state)


@inlined_kernel
def _two(begin: Any, left: Any, end: Any, stack: Any, state: Any) -> Any:
    top = state[OPEN]
    stack[top, 0], stack[top, 1] = begin, begin + left
    stack[top + 1, 0], stack[top + 1, 1] = begin + left, end
    return np.int64(2)


@inner_kernel
def _limit(keys: Any, number: Any, smallest: Any) -> Any:
    """Return the smallest key right of the cut nearest to the median, NaN where it would leave too few on one side.

    A cut that is farther from the median leaves still fewer on that side: besides the two around the median none has to be looked at.
    """
    middle = _selected(keys, number, number // 2)
    below, equal, after = np.int64(0), np.int64(0), MISSING
    for place in range(number):
        below += keys[place] < middle
        equal += keys[place] == middle
        if middle < keys[place] < after:
            after = keys[place]
    up_to = below + equal
    if below >= smallest and (abs(2 * below - number) <= abs(2 * up_to - number) or number - up_to < smallest):
        return middle
    if number - up_to >= smallest:
        return after
    return np.nan


@inner_kernel
def _selected(keys: Any, number: Any, rank: Any) -> Any:
    """Return the key that stands at a rank; the keys are put in another order. Pivots are taken from all over: no order of keys makes it slow."""
    first, last = np.int64(0), number - 1
    chance = np.uint64(0x9E3779B97F4A7C15)
    while first < last:
        chance ^= chance << np.uint64(13)
        chance ^= chance >> np.uint64(7)
        chance ^= chance << np.uint64(17)
        pivot = keys[first + np.int64(chance % np.uint64(last - first + 1))]
        left, right = first, last
        while left <= right:
            while keys[left] < pivot:
                left += 1
            while keys[right] > pivot:
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                left += 1
                right -= 1
        if rank <= right:
            last = right
        elif rank >= left:
            first = left
        else:
            break
    return keys[rank]


@inlined_kernel
def _part(points: Any, order: Any, begin: Any, end: Any, column: Any, limit: Any, spare: Any) -> Any:
    """Put the records below a limit before the others, each in the order they were in; return how many they are."""
    left, right = np.int64(0), np.int64(0)
    for place in range(begin, end):
        # written on both sides, of which one counts: a branch here would be mispredicted every other time
        row = order[place]
        below = np.int64(points[row, column] < limit)
        order[begin + left], spare[right] = row, row
        left += below
        right += 1 - below
    for place in range(right):
        order[begin + left + place] = spare[place]
    return left


@inner_kernel
def _sort(points: Any, order: Any, begin: Any, end: Any, column: Any) -> None:
    """Put records into the order of their coordinates in a column: Shell's sort."""
    gap = np.int64(1)
    while gap < (end - begin) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(begin + gap, end):
            own = order[place]
            before = place - gap
            while before >= begin and points[order[before], column] > points[own, column]:
                order[before + gap] = order[before]
                before -= gap
            order[before + gap] = own
        gap //= 3


@inner_kernel
def _children(
    points: Any,
    persons: Any,
    pairs: Any,
    values: Any,
    tests: Any,
    order: Any,
    begin: Any,
    end: Any,
    column: Any,
    low: Any,
    high: Any,
    ladders: Any,
    nodes: Any,
    smallest: Any,
    sizes_alone: Any,
    lines: Any,
    spare: Any,
    starts: Any,
    good: Any,
    stack: Any,
    state: Any,
) -> Any:
    """Part the children of the lowest node that keep the promises; the others stay together, joined by the smallest until they keep them too."""
    number = end - begin
    segments = _by_child(points, order, begin, end, column, low, high, ladders, nodes, lines, spare, starts)
    if segments < 2:
        return np.int64(0)
    kept, rest = np.int64(0), np.int64(0)
    for segment in range(segments):
        good[segment] = starts[segment + 1] - starts[segment] >= smallest
        if good[segment] and not sizes_alone:
            good[segment] = _hold(persons, pairs, values, order, begin + starts[segment], begin + starts[segment + 1], tests)
        kept += good[segment]
        rest += 0 if good[segment] else starts[segment + 1] - starts[segment]
    while kept > 0 and rest > 0:
        if rest >= smallest:
            if sizes_alone:
                break
            place = np.int64(0)
            for segment in range(segments):
                if not good[segment]:
                    for inner in range(starts[segment], starts[segment + 1]):
                        spare[place] = order[begin + inner]
                        place += 1
            if _hold(persons, pairs, values, spare, np.int64(0), place, tests):
                break
        least = np.int64(-1)
        for segment in range(segments):
            if good[segment] and (least < 0 or starts[segment + 1] - starts[segment] < starts[least + 1] - starts[least]):
                least = np.int64(segment)
        good[least] = 0
        kept -= 1
        rest += starts[least + 1] - starts[least]
    if kept == 0 or kept + (kept < segments) < 2:
        return np.int64(0)
    place, top = np.int64(0), np.int64(state[OPEN])
    for wanted in range(1, -1, -1):
        for segment in range(segments):
            if good[segment] == wanted:
                if wanted:
                    stack[top, 0] = begin + place
                for inner in range(starts[segment], starts[segment + 1]):
                    spare[place] = order[begin + inner]
                    place += 1
                if wanted:
                    stack[top, 1] = begin + place
                    top += 1
    if rest > 0:
        stack[top, 0], stack[top, 1] = end - rest, end
        top += 1
    for inner in range(number):
        order[begin + inner] = spare[inner]
    return top - state[OPEN]


@inlined_kernel
def _by_child(
    points: Any,
    order: Any,
    begin: Any,
    end: Any,
    column: Any,
    low: Any,
    high: Any,
    ladders: Any,
    nodes: Any,
    lines: Any,
    spare: Any,
    starts: Any,
) -> Any:
    """Put records into the order of the children of the lowest node that holds them, missing ones last; return how many children there are."""
    size = ladders[column, 1]
    number = end - begin
    place = ladders[column, 4]
    if high == MISSING:
        place += (ladders[column, 2] - 1) * size
    else:
        while nodes[place + size + np.int64(low)] != nodes[place + size + np.int64(high)]:
            place += size
    first_child = np.int64(nodes[place + np.int64(low)]) if low != MISSING else np.int64(0)
    span = np.int64(0)
    for inner in range(number):
        own = points[order[begin + inner], column]
        lines[inner] = nodes[place + np.int64(own)] - first_child if own != MISSING else np.int32(-1)
        span = max(span, np.int64(lines[inner]) + 1)
    if span + 1 <= len(starts) - 1 and span <= 4 * number + 16:
        return _counted(order, begin, number, lines, spare, starts, span)
    return _sorted_children(order, begin, number, lines, starts, span)


@inlined_kernel
def _counted(order: Any, begin: Any, number: Any, lines: Any, spare: Any, starts: Any, span: Any) -> Any:
    """Put records into the order of their lines, from 0 to span - 1 and last -1, by counting."""
    for line in range(span + 2):
        starts[line] = 0
    for inner in range(number):
        line = lines[inner] if lines[inner] >= 0 else span
        starts[line + 1] += 1
    for line in range(span + 1):
        starts[line + 1] += starts[line]
    for inner in range(number):
        line = lines[inner] if lines[inner] >= 0 else span
        spare[starts[line]] = order[begin + inner]
        starts[line] += 1
    for inner in range(number):
        order[begin + inner] = spare[inner]
    # each line's start is now where it ends: keep those that are not empty
    segments, before = np.int64(0), np.int64(0)
    for line in range(span + 1):
        ends = starts[line]
        if ends > before:
            starts[segments] = before
            segments += 1
        before = max(before, np.int64(ends))
    starts[segments] = number
    return segments


@inlined_kernel
def _sorted_children(order: Any, begin: Any, number: Any, lines: Any, starts: Any, span: Any) -> Any:
    """The same by Shell's sort, where there are far more children than records."""
    for inner in range(number):
        lines[inner] = lines[inner] if lines[inner] >= 0 else span
    gap = np.int64(1)
    while gap < number // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for inner in range(gap, number):
            line, own = lines[inner], order[begin + inner]
            before = inner - gap
            while before >= 0 and lines[before] > line:
                lines[before + gap], order[begin + before + gap] = lines[before], order[begin + before]
                before -= gap
            lines[before + gap], order[begin + before + gap] = line, own
        gap //= 3
    segments = np.int64(0)
    for inner in range(number):
        if inner == 0 or lines[inner] != lines[inner - 1]:
            starts[segments] = inner
            segments += 1
    starts[segments] = number
    return segments
