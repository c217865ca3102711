"""Derived views: classes that are unions of another view's classes, so that whoever reads both learns no more than from the finer one.

Each class of the finer view is searched as if all its rows were alike, and what was left out there is left out here too: a class less
the classes it is made of would show those few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Attached, Progress
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.problem import Problem
from sfumato.core.recoding import Recoding, nothing_to_recode
from sfumato.engine.count import Counted, most_suppressed
from sfumato.engine.plan import Plan
from sfumato.errors import PromiseError


@dataclass(frozen=True, eq=False)
class Finer:
    """The view that another is derived from: what was counted there and which classes were made of it, as they are published."""

    name: str
    counted: Counted
    recoding: Recoding


def count_within(plan: Plan, counted: Counted, attached: Attached, finer: Finer) -> tuple[Counted, NDArray[np.int32]]:
    """Count the combinations anew, those of the finer view's classes apart; return for each the class it is in there, -1 where in none.

    A row with a value that suppresses it takes its whole class with it: in part, that class would show who is missing.
    """
    own, others = counted.count_plan.quasi_identifiers, finer.counted.count_plan.quasi_identifiers
    count_plan = replace(counted.count_plan, quasi_identifiers=[*own, *others], refused={})
    frequencies = plan.store.frequencies(attached, count_plan)
    every = frequencies.combinations
    units = _classes_of(every[:, len(own) :], [encoding.size for encoding in others], finer)
    for encoding, column in zip(own, every.T, strict=False):
        if encoding.column in counted.count_plan.refused:
            units[np.isin(units, units[column == counted.count_plan.refused[encoding.column]])] = -1
    left = np.unique(units[units >= 0])
    units = np.where(units >= 0, np.searchsorted(left, units), -1).astype(np.int32)
    told = replace(frequencies, combinations=every[:, : len(own)], ladders=counted.frequencies.ladders)
    return replace(counted, frequencies=told, count_plan=count_plan, every_combination=every, refused_rows=0), units


def _classes_of(codes: NDArray[np.int32], sizes: Sequence[int], finer: Finer) -> NDArray[np.int32]:
    """Return the class that combinations are in within the finer view, by the place of their codes among those counted there."""
    if finer.recoding.dealing is not None:
        raise AssertionError("classes that overlap have no unions: the policy is refused")
    known = finer.counted.every_combination
    both = np.concatenate([known, codes])
    groups, firsts = group_columns(list(both.T), list(sizes)) if len(sizes) else (np.zeros(len(both), np.int32), np.zeros(1, np.int32))
    of_group = np.full(len(firsts), -1, np.int32)
    of_group[groups[: len(known)]] = finer.recoding.class_of
    return of_group[groups[len(known) :]]


def search_within(plan: Plan, problem: Problem, counted: Counted, units: NDArray[np.int32], finer: Finer, progress: Progress) -> Recoding:
    """Search for classes that are unions of the finer view's."""
    frequencies = counted.frequencies
    inside = units >= 0
    gone = int(frequencies.combination_rows[~inside].sum())
    problem = replace(problem, suppressible=problem.suppressible - gone, refused=problem.refused + gone)
    if problem.suppressible < 0 or not inside.any():
        limit = most_suppressed(plan, counted.rows)
        raise PromiseError(
            f"more than {limit} rows would be left out: those that the view {finer.name} leaves out, and whole classes of it",
            code="derived-suppression",
            hint=f"a larger suppression_limit in views.{plan.view}, a smaller one in views.{finer.name}, or on_unknown: generalise",
        )
    if not problem.hierarchies:
        return replace(nothing_to_recode(frequencies), class_of=np.where(inside, 0, -1).astype(np.int32))
    lows, highs = _extents(frequencies.combinations, units, int(units.max()) + 1)
    found = plan.resolved.algorithm.search(problem, _as_units(frequencies, units, lows, highs, problem.hierarchies), progress)
    if found.levels is not None:
        # the nodes of a level must hold every unit whole
        least = [_least_level(ladder, *ends) for ladder, *ends in zip(problem.hierarchies, lows.T, highs.T, strict=True)]
        return _at_least(plan, problem, frequencies, inside, least, progress)
    if found.dealing is not None:
        raise AssertionError("what must stay together was parted: the policy is refused")
    class_of = np.append(found.class_of, np.int32(-1))[units]
    boxes = _extents(frequencies.combinations, class_of, found.number)
    _refuse_beyond_levels(plan, problem, *boxes)
    return Recoding("boxes", class_of, *boxes)


