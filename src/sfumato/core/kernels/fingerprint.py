"""A 64-bit fingerprint of each value of a text column, chained over columns: to compare rows and to tell people apart.

Not a cryptographic hash: it never leaves the process. Two people whose fingerprints collide are counted as one, which errs on the safe side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.canonical import as_text
from sfumato.core.kernels import kernel

_NULL = np.uint64(0x632BE59BD9B4E019)
_ODD = np.uint64(0x9E3779B97F4A7C15)


@kernel
def mix_bytes(data: Any, offsets: Any, prints: Any) -> None:
    """Write down the fingerprint of each value, eight bytes at a time."""
    for row in range(len(prints)):
        begin, end = offsets[row], offsets[row + 1]
        value, word = np.uint64(end - begin + 1) * np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0)
        for place in range(begin, end):
            word = (word << np.uint64(8)) | np.uint64(data[place])
            if (place - begin) & 7 == 7:
                value = (value ^ word) * np.uint64(0xBF58476D1CE4E5B9)
                value ^= value >> np.uint64(29)
                word = np.uint64(0)
        value = (value ^ word) * np.uint64(0xBF58476D1CE4E5B9)
        prints[row] = value ^ (value >> np.uint64(32))


def fingerprints(columns: list[pa.Array], rows: int) -> NDArray[np.uint64]:
    """Return one fingerprint a row over columns; the same whether a column comes as a dictionary or not. Null and the empty string differ.

    >>> one, other, null = fingerprints([pa.array(["a", "", None])], 3).tolist()
    >>> len({one, other, null})
    3
    """
    prints = np.zeros(rows, np.uint64)
    for column in columns:
        prints *= _ODD
        prints += value_prints(column)
        prints ^= prints >> np.uint64(32)
    return prints


def value_prints(column: pa.Array) -> NDArray[np.uint64]:
    """Return the fingerprint of each value of one column."""
    if pa.types.is_dictionary(column.type):
        values = value_prints(column.dictionary)
        codes = column.indices
        # null is -1: it picks the last entry
        picked: NDArray[Any] = (codes.fill_null(-1) if codes.null_count else codes).to_numpy(zero_copy_only=False)
        prints: NDArray[np.uint64] = np.append(values, _NULL)[picked]
        return prints
    text = as_text(column)
    wide = pa.types.is_large_string(text.type)
    _, offsets, data = text.buffers()
    places = np.frombuffer(offsets, np.int64 if wide else np.int32)[text.offset : text.offset + len(text) + 1]
    prints = np.empty(len(text), np.uint64)
    mix_bytes(np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8), places, prints)
    if text.null_count:
        prints[text.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return prints
