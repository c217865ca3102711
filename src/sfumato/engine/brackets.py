"""Brackets beside a total: who takes what most people have at least and at most from the total of all is left with bounds of the others.

Coarse values tell nobody's own. But forty of them that are known within ten leave four hundred for the one who is not shown, and where that one has
half a million it is as if it were told. Of any fewer than k people what they add together must stay open by a tenth of what was open of one of them.
Where a total lies counts too: what it is above the least that all could have, or below the most, is all that anybody can be above or below theirs.

How much is open is said by intervals themselves, where several views show some by what these have in common. Of any other label nobody can say from
its text how wide it is: there as little is taken for open of others as the numbers of the table that have the same labels are apart, and as much of
those whom it is about as the numbers of the whole column are. So what is refused may be harmless, and what passes is not told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.kernels.grouping import group_columns

NARROW = 0.1
Numbers = NDArray[np.float64]
Rows = NDArray[np.bool_]
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_INTERVAL = re.compile(rf"\[(?P<low>{_NUMBER}), (?P<high>{_NUMBER})[\])]|(?P<below><=? )(?P<top>{_NUMBER})|(?P<above>>=? )(?P<bottom>{_NUMBER})")


@dataclass(frozen=True, eq=False)
class Bracketed:
    """What a column of a view says of numbers, by rows of the source.

    ``codes`` say who are shown alike, -1 where nothing is shown; ``low`` and ``high`` are the bounds between which a label says that rows are, and
    ``stated`` are those where it is the numbers themselves of which it says so. Of rows ``by_chance`` nobody can say what is open.
    """

    codes: NDArray[np.int64]
    low: Numbers
    high: Numbers
    stated: Rows
    by_chance: Rows

    @classmethod
    def of_nothing(cls, rows: int) -> Bracketed:
        """Return what a column says that shows nothing."""
        nobody = np.zeros(rows, bool)
        return cls(np.full(rows, -1, np.int64), np.full(rows, -np.inf), np.full(rows, np.inf), nobody, nobody.copy())


@dataclass(frozen=True, eq=False)
class Within:
    """Numbers, and what is known of where they are: bounds, and elsewhere who have the same labels, -1 where nothing else is known."""

    numbers: Numbers
    low: Numbers
    high: Numbers
    labels: NDArray[np.int64]


def stated_bounds(labels: pa.Array) -> tuple[Numbers, Numbers]:
    """Return the bounds that intervals state, infinite where they have none on a side; NaN for what is no interval.

    >>> [bounds.tolist() for bounds in stated_bounds(pa.array(["[20, 29]", "[20, 30)", "< 18", ">= 65", "old"]))]
    [[20.0, 20.0, -inf, 65.0, nan], [29.0, 30.0, 18.0, inf, nan]]
    """
    low, high = np.full((2, len(labels)), np.nan)
    for place, label in enumerate(labels.to_pylist()):
        found = _INTERVAL.fullmatch(str(label))
        if found is not None:
            low[place] = float(found["low"] or found["bottom"] or -np.inf)
            high[place] = float(found["high"] or found["top"] or np.inf)
    return low, high


def opened(shown: Sequence[Bracketed], added: Numbers, parts: Numbers | None) -> tuple[Numbers, Numbers]:
    """Return how much is open of what each row adds to a total, beside what columns show: at least, and at most.

    ``added`` are the numbers of all rows: what a reader could believe has nothing to do with of which groups a total is told. ``parts`` say how often
    its number goes into what a row adds; None where that is made of it in another way, so that bounds say nothing of it.

    >>> low, high, stated = np.array([1.0, 1, -np.inf]), np.array([9.0, 9, np.inf]), np.array([True, True, False])
    >>> interval = Bracketed(np.array([0, 0, -1]), low, high, stated, np.zeros(3, bool))
    >>> [each.tolist() for each in opened([interval], np.array([2.0, 3, 50]), np.ones(3))]
    [[8.0, 8.0, inf], [8.0, 8.0, 48.0]]
    >>> [each.tolist() for each in opened([interval], np.array([1.0, 1, 1]), np.ones(3))]
    [[8.0, 8.0, inf], [8.0, 8.0, 0.0]]
    """
    spread = float(np.ptp(added[np.isfinite(added)])) if np.isfinite(added).any() else 0.0
    low, high, there, stated = _bounds(shown)
    widths = np.maximum(high - low, 0) * np.abs(1.0 if parts is None else parts)
    known = widths == 0
    if parts is None:
        stated, widths = stated & known, np.where(known, 0.0, np.inf)
    apart = np.add(*_within_labels([each.codes for each in shown], added))
    least = np.where(there, np.where(stated & np.isfinite(widths), widths, apart), np.inf)
    # what looks like an interval and holds the numbers may be one of something else: then a reader could believe either
    wide = np.where(np.isfinite(widths), widths, spread)
    return least, np.where(there, np.where(stated, wide, np.maximum(wide, spread)), spread)


def room(shown: Sequence[Bracketed], added: Numbers, numbers: Numbers, parts: Numbers | None) -> tuple[Numbers, Numbers]:
    """Return how far what each row adds to a total lies from the least and from the most that columns let it be; infinite where they say nothing.

    Of labels that state no bounds these are the least and the most that rows with the same labels add.

    >>> low, high, stated = np.array([0.0, 0, -np.inf]), np.array([9.0, 9, np.inf]), np.array([True, True, False])
    >>> interval = Bracketed(np.array([0, 0, -1]), low, high, stated, np.zeros(3, bool))
    >>> pays = np.array([0.0, 2, 50])
    >>> [each.tolist() for each in room([interval], pays, pays, np.ones(3))]
    [[0.0, 2.0, inf], [9.0, 7.0, inf]]
    """
    low, high, there, stated = _bounds(shown)
    below, above = _within_labels([each.codes for each in shown], added)
    if parts is not None:
        stated_below, stated_above = (numbers - low) * np.abs(parts), (high - numbers) * np.abs(parts)
        below = np.where(stated & np.isfinite(stated_below), stated_below, below)
        above = np.where(stated & np.isfinite(stated_above), stated_above, above)
    return np.where(there, np.maximum(below, 0.0), np.inf), np.where(there, np.maximum(above, 0.0), np.inf)


def within(shown: Sequence[Bracketed], numbers: Numbers, stating: bool) -> Within:
    """Return what columns say of where the number of each row is; on request what intervals state counts for no more than that labels are alike.

    >>> low, high, stated = np.array([0.0, 0, -np.inf]), np.array([9.0, 9, np.inf]), np.array([True, True, False])
    >>> interval = Bracketed(np.array([0, 0, -1]), low, high, stated, np.zeros(3, bool))
    >>> found = within([interval], np.array([1.0, 2, 50]), stating=True)
    >>> found.low.tolist(), found.labels.tolist(), within([interval], np.array([1.0, 2, 50]), stating=False).labels.tolist()
    ([0.0, 0.0, -inf], [-1, -1, -1], [0, 0, -1])
    """
    low, high, there, stated = _bounds(shown)
    stated &= stating
    labels, _ = _alike([each.codes for each in shown])
    return Within(numbers, np.where(stated, low, -np.inf), np.where(stated, high, np.inf), np.where(there & ~stated, labels, -1))


def is_at_an_edge(groups: NDArray[np.int64], rooms: Sequence[Numbers], open_before: Numbers, people: NDArray[np.int32]) -> bool:
    """Return whether the total of a group lies so near the least or the most that all could have that less than a tenth is open of one of them.

    >>> is_at_an_edge(np.zeros(3, np.int64), [np.zeros(3), np.full(3, 9.0)], np.full(3, 9.0), np.arange(3, dtype=np.int32))
    True
    >>> is_at_an_edge(np.zeros(3, np.int64), [np.full(3, 4.0), np.full(3, 5.0)], np.full(3, 9.0), np.arange(3, dtype=np.int32))
    False
    """
    rows = np.flatnonzero(groups >= 0)
    if not len(rows):
        return False
    member, some = group_columns([groups[rows], people[rows]], [int(groups.max()) + 1, int(people.max()) + 1])
    widest = np.zeros(int(groups.max()) + 1)
    np.maximum.at(widest, groups[rows][some], np.bincount(member, open_before[rows]))
    return any(bool((np.bincount(groups[rows], each[rows], minlength=len(widest)) < NARROW * widest).any()) for each in rooms)


def few_left(groups: NDArray[np.int64], open_of_others: Numbers, open_before: Numbers, people: NDArray[np.int32], least: int) -> int | None:
    """Return of how few people the total of a group leaves less than a tenth open, beside what is known of all others; None where of none.

    >>> widths, before = np.array([1.0, 1, 1, 1, np.inf]), np.array([1.0, 1, 1, 1, 500])
    >>> few_left(np.zeros(5, np.int64), widths, before, np.arange(5, dtype=np.int32), 2)
    1
    >>> few_left(np.zeros(12, np.int64), np.full(12, 10.0), np.full(12, 10.0), np.arange(12, dtype=np.int32), 12) is None
    True
    """
    rows = np.flatnonzero(groups >= 0)
    if not len(rows):
        return None
    member, some = group_columns([groups[rows], people[rows]], [int(groups.max()) + 1, int(people.max()) + 1])
    of_group = groups[rows][some]
    widths, before = (np.bincount(member, each[rows]) for each in (open_of_others, open_before))
    widest = np.zeros(int(groups.max()) + 1)
    np.maximum.at(widest, of_group, before)
    order = np.lexsort((-widths, of_group))
    starts = np.flatnonzero(np.diff(of_group[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    for few in range(1, least):
        beyond = order[rank >= few]
        left = np.bincount(of_group[beyond], widths[beyond], minlength=len(widest))
        if (left < NARROW * widest).any():
            return few
    return None


def _bounds(shown: Sequence[Bracketed]) -> tuple[Numbers, Numbers, Rows, Rows]:
    """Return the bounds that all columns leave of each row, the rows of which one says anything, and those of which all say it by bounds."""
    low, high = np.max([each.low for each in shown], axis=0), np.min([each.high for each in shown], axis=0)
    there = np.any([each.codes >= 0 for each in shown], axis=0)
    return low, high, there, there & np.all([(each.codes < 0) | each.stated for each in shown], axis=0)


def _within_labels(codes: Sequence[NDArray[np.int64]], added: Numbers) -> tuple[Numbers, Numbers]:
    """Return how far the number that each row adds is from the least and from the most of the rows which are shown alike in all columns."""
    alike, firsts = _alike(codes)
    low, high = np.full(len(firsts), np.inf), np.full(len(firsts), -np.inf)
    there = np.isfinite(added)
    np.minimum.at(low, alike[there], added[there])
    np.maximum.at(high, alike[there], added[there])
    below, above = np.zeros((2, len(added)))
    below[there], above[there] = (added - low[alike])[there], (high[alike] - added)[there]
    return below, above


def _alike(codes: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return which rows are shown alike in all columns, and the first row of each kind."""
    return group_columns([each + 1 for each in codes], [int(each.max(initial=-1)) + 2 for each in codes])
