"""z-anonymity: decides record by record who shares an attribute, over one ring of records in the order in which they came.

``pairs`` is a table of open addresses: a person, a node, how many records of the person count for it, and how many were made up in the person's
name. A record that leaves the window takes with it the pairs that no other record holds, then its path, then the path's nodes: nothing is kept of
what is gone. Records that came after newer ones stand in a heap as well. Node -1 of a person says that nothing may be made up in their name, and
stays for ever. Where people are made up, node -2 - n counts the records in which a person has shown something beneath n, published or not: a category
may be somebody else's attribute, and who has shown a finer one has shown it too.

Kept of a record: its time, its person, its path with reach, level and kind; and for each level of its path the record before it that has the same
node, so that all records of a node can be walked through from the latest on. A late record that is gone before older ones keeps its place, blank:
what is drawn depends on the places, and the walk goes through it, so its path stays until the ring has passed it. The reach is on how many levels a
record counts: where only the rest counts, it ends at the finest level of which something was published when the record came or later.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel, plain_kernel
from sfumato.core.kernels._words import fetch_row

HEAD, TAIL, WAITING, PAIRS, NEWEST, DRAWN, FAKES, MAKES_UP = 0, 1, 2, 3, 4, 5, 6, 7
"""Where the counts stand: the first record of the ring and the one after the last, records in the heap, pairs, the newest time, draws, fakes; and
whether people are made up, by chance and in the name of those who have shown the category."""
REST, GENERALISE, ORIGINAL = 0, 1, 2
"""Where the ways stand: whether what is released finer is left out of the count, whether categories are released, whether all is as published."""
PEOPLE, SEEMING, PATHS, LATEST, OPEN = 0, 1, 2, 3, 4
"""What is known of a node: who shows it, in whose name it is shown, paths through it, its latest record, records that count above it too."""
FAKE, WAITS, GONE = 1, 2, 4
"""Kinds of records: made up, in the heap, and gone though still in the ring for those after it."""
NEVER = np.iinfo(np.int64).min
_SUPPRESSED, _LATE = -1, -2
NOBODY = -1
"""The node that says that nothing may be made up in somebody's name."""
CANDIDATES = 4096
"""Among so many people of a rare category made-up ones are drawn at most, and among as many as are needed at least."""
_AHEAD = 4
_LINKS = 3


# fmt: off
@plain_kernel
def decide(times: Any, people: Any, path_of: Any, opted_out: Any, thresholds: Any, missing: Any, begin: int, window: int, ways: Any,
           secret: Any, tables: Any, pairs: Any, ring: Any, heap: Any, counts: Any, levels: Any, fakes: Any, scratch: Any) -> Any:
    # fmt: on
    """Decide of records from ``begin`` on; return the place of the first that there is no room for.

    ``missing`` is how many people at most may be made up for each record. ``fakes[0]`` has where the made-up people of each record begin among
    those of ``fakes[2]``, ``fakes[1]`` the place of the true one among them. ``scratch`` is room for choosing them.
    """
    rows = tables.rows
    most = rows.shape[1] - 2
    begins, places, made_up = fakes
    for place in range(begin, len(times)):
        # pairs of its levels, of the categories among them, and of whoever opts out
        room = 2 * most + 3 + missing[place]
        if 2 * (counts[PAIRS] + room) > len(pairs) or counts[TAIL] - counts[HEAD] + room > len(ring) or counts[WAITING] + room > len(heap):
            return place
        if counts[FAKES] + missing[place] > len(made_up):
            return place
        _ask_ahead(place, people, path_of, ways, tables, pairs, ring, counts, secret)
        begins[place], places[place] = counts[FAKES], 0
        time, path = times[place], path_of[place]
        if time > counts[NEWEST]:
            counts[NEWEST] = time
        horizon = counts[NEWEST] - window
        _expire(horizon, tables, pairs, ring, heap, counts, secret)
        if opted_out[place]:
            # whatever else is wrong with the record
            pairs[_pair(people[place], NOBODY, pairs, counts, secret), 2] = 1
        if time < horizon:
            levels[place] = _LATE
            if path >= 0:
                _unused(path, tables)
            continue
        if path < 0:
            levels[place] = _SUPPRESSED
            continue
        released = np.int64(_SUPPRESSED)
        for level in range(_counted(rows[path, most], ways)):
            node = rows[path, level]
            shared = _shown(people[place], node, tables, pairs, counts, secret)
            if released == _SUPPRESSED and (level == 0 or ways[GENERALISE]):
                if shared >= thresholds[place]:
                    released = level
                # few are missing, and there is a category in which others can be found
                elif level == 0 and missing[place] >= thresholds[place] - shared and rows[path, most] > 1:
                    made = _made_up(place, people[place], path, time, thresholds[place], ways, fakes,
                                    tables, pairs, ring, heap, counts, secret, scratch)  # fmt: skip
                    released = np.int64(0) if made else released
            if released >= 0 and ways[REST]:
                _close(rows[path, level], tables, pairs, ring, counts, secret)
                break
        levels[place] = released
        _in_categories(people[place], path, tables, pairs, counts, secret)
        _keep(time, people[place], path, _reached(released, rows[path, most], ways), released, 0, tables, ring, heap, counts)
    return len(times)


