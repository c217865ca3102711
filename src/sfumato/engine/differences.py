"""Totals beside each other: who subtracts the sum of some people from that of others learns of those in whom they differ.

Sums, means and counts of groups are told of k people each. Any of them can be added up and subtracted from others: what is left must be
nobody's, or that of k people again. Of two kinds of groups the smallest such difference is a cut: groups are the nodes of a graph, rows that
are in a group of each kind the edges between these, and rows that are in one of one kind only lead to the ground. Whoever adds up some
groups of one kind and subtracts some of the other is left with the rows on the edges between these groups and all others. A row that adds another
number to one total than to the other is left wherever one of its groups is. Of more kinds the smallest difference is hard to find, and it is shown
instead that none can be small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.kernels.grouping import group_columns

_MOST_CUT, _MOST_SOLVED = 400, 2000
_NOTHING = 1e-9
Groups = NDArray[np.int64]


def few_people(kinds: Sequence[Groups], people: NDArray[np.int32], least: int, layers: Sequence[Groups] | None = None) -> str | None:
    """Return of how few people something follows from the totals of groups of some kinds, in words; None where they are enough.

    ``kinds`` have the group of each row, -1 where it is in none; ``layers`` say which of its values it adds there, where it has several.

    >>> wards, everybody = np.array([0, 0, 0, 1, 1, -1]), np.zeros(6, np.int64)
    >>> few_people([wards, everybody], np.arange(6, dtype=np.int32), 2)
    '1 person'
    """
    told = [place for place, kind in enumerate(kinds) if (kind >= 0).any()]
    if not told:
        return None
    rows = np.flatnonzero(np.logical_or.reduce([kinds[place] >= 0 for place in told]))
    groups, people = [kinds[place][rows] for place in told], people[rows]
    added = [layers[place][rows] if layers is not None else np.zeros(len(rows), np.int64) for place in told]
    if len(told) > 2 or sum(len(np.unique(kind)) for kind in groups) > _MOST_CUT:
        may = may_tell_of_few(*_value_by_value(groups, added, people), least)
        return _unproven(least) if may else None
    if len(told) == 1:
        return _in_words(smallest_group(groups[0], people), least)
    found = _smallest_difference(groups[0], groups[1], people, added[0] != added[1])
    if found is None or found[0] >= least:
        return None
    # people who have rows elsewhere too count in part: the difference that was found may be of more, and another one of fewer
    return _in_words(found[1], least) or _unproven(least)


def few_in_common(kinds: Sequence[Groups], people: NDArray[np.int32], least: int) -> str | None:
    """Return of how few people groups of several kinds that show their values in any order tell which are theirs, in words; None where of none.

    A value that overlapping groups show is that of somebody whom they have in common; one that only one of them shows, of somebody else. A group that
    lies within others tells no more than it does alone.

    >>> wards, sexes = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 0, 1, 1])
    >>> few_in_common([wards, sexes], np.arange(6, dtype=np.int32), 2)
    '1 person'
    """
    together = in_common(kinds)
    return _in_words(smallest_group(together, people), least) if (together >= 0).any() else None


def few_apart(one: Groups, other: Groups, people: NDArray[np.int32], least: int) -> str | None:
    """Return by how few people a group of one kind differs from one of another that it overlaps, in words; None where by nobody or by enough.

    >>> wards, everybody = np.array([0, 0, 0, 1, 1, -1]), np.zeros(6, np.int64)
    >>> few_apart(wards, everybody, np.arange(6, dtype=np.int32), 4)
    '3 people'
    """
    both = np.flatnonzero((one >= 0) & (other >= 0))
    if not len(both):
        return None
    cells, firsts = _alike(one[both], other[both])
    left, right = one[both][firsts], other[both][firsts]
    rows = [_sizes(one)[left], _sizes(other)[right], np.bincount(cells)]
    counted = [_people_in(one, people)[left], _people_in(other, people)[right], _people_in(cells.astype(np.int64), people[both])]
    differ = rows[0] + rows[1] > 2 * rows[2]
    # somebody with rows in both and others in one of them is somebody in whom they differ
    apart = np.maximum(1, counted[0] + counted[1] - 2 * counted[2])[differ]
    return _in_words(int(apart.min()) if len(apart) else None, least)


def in_common(kinds: Sequence[Groups]) -> Groups:
    """Return which rows are in the same groups of all kinds, or in none of some; -1 for rows that are in no group, or where these are a whole one.

    >>> in_common([np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 0, 1, 1])]).tolist()
    [-1, -1, -1, 1, -1, -1]
    """
    rows = np.flatnonzero(np.logical_or.reduce([kind >= 0 for kind in kinds]))
    together = np.full(len(kinds[0]), -1, np.int64)
    if not len(rows):
        return together
    groups = [kind[rows] for kind in kinds]
    cells, firsts = group_columns([kind + 1 for kind in groups], [int(kind.max()) + 2 for kind in groups])
    cell_sizes = np.bincount(cells, minlength=len(firsts))
    alone = np.zeros(len(firsts), bool)
    for kind in groups:
        sizes = np.append(np.bincount(kind[kind >= 0], minlength=int(kind.max()) + 1), 0)
        alone |= sizes[kind[firsts]] == cell_sizes
    together[rows] = np.where(alone[cells], -1, cells)
    return together


def _unproven(least: int) -> str:
    return f"fewer than {least} people, or it cannot be shown that they do not"


def _in_words(number: int | None, least: int) -> str | None:
    if number is None or number >= least:
        return None
    return "1 person" if number == 1 else f"{number} people"


def _value_by_value(kinds: Sequence[Groups], layers: Sequence[Groups], people: NDArray[np.int32]) -> tuple[list[Groups], NDArray[np.int32]]:
    """Return the group of every value, and whose it is, where rows have several."""
    numbers = range(max(int(layer.max()) for layer in layers) + 1)
    spread = [np.concatenate([np.where(layer == number, kind, -1) for number in numbers]) for kind, layer in zip(kinds, layers, strict=True)]
    told = np.logical_or.reduce([kind >= 0 for kind in spread])
    return [kind[told] for kind in spread], np.tile(people, len(numbers))[told]


def smallest_group(groups: Groups, people: NDArray[np.int32]) -> int:
    """Return how many people the smallest group has."""
    rows = np.flatnonzero(groups >= 0)
    _, member = _alike(groups[rows], people[rows])
    _, sizes = np.unique(groups[rows][member], return_counts=True)
    return int(sizes.min())


def _sizes(groups: Groups) -> NDArray[np.int64]:
    """Return how many rows each group has."""
    return np.bincount(groups[groups >= 0], minlength=1)


def _people_in(groups: Groups, people: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many people each group has."""
    rows = np.flatnonzero(groups >= 0)
    _, member = _alike(groups[rows], people[rows])
    return np.bincount(groups[rows][member], minlength=1)


