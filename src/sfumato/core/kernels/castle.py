"""CASTLE as a machine of arrays: records go in one by one, and clusters come out.

Cao, Carminati, Ferrari, Tan, "CASTLE: continuously anonymizing data streams" (2011). ``algorithms/_castle_plain.py`` says the same in plain Python.

All that outlives a call is in arrays that are given:
``slots``: records, those that wait and those of published clusters that are kept: number, person, coordinates (a missing one is infinite), sensitive
values, which cluster it waits in, the records before and after it there, and the free slots.
``waiting``: the clusters in which records wait: lowest and highest coordinates, people, records, first and last record, and the clusters in the order
in which they began. The last one is that of outliers, which is in no order.
``published``: the clusters that are kept for re-use: lowest and highest coordinates, identity, first record, number of records, which cluster of this
call it is, and their order.
``table``: how many records each person has in each cluster, and how many of the records that are compared with have each (person, value).
``ring``: the last delta records: slot and number. ``compared``: the records that distributions are compared with, people and values.
``shown``: how many people of those have each value, and whether the value was ever seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel, plain_kernel
from sfumato.core.kernels.boxes import MISSING, enlargement, enlargements, holds_point, loss, loss_with
from sfumato.core.kernels.castle_split import begin_count, by_part, count_member, split
from sfumato.core.kernels.chance import choice
from sfumato.core.kernels.cluster_promises import all_kept, forget
from sfumato.core.kernels.pair_table import add, take

# what the state says
POSITION, FREE, CLUSTERS, KEPT, LOSSES, LOSS_PLACE, IDENTITY, HELD, COMPARED, COMPARED_PLACE, RELEASED, MADE, SUPPRESSED, LATEST, NOW = range(15)
# where a record is that waits in no cluster
IN_PUBLISHED, NOWHERE = -1, -2
# the rules: k, whether clusters are split by values, how many values at least, which column, whether outliers wait, whether a cluster that keeps the
# promises keeps them whoever joins, how many records a published cluster may hold, and how many people a block of a cluster that is split
K, BY_VALUES, LEAST, TARGET, WAIT, GROWS, MOST, BLOCK = range(8)
VALUE_TAG = 1 << 40


@plain_kernel
def push(numbers: Any, people: Any, coordinates: Any, sensitive: Any, ring: Any, compared: Any, shown: Any, own: Any) -> None:
    """Take records one by one; whoever has waited for delta others leaves."""
    slots, waiting, published, table, scale, tests, state = own[0], own[1], own[2], own[3], own[5], own[6], own[12]
    _begin(published, state)
    for row in range(len(numbers)):
        _compare(people[row], sensitive[row], table, compared, shown, state, tests)
    _shares(shown, tests)
    delta = len(ring[0])
    for row in range(len(numbers)):
        state[NOW] = numbers[row]
        slot = _stored(numbers[row], people[row], coordinates[row], sensitive[row], slots, scale, state)
        _admit(slot, own)
        place = state[POSITION] % delta
        leaving, its_number = ring[0][place], ring[1][place]
        ring[0][place], ring[1][place] = slot, numbers[row]
        state[POSITION] += 1
        if its_number >= 0 and slots[0][leaving] == its_number and 0 <= slots[4][leaving] < len(waiting[6]):
            _leave(leaving, own)


@plain_kernel
def flush(ring: Any, shown: Any, own: Any) -> None:
    """Let everybody leave who waits; who fits nowhere even now is left out."""
    slots, waiting, published, table, tests, out, state = own[0], own[1], own[2], own[3], own[6], own[9], own[12]
    _begin(published, state)
    _shares(shown, tests)
    delta = len(ring[0])
    for step in range(delta):
        place = (state[POSITION] + step) % delta
        leaving, its_number = ring[0][place], ring[1][place]
        if its_number >= 0 and slots[0][leaving] == its_number and 0 <= slots[4][leaving] < len(waiting[6]):
            _leave(leaving, own)
    outliers = len(waiting[6])
    while waiting[3][outliers] > 0:
        slot = waiting[4][outliers]
        _remove(slot, slots, waiting, table, state)
        _suppress(slot, slots, out, state)


@plain_kernel
def retire(which: Any, slots: Any, published: Any, state: Any) -> None:
    """Keep some published clusters no longer."""
    for place in range(len(which)):
        _retire(np.int64(which[place]), slots, published, state)


@inner_kernel
def _begin(published: Any, state: Any) -> None:
    """Begin with nothing decided."""
    state[RELEASED], state[MADE], state[SUPPRESSED] = 0, 0, 0
    for place in range(len(published[5])):
        published[5][place] = -1


@inner_kernel
def _compare(person: Any, values: Any, table: Any, compared: Any, shown: Any, state: Any, tests: Any) -> None:
    """Let a record be one of those that are compared with, in the place of the oldest; nobody counts twice for a value."""
    counts, seen = shown
    layout = tests[1]
    place = state[COMPARED_PLACE]
    full = state[COMPARED] == len(compared[0])
    for column in range(len(layout)):
        if full:
            value = np.int64(compared[1][place, column])
            if take(table, compared[0][place], VALUE_TAG + (np.int64(column) << 32) + value) == 0:
                counts[layout[column, 0] + value] -= 1
        value = np.int64(values[column])
        seen[layout[column, 0] + value] = 1
        if add(table, person, VALUE_TAG + (np.int64(column) << 32) + value) == 1:
            counts[layout[column, 0] + value] += 1
        compared[1][place, column] = value
    compared[0][place] = person
    state[COMPARED_PLACE] = (place + 1) % len(compared[0])
    state[COMPARED] += 0 if full else 1


@inner_kernel
def _shares(shown: Any, tests: Any) -> None:
    """Find the shares of the values; one that was ever seen counts for one person at least."""
    counts, seen = shown
    layout, shares, trees = tests[1], tests[5], tests[9]
    for column in range(len(layout)):
        begin, end = layout[column, 0], layout[column, 0] + trees[column, 0]
        total = np.int64(0)
        for value in range(begin, end):
            total += max(counts[value], np.int64(seen[value]))
        for value in range(begin, end):
            shares[value] = max(counts[value], np.int64(seen[value])) / max(1, total)


@inner_kernel
def _stored(number: Any, person: Any, coordinates: Any, sensitive: Any, slots: Any, scale: Any, state: Any) -> Any:
    """Write a record down, and widen what has been seen; return where it is."""
    seen = scale[3]
    state[FREE] -= 1
    state[HELD] += 1
    slot = np.int64(slots[7][state[FREE]])
    slots[0][slot], slots[1][slot], slots[4][slot] = number, person, NOWHERE
    for column in range(len(coordinates)):
        own = coordinates[column]
        if np.isnan(own):
            own = MISSING
        else:
            seen[0, column] = min(seen[0, column], own)
            seen[1, column] = max(seen[1, column], own)
        slots[2][slot, column] = own
    for column in range(len(sensitive)):
        slots[3][slot, column] = sensitive[column]
    return slot


@inner_kernel
def _free(slot: Any, slots: Any, state: Any) -> None:
    slots[4][slot] = NOWHERE
    slots[0][slot] = -1
    slots[7][state[FREE]] = slot
    state[FREE] += 1


@inner_kernel
def _append(slot: Any, cluster: Any, slots: Any, waiting: Any, table: Any) -> None:
    """Let a record wait in a cluster."""
    lows, highs, people, counts, heads, tails, _ = waiting
    slots[4][slot], slots[5][slot], slots[6][slot] = cluster, -1, tails[cluster]
    if counts[cluster] == 0:
        slots[6][slot] = -1
        heads[cluster] = slot
        people[cluster] = 0
        for column in range(lows.shape[1]):
            lows[cluster, column], highs[cluster, column] = slots[2][slot, column], slots[2][slot, column]
    else:
        slots[5][tails[cluster]] = slot
        for column in range(lows.shape[1]):
            lows[cluster, column] = min(lows[cluster, column], slots[2][slot, column])
            highs[cluster, column] = max(highs[cluster, column], slots[2][slot, column])
    tails[cluster] = slot
    counts[cluster] += 1
    if add(table, slots[1][slot], np.int64(cluster)) == 1:
        people[cluster] += 1


@inner_kernel
def _remove(slot: Any, slots: Any, waiting: Any, table: Any, state: Any) -> None:
    """Take a record out of the cluster it waits in; a cluster of nobody ends."""
    _, _, people, counts, heads, tails, order = waiting
    cluster = slots[4][slot]
    after, before = slots[5][slot], slots[6][slot]
    if before >= 0:
        slots[5][before] = after
    else:
        heads[cluster] = after
    if after >= 0:
        slots[6][after] = before
    else:
        tails[cluster] = before
    counts[cluster] -= 1
    if take(table, slots[1][slot], np.int64(cluster)) == 0:
        people[cluster] -= 1
    slots[4][slot] = NOWHERE
    if counts[cluster] == 0 and cluster < len(order):
        _end(cluster, order, state)


@inner_kernel
def _end(cluster: Any, order: Any, state: Any) -> None:
    """Take a cluster out of the order. Those that are not in it stand behind, so that the next one can begin there."""
    place = np.int64(0)
    while order[place] != cluster:
        place += 1
    state[CLUSTERS] -= 1
    for at in range(place, state[CLUSTERS]):
        order[at] = order[at + 1]
    order[state[CLUSTERS]] = cluster


@inner_kernel
def _usual(losses: Any, state: Any) -> Any:
    """Return the mean loss of the clusters that were published last."""
    total = 0.0
    for place in range(state[LOSSES]):
        total += losses[place]
    return total / state[LOSSES] if state[LOSSES] > 0 else 0.0


@inner_kernel
def _admit(slot: Any, own: Any) -> None:
    """Let a record wait in the cluster that it enlarges least, or in one of its own where that would lose more than is usual."""
    slots, waiting, _, table, losses, scale, _, _, room, _, _, _, state = own
    lows, highs, people, _, _, _, order = waiting
    point, more = slots[2][slot], room[12]
    ladders, nodes, below, seen, spans, weights, by_leaves = scale
    # most records go where the one before went: with that as the bound most clusters are done after a column or two
    latest = state[LATEST] if waiting[3][state[LATEST]] > 0 else np.int64(-1)
    least = enlargements(ladders, nodes, below, seen, spans, weights, by_leaves, lows, highs, order, state[CLUSTERS], slots[2], slot, latest, more)
    usual = _usual(losses, state)
    fitting, smallest = np.int64(-1), np.int64(-1)
    for place in range(state[CLUSTERS]):
        cluster = order[place]
        if more[place] == least:
            if smallest < 0 or people[cluster] < people[smallest]:
                smallest = np.int64(cluster)
            if (fitting < 0 or people[cluster] < people[fitting]) and loss_with(scale, lows[cluster], highs[cluster], point) <= usual:
                fitting = np.int64(cluster)
    if fitting < 0:
        if state[CLUSTERS] < len(order):
            fitting = np.int64(order[state[CLUSTERS]])
            state[CLUSTERS] += 1
        else:
            fitting = smallest
    state[LATEST] = fitting
    _append(slot, fitting, slots, waiting, table)


@inner_kernel
def _count_cluster(cluster: Any, slots: Any, waiting: Any, tests: Any, scratch: Any) -> None:
    slot = waiting[4][cluster]
    while slot >= 0:
        count_member(slots, slot, tests, scratch)
        slot = slots[5][slot]


@inner_kernel
def _leave(slot: Any, own: Any) -> None:
    """Publish a record, with its cluster, in one that was published before, or with its neighbours; or leave it out."""
    slots, waiting, _, table, _, _, _, _, _, out, rules, _, state = own
    cluster = slots[4][slot]
    if _holds(cluster, own):
        _publish(cluster, own)
        return
    again = _found_again(slot, own)
    if again >= 0:
        _remove(slot, slots, waiting, table, state)
        _publish_again(slot, again, own)
        return
    larger = np.int64(0)
    for place in range(state[CLUSTERS]):
        larger += waiting[2][cluster] < waiting[2][waiting[6][place]]
    if 2 * larger <= state[CLUSTERS] and _merged(cluster, own):
        _publish(cluster, own)
        return
    _remove(slot, slots, waiting, table, state)
    if not rules[WAIT]:
        _suppress(slot, slots, out, state)
        return
    outliers = np.int64(len(waiting[6]))
    _append(slot, outliers, slots, waiting, table)
    if _holds(outliers, own):
        _publish_outliers(outliers, own)


@inner_kernel
def _holds(cluster: Any, own: Any) -> Any:
    """Return whether a cluster keeps the promises."""
    slots, waiting, _, _, _, _, tests, scratch, _, _, rules, _, _ = own
    if waiting[2][cluster] < rules[K]:
        return False
    begin_count(tests, scratch)
    _count_cluster(cluster, slots, waiting, tests, scratch)
    holds = all_kept(tests)
    forget(tests)
    return holds


@inner_kernel
def _suppress(slot: Any, slots: Any, out: Any, state: Any) -> None:
    out[5][state[SUPPRESSED]] = slots[0][slot]
    state[SUPPRESSED] += 1
    state[HELD] -= 1
    _free(slot, slots, state)


@inner_kernel
def _found_again(slot: Any, own: Any) -> Any:
    """Return a published cluster, by chance, that holds the record and keeps the promises with it; -1 where none does."""
    slots, _, published, _, _, scale, tests, scratch, room, _, rules, chance, state = own
    fits = room[13]
    number = np.int64(0)
    for place in range(state[KEPT]):
        kept = published[6][place]
        if holds_point(scale, published[0][kept], published[1][kept], slots[2][slot]):
            fits[number] = kept
            number += 1
    if number == 0:
        return np.int64(-1)
    first = choice(chance, number)
    for step in range(number):
        kept = np.int64(fits[(first + step) % number])
        if rules[GROWS]:
            return kept
        begin_count(tests, scratch)
        member = published[3][kept]
        while member >= 0:
            count_member(slots, member, tests, scratch)
            member = slots[5][member]
        count_member(slots, slot, tests, scratch)
        holds = all_kept(tests)
        forget(tests)
        if holds:
            return kept
    return np.int64(-1)


@inner_kernel
def _publish_again(slot: Any, kept: Any, own: Any) -> None:
    """Publish a record in a cluster that was published before."""
    slots, _, published, _, _, _, _, _, _, out, rules, _, state = own
    lows, highs, identities, heads, counts, made, _ = published
    if made[kept] < 0:
        made[kept] = state[MADE]
        _show(lows[kept], highs[kept], identities[kept], out, state)
    _tell(slots[0][slot], made[kept], out, state)
    counts[kept] += 1
    if rules[GROWS]:
        _free(slot, slots, state)
    else:
        slots[4][slot], slots[5][slot] = IN_PUBLISHED, heads[kept]
        heads[kept] = slot
        if counts[kept] >= rules[MOST]:
            _retire(kept, slots, published, state)


@inner_kernel
def _retire(kept: Any, slots: Any, published: Any, state: Any) -> None:
    """Keep a published cluster no longer."""
    order = published[6]
    place = np.int64(0)
    while order[place] != kept:
        place += 1
    state[KEPT] -= 1
    for at in range(place, state[KEPT]):
        order[at] = order[at + 1]
    order[state[KEPT]] = kept
    member = published[3][kept]
    while member >= 0:
        after = slots[5][member]
        _free(member, slots, state)
        member = after
    published[3][kept] = -1


@inner_kernel
def _merged(cluster: Any, own: Any) -> Any:
    """Let a cluster take in its nearest ones until it keeps the promises; where all together do not, nothing happens. Return whether it does."""
    slots, waiting, _, table, _, scale, tests, scratch, room, _, _, _, state = own
    lows, highs, _, _, heads, _, order = waiting
    low, high, joined = room[14][0], room[14][1], room[13]
    for column in range(len(low)):
        low[column], high[column] = lows[cluster, column], highs[cluster, column]
    begin_count(tests, scratch)
    _count_cluster(cluster, slots, waiting, tests, scratch)
    taken, holds = np.int64(0), False
    marks = room[15]
    for place in range(state[CLUSTERS]):
        marks[place] = order[place] == cluster
    while not holds and taken < state[CLUSTERS] - 1:
        best, least = np.int64(-1), np.inf
        for place in range(state[CLUSTERS]):
            if not marks[place]:
                more = enlargement(scale, low, high, lows[order[place]], highs[order[place]], least)
                if best < 0 or more < least:
                    best, least = np.int64(place), more
        other = order[best]
        marks[best] = True
        joined[taken] = other
        taken += 1
        for column in range(len(low)):
            low[column] = min(low[column], lows[other, column])
            high[column] = max(high[column], highs[other, column])
        _count_cluster(other, slots, waiting, tests, scratch)
        holds = all_kept(tests)
    forget(tests)
    if holds:
        for place in range(taken):
            other = joined[place]
            member = heads[other]
            while member >= 0:
                after = slots[5][member]
                _remove(member, slots, waiting, table, state)
                _append(member, cluster, slots, waiting, table)
                member = after
    return holds


@inner_kernel
def _show(low: Any, high: Any, identity: Any, out: Any, state: Any) -> None:
    """Write down what a cluster publishes."""
    made = state[MADE]
    for column in range(len(low)):
        out[2][made, column], out[3][made, column] = low[column], high[column]
        if high[column] == MISSING:
            out[2][made, column] = np.nan if low[column] == MISSING else -np.inf
            out[3][made, column] = np.nan if low[column] == MISSING else np.inf
    out[4][made] = identity
    state[MADE] += 1


@inner_kernel
def _tell(number: Any, made: Any, out: Any, state: Any) -> None:
    """Write down which cluster a record is in, and with which record that was decided."""
    out[0][state[RELEASED]], out[1][state[RELEASED]], out[6][state[RELEASED]] = number, made, state[NOW]
    state[RELEASED] += 1
    state[HELD] -= 1


@inner_kernel
def _publish(cluster: Any, own: Any) -> None:
    """Publish the records of a cluster, in parts where they are many, and keep parts that lose less than is usual."""
    slots, waiting, published, table, losses, scale, tests, scratch, room, out, rules, chance, state = own
    members, part_of, places, starts = room[0], room[1], room[16], room[17]
    people, number = waiting[2][cluster], np.int64(0)
    member = waiting[4][cluster]
    while member >= 0:
        members[number] = member
        number += 1
        member = slots[5][member]
    for place in range(number):
        _remove(np.int64(members[place]), slots, waiting, table, state)
        part_of[place] = 0
    parts = np.int64(1)
    if people >= 2 * rules[K]:
        parts = split(slots, scale, tests, scratch, room, rules, chance, number)
    else:
        by_part(room, number, parts)
    low, high = room[14][0], room[14][1]
    for part in range(parts):
        for column in range(len(low)):
            low[column], high[column] = np.inf, -np.inf
        made = state[MADE]
        for at in range(starts[part], starts[part + 1]):
            slot = members[places[at]]
            for column in range(len(low)):
                low[column] = min(low[column], slots[2][slot, column])
                high[column] = max(high[column], slots[2][slot, column])
            _tell(slots[0][slot], made, out, state)
        identity = state[IDENTITY]
        state[IDENTITY] += 1
        _show(low, high, identity, out, state)
        lost = loss(scale, low, high)
        losses[state[LOSS_PLACE]] = lost
        state[LOSS_PLACE] = (state[LOSS_PLACE] + 1) % len(losses)
        state[LOSSES] = min(state[LOSSES] + 1, len(losses))
        if lost < _usual(losses, state) and len(published[6]) > 0:
            _keep(part, low, high, identity, made, own)
        else:
            for at in range(starts[part], starts[part + 1]):
                _free(np.int64(members[places[at]]), slots, state)


@inner_kernel
def _keep(part: Any, low: Any, high: Any, identity: Any, made: Any, own: Any) -> None:
    """Keep a published cluster, in the place of the oldest where there are enough."""
    slots, _, published, _, _, _, _, _, room, _, rules, _, state = own
    members, places, starts = room[0], room[16], room[17]
    if state[KEPT] == len(published[6]):
        _retire(np.int64(published[6][0]), slots, published, state)
    kept = np.int64(published[6][state[KEPT]])
    state[KEPT] += 1
    for column in range(len(low)):
        published[0][kept, column], published[1][kept, column] = low[column], high[column]
    published[2][kept], published[3][kept], published[4][kept], published[5][kept] = identity, -1, 0, made
    for at in range(starts[part], starts[part + 1]):
        slot = np.int64(members[places[at]])
        published[4][kept] += 1
        if rules[GROWS]:
            _free(slot, slots, state)
        else:
            slots[4][slot], slots[5][slot] = IN_PUBLISHED, published[3][kept]
            published[3][kept] = slot


@inner_kernel
def _publish_outliers(outliers: Any, own: Any) -> None:
    """Publish those who fit nowhere: every column as its root."""
    slots, waiting, _, table, _, _, _, _, room, out, _, _, state = own
    low, high = room[14][0], room[14][1]
    for column in range(len(low)):
        low[column], high[column] = -np.inf, np.inf
    made = state[MADE]
    identity = state[IDENTITY]
    state[IDENTITY] += 1
    _show(low, high, identity, out, state)
    while waiting[3][outliers] > 0:
        slot = np.int64(waiting[4][outliers])
        _remove(slot, slots, waiting, table, state)
        _tell(slots[0][slot], made, out, state)
        _free(slot, slots, state)
