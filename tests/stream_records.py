"""Random records of streams, for tests of searches over them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Promise
from sfumato.core.stream import Points, StreamProblem

TREE = Hierarchy.of_paths("tree", [["p", "A"], ["q", "A"], ["r"], ["s", "B", "C"], ["t", "B", "C"], ["u", "D", "C"]])
ILLNESS = Hierarchy.of_paths("illness", [["a", "X"], ["b", "X"], ["c", "Y"], ["d", "Y"]])


def records(seed: int, rows: int, people: int | None = None, missing: float = 0.1, tied: bool = True, first: int = 0) -> Points:
    """Return records of two ordered columns and a tree, with missing values, by so many people; each by another one where none are given."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 12, rows).astype(float) ** 2 if tied else rng.normal(0, 50, rows)
    coordinates = np.stack([numbers, rng.gamma(2, 10, rows).round(), rng.integers(0, TREE.size, rows)], axis=1)
    coordinates[rng.random(coordinates.shape) < missing] = np.nan
    persons = rng.permutation(rows) + first if people is None else rng.integers(0, people, rows)
    illness = rng.choice(4, rows, p=[0.5, 0.25, 0.15, 0.1]).astype(np.int32)
    return Points(np.arange(first, first + rows, dtype=np.int64), coordinates, persons.astype(np.int64) * 7919, {"illness": illness})


def problem(
    promises: Sequence[Promise], ranges: Sequence[tuple[float, float]] | None = None, weights: Sequence[float] = (1.0, 1.0, 1.0)
) -> StreamProblem:
    """Return what is asked of such records."""
    nobody_says = [(np.nan, np.nan)] * 3
    return StreamProblem(["number", "other", "tree"], [None, None, TREE], promises, weights, np.array(ranges or nobody_says), {"illness": ILLNESS})


def boxes(points: Points, lows: np.ndarray, highs: np.ndarray) -> set[tuple[float, ...]]:
    """Return boxes so that they can be compared."""
    return {tuple(np.nan_to_num(np.concatenate([low, high]), nan=-999.0).tolist()) for low, high in zip(lows, highs, strict=True)}
