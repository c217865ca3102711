"""The bytes of a text column, one value after the other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def text_content(text: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of a text column, and where each value begins, with the end of the last; null is empty.

    >>> content, places = text_content(pa.array(["ab", None, "c"]))
    >>> content.tobytes(), places.tolist()
    (b'abc', [0, 2, 2, 3])
    """
    kind = np.int64 if pa.types.is_large_string(text.type) else np.int32
    if text.null_count:
        text = text.fill_null("")
    _, offsets, data = text.buffers()
    if offsets is None:
        return np.empty(0, np.uint8), np.zeros(len(text) + 1, np.int64)
    places = np.frombuffer(offsets, kind)[text.offset : text.offset + len(text) + 1].astype(np.int64)
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return content[places[0] : places[-1]], places - places[0]
