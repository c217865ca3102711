"""Measures of equivalence classes: how many, how large, and what that costs.

Discernibility: Bayardo, Agrawal, "Data privacy through optimal k-anonymization" (2005); each row costs the size of its class, a suppressed one
the size of the table. Average class size: LeFevre et al. (2006): rows / (classes x k), 1 being the best.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def class_sizes(rows: NDArray[np.int64], k: int, suppressed: int = 0, numbers: NDArray[np.int64] | None = None) -> dict[str, Any]:
    """Return the measures for the numbers of rows of all classes; where ``numbers`` are given, of so many classes each.

    >>> class_sizes(np.array([2, 4]), k=2)["discernibility"], class_sizes(np.array([2, 4]), k=2)["average_class_size"]
    (20.0, 1.5)
    >>> class_sizes(np.array([2, 4]), k=2, numbers=np.array([3, 1]))["median_class"]
    2.0
    """
    numbers = np.ones(len(rows), np.int64) if numbers is None else numbers
    total, classes = int((rows * numbers).sum()) + suppressed, int(numbers.sum())
    squares = float((rows.astype(np.float64) ** 2 * numbers).sum())
    return {
        "classes": classes,
        "smallest_class": int(rows.min(initial=0)) if not len(rows) else int(rows.min()),
        "median_class": _median(rows, numbers, classes) if classes else 0.0,
        "largest_class": int(rows.max(initial=0)),
        "discernibility": squares + float(suppressed) * total,
        "average_class_size": total / (classes * k) if classes else 0.0,
    }


def _median(rows: NDArray[np.int64], numbers: NDArray[np.int64], classes: int) -> float:
    order = np.argsort(rows)
    ends = np.cumsum(numbers[order])
    below, above = (rows[order[np.searchsorted(ends, place, side="right")]] for place in ((classes - 1) // 2, classes // 2))
    return float(below + above) / 2
