"""Promises on the records of a cluster: people and values are counted, each person once for each value, and every promise is checked.

What is counted with is one tuple, ``tests``. Its first eight parts are those of ``mondrian_promises``: the tally (people, then distinct values of
each sensitive column), the layout (where a column's values begin in the histogram, and its pairs in the stamps), the epoch in which each person and
each (person, value) pair was last counted (empty where nobody comes twice), the histogram, the values touched, their shares in the reference, the
promises that are checked there, and the state. Then come the distances that are checked here (kind, column, limit), for each sensitive column its
number of values, leaves and levels and where its nodes begin, the nodes by level and leaf, and room for two lines of values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel
from sfumato.core.kernels.mondrian import EPOCH
from sfumato.core.kernels.mondrian_promises import GUARD, clear, kept

ORDERED_DISTANCE, HIERARCHICAL_DISTANCE = 5, 6


@inner_kernel
def forget(tests: Any) -> None:
    """Count from nothing again."""
    tally, layout, stamps, histogram, touched, reference, promises, state, _, _, _, _ = tests
    clear((tally, layout, stamps, histogram, touched, reference, promises, state))


@inner_kernel
def count(persons: Any, pairs: Any, values: Any, order: Any, first: Any, last: Any, tests: Any) -> None:
    """Count a stretch of the order on top of what is counted already."""
    tally, layout, stamps, histogram, touched, _, _, state, _, _, _, _ = tests
    people = len(stamps) > 0
    if tally[0] == 0:
        state[EPOCH] += 1
    epoch = state[EPOCH]
    for place in range(first, last):
        row = order[place]
        if not people:
            tally[0] += 1
        elif stamps[persons[row]] != epoch:
            stamps[persons[row]] = epoch
            tally[0] += 1
        for column in range(len(layout)):
            if people:
                pair = layout[column, 1] + pairs[row, column]
                if stamps[pair] == epoch:
                    continue
                stamps[pair] = epoch
            value = layout[column, 0] + values[row, column]
            if histogram[value] == 0:
                touched[layout[column, 0] + tally[1 + column]] = value
                tally[1 + column] += 1
            histogram[value] += 1


@inner_kernel
def all_kept(tests: Any) -> Any:
    """Return whether every promise holds for what has been counted."""
    tally, layout, stamps, histogram, touched, reference, promises, state, far, trees, nodes, room = tests
    if not kept((tally, layout, stamps, histogram, touched, reference, promises, state)):
        return False
    for test in range(len(far)):
        column = np.int64(far[test, 1])
        begins = layout[column, 0]
        number = trees[column, 0]
        total = np.int64(0)
        for place in range(begins, begins + tally[1 + column]):
            total += histogram[touched[place]]
        if total == 0:
            return False
        if far[test, 0] == ORDERED_DISTANCE:
            distance = _ordered(histogram, reference, begins, number, total)
        else:
            distance = _hierarchical(histogram, reference, begins, number, total, trees[column, 1], trees[column, 2], trees[column, 3], nodes, room)
        if distance > far[test, 2] + GUARD:
            return False
    return True


@inner_kernel
def _ordered(histogram: Any, reference: Any, begins: Any, number: Any, total: Any) -> Any:
    """Return the distance where values stand in a row, one step apart, and the whole row is 1 long."""
    present, own, table, distance = np.int64(0), 0.0, 0.0, 0.0
    for value in range(begins, begins + number):
        if reference[value] > 0.0:
            present += 1
            own += histogram[value] / total
            table += reference[value]
            distance += abs(own - table)
    return distance / (present - 1) if present > 1 else 0.0


@inner_kernel
def _hierarchical(
    histogram: Any, reference: Any, begins: Any, number: Any, total: Any, leaves: Any, height: Any, first_node: Any, nodes: Any, room: Any
) -> Any:
    """Return the distance where two values are as far apart as the lowest node that holds both is high; the root is 1 high."""
    children, parents = room[0], room[1]
    for leaf in range(leaves):
        children[leaf] = histogram[begins + leaf] / total - reference[begins + leaf] if leaf < number else 0.0
    distance = 0.0
    for level in range(1, height + 1):
        below = first_node + (level - 1) * leaves
        above = below + leaves
        child, parent = np.int64(-1), np.int64(-1)
        too_much, too_little = 0.0, 0.0
        for leaf in range(leaves):
            if nodes[above + leaf] != parent:
                if parent >= 0:
                    distance += min(too_much, too_little) * level / height
                    parents[parent] = too_much - too_little
                parent, too_much, too_little = nodes[above + leaf], 0.0, 0.0
            if nodes[below + leaf] != child:
                child = nodes[below + leaf]
                too_much += max(0.0, children[child])
                too_little += max(0.0, -children[child])
        if level == height:
            # missing and unknown values hang below the root only
            for value in range(leaves, number):
                excess = histogram[begins + value] / total - reference[begins + value]
                too_much += max(0.0, excess)
                too_little += max(0.0, -excess)
        distance += min(too_much, too_little) * level / height
        if parent >= 0:
            parents[parent] = too_much - too_little
        children, parents = parents, children
    return distance
