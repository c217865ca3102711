"""Columns with missing values, for functions that take none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa


def on_present(values: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return what a function makes of the values that are there; those that are missing stay so.

    >>> on_present(pa.array(["a", None, "b"]), lambda present: pa.array([1, 2])).to_pylist()
    [1, None, 2]
    """
    if not values.null_count:
        return change(values)
    changed = change(values.drop_null())
    present = values.is_valid().to_numpy(zero_copy_only=False)
    return changed.take(pa.array(np.cumsum(present) - 1, mask=~present))