@plain_kernel
def opt_out(people: Any, pairs: Any, counts: Any, secret: Any) -> None:
    """Let nothing be made up in the name of some people; there must be room for all."""
    for place in range(len(people)):
        pairs[_pair(people[place], NOBODY, pairs, counts, secret), 2] = 1


@plain_kernel
def place_pairs(old: Any, pairs: Any, secret: Any) -> None:
    """Put pairs into a larger table."""
    mask = len(pairs) - 1
    for place in range(len(old)):
        if old[place, 2] or old[place, 3]:
            slot = _home(old[place, 0], old[place, 1], mask, secret)
            while pairs[slot, 2] or pairs[slot, 3]:
                slot = (slot + 1) & mask
            for column in range(4):
                pairs[slot, column] = old[place, column]


@plain_kernel
def renew(old: Any, is_dropped: Any, tables: Any, pairs: Any, ring: Any, heap: Any, counts: Any, secret: Any) -> None:
    """Put the records of a ring into another one, but for those that are gone or dropped: others say the same of the same person."""
    nodes = tables.nodes
    for node in range(len(nodes)):
        nodes[node, LATEST] = -1
    first, number, newest = counts[HEAD], counts[TAIL] - counts[HEAD], np.int64(NEVER)
    counts[HEAD], counts[TAIL], counts[WAITING] = 0, 0, 0
    for place in range(number):
        slot = (first + place) & (len(old) - 1)
        time, person, packed = old[slot, 0], old[slot, 1], old[slot, 2]
        if packed & GONE or is_dropped[place]:
            if not packed & GONE:
                _gone(person, packed, tables, pairs, counts, secret)
            _unused(packed >> 24, tables)
            continue
        _store(time, person, _waiting(packed, time < newest), tables, ring, heap, counts)
        newest = max(newest, time)


@plain_kernel
def take_up(entries: Any, tables: Any, pairs: Any, ring: Any, heap: Any, counts: Any, secret: Any) -> None:
    """Take up records that a snapshot holds, as they were decided; there must be room for all."""
    rows, nodes = tables.rows, tables.nodes
    most = rows.shape[1] - 2
    for place in range(len(entries)):
        time, person, packed = entries[place, 0], entries[place, 1], entries[place, 2]
        path, reach, kind = packed >> 24, (packed >> 16) & 255, packed & 255
        rows[path, most + 1] += 1
        if kind & GONE:
            pass
        elif kind & FAKE:
            _made_of(person, rows[path, 0], tables, pairs, counts, secret)
        else:
            for level in range(reach):
                _shown(person, rows[path, level], tables, pairs, counts, secret)
                if level + 1 < reach:
                    nodes[rows[path, level], OPEN] += 1
            _in_categories(person, path, tables, pairs, counts, secret)
        _store(time, person, packed, tables, ring, heap, counts)


