"""Masks done a second time: what the source's rows become, as fingerprints to hold the written release against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.interfaces import MaskPlan
from sfumato.core.kernels.fingerprint import fingerprints


def masked_group(view: str) -> str:
    """Return the name of the fingerprints of a view's masked columns."""
    return f"masked\0{view}"


class MasksAgain:
    """Applies the masks of views to the source as it is read anew; those that chance decides cannot be done again."""

    def __init__(self, parts: Sequence[tuple[str, MaskPlan]]) -> None:
        self._parts = [(view, masks) for view, masks in parts if masks.repeatable]
        self._prints: dict[str, list[NDArray[np.uint64]]] = {view: [] for view, _ in self._parts}
        self.needed = list(dict.fromkeys(column for _, masks in self._parts for name in masks.repeatable for column in masks.needed(name)))

    def add(self, batch: pa.RecordBatch) -> None:
        """Take further rows."""
        for view, masks in self._parts:
            made = {name: masks.masks[name].apply(as_values(batch.select(masks.needed(name))), masks.contexts[name]) for name in masks.repeatable}
            columns = [masks.as_read_back(name, column) for name, column in made.items()]
            self._prints[view].append(fingerprints(columns, batch.num_rows))

    def prints(self) -> dict[str, NDArray[np.uint64]]:
        """Return one fingerprint a row and view."""
        return {masked_group(view): np.concatenate(parts) if parts else np.empty(0, np.uint64) for view, parts in self._prints.items()}


def as_values(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return columns as values: a dictionary would only tell how they were read."""
    columns = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
