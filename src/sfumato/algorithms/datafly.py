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
    combinations a step, at most as many steps as there are levels. Generalises more than needed: it never goes back.
    """

    def search(self, problem: Problem, frequencies: Frequencies, progress: Progress) -> Recoding:
        """Return the levels, and which combinations are left out."""
        levels = list(problem.minimum_levels)
        steps = sum(problem.maximum_levels) - sum(levels)
        progress.stage("searching", (steps + 1) * len(frequencies.combinations))
        codes = frequencies.combinations
        # what is one class now stays together: each step groups the classes of the last one, by one of their combinations
        classes, members = np.arange(len(codes), dtype=np.int32), codes
        while True:
            nodes = [_nodes(h, level)[column] for h, level, column in zip(problem.hierarchies, levels, members.T, strict=True)]
            groups, firsts = group_columns(list[NDArray[Any]](nodes), [int(column.max(initial=0)) + 1 for column in nodes])
            classes, members = groups[classes], members[firsts]
            class_of, left_over = _kept(problem, frequencies, classes, len(firsts))
            progress.advance(len(codes))
            if left_over <= problem.suppressible and (class_of >= 0).any():
                return _recoding(problem, codes, class_of, levels)
            column = _most_distinct(problem, nodes, levels)
            if column is None:
                refuse_the_impossible(problem, frequencies)
                raise too_many_suppressed(problem, left_over, frequencies.rows)
            levels[column] += 1


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


def _most_distinct(problem: Problem, nodes: list[NDArray[np.int32]], levels: list[int]) -> int | None:
    """Return the column with the most distinct values of those that can still be generalised."""
    values = [int(np.count_nonzero(np.bincount(column))) for column in nodes]
    distinct = [value if level < most else -1 for value, level, most in zip(values, levels, problem.maximum_levels, strict=True)]
    best = int(np.argmax(distinct))
    return best if distinct[best] >= 0 else None


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
        node = hierarchy.groups(level)[np.minimum(own, hierarchy.size - 1)]
        special = own >= hierarchy.size
        lows[:, place] = np.where(special, own, firsts[node])
        highs[:, place] = np.where(special, own, lasts[node])
    return Recoding("full_domain", class_of, lows, highs, tuple(levels))
