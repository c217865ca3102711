"""Mondrian's first cuts, made where the frequencies are: level by level, by counts of the values of one column a fragment.

The cuts are those of ``_any_promise``, which makes the same as the kernels. A level is two statements: the ends of all columns, and the counts of the
widest column of every fragment that does not fit; where that cannot be cut, further ones for the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms._any_promise import parts_of, width
from sfumato.algorithms._stragglers import few_of
from sfumato.core.elsewhere import Cut, Elsewhere, Fragment, Projection
from sfumato.core.impossible import refuse_the_impossible
from sfumato.core.interfaces import Progress
from sfumato.core.problem import Problem


def divide(problem: Problem, table: Elsewhere, most: int, smallest: int, progress: Progress) -> list[Fragment]:
    """Cut until every fragment has at most so many entries; return those that have more and cannot be cut."""
    _leave_out(problem, table, smallest)
    refuse_the_impossible(problem, table.everybody())
    whole: dict[int, Fragment] = {}
    progress.stage("cutting")
    while large := [each for each in table.fragments() if each.entries > most and each.number not in whole]:
        cuts = _cuts(problem, table, large, smallest)
        whole |= {each.number: each for each in large if each.number not in cuts}
        if cuts:
            table.cut(list(cuts.values()))
            progress.advance(len(cuts))
    return list(whole.values())


def _leave_out(problem: Problem, table: Elsewhere, smallest: int) -> None:
    """Leave stragglers out, column by column as ``_stragglers`` does."""
    budget = problem.suppressible
    for place in np.argsort([-weight for weight in problem.weights], kind="stable"):
        hierarchy = problem.hierarchies[place]
        while budget > 0 and not hierarchy.ordered:
            (seen,) = table.projections({0: int(place)})
            codes, rows = seen.frequencies.combinations[:, 0], seen.frequencies.combination_rows
            few = few_of(hierarchy, codes, rows, np.zeros(len(codes), bool), smallest)
            left_out = int(rows[few].sum())
            if not 0 < left_out <= budget:
                break
            parts = [_intervals(codes, np.flatnonzero(side)) for side in (~few, few)]
            table.cut([Cut(0, int(place), parts)], left_out=True)
            budget -= left_out


def _cuts(problem: Problem, table: Elsewhere, large: Sequence[Fragment], smallest: int) -> dict[int, Cut]:
    """Return how fragments are cut, each by its widest column that can be; those that cannot be cut are not among them."""
    tried = {each.number: _widest_first(problem, each) for each in large if each.rows >= 2 * smallest}
    found: dict[int, Cut] = {}
    while wanted := {number: places.pop(0) for number, places in tried.items() if places and number not in found}:
        for seen in table.projections(wanted):
            cut = _cut(problem, seen, wanted[seen.fragment], smallest)
            if cut is not None:
                found[seen.fragment] = cut
    return found


def _widest_first(problem: Problem, fragment: Fragment) -> list[int]:
    ends = zip(problem.hierarchies, problem.weights, fragment.lows, fragment.highs, strict=True)
    widths = np.array([weight * width(hierarchy, int(low), int(high)) for hierarchy, weight, low, high in ends])
    return [int(place) for place in np.argsort(-widths, kind="stable") if widths[place] > 0]


def _cut(problem: Problem, seen: Projection, place: int, smallest: int) -> Cut | None:
    one = replace(problem, hierarchies=[problem.hierarchies[place]], weights=[problem.weights[place]], minimum_levels=(), maximum_levels=())
    parts = parts_of(one, seen.frequencies, seen.entries, smallest)
    codes = seen.frequencies.combinations[:, 0]
    return Cut(seen.fragment, place, [_intervals(codes, seen.frequencies.combination[part]) for part in parts]) if parts else None


def _intervals(codes: NDArray[np.int32], members: NDArray[np.integer]) -> list[tuple[int, int]]:
    """Return some of the codes that there are as intervals in which no others lie."""
    order = np.argsort(codes)
    ranks = np.sort(np.argsort(order)[np.unique(members)])
    ends = [0, *(np.flatnonzero(np.diff(ranks) > 1) + 1).tolist(), len(ranks)]
    return [(int(codes[order[ranks[begin]]]), int(codes[order[ranks[end - 1]]])) for begin, end in pairwise(ends)]
