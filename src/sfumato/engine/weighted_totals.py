"""Totals to which people add their values with weights that a reader knows: pay beside pay times hours, or pay, bonus and what both are together.

Two sums of two people, one of them weighted, are two equations for two numbers. In general every total is an equation, its coefficients being the
weights, and what follows from all of them is a combination of them. Each of its coefficients is at most the root of the leverage of the number that
it belongs to, in units of the whole: where the leverages of no fewer than k people come to 1, no combination leaves so few. So it is in
``differences`` too, where all weights are 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Groups = NDArray[np.int64]
Numbers = NDArray[np.float64]
_MOST_SOLVED = 2000
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Weighted:
    """Totals of groups: the group of each row, -1 where it is in none, and with which weight each of its unknown numbers goes into the total."""

    groups: Groups
    weights: Mapping[str, Numbers]


def straight(columns: Mapping[str, Numbers], made: Numbers) -> Mapping[str, float] | None:
    """Return how often each column goes into what was made of all of them; None where it is no sum of multiples of them.

    Where a column has no number, such as a text by which cases are told apart, nothing of it is added.

    >>> pay, bonus = np.array([1.0, 2, 5, 4]), np.array([7.0, 1, 3, 2])
    >>> found = straight({"bonus": bonus, "pay": pay}, 2 * pay + bonus + 3)
    >>> {name: round(weight, 6) for name, weight in found.items()}
    {'bonus': 1.0, 'pay': 2.0}
    """
    given = np.stack([*(np.where(np.isfinite(values), values, 0.0) for values in columns.values()), np.ones(len(made))], axis=1)
    if len(made) <= given.shape[1]:
        return None
    sizes = np.abs(given).max(axis=0)
    found = np.linalg.lstsq(given / np.where(sizes > 0, sizes, 1), made, rcond=None)[0] / np.where(sizes > 0, sizes, 1)
    far = np.abs(given @ found - made).max(initial=0.0)
    exact = far <= 1e-7 * np.abs(made).max(initial=0.0)
    return dict(zip(columns, found[:-1].tolist(), strict=True)) if exact else None


def may_leave_few(totals: Sequence[Weighted], people: NDArray[np.int32], least: int) -> bool:
    """Return whether some totals together might tell of fewer people than may be told of, their weights being known.

    >>> pair, one, other = np.zeros(2, np.int64), np.ones(2), np.array([1.0, 2])
    >>> sums = [Weighted(pair, {"pay": one}), Weighted(pair, {"pay": other})]
    >>> may_leave_few(sums, np.arange(2, dtype=np.int32), 2), may_leave_few(sums[:1], np.arange(2, dtype=np.int32), 2)
    (True, False)
    """
    leverage = _leverage(totals)
    if leverage is None:
        return True
    of_person = np.sort(np.bincount(people, leverage))[::-1]
    return bool(of_person[: least - 1].sum() > 1 - _NOTHING)


def _leverage(totals: Sequence[Weighted]) -> Numbers | None:
    """Return the most that numbers of each row can make up of any combination of the totals; None where there are too many groups to tell."""
    names = sorted({name for each in totals for name in each.weights})
    starts = np.cumsum([0, *(int(each.groups.max()) + 1 for each in totals)])
    if starts[-1] > _MOST_SOLVED:
        return None
    rows = len(totals[0].groups)
    weights = np.zeros((len(totals), len(names), rows))
    for number, each in enumerate(totals):
        for name, given in each.weights.items():
            weights[number, names.index(name)] = np.where(each.groups >= 0, given, 0.0)
        # the unit of an equation does not change what follows from it, and squares of large numbers are more than a float holds
        weights[number] /= np.abs(weights[number]).max(initial=0.0) or 1.0
    places = [np.where(each.groups >= 0, each.groups + start, 0) for each, start in zip(totals, starts, strict=False)]
    gram = np.zeros((int(starts[-1]), int(starts[-1])))
    for one, first in enumerate(places):
        for other, second in enumerate(places):
            np.add.at(gram, (first, second), (weights[one] * weights[other]).sum(axis=0))
    # equations in their own units: which numbers they are of does not change what follows from them
    scale = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
    inverse = np.linalg.pinv(gram / np.outer(scale, scale), rcond=_NOTHING, hermitian=True) / np.outer(scale, scale)
    blocks = np.zeros((rows, len(names), len(names)))
    for one, first in enumerate(places):
        for other, second in enumerate(places):
            blocks += np.einsum("ur,vr,r->ruv", weights[one], weights[other], inverse[first, second])
    # of several numbers of one row a combination may take any, and no more than the largest share
    return np.linalg.eigvalsh((blocks + blocks.transpose(0, 2, 1)) / 2)[:, -1].clip(0)