def _extents(codes: NDArray[np.int32], groups: NDArray[np.int32], number: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the smallest and the largest code of each group in each column; -1 is in no group."""
    lows = np.full((number, codes.shape[1]), np.iinfo(np.int32).max, np.int32)
    highs = np.full((number, codes.shape[1]), -1, np.int32)
    inside = groups >= 0
    for place, column in enumerate(codes.T):
        np.minimum.at(lows[:, place], groups[inside], column[inside])
        np.maximum.at(highs[:, place], groups[inside], column[inside])
    return lows, highs


def _as_units(
    frequencies: Frequencies, units: NDArray[np.int32], lows: NDArray[np.int32], highs: NDArray[np.int32], ladders: Sequence[Hierarchy]
) -> Frequencies:
    """Return the frequencies of units: each has one combination, in an ordered column the middle of its own, so that no search can part it."""
    middles = np.empty_like(lows)
    for place, ladder in enumerate(ladders):
        middle = (lows[:, place] + highs[:, place]) // 2 if ladder.ordered else lows[:, place]
        # what is missing somewhere is published like what is missing
        middles[:, place] = np.where(highs[:, place] >= ladder.size, highs[:, place], middle)
    return frequencies.renumbered(units, middles)


def _least_level(ladder: Hierarchy, lows: NDArray[np.int32], highs: NDArray[np.int32]) -> int:
    """Return the lowest level at which every interval of codes lies within one node."""
    apart = lows != highs
    if (highs[apart] >= ladder.size).any():
        return ladder.height
    return next(
        level
        for level in range(ladder.height + 1)
        if level == ladder.height or np.array_equal(ladder.groups(level)[lows[apart]], ladder.groups(level)[highs[apart]])
    )


def _at_least(plan: Plan, problem: Problem, frequencies: Frequencies, inside: NDArray[np.bool_], least: list[int], progress: Progress) -> Recoding:
    """Search whole levels from those on that hold every unit; what the finer view leaves out is no part of it."""
    levels = [max(pair) for pair in zip(problem.minimum_levels, least, strict=True)]
    _refuse_levels(plan, [most < level for most, level in zip(problem.maximum_levels, levels, strict=True)])
    members = np.flatnonzero(inside)
    part = frequencies.part(members)
    found = plan.resolved.algorithm.search(replace(problem, minimum_levels=levels), part, progress)
    class_of = np.full(len(inside), -1, np.int32)
    class_of[members] = found.class_of
    return replace(found, class_of=class_of)


def _refuse_beyond_levels(plan: Plan, problem: Problem, lows: NDArray[np.int32], highs: NDArray[np.int32]) -> None:
    """Refuse classes that go beyond the greatest level of a column: the units they are made of do."""
    ladders = zip(problem.hierarchies, problem.maximum_levels, lows.T, highs.T, strict=True)
    _refuse_levels(plan, [_least_level(ladder, low, high) > most for ladder, most, low, high in ladders])


def _refuse_levels(plan: Plan, beyond: Sequence[bool]) -> None:
    names = [name for name, is_beyond in zip(plan.quasi_identifiers, beyond, strict=True) if is_beyond]
    if names:
        raise PromiseError(
            f"unions of the other view's classes go beyond the greatest level of {', '.join(names)}",
            code="derived-level",
            hint=f"leave the maximum out in views.{plan.view}, or give the other view the same one",
        )
