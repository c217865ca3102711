"""Brackets beside a total: who takes what most people have at least and at most from the total of all is left with bounds of the others.

Coarse values tell nobody's own. But forty of them that are known within ten leave four hundred for the one who is not shown, and where that one has
half a million it is as if it were told. What is left must not be narrower than a tenth of what was open before: of the widths of those people's own
brackets, or of the range of the whole column where nothing is shown of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.hierarchy import interval_ends
from sfumato.core.number_columns import numbers_of

NARROW = 0.1
Numbers = NDArray[np.float64]


def widths_of(labels: pa.Array, codes: NDArray[np.int32], originals: Numbers) -> Numbers:
    """Return how wide the bracket is in which each number is known by the label that stands for it; infinite where nothing says so.

    An interval says it itself. Of other labels it is how far apart the numbers are that have them, and at least as in most brackets: one in which
    there happen to be few is no narrower. Labels each of which stands for one number are no brackets.

    >>> labels, codes = pa.array(["1**", "2**", "x"]), np.array([0, 0, 1, 1, 2], np.int32)
    >>> widths_of(labels, codes, np.array([100.0, 190, 200, 210, 999])).tolist()
    [90.0, 90.0, 50.0, 50.0, 50.0]
    """
    there = (codes >= 0) & np.isfinite(originals)
    low, high = np.full(len(labels), np.inf), np.full(len(labels), -np.inf)
    np.minimum.at(low, codes[there], originals[there])
    np.maximum.at(high, codes[there], originals[there])
    apart = np.where(high > low, high - low, np.nan)
    typical = float(np.median(apart[~np.isnan(apart)])) if (~np.isnan(apart)).any() else np.inf
    ends = [interval_ends(str(label)) or (None, None) for label in labels.to_pylist()]
    said = numbers_of(pa.array([last for _, last in ends], pa.string())) - numbers_of(pa.array([first for first, _ in ends], pa.string()))
    found = np.append(np.where(np.isnan(said), np.fmax(apart, typical), said), np.inf)
    return np.where(there, found[codes], np.inf)


def few_left(groups: NDArray[np.int64], widths: Numbers, people: NDArray[np.int32], least: int, spread: float) -> int | None:
    """Return of how few people the total of a group and the brackets of all others leave less than a tenth open; None where of none.

    ``widths`` has the bracket of each row, 0 where its value is known; ``spread`` is how far apart the values of the column are.

    >>> few_left(np.zeros(5, np.int64), np.array([1.0, 1, 1, 1, np.inf]), np.arange(5, dtype=np.int32), 2, 500.0)
    1
    """
    rows = np.flatnonzero(groups >= 0)
    pairs, member = np.unique(np.stack([groups[rows], people[rows]], axis=1), axis=0, return_inverse=True)
    of_person = np.bincount(member.ravel(), widths[rows], minlength=len(pairs))
    open_before = np.bincount(member.ravel(), np.minimum(widths[rows], spread), minlength=len(pairs))
    order = np.lexsort((-of_person, pairs[:, 0]))
    starts = np.flatnonzero(np.diff(pairs[order, 0], prepend=-1))
    found: list[int] = []
    for widest in np.split(order, starts[1:]):
        for few in range(1, min(least, len(widest))):
            left = of_person[widest[few:]].sum()
            if left < NARROW * open_before[widest[:few]].sum():
                found.append(few)
                break
    return min(found, default=None)
