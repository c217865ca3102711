"""Any search over tables, on the windows of a stream: each window is a table, counted and searched as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.classes import distinct_keys
from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import ROOT, Hierarchy, Level
from sfumato.core.interfaces import Search
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.problem import Problem
from sfumato.core.quiet import Quiet
from sfumato.core.recoding import Recoding
from sfumato.core.stream import Clusters, Points, StreamProblem
from sfumato.errors import PromiseError

Builder = Callable[[NDArray[np.float64], NDArray[np.int64]], Hierarchy]


@dataclass(frozen=True)
class SearchedWindows:
    """A search over windows made of one over tables: it finds in each window what it would find in a table of the same rows.

    ``builders`` make the ladder of an ordered column, by its place, from the coordinates of a window in order and how many records have each; where
    there is none its values stand below the root. At most ``suppression_limit`` of a window's records are left out.
    """

    search: Search
    builders: Mapping[int, Builder] = field(default_factory=dict)
    minimum_levels: Sequence[int] = ()
    maximum_levels: Sequence[int] = ()
    suppression_limit: float = 0.0

    def cluster(self, points: Points, problem: StreamProblem) -> Clusters | None:
        """Return the clusters of one window; None where the search finds none."""
        if not len(points):
            return None
        ladders, codes = self._coded(points, problem)
        frequencies, entry_of_row = _frequencies(points, problem, ladders, codes)
        asked = Problem(
            ladders,
            problem.promises,
            _weights(problem, ladders),
            int(self.suppression_limit * len(points)),
            # a window of few values has a low ladder
            [min(level, ladder.height) for level, ladder in zip(self.minimum_levels, ladders, strict=False)],
            [min(level, ladder.height) for level, ladder in zip(self.maximum_levels, ladders, strict=False)],
        )
        try:
            recoding = self.search.search(asked, frequencies, Quiet())
        except PromiseError:
            return None
        class_of = recoding.class_of_rows(frequencies.combination[entry_of_row], lambda: entry_of_row)
        on_lines = [ladder is None for ladder in problem.ladders]
        return _clusters(points, ladders, on_lines, recoding, class_of, frequencies)

    def _coded(self, points: Points, problem: StreamProblem) -> tuple[list[Hierarchy], list[NDArray[np.int32]]]:
        """Return the ladder of each column and the leaf code of each record."""
        ladders, codes = [], []
        for place, ladder in enumerate(problem.ladders):
            column = points.coordinates[:, place]
            there = ~np.isnan(column)
            if ladder is None:
                values, counts = np.unique(column[there], return_counts=True)
                builder = self.builders.get(place, _below_the_root)
                ladder = builder(values, counts)
                own = np.searchsorted(values, np.where(there, column, 0.0))
            else:
                own = np.where(there, column, 0.0).astype(np.int64)
            ladders.append(ladder)
            codes.append(np.where(there, own, ladder.missing).astype(np.int32))
        return ladders, codes


def _below_the_root(values: NDArray[np.float64], counts: NDArray[np.int64]) -> Hierarchy:
    del counts
    return Hierarchy("", True, "decimal", pa.array(values), (Level(np.zeros(1, np.int32), (ROOT,)),))


def _weights(problem: StreamProblem, ladders: Sequence[Hierarchy]) -> list[float]:
    """Return the weights of a table: there a column is as wide as what the window has, here it may be said to be wider."""
    weights = []
    for place, (weight, ladder) in enumerate(zip(problem.weights, ladders, strict=True)):
        low, high = problem.ranges[place]
        if problem.ladders[place] is None and ladder.size and high > low:
            weight *= (ladder.positions[-1] - ladder.positions[0]) / (high - low)
        weights.append(float(weight))
    return weights


def _frequencies(
    points: Points, problem: StreamProblem, ladders: Sequence[Hierarchy], codes: list[NDArray[np.int32]]
) -> tuple[Frequencies, NDArray[np.int32]]:
    """Return the counted window, and the entry of each record."""
    rows = len(points)
    combination, firsts = group_columns([*codes], [ladder.size + 2 for ladder in ladders]) if codes else (np.zeros(rows, np.int32), np.zeros(1, int))
    _, person = np.unique(points.people, return_inverse=True)
    spans = [int(own.max(initial=0)) + 1 for own in points.sensitive.values()]
    entry, first_rows = group_columns([combination, *points.sensitive.values(), person], [len(firsts), *spans, int(person.max(initial=0)) + 1])
    references = {}
    for name, own in points.sensitive.items():
        ladder = problem.sensitive_ladders.get(name)
        once = distinct_keys(own, person)
        references[name] = np.bincount(own[once], minlength=ladder.size + 2 if ladder is not None else 1).astype(np.int64)
    frequencies = Frequencies(
        np.stack([own[firsts] for own in codes], axis=1) if codes else np.empty((1, 0), np.int32),
        combination[first_rows],
        np.bincount(entry, minlength=len(first_rows)).astype(np.int64),
        {name: own[first_rows] for name, own in points.sensitive.items()},
        # where nobody comes twice rows are people, and a search may take them for such
        person[first_rows].astype(np.int64) if person.max(initial=0) + 1 < rows else None,
        references,
        problem.sensitive_ladders,
    )
    return frequencies, entry


def _clusters(
    points: Points,
    ladders: Sequence[Hierarchy],
    on_lines: Sequence[bool],
    recoding: Recoding,
    class_of: NDArray[np.int32],
    frequencies: Frequencies,
) -> Clusters:
    """Return the classes as clusters of coordinates: places on a line, leaves of a ladder."""
    lows, highs = np.empty(recoding.lows.shape), np.empty(recoding.highs.shape)
    for place, (ladder, is_line) in enumerate(zip(ladders, on_lines, strict=True)):
        low, high = recoding.lows[:, place], recoding.highs[:, place]
        inner = np.minimum(low, ladder.size - 1), np.minimum(high, ladder.size - 1)
        ends = [ladder.positions[own] if is_line and ladder.size else own.astype(np.float64) for own in inner]
        special, missing = high >= ladder.size, low == ladder.missing
        missing &= high == ladder.missing
        lows[:, place] = np.where(missing, np.nan, np.where(special, -np.inf, ends[0]))
        highs[:, place] = np.where(missing, np.nan, np.where(special, np.inf, ends[1]))
    kept = class_of >= 0
    identities = np.arange(recoding.number, dtype=np.int64)
    return Clusters(points.numbers[kept], class_of[kept], lows, highs, identities, dict(frequencies.references), suppressed=points.numbers[~kept])
