"""Searches with boxes within a range of levels.

A least level makes its nodes the leaves of the search. A greatest level cuts the table into its nodes first; a cell that cannot keep the
promises on its own is suppressed, within the limit of the policy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import Hierarchy, Level
from sfumato.core.impossible import refuse_the_impossible, too_many_suppressed
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.problem import Problem
from sfumato.core.recoding import Recoding, joined

Search = Callable[[Problem, Frequencies], Recoding]


def within_levels(search: Search, problem: Problem, frequencies: Frequencies) -> Recoding:
    """Run a search on nodes instead of leaves where a column has a least level, and cell by cell where one has a greatest."""
    heights = [hierarchy.height for hierarchy in problem.hierarchies]
    bounded = any(most < height for most, height in zip(problem.maximum_levels, heights, strict=True))
    if not any(problem.minimum_levels):
        return _by_cells(search, problem, frequencies) if bounded else search(problem, frequencies)
    ladders = [coarsened(h, level) for h, level in zip(problem.hierarchies, problem.minimum_levels, strict=True)]
    ranges = zip(ladders, problem.minimum_levels, problem.maximum_levels, heights, strict=True)
    coarse_problem = replace(
        problem,
        hierarchies=ladders,
        minimum_levels=[0] * len(heights),
        # what may reach the root still may, also where the root has become the only leaf and missing values stand beside it
        maximum_levels=[ladder.height if most == height else most - least for ladder, least, most, height in ranges],
    )
    coarse = np.stack(
        [
            node_codes(h, level)[column]
            for h, level, column in zip(problem.hierarchies, problem.minimum_levels, frequencies.combinations.T, strict=True)
        ],
        axis=1,
    )
    found = within_levels(search, coarse_problem, replace(frequencies, combinations=coarse))
    lows, highs = np.empty_like(found.lows), np.empty_like(found.highs)
    for place, (hierarchy, level) in enumerate(zip(problem.hierarchies, problem.minimum_levels, strict=True)):
        firsts, lasts = hierarchy.nodes(level)
        special = [hierarchy.missing, hierarchy.outside]
        lows[:, place] = np.append(firsts, special)[found.lows[:, place]]
        highs[:, place] = np.append(lasts, special)[found.highs[:, place]]
    return replace(found, lows=lows, highs=highs)


def node_codes(hierarchy: Hierarchy, level: int) -> NDArray[np.int32]:
    """Return the node of a level that each leaf code belongs to; missing and outside come after the last node."""
    groups = hierarchy.groups(level)
    number = int(groups.max(initial=-1)) + 1
    return np.append(groups, [number, number + 1]).astype(np.int32)


def coarsened(hierarchy: Hierarchy, level: int) -> Hierarchy:
    """Return the hierarchy whose leaves are the nodes of a level."""
    if level == 0:
        return hierarchy
    firsts, _ = hierarchy.nodes(level)
    levels = tuple(Level(np.searchsorted(firsts, upper.starts).astype(np.int32), upper.labels) for upper in hierarchy.levels[level:])
    values = hierarchy.values.take(pa.array(firsts))
    return Hierarchy(hierarchy.column, hierarchy.ordered, hierarchy.kind, values, levels or (Level(np.zeros(1, np.int32), (hierarchy.root,)),))


def _by_cells(search: Search, problem: Problem, frequencies: Frequencies) -> Recoding:
    """Search within each cell of the greatest levels."""
    columns, sizes = [], []
    for hierarchy, most, codes in zip(problem.hierarchies, problem.maximum_levels, frequencies.combinations.T, strict=True):
        whole = most == hierarchy.height
        columns.append(np.zeros(len(codes), np.int32) if whole else node_codes(hierarchy, most)[codes])
        sizes.append(1 if whole else int(columns[-1].max(initial=0)) + 1)
    cells, firsts = group_columns(columns, sizes)
    classes = frequencies.classes(cells)
    holds = np.ones(len(firsts), bool)
    for promise in problem.promises:
        holds &= promise.holds(classes)
    left_over = int(classes.rows[~holds].sum())
    if left_over > problem.suppressible or not holds.any():
        # no level helps where everybody in one class does not
        refuse_the_impossible(problem, frequencies)
        raise too_many_suppressed(problem, left_over, frequencies.rows)
    # what may be left out has been: cells do not share what is left of the limit
    free = replace(problem, maximum_levels=[hierarchy.height for hierarchy in problem.hierarchies], suppressible=0)
    members = [np.flatnonzero(cells == cell) for cell in np.flatnonzero(holds)]
    return joined(frequencies, ((own, search(free, frequencies.part(own))) for own in members))
