"""Numbers made of others by a straight line: who sees 12 times what was there, or what was there with one decimal, knows what was there.

The line is the one that most of the numbers are nearest to: least median of squares (Rousseeuw, "Least median of squares regression", 1984), here
with three fifths in the place of the half, among lines through pairs of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_TRIED, _LOOKED_AT, _MOST_DECIMALS = 200, 1000, 9
_FEWEST, _FEWEST_NEAR = 3, 10
_EXACT, _MOST_WHOLE = 1e-9, 1e15
_FINE, _FAR, _SHARE = 100, 40, 10
Numbers = NDArray[np.float64]
Rows = NDArray[np.bool_]


def on_a_line(originals: Numbers, made: Numbers, by_chance: bool = False) -> Rows:
    """Return which numbers follow from what was made of them, most of them being on one straight line; none where they are not.

    Numbers that are made the same of different ones do not say where a line is, and a tenth must be others; a line that tells originals only within
    a hundredth of their spread is none. So brackets and flags have no line. ``by_chance`` says that chance has moved what was made, so that a few may
    be on a line without telling anything. Cost: two sorts.

    >>> pays = np.array([1500.0, 1640, 1710, 2900, 9000])
    >>> on_a_line(pays, np.minimum(pays * 12, 100_000)).tolist()
    [True, True, True, True, False]
    >>> on_a_line(pays, np.floor(pays / 1000)).any()
    np.False_
    """
    found = np.zeros(len(originals), bool)
    there = np.flatnonzero(np.isfinite(originals) & np.isfinite(made))
    pairs = _telling(originals[there], made[there])
    if len(pairs) < max(_FEWEST, len(np.unique(originals[there])) / _SHARE):
        return found
    with np.errstate(over="ignore", invalid="ignore"):
        # numbers may be so far apart that no float says how far
        line = _Line.through_most(pairs)
        if line is not None and (within := line.within(pairs, by_chance)) is not None:
            found[there] = line.distances(originals[there], made[there]) <= within
    return found


@dataclass(frozen=True)
class _Line:
    slope: float
    start: float

    @classmethod
    def through_most(cls, pairs: Numbers) -> _Line | None:
        """Return the line that most points are nearest to; None where it would be level."""
        # the same points for the same table, whoever looks
        chance = np.random.default_rng(len(pairs))
        looked_at = pairs if len(pairs) <= _LOOKED_AT else pairs[chance.choice(len(pairs), _LOOKED_AT, replace=False)]
        ends = looked_at[chance.integers(0, len(looked_at), (_TRIED, 2))]
        ends = ends[ends[:, 0, 0] != ends[:, 1, 0]]
        slopes = (ends[:, 1, 1] - ends[:, 0, 1]) / (ends[:, 1, 0] - ends[:, 0, 0])
        tried = [cls(1.0, 0.0), *(cls(slope, y - slope * x) for slope, (x, y) in zip(slopes.tolist(), ends[:, 0].tolist(), strict=True) if slope)]
        best = min(tried, key=lambda line: line.of_most(looked_at))
        best = min([best, best.drawn_again(looked_at)], key=lambda line: line.of_most(looked_at))
        return best if best.slope and np.isfinite(best.slope) and np.isfinite(best.start) else None

    def drawn_again(self, pairs: Numbers) -> _Line:
        """Return the line of least squares through the points that are near: two rounded ones are not exactly on it."""
        near = pairs[self.distances(pairs[:, 0], pairs[:, 1]) <= 3 * self.of_most(pairs)]
        x, y = near[:, 0] - near[:, 0].mean(), near[:, 1] - near[:, 1].mean()
        if not (x @ x > 0):
            return self
        slope = float((x @ y) / (x @ x))
        return _Line(slope, float(near[:, 1].mean() - slope * near[:, 0].mean()))

    def distances(self, originals: Numbers, made: Numbers) -> Numbers:
        """Return how far from the line what was made of each number is."""
        return np.abs(made - self.slope * originals - self.start)

    def of_most(self, pairs: Numbers) -> float:
        """Return how far most points are at most: three fifths of them, and never fewer than make a line."""
        place = max(_FEWEST - 1, len(pairs) * 3 // 5)
        far = float(np.partition(self.distances(pairs[:, 0], pairs[:, 1]), place)[place])
        return far if np.isfinite(far) else np.inf

    def within(self, pairs: Numbers, by_chance: bool) -> float | None:
        """Return how far from the line a number may be that follows from it, all others being farther away by far; None where there is no line."""
        distances, most = self.distances(pairs[:, 0], pairs[:, 1]), self.of_most(pairs)
        exact, digit = _EXACT * float(np.percentile(np.abs(pairs[:, 1]), 60)), _last_digit(pairs[:, 1])
        # how near most are, how far all others of the line may be, and from where on they are off it
        tried = [] if by_chance else [(exact, exact, exact), (digit, digit, 4 * digit)]
        if len(pairs) >= _FEWEST_NEAR:
            near = max(most, digit / 2, exact)
            tried.append((near, near * _FAR / 2, near * _FAR))
        fine = _spread(pairs[:, 0]) * abs(self.slope) / _FINE
        for near, along, off in tried:
            if most <= near <= fine and not ((distances > along) & (distances <= off)).any():
                return along
        return None


def _telling(originals: Numbers, made: Numbers) -> Numbers:
    """Return each original with what was made of it, once, where nothing else became the same."""
    pairs = np.unique(np.stack([made, originals], axis=1), axis=0)
    _, places, counts = np.unique(pairs[:, 0], return_inverse=True, return_counts=True)
    telling: Numbers = pairs[counts[places] == 1][:, ::-1]
    return telling


def _last_digit(numbers: Numbers) -> float:
    """Return the unit of the last decimal that some numbers have, or what they are multiples of."""
    for decimals in range(_MOST_DECIMALS):
        scaled = numbers * 10.0**decimals
        if (np.abs(scaled - np.round(scaled)) <= _EXACT * np.maximum(1, np.abs(scaled))).all():
            return float(np.gcd.reduce(np.round(scaled[np.abs(scaled) < _MOST_WHOLE]).astype(np.int64)) * 10.0**-decimals)
    return 0.0


def _spread(numbers: Numbers) -> float:
    """Return how far apart the middle half of some numbers is, or all where it is one."""
    low, high = np.percentile(numbers, [25, 75])
    return float(high - low) or float(np.ptp(numbers))
