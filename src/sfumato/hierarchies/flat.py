"""A flat ladder: every value stands directly below the root, so that it is published as it is or not at all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.settings import Settings
from sfumato.hierarchies._tree import tree


class Flat(Settings):
    """Categories between which there is nothing: each is itself or, from a class with others, ``*``. Numbers and dates are categories too.

    >>> jobs = Flat().build("job", pa.array(["cook", "smith"]), np.array([1, 1]))
    >>> jobs.label(0, 0), jobs.label(0, 1)
    ('cook', '*')
    """

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Put the distinct values below the root."""
        del counts
        return tree(column, "text" if pa.types.is_string(values.type) else canonical.infer(values), values, ())
