"""CASTLE: a cluster of many people is split before it is published, so that less is lost.

Cao, Carminati, Ferrari, Tan (2011), algorithms "split" and "split_l". Records are places in ``slots`` (see ``castle``); those of the cluster stand in
``members``, and ``part_of`` gets the part of each. Every part has k different people. A part that breaks a promise all the same joins its nearest
neighbour, until all keep them: the whole cluster does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel
from sfumato.core.kernels.boxes import column_loss, distance, enlargement
from sfumato.core.kernels.chance import choice
from sfumato.core.kernels.cluster_promises import all_kept, forget
from sfumato.core.kernels.people import mixed


@inner_kernel
def found(scratch: Any, one: Any, other: Any, value: Any) -> Any:
    """Return what stands beside a pair that was met before in this epoch; -1 where it is met for the first time, and then the value stands there."""
    ones, others, epochs, kept, epoch = scratch
    mask = len(epochs) - 1
    slot = np.int64(mixed(one, other) & np.uint64(mask))
    while epochs[slot] == epoch[0]:
        if ones[slot] == one and others[slot] == other:
            return np.int64(kept[slot])
        slot = (slot + 1) & mask
    epochs[slot], ones[slot], others[slot], kept[slot] = epoch[0], one, other, value
    return np.int64(-1)


@inner_kernel
def count_member(slots: Any, slot: Any, tests: Any, scratch: Any) -> None:
    """Count a record on top of what is counted already in this epoch."""
    persons, values = slots[1], slots[3]
    tally, layout, histogram, touched = tests[0], tests[1], tests[3], tests[4]
    if found(scratch, persons[slot], np.int64(-1), np.int64(0)) < 0:
        tally[0] += 1
    for column in range(len(layout)):
        value = np.int64(values[slot, column])
        if found(scratch, persons[slot], (np.int64(column) << 32) + value, np.int64(0)) < 0:
            place = layout[column, 0] + value
            if histogram[place] == 0:
                touched[layout[column, 0] + tally[1 + column]] = place
                tally[1 + column] += 1
            histogram[place] += 1


@inner_kernel
def begin_count(tests: Any, scratch: Any) -> None:
    """Count from nothing again."""
    forget(tests)
    scratch[4][0] += 1


@inner_kernel
def split(slots: Any, scale: Any, tests: Any, scratch: Any, room: Any, rules: Any, chance: Any, number: Any) -> Any:
    """Give each of ``number`` members its part; return how many parts there are. Those of one part stand together then, see ``by_part``."""
    k, buckets, least, target = rules[0], rules[1], rules[2], rules[3]
    part_of, ends = room[1], room[18]
    blocks = _into_blocks(slots, scale, scratch, room, number, max(rules[7], 4 * k))
    parts = np.int64(0)
    for block in range(blocks):
        begin, end = np.int64(ends[block, 0]), np.int64(ends[block, 1])
        if buckets:
            more = _by_values(slots, scale, scratch, room, chance, begin, end, k, least, target, parts)
        else:
            more = _by_people(slots, scale, scratch, room, chance, begin, end, k, parts)
        if more == parts:
            _begin_part(slots, room, parts, begin)
            for place in range(begin + 1, end):
                _join_part(slots, room, parts, place)
            more += 1
        parts = more
    if parts < 2:
        for place in range(number):
            part_of[place] = 0
        by_part(room, number, np.int64(1))
        return np.int64(1)
    return _joined(slots, scale, tests, scratch, room, number, parts)


@inner_kernel
def by_part(room: Any, number: Any, parts: Any) -> None:
    """Put the places of members into the order of their parts; part ``p`` has those from ``starts[p]`` to ``starts[p + 1]``."""
    part_of, places, starts = room[1], room[16], room[17]
    for part in range(parts + 1):
        starts[part] = 0
    for place in range(number):
        starts[part_of[place]] += 1
    begin = np.int64(0)
    for part in range(parts):
        size = np.int64(starts[part])
        starts[part] = begin
        begin += size
    for place in range(number):
        places[starts[part_of[place]]] = place
        starts[part_of[place]] += 1
    for part in range(parts, 0, -1):
        starts[part] = starts[part - 1]
    starts[0] = 0


@inner_kernel
def _into_blocks(slots: Any, scale: Any, scratch: Any, room: Any, number: Any, most: Any) -> Any:
    """Cut a large cluster at medians into blocks of at most so many people, or the search for neighbours would take too long; return their number.

    Members are put into the order of their blocks, the records of a person one after the other.
    """
    persons, points = slots[1], slots[2]
    members, people, sizes, starts, ends, spare = room[0], room[7], room[9], room[8], room[18], room[10]
    scratch[4][0] += 1
    found_people = np.int64(0)
    for place in range(number):
        person = found(scratch, persons[members[place]], np.int64(-1), found_people)
        if person < 0:
            person = found_people
            sizes[person], starts[person], people[person] = 0, place, person
            found_people += 1
        sizes[person] += 1
        room[11][place] = person
    ends[0, 0], ends[0, 1] = 0, found_people
    blocks = np.int64(1)
    current = np.int64(0)
    while current < blocks:
        begin, end = np.int64(ends[current, 0]), np.int64(ends[current, 1])
        if end - begin <= most:
            current += 1
            continue
        column = _widest(slots, scale, room, begin, end)
        _sort_people(points, members, people, starts, begin, end, column)
        middle = (begin + end) // 2
        for other in range(blocks, current + 1, -1):
            ends[other, 0], ends[other, 1] = ends[other - 1, 0], ends[other - 1, 1]
        ends[current, 1] = middle
        ends[current + 1, 0], ends[current + 1, 1] = middle, end
        blocks += 1
    if blocks > 1:
        # where the records of each person begin now
        at, place = np.int64(0), np.int64(0)
        for block in range(blocks):
            last = ends[block, 1]
            ends[block, 0] = at
            while place < last:
                starts[people[place]] = at
                at += sizes[people[place]]
                place += 1
            ends[block, 1] = at
        for place in range(number):
            person = room[11][place]
            spare[starts[person]] = members[place]
            starts[person] += 1
        for place in range(number):
            members[place] = spare[place]
    else:
        ends[0, 1] = number
    return blocks


@inner_kernel
def _widest(slots: Any, scale: Any, room: Any, begin: Any, end: Any) -> Any:
    """Return the column in which some people, by their first records, lose most as one; the first of several."""
    points, weights = slots[2], scale[5]
    members, people, starts = room[0], room[7], room[8]
    best, most = np.int64(0), -1.0
    for column in range(points.shape[1]):
        low, high = np.inf, -np.inf
        for place in range(begin, end):
            own = points[members[starts[people[place]]], column]
            low, high = min(low, own), max(high, own)
        lost = weights[column] * column_loss(scale, column, low, high)
        if lost > most:
            best, most = np.int64(column), lost
    return best


@inner_kernel
def _sort_people(points: Any, members: Any, people: Any, starts: Any, begin: Any, end: Any, column: Any) -> None:
    """Put people into the order of the coordinates of their first records, then of when they came: Shell's sort."""
    gap = np.int64(1)
    while gap < (end - begin) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(begin + gap, end):
            own = people[place]
            value = points[members[starts[own]], column]
            before = place - gap
            while before >= begin:
                other = points[members[starts[people[before]]], column]
                if not (other > value or (other == value and people[before] > own)):
                    break
                people[before + gap] = people[before]
                before -= gap
            people[before + gap] = own
        gap //= 3


