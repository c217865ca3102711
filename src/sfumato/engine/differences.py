"""Totals beside each other: who subtracts the sum of some people from that of others learns of those in whom they differ.

Sums, means and counts of groups are told of k people each. Any of them can be added up and subtracted from others: what is left must be
nobody's, or that of k people again. Of two kinds of groups the smallest such difference is a cut: groups are the nodes of a graph, rows that
are in a group of each kind the edges between these, and rows that are in one of one kind only lead to the ground. Whoever adds up some
groups of one kind and subtracts some of the other is left with the rows on the edges between these groups and all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.kernels.grouping import group_columns
from sfumato.core.mask import Told

_MOST = 4_000_000
_MOST_GROUPS = 400
_NOTHING = 1e-9
_Extremes = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class ToldInView:
    """What a column of a view tells of groups of rows of the source."""

    view: str
    column: str
    told: Told


def differences_of_few(totals: Sequence[ToldInView], people: NDArray[np.int32]) -> Iterator[tuple[ToldInView, ToldInView, int]]:
    """Yield the pairs of totals that differ by fewer people than may be told of, and how few that are at least."""
    for one, other in combinations(totals, 2):
        if one.told.of == other.told.of:
            few = fewest_people(one.told.groups, other.told.groups, people)
            if few is not None and few < max(one.told.people, other.told.people):
                yield one, other, few


def told_by_all(totals: Sequence[ToldInView], people: NDArray[np.int32]) -> int | None:
    """Return how many people the smallest set of rows has whose total follows from all totals together; None where that is enough of them.

    Rows that are in the same groups throughout are one unknown, and every total is an equation. An unknown can be solved for where its unit vector
    lies in the space of the equations, that is where its leverage is 1. More unknowns than can be solved in a moment are not tried.
    """
    kinds = [each.told.groups for each in totals]
    atoms, firsts = group_columns([kind + 1 for kind in kinds], [int(kind.max(initial=-1)) + 2 for kind in kinds])
    groups = [np.unique(kind[kind >= 0]) for kind in kinds]
    if len(firsts) * sum(map(len, groups)) > _MOST:
        return None
    matrix = np.concatenate([each[:, None] == kind[firsts][None, :] for each, kind in zip(groups, kinds, strict=True)]).astype(float)
    _, strengths, directions = np.linalg.svd(matrix, full_matrices=False)
    leverage = (directions[strengths > _NOTHING] ** 2).sum(axis=0)
    _, persons = _alike(atoms.astype(np.int64), people)
    sizes = np.bincount(atoms[persons], minlength=len(firsts))
    found = sizes[(leverage > 1 - _NOTHING) & (sizes < max(each.told.people for each in totals))]
    return int(found.min()) if len(found) else None


def fewest_people(one: NDArray[np.int64], other: NDArray[np.int64], people: NDArray[np.int32]) -> int | None:
    """Return how many people the smallest difference between groups of two kinds has, unions of them included; None where there is none.

    Somebody whose rows are on several edges counts in part on each, so that a cut never seems to have more people than it has. Of more groups
    than can be cut in a moment, only groups with each other, and with those that lie within them, are compared.

    >>> wards, everybody = np.array([0, 0, 1, 1, -1]), np.zeros(5, np.int64)
    >>> fewest_people(wards, everybody, np.arange(5, dtype=np.int32))
    1
    """
    rows = np.flatnonzero((one >= 0) | (other >= 0))
    if not len(rows):
        return None
    left, right, whose = one[rows] + 1, other[rows] + 1, people[rows]
    if len(np.unique(left)) + len(np.unique(right)) > _MOST_GROUPS:
        found = [*_beside(one, other, people), *_beside(other, one, people), *_beside_parts(one, other, people), *_beside_parts(other, one, people)]
        return min(found, default=None)
    cells, firsts = group_columns([left, right], [int(left.max()) + 1, int(right.max()) + 1])
    _, member = _alike(cells.astype(np.int64), whose)
    shares = 1 / np.bincount(whose[member])[whose[member]]
    weights = np.bincount(cells[member], shares, minlength=len(firsts)).astype(float)
    # the ground is node 0 for both kinds
    cut = smallest_cut(left[firsts], np.where(right[firsts] > 0, right[firsts] + int(left.max()), 0), weights)
    return None if cut is None else int(np.ceil(cut - _NOTHING))


def smallest_cut(one: NDArray[np.int64], other: NDArray[np.int64], weights: NDArray[np.float64]) -> float | None:
    """Return the least weight of edges that part a connected graph, of those that a graph consists of; None where none has two nodes.

    Stoer and Wagner, "A simple min-cut algorithm" (1997).
    """
    nodes, places = np.unique(np.concatenate([one, other]), return_inverse=True)
    graph = np.zeros((len(nodes), len(nodes)))
    np.add.at(graph, (places[: len(one)], places[len(one) :]), weights)
    graph += graph.T
    np.fill_diagonal(graph, 0)
    cuts = []
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
        cuts.append(float(graph[last].sum()))
        graph[before] += graph[last]
        graph[:, before] += graph[:, last]
        graph[before, before] = 0
        graph[last], graph[:, last] = 0, 0
        active = active[active != last]
    return min(cuts, default=None)


def left_beside_known(totals: NDArray[np.int64], known: NDArray[np.bool_], people: NDArray[np.int32]) -> int | None:
    """Return how many people the smallest group has without those whose own values are known; None where nobody is known, or everybody.

    >>> left_beside_known(np.array([0, 0, 0]), np.array([True, True, False]), np.arange(3, dtype=np.int32))
    1
    """
    return min(_beside_parts(totals, np.where(known, np.arange(len(known)), -1), people), default=None)


def _beside(one: NDArray[np.int64], other: NDArray[np.int64], people: NDArray[np.int32]) -> list[int]:
    """Return how many people each group has without those of a group of the other kind that shares rows with it; nobody is no difference."""
    rows = np.flatnonzero(one >= 0)
    mine, theirs, whose = one[rows], other[rows], people[rows]
    meetings, met = _alike(mine, theirs + 1)
    members, member = _alike(mine, whose)
    # somebody is within the other group whose rows here are all there
    least, most = _extremes(meetings, members, len(member))
    within = np.bincount(least[least == most], minlength=len(met))
    left = np.bincount(mine[member], minlength=int(mine.max(initial=0)) + 1)[mine[met]] - within
    return [int(number) for number in left[theirs[met] >= 0] if number]


def _beside_parts(whole: NDArray[np.int64], part: NDArray[np.int64], people: NDArray[np.int32]) -> list[int]:
    """Return how many people each group has without all groups of the other kind that lie within it; nobody is no difference."""
    rows = np.flatnonzero(part >= 0)
    least, most = _extremes(whole[rows], part[rows], int(part.max(initial=-1)) + 1)
    # the last entry is that of rows in no part
    within = np.append((least == most) & (most >= 0), False)
    has_parts = np.isin(whole, most[within[:-1]])
    left = np.flatnonzero((whole >= 0) & has_parts & ~within[part])
    _, firsts = _alike(whole[left], people[left])
    return [int(number) for number in np.bincount(whole[left][firsts]) if number]


def _alike(one: NDArray[np.int64], other: NDArray[np.int64] | NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return which rows are alike in two columns, and the first row of each kind."""
    return group_columns([one, other], [int(one.max(initial=0)) + 1, int(other.max(initial=0)) + 1])


def _extremes(values: NDArray[np.int64] | NDArray[np.int32], groups: NDArray[np.int64] | NDArray[np.int32], number: int) -> _Extremes:
    """Return the least and the greatest value of each group."""
    least, most = np.full(number, np.iinfo(np.int64).max), np.full(number, -1, np.int64)
    np.minimum.at(least, groups, values)
    np.maximum.at(most, groups, values)
    return least, most