# --- who shows what -------------------------------------------------------------------------------------------------------


@inner_kernel
def _counted(height: Any, ways: Any) -> Any:
    """Return how many levels of a path are counted: without generalisation only the first two, unless all is as published."""
    return height if ways[GENERALISE] or ways[ORIGINAL] else min(height, 2)


@inner_kernel
def _reached(released: Any, height: Any, ways: Any) -> Any:
    """Return on how many levels a record counts: where what is released finer does not count above, on those up to its own."""
    return released + 1 if ways[REST] and released >= 0 else _counted(height, ways)


@inner_kernel
def _shown(person: Any, node: Any, tables: Any, pairs: Any, counts: Any, secret: Any) -> Any:
    """Count a record of a person for a node, and return how many people there are for it."""
    nodes = tables.nodes
    slot = _pair(person, node, pairs, counts, secret)
    if pairs[slot, 2] == 0:
        nodes[node, PEOPLE] += 1
        if pairs[slot, 3] == 0:
            nodes[node, SEEMING] += 1
    pairs[slot, 2] += 1
    return nodes[node, PEOPLE]


@inner_kernel
def _in_categories(person: Any, path: Any, tables: Any, pairs: Any, counts: Any, secret: Any) -> None:
    """Count a record for all categories of its attribute, whatever of it is published; where nobody is made up, nobody asks."""
    rows = tables.rows
    if counts[MAKES_UP]:
        for level in range(1, rows[path, rows.shape[1] - 2]):
            pairs[_pair(person, -2 - rows[path, level], pairs, counts, secret), 2] += 1


@inner_kernel
def _made_of(person: Any, node: Any, tables: Any, pairs: Any, counts: Any, secret: Any) -> None:
    """Count a made-up record."""
    slot = _pair(person, node, pairs, counts, secret)
    if pairs[slot, 2] == 0 and pairs[slot, 3] == 0:
        tables.nodes[node, SEEMING] += 1
    pairs[slot, 3] += 1


@inner_kernel
def _less(person: Any, node: Any, column: int, tables: Any, pairs: Any, counts: Any, secret: Any) -> None:
    """Count a record no more: a true one in column 2, a made-up one in column 3."""
    nodes = tables.nodes
    slot = _known(person, node, pairs, secret)
    pairs[slot, column] -= 1
    if pairs[slot, 2] == 0 and column == 2 and node >= 0:
        nodes[node, PEOPLE] -= 1
    if pairs[slot, 2] == 0 and pairs[slot, 3] == 0:
        if node >= 0:
            nodes[node, SEEMING] -= 1
        _forget_pair(slot, pairs, counts, secret)


@inner_kernel
def _pair(person: Any, node: Any, pairs: Any, counts: Any, secret: Any) -> Any:
    """Return the slot of a pair; a new one is put there, and must be counted."""
    mask = len(pairs) - 1
    slot = _home(person, node, mask, secret)
    while pairs[slot, 2] or pairs[slot, 3]:
        if pairs[slot, 0] == person and pairs[slot, 1] == node:
            return slot
        slot = (slot + 1) & mask
    pairs[slot, 0], pairs[slot, 1] = person, node
    counts[PAIRS] += 1
    return slot


@inner_kernel
def _known(person: Any, node: Any, pairs: Any, secret: Any) -> Any:
    """Return the slot of a pair, -1 where there is none."""
    mask = len(pairs) - 1
    slot = _home(person, node, mask, secret)
    while pairs[slot, 2] or pairs[slot, 3]:
        if pairs[slot, 0] == person and pairs[slot, 1] == node:
            return slot
        slot = (slot + 1) & mask
    return np.int64(-1)


@inner_kernel
def _home(person: Any, node: Any, mask: Any, secret: Any) -> Any:
    mixed = (np.uint64(person) ^ secret[0]) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed = (mixed ^ np.uint64(node) * np.uint64(0xC2B2AE3D27D4EB4F)) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64((mixed >> np.uint64(32)) & np.uint64(mask))


