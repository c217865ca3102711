"""Extremes and modes beside brackets: who may have the one value that is told of a group, and what it leaves open of the others.

The third largest of a group is nobody's in particular, unless brackets show that only one person can have it. As with totals, a reader is thought to
know which rows are whose. Those who may have what is told must be as many as may be told of; of a value that so many share they must be more, or each
of them has it. Where brackets show who all those beyond the largest are, it is a bound of all others, and must leave a tenth of each interval that it
cuts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.mask import Told
from sfumato.engine.brackets import NARROW, Numbers, Within

Rows = NDArray[np.bool_]
Groups = NDArray[np.int64]


def few_may_have(told: Told, within: Within, people: NDArray[np.int32]) -> int | None:
    """Return how few people of a group may have the value that is told of it, by what is shown of everybody's; None where they are enough.

    Where nobody of the group is left out by that it adds nothing to what is told anyway.

    >>> group, third = np.zeros(5, np.int64), np.array([False, False, True, False, False])
    >>> told = Told(frozenset(["pay"]), np.zeros(5, np.uint64), group - 1, 3, third, one_of=group, side=1)
    >>> pays, everybody, unlabelled = np.array([10.0, 50, 95, 130, 170]), np.arange(5, dtype=np.int32), group - 1
    >>> few_may_have(told, Within(pays, np.floor(pays / 40) * 40, np.floor(pays / 40) * 40 + 39, unlabelled), everybody)
    1
    >>> few_may_have(told, Within(pays, np.zeros(5), np.full(5, 200.0), unlabelled), everybody) is None
    True
    """
    rows = (told.about >= 0) & np.isin(told.about, told.about[told.known])
    if not rows.any():
        return None
    values = _values(told, within.numbers)
    may = np.isnan(values) | ((within.low <= values) & (values <= within.high))
    alike = _pairs(told.about, within.labels)
    may &= (within.labels < 0) | np.isin(alike, alike[told.known])
    who, everybody = _counted(told.about, rows & may, people), _counted(told.about, rows, people)
    # of a mode it is known that as many have it as may be told of
    few = (who < everybody) & (who < told.people + (told.side == 0))
    return int(who[few].min()) if few.any() else None


def is_cut_off(told: Told, within: Within, people: NDArray[np.int32]) -> bool:
    """Return whether the largest or smallest value that is told leaves less than a tenth of somebody's interval.

    It bounds those who are not beyond it, where intervals say who are; and those who reach it, where no more do than must.

    >>> group, third = np.zeros(5, np.int64), np.array([False, False, True, False, False])
    >>> told = Told(frozenset(["pay"]), np.zeros(5, np.uint64), group - 1, 3, third, one_of=group, side=1)
    >>> below, above, everybody = np.array([81.0, 80, 82, 130, 170]), np.array([10.0, 50, 118, 119, 119]), np.arange(5, dtype=np.int32)
    >>> [is_cut_off(told, Within(pays, pays // 40 * 40, pays // 40 * 40 + 39, group - 1), everybody) for pays in (below, above)]
    [True, True]
    """
    if told.side == 0:
        return False
    low, high, numbers = (within.low, within.high, within.numbers) if told.side > 0 else (-within.high, -within.low, -within.numbers)
    values, members = _values(told, numbers), _pairs(told.about, people)
    rows = (told.about >= 0) & ~np.isnan(values)
    beyond, reaching = rows & (low > values), rows & (high >= values)
    inside = rows & (low <= values) & (values <= high) & np.isfinite(high - low)
    narrow = NARROW * (high - low)
    bounded = inside & (_counted(told.about, beyond, people) >= told.people - 1)[told.about] & ~np.isin(members, members[beyond])
    raised = inside & (_counted(told.about, reaching, people) <= told.people)[told.about]
    return bool((values - low < narrow)[bounded & (values < high)].any() or (high - values < narrow)[raised & (low < values)].any())


def _values(told: Told, numbers: Numbers) -> Numbers:
    """Return for each row the value that is told of its group; NaN where nobody of it has one."""
    found = np.full(int(told.about.max(initial=-1)) + 2, np.nan)
    rows = told.known & (told.about >= 0)
    found[told.about[rows]] = numbers[rows]
    return found[told.about]


def _pairs(groups: Groups, others: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return a number for each pair of a group and something else, the same wherever both are."""
    return (groups + 1) * (int(others.max(initial=0)) + 2) + others + 1


def _counted(groups: Groups, rows: Rows, people: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many people each group has in some rows, and nobody behind the last one."""
    some = np.flatnonzero(rows)
    _, firsts = np.unique(_pairs(groups, people)[some], return_index=True)
    return np.bincount(groups[some][firsts], minlength=int(groups.max(initial=-1)) + 2)
