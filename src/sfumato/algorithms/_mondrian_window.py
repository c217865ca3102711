"""Mondrian on the records of one window, without counting combinations first."""

from __future__ import annotations

import numpy as np

from sfumato.algorithms._points import by_column, counted, scales
from sfumato.core.kernels import await_compiled
from sfumato.core.kernels import mondrian as kernel
from sfumato.core.kernels.mondrian_points import partition_points
from sfumato.core.stream import Clusters, Points, StreamProblem


def partition_window(points: Points, problem: StreamProblem) -> Clusters | None:
    """Return boxes that hold every record and keep every promise; None where not even all records in one do."""
    known = scales(problem, tuple(points.sensitive))
    rows, columns = points.coordinates.shape
    people = counted(points, known)
    references = np.zeros(sum(people.counts), np.int64)
    most = rows // known.smallest + 2
    cluster_of, order = np.empty(rows, np.int32), np.empty(rows, np.int32)
    lows, highs = np.empty((most, columns)), np.empty((most, columns))
    await_compiled()
    holds = partition_points(
        np.array(points.coordinates, np.float64, order="C"),
        people.persons,
        people.pairs,
        people.values,
        people.tests,
        references,
        known.ladders,
        known.nodes,
        known.shares,
        known.spans,
        known.weights,
        known.smallest,
        order,
        np.empty((most + 1, 2), np.int64),
        cluster_of,
        lows,
        highs,
        people.state,
    )
    if not holds:
        return None
    number = int(people.state[kernel.CLASSES])
    identities = np.arange(number, dtype=np.int64)
    return Clusters(points.numbers, cluster_of, lows[:number], highs[:number], identities, by_column(known, people.counts, references))
