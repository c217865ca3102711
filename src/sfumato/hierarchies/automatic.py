"""The ladder of a column for which the policy gives none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.settings import Settings
from sfumato.registry import find


class Automatic(Settings):
    """Numbers, dates and instants in balanced nested intervals; categories directly below the root."""

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build the ladder that fits the type of the values."""
        kind = canonical.infer(values) if not pa.types.is_string(values.type) else "text"
        if canonical.is_ordered(kind):
            built: Hierarchy = find("hierarchies", "interval")().build(column, values, counts)
            return built
        return Hierarchy.of_paths(column, [[text] for text in values.to_pylist()] or [[""]])