@inner_kernel
def _ask_ahead(place: Any, people: Any, path_of: Any, ways: Any, tables: Any, pairs: Any, ring: Any, counts: Any, secret: Any) -> None:
    """Ask for the pairs of a record that comes soon, and of one that goes soon: memory is what takes the time."""
    rows, mask = tables.rows, len(pairs) - 1
    most = rows.shape[1] - 2
    if place + _AHEAD < len(people) and path_of[place + _AHEAD] >= 0:
        path = path_of[place + _AHEAD]
        # where a record counts only up to its level, that is mostly the first
        for level in range(1 if ways[REST] else _counted(rows[path, most], ways)):
            fetch_row(pairs, _home(people[place + _AHEAD], rows[path, level], mask, secret))
    if counts[HEAD] + _AHEAD < counts[TAIL]:
        slot = (counts[HEAD] + _AHEAD) & (len(ring) - 1)
        path = ring[slot, 2] >> 24
        for level in range((ring[slot, 2] >> 16) & 255):
            fetch_row(pairs, _home(ring[slot, 1], rows[path, level], mask, secret))


@inner_kernel
def _forget_pair(slot: Any, pairs: Any, counts: Any, secret: Any) -> None:
    """Empty a slot, and move up what stood behind it for want of room."""
    mask = len(pairs) - 1
    counts[PAIRS] -= 1
    behind = (slot + 1) & mask
    while pairs[behind, 2] or pairs[behind, 3]:
        home = _home(pairs[behind, 0], pairs[behind, 1], mask, secret)
        if ((behind - home) & mask) >= ((behind - slot) & mask):
            for column in range(4):
                pairs[slot, column] = pairs[behind, column]
            slot = behind
        behind = (behind + 1) & mask
    pairs[slot, 2], pairs[slot, 3] = 0, 0


# --- records in the window ------------------------------------------------------------------------------------------------


# fmt: off
@inner_kernel
def _keep(time: Any, person: Any, path: Any, reach: Any, released: Any, kind: Any, tables: Any, ring: Any, heap: Any, counts: Any) -> None:
    # fmt: on
    rows, nodes = tables.rows, tables.nodes
    for level in range(reach - 1):
        nodes[rows[path, level], OPEN] += 1
    packed = (np.int64(path) << 24) | (np.int64(reach) << 16) | ((released + 2) << 8) | kind
    _store(time, person, _waiting(packed, time < counts[NEWEST]), tables, ring, heap, counts)


@inner_kernel
def _waiting(packed: Any, is_late: Any) -> Any:
    """Say of a record whether it stands in the heap: those before it would hide that it leaves first."""
    return packed | WAITS if is_late else packed & ~np.int64(WAITS)


@inner_kernel
def _store(time: Any, person: Any, packed: Any, tables: Any, ring: Any, heap: Any, counts: Any) -> None:
    """Put a record behind all others, and let each node of it know it as the latest; of made-up ones nobody knows."""
    rows, nodes = tables.rows, tables.nodes
    record, path = counts[TAIL], packed >> 24
    slot = record & (len(ring) - 1)
    ring[slot, 0], ring[slot, 1], ring[slot, 2] = time, person, packed
    if ring.shape[1] > _LINKS and not packed & FAKE:
        for level in range(rows[path, rows.shape[1] - 2]):
            node = rows[path, level]
            ring[slot, _LINKS + level] = nodes[node, LATEST]
            nodes[node, LATEST] = record
    if packed & WAITS:
        _heap_in(time, record, heap, counts)
    counts[TAIL] += 1


@inner_kernel
def _level_of(slot: Any, node: Any, tables: Any, ring: Any) -> Any:
    """Return which level of a record a node is."""
    rows, level = tables.rows, 0
    path = ring[slot, 2] >> 24
    while rows[path, level] != node:
        level += 1
    return level