def may_tell_of_few(kinds: Sequence[Groups], people: NDArray[np.int32], least: int) -> bool:
    """Return whether the totals of all groups together might tell that of fewer people than may be told of.

    Rows that are in the same groups throughout are one unknown, and every total is an equation. What follows from the equations is a combination
    of them, and each of its coefficients is at most the root of the unknown's leverage, in units of the whole: the unknowns that a combination is
    made of have leverages of 1 or more together. Where no unknowns of few people have, nothing of few people follows.
    """
    atoms, firsts = group_columns([kind + 1 for kind in kinds], [int(kind.max()) + 2 for kind in kinds])
    _, member = _alike(atoms.astype(np.int64), people)
    # somebody with rows in several unknowns counts in part in each: they never seem to be more people than they are
    shares = 1 / np.bincount(people[member])[people[member]]
    weights = np.bincount(atoms[member], shares, minlength=len(firsts))
    places = [kind[firsts] for kind in kinds]
    told = np.logical_or.reduce([place >= 0 for place in places])
    leverage, weights = _leverage([place[told] for place in places]), weights[told]
    order = np.argsort(-leverage / weights, kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    parts = np.clip((least - 1 - before) / weights[order], 0, 1)
    return bool((leverage[order] * parts).sum() > 1 - _NOTHING)


def _leverage(places: Sequence[Groups]) -> NDArray[np.float64]:
    """Return the leverage of each unknown, by the group of each kind that it is in; 1, the most that there is, where groups are too many."""
    starts = np.cumsum([0, *(int(place.max()) + 1 for place in places)])
    size = int(starts[-1])
    if size > _MOST_SOLVED:
        return np.ones(len(places[0]))
    numbered = list(zip(starts[:-1], places, strict=True))
    pairs = [(one + first, other + second, (one >= 0) & (other >= 0)) for first, one in numbered for second, other in numbered]
    gram = np.zeros((size, size))
    for one, other, both in pairs:
        np.add.at(gram, (one[both], other[both]), 1.0)
    inverse = np.linalg.pinv(gram, rcond=_NOTHING, hermitian=True)
    found = np.zeros(len(places[0]))
    for one, other, both in pairs:
        found[both] += inverse[one[both], other[both]]
    return found


def fewest_people(one: Groups, other: Groups, people: NDArray[np.int32], apart: NDArray[np.bool_] | None = None) -> int | None:
    """Return how many people the smallest difference between groups of two kinds has, unions of them included; None where there is none.

    Rows that are ``apart`` add another number to one total than to the other. Somebody whose rows are on several edges counts in part on each, so
    that a cut never seems to have more people than it has.

    >>> wards, everybody = np.array([0, 0, 1, 1, -1]), np.zeros(5, np.int64)
    >>> fewest_people(wards, everybody, np.arange(5, dtype=np.int32))
    1
    """
    found = _smallest_difference(one, other, people, apart)
    return None if found is None else found[0]


def _smallest_difference(one: Groups, other: Groups, people: NDArray[np.int32], apart: NDArray[np.bool_] | None) -> tuple[int, int] | None:
    """Return how many people the smallest difference has at least, and how many the one has that was found; None where there is none."""
    rows = np.flatnonzero((one >= 0) | (other >= 0))
    if not len(rows):
        return None
    left, right, whose = one[rows] + 1, other[rows] + 1, people[rows]
    split = np.zeros(len(rows), np.int64) if apart is None else (apart[rows] & (left > 0) & (right > 0)).astype(np.int64)
    cells, firsts = group_columns([left, right, split], [int(left.max()) + 1, int(right.max()) + 1, 2])
    _, member = _alike(cells.astype(np.int64), whose)
    shares = 1 / np.bincount(whose[member])[whose[member]]
    weights = np.bincount(cells[member], shares, minlength=len(firsts)).astype(float)
    # the ground is node 0 for both kinds
    first, second = left[firsts], np.where(right[firsts] > 0, right[firsts] + int(left.max()), 0)
    # what is left of a row that is apart unless both of its groups stay with the ground: of the edges between the three, a cut has none or two
    halves = split[firsts] > 0
    weights[halves] /= 2
    ground = np.zeros(int(halves.sum()), np.int64)
    ends = np.concatenate([first, first[halves], ground]), np.concatenate([second, ground, second[halves]])
    cut = smallest_cut(*ends, np.concatenate([weights, weights[halves], weights[halves]]))
    if cut is None:
        return None
    weight, side = cut
    away, beyond, grounded = np.isin(first, side), np.isin(second, side), np.isin(0, side)
    remains = (away != beyond) | (halves & (away != grounded))
    return int(np.ceil(weight - _NOTHING)), len(np.unique(whose[remains[cells]]))


def smallest_cut(one: NDArray[np.int64], other: NDArray[np.int64], weights: NDArray[np.float64]) -> tuple[float, NDArray[np.int64]] | None:
    """Return the least weight of edges that part a connected graph, of those that a graph consists of, and the nodes of one part.

    None where no such graph has two nodes.

    Stoer and Wagner, "A simple min-cut algorithm" (1997).
    """
    nodes, places = np.unique(np.concatenate([one, other]), return_inverse=True)
    graph = np.zeros((len(nodes), len(nodes)))
    np.add.at(graph, (places[: len(one)], places[len(one) :]), weights)
    graph += graph.T
    np.fill_diagonal(graph, 0)
    cuts: list[tuple[float, list[int]]] = []
    joined = [[place] for place in range(len(nodes))]
    active = np.flatnonzero(graph.sum(axis=1) > 0)
    while len(active) > 1:
        order, tied = [active[0]], graph[active[0]].copy()
        rest = list(active[1:])
        while rest:
            place = int(np.argmax(tied[rest]))
            if tied[rest[place]] <= _NOTHING:
                # what is left has no edge to these: it is another graph
                break
            order.append(rest.pop(place))
            tied += graph[order[-1]]
        if len(order) == 1:
            active = active[active != order[0]]
            continue
        last, before = order[-1], order[-2]
        cuts.append((float(graph[last].sum()), list(joined[last])))
        joined[before] += joined[last]
        graph[before] += graph[last]
        graph[:, before] += graph[:, last]
        graph[before, before] = 0
        graph[last], graph[:, last] = 0, 0
        active = active[active != last]
    if not cuts:
        return None
    weight, places_of = min(cuts, key=lambda cut: cut[0])
    return weight, nodes[places_of]


def _alike(one: NDArray[np.int64], other: NDArray[np.int64] | NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return which rows are alike in two columns, and the first row of each kind."""
    return group_columns([one, other], [int(one.max(initial=0)) + 1, int(other.max(initial=0)) + 1])
