"""Measures of equivalence classes: how many, how large, and what that costs.

Discernibility: Bayardo, Agrawal, "Data privacy through optimal k-anonymization" (2005); each row costs the size of its class, a suppressed one
the size of the table. Average class size: LeFevre et al. (2006): rows / (classes x k), 1 being the best.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def class_sizes(rows: NDArray[np.int64], k: int, suppressed: int = 0) -> dict[str, Any]:
    """Return the measures for the numbers of rows of all classes.

    >>> class_sizes(np.array([2, 4]), k=2)["discernibility"], class_sizes(np.array([2, 4]), k=2)["average_class_size"]
    (20.0, 1.5)
    """
    total = int(rows.sum()) + suppressed
    squares = float((rows.astype(np.float64) ** 2).sum())
    return {
        "classes": len(rows),
        "smallest_class": int(rows.min(initial=0)) if not len(rows) else int(rows.min()),
        "median_class": float(np.median(rows)) if len(rows) else 0.0,
        "largest_class": int(rows.max(initial=0)),
        "discernibility": squares + float(suppressed) * total,
        "average_class_size": total / (len(rows) * k) if len(rows) else 0.0,
    }