@inner_kernel
def _begin_part(slots: Any, room: Any, part: Any, place: Any) -> None:
    """Begin a part with one member."""
    points = slots[2]
    members, part_of, lows, highs = room[0], room[1], room[2], room[3]
    part_of[place] = part
    for column in range(points.shape[1]):
        lows[part, column] = points[members[place], column]
        highs[part, column] = points[members[place], column]


@inner_kernel
def _join_part(slots: Any, room: Any, part: Any, place: Any) -> None:
    """Let a part take in a member."""
    points = slots[2]
    members, part_of, lows, highs = room[0], room[1], room[2], room[3]
    part_of[place] = part
    for column in range(points.shape[1]):
        lows[part, column] = min(lows[part, column], points[members[place], column])
        highs[part, column] = max(highs[part, column], points[members[place], column])


@inner_kernel
def _nearest_part(scale: Any, low: Any, high: Any, room: Any, first: Any, parts: Any, but: Any) -> Any:
    """Return the part from ``first`` on that loses least by taking in a box; the first of several."""
    lows, highs = room[2], room[3]
    best, least = np.int64(-1), np.inf
    for part in range(first, parts):
        if part != but:
            more = enlargement(scale, lows[part], highs[part], low, high, least)
            if best < 0 or more < least:
                best, least = np.int64(part), more
    return best


