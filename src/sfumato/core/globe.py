"""The globe: which latitudes and longitudes there are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

FURTHEST = {"latitude": 90.0, "longitude": 180.0}


def on_the_globe(axes: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Return which coordinates there are; what is no number is nowhere.

    >>> on_the_globe({"latitude": np.array([52.5, 90.1, np.nan])}).tolist()
    [True, False, False]
    """
    inside: NDArray[np.bool_] = np.all([abs(axis) <= FURTHEST[name] for name, axis in axes.items()], axis=0)
    return inside
