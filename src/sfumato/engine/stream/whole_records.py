"""Written rows in pieces that end where a record ends: whoever stops between two of them leaves no half of one behind."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def whole_records(content: bytes, most: int, quote: str | None) -> Iterator[memoryview]:
    r"""Yield what was written in pieces of at most so many bytes, each as many whole records as fit; a record that is longer comes in several.

    Between two marks of ``quote`` a line end is part of a value; without one no value has any.

    >>> [bytes(piece) for piece in whole_records(b'a\n"b\nc"\nd\n', 7, '"')]
    [b'a\n', b'"b\nc"\n', b'd\n']
    >>> [bytes(piece) for piece in whole_records(b'abcdef\ng\n', 4, None)]
    [b'abcd', b'ef\n', b'g\n']
    """
    ends, start, left = _ends(content, quote), 0, memoryview(content)
    while start < len(content):
        last = int(np.searchsorted(ends, start + most, side="right")) - 1
        whole = int(ends[last]) if last >= 0 else 0
        following = int(np.searchsorted(ends, start, side="right"))
        rest = int(ends[following]) if following < len(ends) else len(content)
        end = whole if whole > start else min(start + most, rest)
        yield left[start:end]
        start = end


def _ends(content: bytes, quote: str | None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    written = np.frombuffer(content, np.uint8)
    is_end = written == ord("\n")
    if quote is not None:
        is_end &= ~np.bitwise_xor.accumulate(written == ord(quote))
    return np.flatnonzero(is_end) + 1