@inner_kernel
def _near(slots: Any, scale: Any, room: Any, seed: Any, place: Any, wanted: Any, taken: Any, label: Any) -> Any:
    """Put a member among the ``wanted`` nearest to the seed, of which there are ``taken``; return how many there are now."""
    points = slots[2]
    members, distances, nearest, labels = room[0], room[4], room[5], room[6]
    one, other = points[members[seed]], points[members[place]]
    bound = distances[taken - 1] if taken == wanted else np.inf
    apart = distance(scale, one, other, bound)
    if taken == wanted:
        if not apart < bound:
            return taken
        taken -= 1
    at = taken
    while at > 0 and distances[at - 1] > apart:
        distances[at], nearest[at], labels[at] = distances[at - 1], nearest[at - 1], labels[at - 1]
        at -= 1
    distances[at], nearest[at], labels[at] = apart, place, label
    return taken + 1


@inner_kernel
def _into_buckets(slots: Any, scratch: Any, room: Any, begin: Any, end: Any, target: Any, once: Any) -> Any:
    """Sort members into buckets, by person or by a sensitive value; return how many buckets there are.

    With ``once`` only the first record of each person is in one, and ``part_of`` has the place of that record for all others, less 2.
    """
    persons, values = slots[1], slots[3]
    members, part_of, bucket_of, starts, sizes, sorted_places = room[0], room[1], room[7], room[8], room[9], room[10]
    scratch[4][0] += 1
    buckets = np.int64(0)
    for place in range(begin, end):
        slot = members[place]
        part_of[place] = -1
        bucket_of[place] = -1
        if once:
            before = found(scratch, persons[slot], np.int64(-1), np.int64(place))
            if before >= 0:
                part_of[place] = -2 - before
                continue
            bucket = found(scratch, np.int64(values[slot, target]), np.int64(-2), buckets)
        else:
            bucket = found(scratch, persons[slot], np.int64(-1), buckets)
        if bucket < 0:
            bucket = buckets
            sizes[bucket] = 0
            buckets += 1
        bucket_of[place] = bucket
        sizes[bucket] += 1
    free = np.int64(0)
    for bucket in range(buckets):
        starts[bucket] = free
        free += sizes[bucket]
        sizes[bucket] = 0
    for place in range(begin, end):
        bucket = bucket_of[place]
        if bucket >= 0:
            sorted_places[starts[bucket] + sizes[bucket]] = place
            sizes[bucket] += 1
    return buckets


@inner_kernel
def _drop(room: Any, bucket: Any, place: Any) -> None:
    """Take the member at a place out of its bucket: the last one moves there."""
    starts, sizes, sorted_places = room[8], room[9], room[10]
    at = starts[bucket]
    while sorted_places[at] != place:
        at += 1
    sizes[bucket] -= 1
    sorted_places[at] = sorted_places[starts[bucket] + sizes[bucket]]


@inner_kernel
def _open(room: Any, alive: Any) -> Any:
    """Keep the buckets that are not empty, in their order; return how many they are."""
    sizes, ids = room[9], room[11]
    left = np.int64(0)
    for at in range(alive):
        if sizes[ids[at]] > 0:
            ids[left] = ids[at]
            left += 1
    return left


@inner_kernel
def _by_people(slots: Any, scale: Any, scratch: Any, room: Any, chance: Any, begin: Any, end: Any, k: Any, first: Any) -> Any:
    """Take again and again somebody by chance and one record each of the k - 1 people nearest to them; the rest joins the nearest parts."""
    starts, sizes, sorted_places, ids, nearest, labels = room[8], room[9], room[10], room[11], room[5], room[6]
    members, points = room[0], slots[2]
    buckets = _into_buckets(slots, scratch, room, begin, end, np.int64(0), False)
    for bucket in range(buckets):
        ids[bucket] = bucket
    alive, parts = buckets, np.int64(first)
    while alive >= k:
        own = ids[choice(chance, alive)]
        seed = sorted_places[starts[own] + choice(chance, np.int64(sizes[own]))]
        _begin_part(slots, room, parts, seed)
        _drop(room, own, seed)
        taken = np.int64(0)
        if k > 1:
            for at in range(alive):
                bucket = ids[at]
                if bucket != own:
                    place = sorted_places[starts[bucket] + choice(chance, np.int64(sizes[bucket]))]
                    taken = _near(slots, scale, room, seed, place, k - 1, taken, bucket)
        for at in range(taken):
            _join_part(slots, room, parts, nearest[at])
            _drop(room, labels[at], nearest[at])
        parts += 1
        alive = _open(room, alive)
    for at in range(alive):
        bucket = ids[at]
        one = points[members[sorted_places[starts[bucket] + choice(chance, np.int64(sizes[bucket]))]]]
        part = _nearest_part(scale, one, one, room, first, parts, np.int64(-1))
        for inner in range(sizes[bucket]):
            _join_part(slots, room, part, sorted_places[starts[bucket] + inner])
    return parts


