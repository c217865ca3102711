"""Mondrian: cuts the table into ever smaller boxes as long as every box keeps the promises.

LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity" (2006), in its strict form: equal combinations stay together. Here it
works on leaf codes, so that numbers and taxonomies are cut alike; the widest column (by the loss of what would be published, times its
weight) is cut first. Where the median cannot be the cut, the admissible cut nearest to it is; no admissible cut is missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from sfumato.algorithms import _any_promise
from sfumato.algorithms._level_range import within_levels
from sfumato.algorithms._stragglers import stragglers
from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.impossible import refuse_the_impossible
from sfumato.core.interfaces import Progress
from sfumato.core.kernels import await_compiled
from sfumato.core.kernels import mondrian as kernel
from sfumato.core.kernels import mondrian_promises as by_promises
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.kernels.mondrian_sizes import partition_by_size
from sfumato.core.problem import Problem
from sfumato.core.recoding import Recoding
from sfumato.core.settings import Settings

_KINDS = {
    "size": by_promises.SIZE,
    "distinct": by_promises.DISTINCT,
    "entropy": by_promises.ENTROPY,
    "recursive": by_promises.RECURSIVE,
    "equal_distance": by_promises.EQUAL_DISTANCE,
}
_ROWS_A_STEP = 1 << 18


class Mondrian(Settings):
    """Local recoding by recursive cuts. Suppresses a row where a column's ``level.maximum`` forces it to, and within the limit a few stragglers.

    Stragglers are fewer rows than a class needs, for whose sake a tree column (a calendar, networks, a taxonomy) would be published as its root.

    Guarantee: every class keeps every promise. Cost: about rows x columns x depth; a million rows of eight columns in well under a second.
    Does not find the best partition: each cut is the best at its moment.
    """

    bounds: Annotated[
        Literal["tight", "cut"] | dict[Literal["round"], float],
        Field(description="tight: publish the smallest interval or lowest node that holds the class, which shows its true ends"),
    ] = "tight"

    @field_validator("bounds")
    @classmethod
    def _built(cls, bounds: object) -> object:
        if bounds != "tight":
            what = "bounds other than tight are not built yet"
            raise PydanticCustomError("not_built", "{what}", {"what": what, "hint": "leave bounds out"})
        return bounds

    def search(self, problem: Problem, frequencies: Frequencies, progress: Progress) -> Recoding:
        """Return the boxes."""
        progress.stage("searching", len(frequencies.counts))
        return within_levels(lambda part, counted: _boxes(part, counted, progress), problem, frequencies)


def _boxes(problem: Problem, frequencies: Frequencies, progress: Progress) -> Recoding:
    smallest = _smallest(problem)
    left_out = stragglers(problem, frequencies, smallest)
    if left_out.any():
        return _of_the_others(problem, frequencies, left_out, progress)
    refuse_the_impossible(problem, frequencies)
    if any(promise.compiled() is None for promise in problem.promises):
        return _any_promise.partition(problem, frequencies, smallest, progress)
    work = _Work(problem, frequencies, smallest)
    await_compiled()
    done = 0
    while work.open:
        work.step(done + _ROWS_A_STEP)
        progress.advance(work.done - done)
        done = work.done
    return work.recoding()


def _of_the_others(problem: Problem, frequencies: Frequencies, left_out: NDArray[np.bool_], progress: Progress) -> Recoding:
    """Return the boxes of all combinations but some."""
    numbers = np.where(left_out, -1, np.cumsum(~left_out) - 1).astype(np.int32)
    rows = int(frequencies.combination_rows[left_out].sum())
    rest = replace(problem, suppressible=0, refused=problem.refused + rows)
    found = _boxes(rest, frequencies.renumbered(numbers, frequencies.combinations[~left_out]), progress)
    class_of = np.full(len(left_out), -1, np.int32)
    class_of[~left_out] = found.class_of
    return replace(found, class_of=class_of)


def _smallest(problem: Problem) -> int:
    """Return the fewest rows that a class can have: no fewer than the people it must hold."""
    known = [promise.compiled() for promise in problem.promises]
    return max([1, *(int(how[1][0]) for how in known if how is not None and how[0] == "size")])


class _Work:
    """The kernel's arrays."""

    def __init__(self, problem: Problem, frequencies: Frequencies, smallest: int) -> None:
        self._frequencies = frequencies
        rows, columns = len(frequencies.counts), frequencies.combinations.shape[1]
        sensitive = list(frequencies.sensitive)
        table, pair_sizes = _rows(frequencies, sensitive)
        most = int(frequencies.counts.sum() // smallest) + 2
        self._state = np.array([1, 0, 0, 0], np.int64)
        self._class_of = np.empty(rows, np.int32)
        self._lows = np.empty((min(most, rows + 1), columns), np.int32)
        self._highs = np.empty_like(self._lows)
        stack = np.empty((min(most, rows) + 2, 2), np.int64)
        stack[0] = (0, rows)
        # two widths of codes, so that at most two variants of a kernel are ever compiled
        width = np.uint16 if max(h.size for h in problem.hierarchies) + 2 < 2**16 else np.int32
        codes = np.ascontiguousarray(frequencies.combinations[frequencies.combination].T.astype(width, copy=False))
        promises = _promises(problem, sensitive)
        counting: tuple[NDArray[Any], ...] = ()
        self._partition = partition_by_size
        if frequencies.subject is not None or any(promise[0] != by_promises.SIZE for promise in promises):
            self._partition = by_promises.partition_by_promises
            counting = (*_counters(frequencies, sensitive, pair_sizes), np.array(promises, np.float64).reshape(-1, 4))
        self._arguments = (
            codes,
            table,
            *counting,
            *_ladders(problem.hierarchies),
            np.array(problem.weights, np.float64),
            smallest,
            stack,
            self._class_of,
            self._lows,
            self._highs,
            self._state,
        )

    @property
    def open(self) -> bool:
        return bool(self._state[kernel.OPEN] > 0)

    @property
    def done(self) -> int:
        return int(self._state[kernel.DONE])

    def step(self, until: int) -> None:
        self._partition(*self._arguments, until)

    def recoding(self) -> Recoding:
        number = int(self._state[kernel.CLASSES])
        class_of = np.empty(len(self._frequencies.combinations), np.int32)
        class_of[self._frequencies.combination] = self._class_of
        return Recoding("boxes", class_of, self._lows[:number].copy(), self._highs[:number].copy())


def _rows(frequencies: Frequencies, sensitive: Sequence[str]) -> tuple[NDArray[np.int32], list[int]]:
    """Return the kernel's rows (number, count, values, pairs, person), and how many (person, value) pairs each sensitive column has."""
    subject = frequencies.subject
    lines = kernel.VALUES + len(sensitive) if subject is None else kernel.VALUES + 2 * len(sensitive) + 1
    table = np.zeros((lines, len(frequencies.counts)), np.int32)
    table[kernel.NUMBER] = np.arange(len(frequencies.counts))
    table[kernel.COUNT] = frequencies.counts
    sizes = []
    for place, name in enumerate(sensitive):
        table[kernel.VALUES + place] = frequencies.sensitive[name]
    if subject is not None:
        table[-1] = subject
        for place, name in enumerate(sensitive):
            spans = [int(subject.max(initial=0)) + 1, len(frequencies.references[name])]
            pairs, firsts = group_columns([subject, frequencies.sensitive[name]], spans)
            table[kernel.VALUES + len(sensitive) + place] = pairs
            sizes.append(len(firsts))
    return table, sizes or [0] * len(sensitive)


def _counters(frequencies: Frequencies, sensitive: Sequence[str], pair_sizes: Sequence[int]) -> tuple[NDArray[Any], ...]:
    """Return where values and pairs begin, stamps for people and pairs, counters of values, and the values' shares in the table."""
    people = int(frequencies.subject.max(initial=-1)) + 1 if frequencies.subject is not None else 0
    values = [len(frequencies.references[name]) for name in sensitive]
    shares = [frequencies.references[name] / max(1, frequencies.references[name].sum()) for name in sensitive]
    return (
        np.array([*zip(_offsets(values)[:-1], people + _offsets(pair_sizes)[:-1], strict=True)], np.int64).reshape(-1, 2),
        np.zeros(people + sum(pair_sizes), np.int32),
        np.zeros(sum(values), np.int64),
        np.zeros(sum(values), np.int32),
        np.concatenate(shares) if shares else np.empty(0, np.float64),
    )


def _promises(problem: Problem, sensitive: Sequence[str]) -> list[tuple[float, ...]]:
    lines = []
    for promise in problem.promises:
        known = promise.compiled()
        if known is None:
            raise AssertionError("promises that the kernel does not know go the slow way")
        target = sensitive.index(promise.reads[0]) if promise.reads else 0
        lines.append((_KINDS[known[0]], target, *known[1], 0.0, 0.0)[:4])
    return lines


def _ladders(hierarchies: Sequence[Hierarchy]) -> tuple[NDArray[Any], ...]:
    """Return the arrays by which the kernel knows the hierarchies."""
    positions = [h.positions if h.ordered else np.empty(0) for h in hierarchies]
    nodes, shares = [], []
    for hierarchy in hierarchies:
        levels = [] if hierarchy.ordered else [hierarchy.groups(level) for level in range(hierarchy.height + 1)]
        sizes = [np.bincount(groups)[groups] / hierarchy.size for groups in levels]
        nodes.append(np.concatenate(levels) if levels else np.empty(0, np.int32))
        shares.append(np.concatenate(sizes) if sizes else np.empty(0))
    lines = zip(hierarchies, _offsets([len(p) for p in positions]), _offsets([len(n) for n in nodes]), strict=False)
    return (
        np.array([(h.ordered, h.size, h.height, p, n) for h, p, n in lines], np.int64),
        np.concatenate(positions),
        np.concatenate(nodes).astype(np.int32),
        np.concatenate(shares),
    )


def _offsets(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
