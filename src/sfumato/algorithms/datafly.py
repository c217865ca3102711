"""Datafly: generalises whole columns, level by level, until few enough rows are left over to be suppressed.

Sweeney, "Guaranteeing anonymity when sharing medical data, the Datafly system" (1997), in the form of "Achieving k-anonymity privacy
protection using generalization and suppression" (2002): the column with the most distinct values is generalised by one level, everywhere at
once. Here any promise can be asked for, trees may be unbalanced (a leaf stays itself until its parent's level is reached), and what is left
over is suppressed only within the limit of the policy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.impossible import refuse_the_impossible, too_many_suppressed
from sfumato.core.interfaces import Progress
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.problem import Problem
from sfumato.core.recoding import Recoding
from sfumato.core.settings import Settings


class Datafly(Settings):
    """Full-domain recoding: one level a column, the same for all rows.

    Guarantee: every published class keeps every promise; no more rows are suppressed than the policy allows. Cost: one grouping of the
    combinations a step, at most as many steps as there are levels; few of them where the promises let it look ahead. Generalises more than
    needed: it never goes back.
    """

    def search(self, problem: Problem, frequencies: Frequencies, progress: Progress) -> Recoding:
        """Return the levels, and which combinations are left out."""
        codes = frequencies.combinations
        path = _path(problem, codes)
        # where a class that holds goes on to hold whatever joins it, a later step never leaves more rows over: the first step that will do
        # is found by halving
        halving = all(promise.monotone_when_grown for promise in problem.promises)
        progress.stage("searching", (len(path).bit_length() if halving else len(path)) * len(codes))
        # what is one class at a step that will not do stays together later: each step groups those classes, by one of their combinations
        classes, members = np.arange(len(codes), dtype=np.int32), codes
        found: Recoding | None = None
        low, high, left_over = 0, len(path) - 1, 0
        while low <= high:
            step = (low + high) // 2 if halving else low
            nodes = [_nodes(h, level)[column] for h, level, column in zip(problem.hierarchies, path[step], members.T, strict=True)]
            groups, firsts = group_columns(list[NDArray[Any]](nodes), [int(column.max(initial=0)) + 1 for column in nodes])
            class_of, left_over = _kept(problem, frequencies, groups[classes], len(firsts))
            progress.advance(len(codes))
            if left_over <= problem.suppressible and (class_of >= 0).any():
                found = _recoding(problem, codes, class_of, path[step])
                high = step - 1 if halving else -1
            else:
                classes, members = groups[classes], members[firsts]
                low = step + 1
        if found is None:
            refuse_the_impossible(problem, frequencies)
            raise too_many_suppressed(problem, left_over, frequencies.rows)
        return found


def _path(problem: Problem, codes: NDArray[Any]) -> list[list[int]]:
    """Return the levels of all columns, step by step: which column is next depends on how many distinct values each has, and on nothing else."""
    present = [np.unique(column) for column in codes.T]
    levels = list(problem.minimum_levels)
    path = [list(levels)]
    while (column := _most_distinct(problem, present, levels)) is not None:
        levels[column] += 1
        path.append(list(levels))
    return path


def _nodes(hierarchy: Hierarchy, level: int) -> NDArray[np.int32]:
    """Return the node of a level that each code belongs to; missing and outside are nodes of their own below the root."""
    if level == hierarchy.height:
        return np.zeros(hierarchy.size + 2, np.int32)
    groups = hierarchy.groups(level)
    number = int(groups.max(initial=-1)) + 1
    return np.append(groups, [number, number + 1]).astype(np.int32)


def _kept(problem: Problem, frequencies: Frequencies, class_of: NDArray[np.int32], number: int) -> tuple[NDArray[np.int32], int]:
    """Return the class of each combination, -1 where a promise is broken, and how many rows that are."""
    classes = frequencies.classes(class_of)
    holds = np.ones(number, bool)
    for promise in problem.promises:
        holds &= promise.holds(classes)
    renumbered = np.where(holds, np.cumsum(holds) - 1, -1).astype(np.int32)
    return renumbered[class_of], int(classes.rows[~holds].sum())


def _most_distinct(problem: Problem, present: list[NDArray[Any]], levels: list[int]) -> int | None:
    """Return the column with the most distinct values of those that can still be generalised."""
    best, most = None, -1
    for place, (hierarchy, leaves, level) in enumerate(zip(problem.hierarchies, present, levels, strict=True)):
        distinct = len(np.unique(_nodes(hierarchy, level)[leaves]))
        if level < problem.maximum_levels[place] and distinct > most:
            best, most = place, distinct
    return best


def _recoding(problem: Problem, codes: NDArray[Any], class_of: NDArray[np.int32], levels: list[int]) -> Recoding:
    number = int(class_of.max()) + 1
    first = np.empty(number, np.int64)
    kept = np.flatnonzero(class_of >= 0)
    first[class_of[kept]] = kept
    lows, highs = np.empty((number, codes.shape[1]), np.int32), np.empty((number, codes.shape[1]), np.int32)
    for place, (hierarchy, level) in enumerate(zip(problem.hierarchies, levels, strict=True)):
        own = codes[first, place].astype(np.int64)
        if level == hierarchy.height:
            # where nothing is missing or unknown the root may have a name of its own
            special = (codes[kept, place] >= hierarchy.size).any()
            lows[:, place], highs[:, place] = 0, hierarchy.outside if special else hierarchy.size - 1
            continue
        firsts, lasts = hierarchy.nodes(level)
        # what is missing or unknown stands for itself; there may be nothing else
        known = np.flatnonzero(own < hierarchy.size)
        node = hierarchy.groups(level)[own[known]]
        lows[:, place] = highs[:, place] = own
        lows[known, place], highs[known, place] = firsts[node], lasts[node]
    return Recoding("full_domain", class_of, lows, highs, tuple(levels))