@inner_kernel
def _by_values(
    slots: Any, scale: Any, scratch: Any, room: Any, chance: Any, begin: Any, end: Any, k: Any, least: Any, target: Any, first: Any
) -> Any:
    """Take again and again somebody by chance and of each sensitive value its share of k, rounded up, of those nearest to them.

    Each person is taken once, by their first record; their other records follow.
    """
    part_of, starts, sizes, sorted_places, ids, nearest = room[1], room[8], room[9], room[10], room[11], room[5]
    members, points = room[0], slots[2]
    buckets = _into_buckets(slots, scratch, room, begin, end, target, True)
    people = np.int64(0)
    for bucket in range(buckets):
        ids[bucket] = bucket
        people += sizes[bucket]
    alive, parts = buckets, np.int64(first)
    while alive >= least and people >= k:
        own = ids[choice(chance, alive)]
        seed = sorted_places[starts[own] + choice(chance, np.int64(sizes[own]))]
        _begin_part(slots, room, parts, seed)
        whole = people
        for at in range(alive):
            bucket = ids[at]
            wanted = (k * sizes[bucket] + whole - 1) // whole
            if bucket == own:
                _drop(room, own, seed)
                wanted -= 1
                people -= 1
            taken = np.int64(0)
            if wanted > 0:
                for inner in range(sizes[bucket]):
                    taken = _near(slots, scale, room, seed, np.int64(sorted_places[starts[bucket] + inner]), wanted, taken, bucket)
            for inner in range(taken):
                _join_part(slots, room, parts, nearest[inner])
                _drop(room, bucket, nearest[inner])
            people -= taken
        parts += 1
        alive = _open(room, alive)
    if parts > first:
        for at in range(alive):
            bucket = ids[at]
            for inner in range(sizes[bucket]):
                place = sorted_places[starts[bucket] + inner]
                one = points[members[place]]
                _join_part(slots, room, _nearest_part(scale, one, one, room, first, parts, np.int64(-1)), place)
        for place in range(begin, end):
            if part_of[place] < -1:
                _join_part(slots, room, np.int64(part_of[-2 - part_of[place]]), place)
    return parts


@inner_kernel
def _joined(slots: Any, scale: Any, tests: Any, scratch: Any, room: Any, number: Any, parts: Any) -> Any:
    """Let parts that break a promise join their neighbours; return how many are left."""
    members, part_of, lows, highs, places, starts = room[0], room[1], room[2], room[3], room[16], room[17]
    by_part(room, number, parts)
    part = np.int64(0)
    while part < parts and parts > 1:
        begin_count(tests, scratch)
        for at in range(starts[part], starts[part + 1]):
            count_member(slots, members[places[at]], tests, scratch)
        holds = all_kept(tests)
        forget(tests)
        if holds:
            part += 1
            continue
        other = _nearest_part(scale, lows[part], highs[part], room, np.int64(0), parts, part)
        into, gone, last = min(part, other), max(part, other), parts - 1
        for column in range(lows.shape[1]):
            lows[into, column] = min(lows[into, column], lows[gone, column])
            highs[into, column] = max(highs[into, column], highs[gone, column])
            lows[gone, column], highs[gone, column] = lows[last, column], highs[last, column]
        for place in range(number):
            if part_of[place] == gone:
                part_of[place] = into
            elif part_of[place] == last:
                part_of[place] = gone
        parts -= 1
        by_part(room, number, parts)
        # what was joined is looked at again, and all behind it
        part = into
    return parts
