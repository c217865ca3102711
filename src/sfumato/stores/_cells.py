"""Cells as a database tells them: values become codes, and sums of fingerprints what 64 bits hold of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.examined import Cells

_WRAPPED = 1 << 64


def cells_of(names: Sequence[str], rows: Any, prints: Any, values: Sequence[Any]) -> Cells:
    """Return cells of which the columns are called so."""
    columns = {name: _coded(column) for name, column in zip(names, values, strict=True)}
    return Cells(columns, _whole(rows).to_numpy(zero_copy_only=False).astype(np.int64), numbers_of(prints))


def numbers_of(texts: Any) -> NDArray[np.uint64]:
    """Return sums of fingerprints, which may be too large for any type of a number, as what 64 bits hold of them."""
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    parts = [np.fromiter((int(text) % _WRAPPED for text in chunk.to_pylist()), np.uint64, len(chunk)) for chunk in chunks]
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def _coded(column: Any) -> tuple[pa.Array, NDArray[Any]]:
    """Return the distinct values of a column and the place of each entry's among them, -1 where it is missing."""
    encoded = _whole(column).dictionary_encode()
    return encoded.dictionary, encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)


def _whole(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
