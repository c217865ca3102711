"""Relaxed partitioning with the fused kernel: boxes may overlap, and rows that are alike are dealt out to several of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms._kernel_arrays import counters, entry_rows, ladder_arrays, leaf_codes, promise_lines
from sfumato.core.dealing import Dealing
from sfumato.core.frequencies import Frequencies
from sfumato.core.interfaces import Progress
from sfumato.core.kernels import await_compiled
from sfumato.core.kernels import mondrian as kernel
from sfumato.core.kernels import mondrian_relaxed as relaxed
from sfumato.core.kernels.mondrian_promises import SIZE
from sfumato.core.problem import Problem
from sfumato.core.recoding import Recoding

_ROWS_A_STEP = 1 << 18


def partition(problem: Problem, frequencies: Frequencies, smallest: int, progress: Progress) -> Recoding:
    """Return the boxes and how many rows of each entry go to which; ``smallest`` is the fewest rows that a class can have."""
    work = _Work(problem, frequencies, smallest)
    await_compiled()
    done = 0
    while work.open:
        work.step(done + _ROWS_A_STEP)
        progress.advance(work.done - done)
        done = work.done
    return work.recoding()


def in_order(search: Callable[[Problem, Frequencies], Recoding], problem: Problem, frequencies: Frequencies) -> Recoding:
    """Search with combinations and entries in the order of their codes: of those that are tied the first are taken, whoever has counted them."""
    order = np.lexsort(tuple(reversed(frequencies.combinations.T)))
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    entries = np.lexsort((*reversed(list(frequencies.sensitive.values())), ranks[frequencies.combination]))
    found = search(
        problem,
        replace(
            frequencies,
            combinations=frequencies.combinations[order],
            combination=ranks[frequencies.combination][entries],
            counts=frequencies.counts[entries],
            sensitive={name: codes[entries] for name, codes in frequencies.sensitive.items()},
        ),
    )
    return replace(found, class_of=found.class_of[ranks], dealing=None if found.dealing is None else found.dealing.of_entries(entries))


def dealt_recoding(
    frequencies: Frequencies,
    dealt: tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]],
    lows: NDArray[np.int32],
    highs: NDArray[np.int32],
) -> Recoding:
    """Return the recoding of overlapping boxes from what was dealt: entries, classes and numbers of rows."""
    dealing = Dealing.of(*dealt)
    class_of = np.full(len(frequencies.combinations), -1, np.int32)
    class_of[frequencies.combination[dealing.entry]] = dealing.class_of
    return Recoding("boxes", class_of, lows, highs, dealing=dealing)


class _Work:
    """The kernel's arrays. Those that rows are parted in grow when they are full; no table row is ever parted."""

    def __init__(self, problem: Problem, frequencies: Frequencies, smallest: int) -> None:
        self._frequencies = frequencies
        entries, columns = len(frequencies.counts), frequencies.combinations.shape[1]
        sensitive = list(frequencies.sensitive)
        table, pair_sizes = entry_rows(frequencies, sensitive)
        lines = [line for line in promise_lines(problem, sensitive) if line[0] != SIZE]
        self._state = np.zeros(6, np.int64)
        self._state[kernel.OPEN] = 1
        self._codes = _longer(leaf_codes(problem, frequencies), 2 * entries)
        self._rows = _longer(table, 2 * entries)
        self._fixed = (
            *counters(frequencies, sensitive, pair_sizes),
            np.array(lines, np.float64).reshape(-1, 4),
            *ladder_arrays(problem.hierarchies),
            np.array(problem.weights, np.float64),
            smallest,
        )
        self._stack = np.empty((2 * entries + 2, 2), np.int64)
        self._stack[0] = (0, entries)
        self._dealt = np.empty((3, 2 * entries), np.int32)
        self._lows = np.empty((entries + 1, columns), np.int32)
        self._highs = np.empty_like(self._lows)

    @property
    def open(self) -> bool:
        return bool(self._state[kernel.OPEN] > 0)

    @property
    def done(self) -> int:
        return int(self._state[kernel.DONE])

    def step(self, until: int) -> None:
        relaxed.partition_relaxed(self._codes, self._rows, *self._fixed, self._stack, self._dealt, self._lows, self._highs, self._state, until)
        if self._state[relaxed.FULL]:
            self._grow()

    def _grow(self) -> None:
        self._codes, self._rows, self._dealt = (_longer(each, 2 * each.shape[1]) for each in (self._codes, self._rows, self._dealt))
        self._stack, self._lows, self._highs = (_longer(each.T, 2 * len(each)).T.copy() for each in (self._stack, self._lows, self._highs))

    def recoding(self) -> Recoding:
        number = int(self._state[kernel.CLASSES])
        entry, class_of, rows = self._dealt[:, : int(self._state[relaxed.DEALT])]
        return dealt_recoding(self._frequencies, (entry, class_of, rows), self._lows[:number].copy(), self._highs[:number].copy())


def _longer(lines: NDArray[Any], length: int) -> NDArray[Any]:
    """Return lines with room at their ends."""
    longer = np.zeros((lines.shape[0], length), lines.dtype)
    longer[:, : lines.shape[1]] = lines
    return longer