@inner_kernel
def _close(node: Any, tables: Any, pairs: Any, ring: Any, counts: Any, secret: Any) -> None:
    """Let records of a node count above it no more, for what they show is published now. All of them came after it last was."""
    rows, nodes = tables.rows, tables.nodes
    record = nodes[node, LATEST]
    while nodes[node, OPEN] > 0:
        slot = record & (len(ring) - 1)
        packed, level = ring[slot, 2], _level_of(slot, node, tables, ring)
        record = ring[slot, _LINKS + level]
        reach = (packed >> 16) & 255
        if packed & GONE or reach <= level + 1:
            continue
        for above in range(level, reach - 1):
            nodes[rows[packed >> 24, above], OPEN] -= 1
            _less(ring[slot, 1], rows[packed >> 24, above + 1], 2, tables, pairs, counts, secret)
        ring[slot, 2] = (packed & ~np.int64(255 << 16)) | ((level + 1) << 16)


@inner_kernel
def _expire(horizon: Any, tables: Any, pairs: Any, ring: Any, heap: Any, counts: Any, secret: Any) -> None:
    while counts[WAITING] > 0 and heap[0, 0] < horizon:
        slot = heap[0, 1] & (len(ring) - 1)
        _heap_out(heap, counts)
        _gone(ring[slot, 1], ring[slot, 2], tables, pairs, counts, secret)
        ring[slot, 0], ring[slot, 1], ring[slot, 2] = 0, 0, (ring[slot, 2] & ~np.int64(WAITS)) | GONE
    # what came late has been taken out before: the others are in order of time
    while counts[HEAD] < counts[TAIL]:
        slot = counts[HEAD] & (len(ring) - 1)
        if not ring[slot, 2] & GONE:
            if ring[slot, 0] >= horizon:
                break
            _gone(ring[slot, 1], ring[slot, 2], tables, pairs, counts, secret)
        _unused(ring[slot, 2] >> 24, tables)
        counts[HEAD] += 1


@inner_kernel
def _gone(person: Any, packed: Any, tables: Any, pairs: Any, counts: Any, secret: Any) -> None:
    rows, nodes = tables.rows, tables.nodes
    path, reach = packed >> 24, (packed >> 16) & 255
    if packed & FAKE:
        _less(person, rows[path, 0], 3, tables, pairs, counts, secret)
    else:
        for level in range(reach):
            _less(person, rows[path, level], 2, tables, pairs, counts, secret)
            if level + 1 < reach:
                nodes[rows[path, level], OPEN] -= 1
        if counts[MAKES_UP]:
            for level in range(1, rows[path, rows.shape[1] - 2]):
                _less(person, -2 - rows[path, level], 2, tables, pairs, counts, secret)


@inner_kernel
def _unused(path: Any, tables: Any) -> None:
    """Let go of a path, and of its nodes, where no record uses them any more."""
    rows, nodes = tables.rows, tables.nodes
    most = rows.shape[1] - 2
    rows[path, most + 1] -= 1
    if rows[path, most + 1] > 0:
        return
    for level in range(rows[path, most]):
        node = rows[path, level]
        nodes[node, PATHS] -= 1
        if nodes[node, PATHS] == 0:
            _give_back(node, tables.node_slots, tables.node_keys, tables.free_nodes, tables.sizes, 1)
    _give_back(path, tables.path_slots, tables.path_keys, tables.free_paths, tables.sizes, 0)


@inner_kernel
def _give_back(number: Any, slots: Any, keys: Any, free: Any, sizes: Any, which: int) -> None:
    mask = len(slots) - 1
    slot = np.int64(keys[number, 0] & np.uint64(mask))
    while slots[slot] != number:
        slot = (slot + 1) & mask
    behind = (slot + 1) & mask
    while slots[behind] >= 0:
        home = np.int64(keys[slots[behind], 0] & np.uint64(mask))
        if ((behind - home) & mask) >= ((behind - slot) & mask):
            slots[slot] = slots[behind]
            slot = behind
        behind = (behind + 1) & mask
    slots[slot] = -1
    free[sizes[which]] = number
    sizes[which] += 1


