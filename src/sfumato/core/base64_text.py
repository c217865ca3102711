"""Base64 for addresses and file names (RFC 4648, section 5), without padding, for many rows at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_SIGNS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8)


def base64_text(rows: NDArray[np.uint8], length: int | None = None) -> pa.Array:
    """Return one text for each row of bytes; all of it, or as many characters as are asked for.

    >>> base64_text(np.frombuffer(b"Man.Ma..", np.uint8).reshape(2, 4)).to_pylist()
    ['TWFuLg', 'TWEuLg']
    """
    number, size = rows.shape
    if not number:
        return pa.array([], pa.string())
    padded = np.zeros((number, -(-size // 3) * 3), np.uint8)
    padded[:, :size] = rows
    first, second, third = padded[:, 0::3], padded[:, 1::3], padded[:, 2::3]
    sextets = np.stack([first >> 2, (first & 3) << 4 | second >> 4, (second & 15) << 2 | third >> 6, third & 63], axis=2)
    wanted = min(length or size * 2, -(-size * 4 // 3))
    signs = np.ascontiguousarray(_SIGNS[sextets].reshape(number, -1)[:, :wanted])
    offsets = np.arange(0, (number + 1) * wanted, wanted, dtype=np.int64)
    whole = pa.Array.from_buffers(pa.large_string(), number, [None, pa.py_buffer(offsets), pa.py_buffer(signs)])
    return whole.cast(pa.string())
