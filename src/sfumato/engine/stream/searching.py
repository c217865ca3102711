"""The search over one window: what the algorithm of a policy makes of its rows, whatever it was written for."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.hierarchy import Hierarchy
from sfumato.core.stream import Clusters, Points, StreamProblem, WindowSearch
from sfumato.core.window_search import SearchedWindows
from sfumato.engine.plan import Plan
from sfumato.registry import find


def cluster(plan: Plan, points: Points, problem: StreamProblem) -> Clusters | None:
    """Return clusters that keep every promise and hold every row; None where there are none. A search over tables takes the window as one."""
    search = plan.resolved.algorithm
    if isinstance(search, WindowSearch):
        found = search.cluster(points, problem)
    else:
        columns = plan.resolved.policy.columns
        builders = {place: partial(_intervals, name) for place, name in enumerate(problem.names) if problem.ladders[place] is None}
        least = [0 if ladder is None else columns[name].level.minimum for name, ladder in zip(problem.names, problem.ladders, strict=True)]
        found = SearchedWindows(search, builders, least).cluster(points, problem)
    return found


def _intervals(name: str, places: NDArray[np.float64], counts: NDArray[np.int64]) -> Hierarchy:
    """Return the ladder of places on a line: groups of about equally many rows, as a table's column has them."""
    built: Hierarchy = find("hierarchies", "automatic")(intervals=True).build(name, pa.array(places, pa.float64()), counts)
    return built
