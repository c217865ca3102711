"""Stragglers: a few rows far from all others, for whose sake a whole tree column would be published as its root.

Where all rows but fewer than a class needs lie below one child of the lowest node that holds them, that node cannot be parted: the few could not
stand alone, and with them everybody else is called by it. Within the suppression limit they are left out first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.problem import Problem


def stragglers(problem: Problem, frequencies: Frequencies, smallest: int) -> NDArray[np.bool_]:
    """Return the combinations that hold a column up and may be left out; columns that matter more come first."""
    left_out = np.zeros(len(frequencies.combinations), bool)
    budget = problem.suppressible
    for place in np.argsort([-weight for weight in problem.weights], kind="stable"):
        hierarchy = problem.hierarchies[place]
        while budget > 0 and not hierarchy.ordered:
            few = few_of(hierarchy, frequencies.combinations[:, place], frequencies.combination_rows, left_out, smallest)
            rows = int(frequencies.combination_rows[few].sum())
            if not 0 < rows <= budget:
                break
            left_out |= few
            budget -= rows
    return left_out


def few_of(hierarchy: Hierarchy, codes: NDArray[np.int32], rows: NDArray[np.int64], left_out: NDArray[np.bool_], smallest: int) -> NDArray[np.bool_]:
    """Return the combinations beside the one child that has nearly all rows; none where it is not so."""
    here = np.flatnonzero(~left_out)
    children = _children(hierarchy, codes[here].astype(np.int64))
    counts = np.bincount(children, rows[here])
    largest = int(counts.argmax()) if len(counts) else 0
    few = np.zeros(len(codes), bool)
    if 0 < counts.sum() - counts[largest] < smallest <= counts[largest]:
        few[here[children != largest]] = True
    return few


def _children(hierarchy: Hierarchy, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the child of the lowest node that holds all codes to which each belongs; missing and outside hang below the root."""
    level = hierarchy.height
    if codes.max(initial=0) < hierarchy.size:
        level, _ = hierarchy.lowest_level(int(codes.min(initial=0)), int(codes.max(initial=0)))
    groups = hierarchy.groups(max(0, level - 1)).astype(np.int64)
    number = int(groups.max(initial=-1)) + 1
    return np.append(groups, [number, number + 1])[codes]