@inner_kernel
def _heap_in(time: Any, record: Any, heap: Any, counts: Any) -> None:
    place = counts[WAITING]
    counts[WAITING] += 1
    while place > 0 and heap[(place - 1) // 2, 0] > time:
        above = (place - 1) // 2
        heap[place, 0], heap[place, 1] = heap[above, 0], heap[above, 1]
        place = above
    heap[place, 0], heap[place, 1] = time, record


@inner_kernel
def _heap_out(heap: Any, counts: Any) -> None:
    """Take the oldest record out of the heap."""
    counts[WAITING] -= 1
    last, place = counts[WAITING], np.int64(0)
    while 2 * place + 1 < last:
        below = 2 * place + 1
        if below + 1 < last and heap[below + 1, 0] < heap[below, 0]:
            below += 1
        if heap[below, 0] >= heap[last, 0]:
            break
        heap[place, 0], heap[place, 1] = heap[below, 0], heap[below, 1]
        place = below
    heap[place, 0], heap[place, 1] = heap[last, 0], heap[last, 1]


# --- made-up people -------------------------------------------------------------------------------------------------------


# fmt: off
@inner_kernel
def _made_up(place: Any, person: Any, path: Any, time: Any, asked: Any, ways: Any, fakes: Any, tables: Any, pairs: Any, ring: Any, heap: Any,
             counts: Any, secret: Any, scratch: Any) -> Any:
    # fmt: on
    """Find people of the same category in whose name the attribute is shown too, so that enough seem to; return whether there are any.

    As published: the latest people of the category, the true one last, and nobody is remembered. Otherwise people are drawn, the true one stands
    anywhere, all are remembered, and the true one must have shown the category before, as all others have.
    """
    rows, nodes = tables.rows, tables.nodes
    attribute, category = rows[path, 0], rows[path, 1]
    _, places, made_up = fakes
    pool, _ = scratch
    needed = asked - nodes[attribute, PEOPLE if ways[ORIGINAL] else SEEMING]
    if needed <= 0:
        return True
    if ways[ORIGINAL]:
        in_category = nodes[category, PEOPLE] + (0 if _known(person, category, pairs, secret) >= 0 else 1)
        if in_category - nodes[attribute, PEOPLE] < needed:
            return False
        if _latest(person, path, needed, len(ring), tables, pairs, ring, counts, secret, scratch) < needed:
            return False
        places[place] = needed
    else:
        if _known(person, -2 - category, pairs, secret) < 0:
            return False
        if not _drawn(person, path, needed, tables, pairs, ring, counts, secret, scratch):
            return False
        places[place] = np.int64(_draw(counts, secret) % np.uint64(needed + 1))
    for step in range(needed):
        made_up[counts[FAKES]] = pool[step]
        counts[FAKES] += 1
        if not ways[ORIGINAL]:
            _made_of(pool[step], attribute, tables, pairs, counts, secret)
            rows[path, rows.shape[1] - 1] += 1
            _keep(time, pool[step], path, 1, np.int64(0), FAKE, tables, ring, heap, counts)
    return True


# fmt: off
@inner_kernel
def _drawn(person: Any, path: Any, needed: Any, tables: Any, pairs: Any, ring: Any, counts: Any, secret: Any, scratch: Any) -> Any:
    # fmt: on
    """Draw people of the category from all records of the window; return whether there are enough.

    Whoever shows the category more often is drawn more often: so they have shown it as lately as people who show it once more have. Where chance
    does not find enough, as the category is rare in the window, they are drawn among its people.
    """
    rows = tables.rows
    attribute, category = rows[path, 0], rows[path, 1]
    pool, found = scratch
    number, size = 0, counts[TAIL] - counts[HEAD]
    counts[DRAWN] += 1
    stamp = counts[DRAWN]
    for _ in range(64 * (needed + 1) if size else 0):
        slot = (counts[HEAD] + np.int64(_draw(counts, secret) % np.uint64(size))) & (len(ring) - 1)
        other, packed = ring[slot, 1], ring[slot, 2]
        if packed & (GONE | FAKE) or other == person or rows[packed >> 24, rows.shape[1] - 2] < 2 or rows[packed >> 24, 1] != category:
            continue
        if _may_stand(other, attribute, pairs, secret) and _is_new(other, found, stamp):
            pool[number] = other
            number += 1
            if number == needed:
                return True
    # a walk without end would let a rare category stop the stream
    number = _latest(person, path, len(pool), 16 * len(pool), tables, pairs, ring, counts, secret, scratch)
    if number < needed:
        return False
    for step in range(needed):
        chosen = step + np.int64(_draw(counts, secret) % np.uint64(number - step))
        pool[step], pool[chosen] = pool[chosen], pool[step]
    return True


# fmt: off
@inner_kernel
def _latest(person: Any, path: Any, most: Any, steps: Any, tables: Any, pairs: Any, ring: Any, counts: Any, secret: Any, scratch: Any) -> Any:
    # fmt: on
    """Find the latest people of the category for whom an attribute may be made up; return how many."""
    rows, nodes = tables.rows, tables.nodes
    attribute, category = rows[path, 0], rows[path, 1]
    pool, found = scratch
    number = 0
    record = nodes[category, LATEST]
    counts[DRAWN] += 1
    while record >= counts[HEAD] and steps > 0 and number < most:
        slot = record & (len(ring) - 1)
        other, record = ring[slot, 1], ring[slot, _LINKS + _level_of(slot, category, tables, ring)]
        steps -= 1
        if ring[slot, 2] & GONE or other == person:
            continue
        if _may_stand(other, attribute, pairs, secret) and _is_new(other, found, counts[DRAWN]):
            pool[number] = other
            number += 1
    return number


@inner_kernel
def _may_stand(person: Any, attribute: Any, pairs: Any, secret: Any) -> Any:
    """Return whether an attribute may be made up for somebody: neither have they shown it or a finer one, or seem to, nor opted out."""
    if _known(person, attribute, pairs, secret) >= 0 or _known(person, -2 - attribute, pairs, secret) >= 0:
        return False
    return _known(person, NOBODY, pairs, secret) < 0


@inner_kernel
def _is_new(person: Any, found: Any, stamp: Any) -> Any:
    """Return whether somebody is found for the first time under a stamp; ``found`` has more room than anybody needs."""
    mask = len(found) - 1
    slot = np.int64((np.uint64(person) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)) & mask
    while found[slot, 1] == stamp:
        if found[slot, 0] == person:
            return False
        slot = (slot + 1) & mask
    found[slot, 0], found[slot, 1] = person, stamp
    return True


@inner_kernel
def _draw(counts: Any, secret: Any) -> Any:
    """Return a random number: SipHash-2-4 of how many were drawn before, under the secret of these records."""
    counts[DRAWN] += 1
    v0 = secret[2] ^ np.uint64(0x736F6D6570736575)
    v1 = secret[3] ^ np.uint64(0x646F72616E646F6D)
    v2 = secret[2] ^ np.uint64(0x6C7967656E657261)
    v3 = secret[3] ^ np.uint64(0x7465646279746573)
    for step in range(6):
        word = np.uint64(counts[DRAWN]) if step == 0 else np.uint64(8) << np.uint64(56)
        if step < 2:
            v3 ^= word
        if step == 2:
            v2 ^= np.uint64(0xFF)
        for _ in range(2 if step < 2 else 1):
            v0 += v1
            v1 = ((v1 << np.uint64(13)) | (v1 >> np.uint64(51))) ^ v0
            v0 = (v0 << np.uint64(32)) | (v0 >> np.uint64(32))
            v2 += v3
            v3 = ((v3 << np.uint64(16)) | (v3 >> np.uint64(48))) ^ v2
            v0 += v3
            v3 = ((v3 << np.uint64(21)) | (v3 >> np.uint64(43))) ^ v0
            v2 += v1
            v1 = ((v1 << np.uint64(17)) | (v1 >> np.uint64(47))) ^ v2
            v2 = (v2 << np.uint64(32)) | (v2 >> np.uint64(32))
        if step < 2:
            v0 ^= word
    return v0 ^ v1 ^ v2 ^ v3
