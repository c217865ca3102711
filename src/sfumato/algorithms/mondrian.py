"""Mondrian: cuts the table into ever smaller boxes as long as every box keeps the promises.

LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity" (2006). In its strict form equal combinations stay together. Here it
works on leaf codes, so that numbers and taxonomies are cut alike; the widest column (by the loss of what would be published, times its
weight) is cut first. Where the median cannot be the cut, the admissible cut nearest to it is; no admissible cut is missed. In its relaxed
form boxes may overlap: rows that are alike are dealt out to several by chance, so that no tie at the median hinders a cut.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from sfumato.algorithms import _any_promise, _relaxed, _relaxed_any_promise
from sfumato.algorithms._divide import divide
from sfumato.algorithms._kernel_arrays import counters, entry_rows, ladder_arrays, leaf_codes, promise_lines
from sfumato.algorithms._level_range import within_levels
from sfumato.algorithms._mondrian_window import partition_window
from sfumato.algorithms._points import are_known
from sfumato.algorithms._stragglers import stragglers
from sfumato.core.elsewhere import Elsewhere, Fragment
from sfumato.core.frequencies import Frequencies
from sfumato.core.impossible import refuse_the_impossible
from sfumato.core.interfaces import Progress
from sfumato.core.kernels import await_compiled
from sfumato.core.kernels import mondrian as kernel
from sfumato.core.kernels import mondrian_promises as by_promises
from sfumato.core.kernels.mondrian_sizes import partition_by_size
from sfumato.core.problem import Problem
from sfumato.core.recoding import Recoding, joined
from sfumato.core.settings import Settings
from sfumato.core.stream import Clusters, Points, StreamProblem
from sfumato.core.window_search import SearchedWindows

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
    relaxed: Annotated[
        bool,
        Field(description="boxes may overlap: rows that are alike may be published differently, so that every box is cut at its median row"),
    ] = False

    @field_validator("bounds")
    @classmethod
    def _built(cls, bounds: object) -> object:
        if bounds != "tight":
            what = "bounds other than tight are not built yet"
            raise PydanticCustomError("not_built", "{what}", {"what": what, "hint": "leave bounds out"})
        return bounds

    def search(self, problem: Problem, frequencies: Frequencies, progress: Progress) -> Recoding:
        """Return the boxes."""
        progress.stage("searching", frequencies.rows if self.relaxed else len(frequencies.counts))
        if self.relaxed and frequencies.subject is not None:
            raise AssertionError("a person's rows are not dealt out: the policy is refused")
        search = partial(within_levels, lambda part, counted: self._boxes(part, counted, progress))
        return _relaxed.in_order(search, problem, frequencies) if self.relaxed else search(problem, frequencies)

    def cluster(self, points: Points, problem: StreamProblem) -> Clusters | None:
        """Return the boxes of one window of a stream; they overlap only where nobody comes twice, for a person's rows are not dealt out."""
        deals = self.relaxed and len(np.unique(points.people)) == len(points)
        if deals or not are_known(problem.promises):
            return SearchedWindows(self if deals else self.strict()).cluster(points, problem)
        return partition_window(points, problem)

    def strict(self) -> Mondrian:
        """Return the search with which a relaxed one is compared."""
        return self.model_copy(update={"relaxed": False})

    @property
    def undivided(self) -> str | None:
        """Why its first cuts cannot be made elsewhere; None where they can."""
        return "a relaxed search deals out rows that are alike" if self.relaxed else None

    def divide(self, problem: Problem, table: Elsewhere, most: int, progress: Progress) -> list[Fragment]:
        """Make the first cuts where the frequencies are."""
        return divide(problem, table, most, _smallest(problem), progress)

    def _boxes(self, problem: Problem, frequencies: Frequencies, progress: Progress) -> Recoding:
        smallest = _smallest(problem)
        left_out = stragglers(problem, frequencies, smallest)
        if left_out.any():
            return self._of_the_others(problem, frequencies, left_out, progress)
        refuse_the_impossible(problem, frequencies)
        is_known = all(promise.compiled() is not None for promise in problem.promises)
        if self.relaxed:
            search = _relaxed.partition if is_known else _relaxed_any_promise.partition
        else:
            search = _partition if is_known else _any_promise.partition
        return search(problem, frequencies, smallest, progress)

    def _of_the_others(self, problem: Problem, frequencies: Frequencies, left_out: NDArray[np.bool_], progress: Progress) -> Recoding:
        """Return the boxes of all combinations but some."""
        members = np.flatnonzero(~left_out)
        rest = replace(problem, suppressible=0, refused=problem.refused + int(frequencies.combination_rows[left_out].sum()))
        return joined(frequencies, [(members, self._boxes(rest, frequencies.part(members), progress))])


def _partition(problem: Problem, frequencies: Frequencies, smallest: int, progress: Progress) -> Recoding:
    work = _Work(problem, frequencies, smallest)
    await_compiled()
    done = 0
    while work.open:
        work.step(done + _ROWS_A_STEP)
        progress.advance(work.done - done)
        done = work.done
    return work.recoding()


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
        table, pair_sizes = entry_rows(frequencies, sensitive)
        most = int(frequencies.counts.sum() // smallest) + 2
        self._state = np.array([1, 0, 0, 0], np.int64)
        self._class_of = np.empty(rows, np.int32)
        self._lows = np.empty((min(most, rows + 1), columns), np.int32)
        self._highs = np.empty_like(self._lows)
        stack = np.empty((min(most, rows) + 2, 2), np.int64)
        stack[0] = (0, rows)
        codes = leaf_codes(problem, frequencies)
        promises = promise_lines(problem, sensitive)
        counting: tuple[NDArray[Any], ...] = ()
        self._partition = partition_by_size
        if frequencies.subject is not None or any(promise[0] != by_promises.SIZE for promise in promises):
            self._partition = by_promises.partition_by_promises
            counting = (*counters(frequencies, sensitive, pair_sizes), np.array(promises, np.float64).reshape(-1, 4))
        self._arguments = (
            codes,
            table,
            *counting,
            *ladder_arrays(problem.hierarchies),
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
