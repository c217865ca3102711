"""CASTLE: a cluster of many people is split before it is published, so that less is lost.

Cao, Carminati, Ferrari, Tan (2011), algorithms "split" and "split_l". Records are places in ``slots`` (see ``castle``); those of the cluster stand in
``members``, and ``part_of`` gets the part of each. Every part has k different people. A part that breaks a promise all the same joins its nearest
neighbour, until all keep them: the whole cluster does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel
from sfumato.core.kernels.boxes import enlargement
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
    """Give each of ``number`` members its part; return how many parts there are."""
    k, buckets, least, target = rules[0], rules[1], rules[2], rules[3]
    members, part_of = room[0], room[1]
    if buckets:
        parts = _by_values(slots, scale, scratch, room, chance, number, k, least, target)
    else:
        parts = _by_people(slots, scale, scratch, room, chance, number, k)
    if parts < 2:
        for place in range(number):
            part_of[place] = 0
        return np.int64(1)
    return _joined(slots, scale, tests, scratch, room, number, parts, members, part_of)


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
def _nearest_part(scale: Any, low: Any, high: Any, room: Any, parts: Any, but: Any) -> Any:
    """Return the part that loses least by taking in a box; the first of several."""
    lows, highs = room[2], room[3]
    best, least = np.int64(-1), np.inf
    for part in range(parts):
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
    distance = enlargement(scale, one, one, other, other, bound)
    if taken == wanted:
        if not distance < bound:
            return taken
        taken -= 1
    at = taken
    while at > 0 and distances[at - 1] > distance:
        distances[at], nearest[at], labels[at] = distances[at - 1], nearest[at - 1], labels[at - 1]
        at -= 1
    distances[at], nearest[at], labels[at] = distance, place, label
    return taken + 1


@inner_kernel
def _into_buckets(slots: Any, scratch: Any, room: Any, number: Any, target: Any, once: Any) -> Any:
    """Sort members into buckets, by person or by a sensitive value; return how many buckets there are.

    With ``once`` only the first record of each person is in one, and ``part_of`` has the place of that record for all others, less 2.
    """
    persons, values = slots[1], slots[3]
    members, part_of, bucket_of, starts, sizes, sorted_places = room[0], room[1], room[7], room[8], room[9], room[10]
    scratch[4][0] += 1
    buckets = np.int64(0)
    for place in range(number):
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
    begin = np.int64(0)
    for bucket in range(buckets):
        starts[bucket] = begin
        begin += sizes[bucket]
        sizes[bucket] = 0
    for place in range(number):
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
def _by_people(slots: Any, scale: Any, scratch: Any, room: Any, chance: Any, number: Any, k: Any) -> Any:
    """Take again and again somebody by chance and one record each of the k - 1 people nearest to them; the rest joins the nearest parts."""
    starts, sizes, sorted_places, ids, nearest, labels = room[8], room[9], room[10], room[11], room[5], room[6]
    members, points = room[0], slots[2]
    buckets = _into_buckets(slots, scratch, room, number, np.int64(0), False)
    for bucket in range(buckets):
        ids[bucket] = bucket
    alive, parts = buckets, np.int64(0)
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
        part = _nearest_part(scale, one, one, room, parts, np.int64(-1))
        for inner in range(sizes[bucket]):
            _join_part(slots, room, part, sorted_places[starts[bucket] + inner])
    return parts


@inner_kernel
def _by_values(slots: Any, scale: Any, scratch: Any, room: Any, chance: Any, number: Any, k: Any, least: Any, target: Any) -> Any:
    """Take again and again somebody by chance and of each sensitive value its share of k, rounded up, of those nearest to them.

    Each person is taken once, by their first record; their other records follow.
    """
    part_of, starts, sizes, sorted_places, ids, nearest = room[1], room[8], room[9], room[10], room[11], room[5]
    members, points = room[0], slots[2]
    buckets = _into_buckets(slots, scratch, room, number, target, True)
    people = np.int64(0)
    for bucket in range(buckets):
        ids[bucket] = bucket
        people += sizes[bucket]
    alive, parts = buckets, np.int64(0)
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
    if parts > 0:
        for at in range(alive):
            bucket = ids[at]
            for inner in range(sizes[bucket]):
                place = sorted_places[starts[bucket] + inner]
                one = points[members[place]]
                _join_part(slots, room, _nearest_part(scale, one, one, room, parts, np.int64(-1)), place)
        for place in range(number):
            if part_of[place] < -1:
                _join_part(slots, room, np.int64(part_of[-2 - part_of[place]]), place)
    return parts


@inner_kernel
def _joined(slots: Any, scale: Any, tests: Any, scratch: Any, room: Any, number: Any, parts: Any, members: Any, part_of: Any) -> Any:
    """Let parts that break a promise join their neighbours; return how many are left."""
    lows, highs = room[2], room[3]
    part = np.int64(0)
    while part < parts and parts > 1:
        begin_count(tests, scratch)
        for place in range(number):
            if part_of[place] == part:
                count_member(slots, members[place], tests, scratch)
        holds = all_kept(tests)
        forget(tests)
        if holds:
            part += 1
            continue
        other = _nearest_part(scale, lows[part], highs[part], room, parts, part)
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
        # what was joined is looked at again, and all behind it
        part = into
    return parts
