"""Finding z: what each of a grid of thresholds would have published of the window, and which of them reaches the goal.

The share of people whose published attributes are shared by others does not grow steadily with z: a category that is let out only at a higher
threshold can tell people apart. So no bisection is made, and a threshold counts only if those up to twice as high reach the goal too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms._event_window import Kept
from sfumato.core.kernels.z_tuning import try_thresholds

_ALL_UP_TO, _FACTOR = 16, 1.2
_SECRET = np.uint64(0x2545F4914F6CDD1D)


@dataclass(frozen=True, eq=False)
class Trial:
    """Who shows what in the window, each once, in order of people, who are numbered from 0."""

    people: int
    person_of: NDArray[np.int32]
    path_of: NDArray[np.int32]
    rows: NDArray[np.int32]
    heights: NDArray[np.int32]
    nodes: int
    rest: bool
    generalise: bool

    @classmethod
    def of(cls, kept: Kept, rest: bool, generalise: bool) -> Trial:
        """Return what a window holds."""
        people, person = np.unique(kept.people, return_inverse=True)
        width = max(1, len(kept.rows))
        pairs = np.unique(person.astype(np.int64) * width + kept.paths)
        person_of, path_of = (pairs // width).astype(np.int32), (pairs % width).astype(np.int32)
        return cls(len(people), person_of, path_of, kept.rows, kept.heights.astype(np.int32), kept.nodes, rest, generalise)

    def shares(self, grid: NDArray[np.int64], k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return for each threshold the share of people who share what is published of them with ``k``, and of how many something is.

        Where nothing is published nobody can be told from others: the share is 1.
        """
        answers = np.zeros((len(grid), 2), np.int64)
        pairs, room = len(self.person_of), 1 << max(4, (2 * self.people).bit_length())
        try_thresholds(
            self.person_of, self.path_of, self.rows, self.heights, grid, k, self.rest, self.generalise, _SECRET,
            np.zeros(self.nodes, np.int32), np.full(self.nodes, -1, np.int64), np.empty(pairs, np.int32), np.empty(pairs, np.int32),
            np.zeros(self.people, np.uint64), np.zeros((room, 2), np.uint64), answers,
        )  # fmt: skip
        some = answers[:, 1]
        return np.where(some > 0, answers[:, 0] / np.maximum(some, 1), 1.0), some


def grid(low: int, high: int) -> NDArray[np.int64]:
    """Return thresholds to try, each of the small ones and further apart the larger they are.

    >>> grid(2, 20).tolist()
    [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 19, 20]
    """
    numbers, next_one = [], float(low)
    while next_one < high:
        numbers.append(int(next_one))
        next_one = max(next_one + 1, next_one * _FACTOR) if next_one >= _ALL_UP_TO else next_one + 1
    return np.unique([*numbers, high]).astype(np.int64)


def tuned(trial: Trial, z: int, is_search: bool, k: int, p: float, hysteresis: float, bounds: tuple[int, int], step: int) -> int:
    """Return the threshold for what comes next, within the bounds; an empty window changes nothing."""
    low, high = bounds
    if trial.people == 0:
        return z
    if not is_search:
        share = trial.shares(np.array([z]), k)[0][0]
        further = step if share < p else -step if share > p + hysteresis else 0
        return min(max(z + further, low), high)
    # above the number of people nothing is published at all
    tried = grid(low, max(low, min(high, trial.people + 1)))
    tried = np.unique(np.append(tried, min(z, tried[-1])))
    shares, _ = trial.shares(tried, k)
    now = shares[np.searchsorted(tried, min(z, tried[-1]))]
    if p <= now <= p + hysteresis:
        return z
    reached = shares >= p
    for place, lowest in enumerate(tried):
        if reached[place : np.searchsorted(tried, 2 * lowest, side="right")].all():
            return int(lowest)
    return high
