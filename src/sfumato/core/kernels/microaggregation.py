"""Optimal univariate microaggregation: sorted values in groups of at least k that are as alike as they can be.

Hansen, Mukherjee, "A polynomial algorithm for optimal univariate microaggregation" (2003): the best partition of a sorted line has groups of k to
2k - 1 values, and is the shortest path from its beginning to its end. Here the path is found from left to right, with the sums of the last 2k values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import kernel


@kernel
def shortest_path(values: Any, k: int, cost: Any, before: Any) -> None:
    """Write down where the last group of the best partition of the first ``place`` values begins, for each place.

    ``values`` are sorted and begin near zero, so that squares keep their digits; ``cost`` and ``before`` have one entry more than there are values.
    """
    number = len(values)
    cost[0] = 0.0
    for end in range(1, number + 1):
        cost[end] = np.inf
        before[end] = -1
        if end < k:
            continue
        total = 0.0
        squares = 0.0
        first = max(0, end - 2 * k + 1)
        middle = values[end - 1]
        for begin in range(end - 1, first - 1, -1):
            distance = values[begin] - middle
            total += distance
            squares += distance * distance
            size = end - begin
            if size >= k and cost[begin] < np.inf:
                found = cost[begin] + squares - total * total / size
                if found < cost[end]:
                    cost[end] = found
                    before[end] = begin
