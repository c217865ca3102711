"""Texts of an alphabet as rows of numerals and back; the characters between them stay where they are. For ``format_preserving_encrypt``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_FOREIGN, _KEPT = -1, -2


class Numerals:
    """The characters of a column of texts, none of them missing: which numeral each is, and to which row it belongs."""

    def __init__(self, texts: pa.Array, alphabet: str, keep: str) -> None:
        self._alphabet = np.array([ord(character) for character in alphabet], np.uint32)
        self._points = _code_points(texts, alphabet.isascii())
        codes = _codes(self._points, alphabet, keep)
        rows = len(texts)
        lengths = pc.utf8_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)
        self._row_of = np.repeat(np.arange(rows), lengths)
        self._lengths = lengths
        self._places = np.flatnonzero(codes >= 0)
        self._codes = codes[self._places].astype(np.uint16)
        self.foreign = np.bincount(self._row_of[codes == _FOREIGN], minlength=rows) > 0
        self.counts = np.bincount(self._row_of[self._places], minlength=rows)
        """How many characters of the alphabet each row has."""
        self._starts = np.cumsum(self.counts) - self.counts

    def groups(self, wanted: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint16]]]:
        """Yield the rows that have one number of characters of the alphabet, and their numerals, for each such number."""
        for count in np.unique(self.counts[wanted]):
            where = self._where(wanted & (self.counts == count), int(count))
            yield where, self._codes[where]

    def _where(self, rows: NDArray[np.bool_], count: int) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self._starts[rows][:, None] + np.arange(count)
        return found

    def replaced(self, changes: list[tuple[NDArray[np.int64], NDArray[np.unsignedinteger[Any]]]], valid: NDArray[np.bool_]) -> pa.Array:
        """Return the texts with other numerals in these places; null for rows that are not valid."""
        codes = self._codes.copy()
        for where, numerals in changes:
            codes[where] = numerals
        points = self._points.copy()
        points[self._places] = self._alphabet[codes]
        return _texts(points, self._row_of, self._lengths, valid)


def _code_points(texts: pa.Array, plain: bool) -> NDArray[np.unsignedinteger[Any]]:
    """Return the characters of all texts, one after the other; where all are of ASCII, and are to be, as bytes."""
    _, ends, data = texts.buffers()
    if data is None or not len(texts):
        return np.empty(0, np.uint8)
    first, last = np.frombuffer(ends, np.int32)[[texts.offset, texts.offset + len(texts)]].tolist()
    whole = bytes(data.slice(first, last - first))
    return np.frombuffer(whole, np.uint8) if plain and whole.isascii() else np.frombuffer(whole.decode().encode("utf-32-le"), np.uint32)


def _codes(points: NDArray[np.unsignedinteger[Any]], alphabet: str, keep: str) -> NDArray[np.int32]:
    """Return the numeral of each character, or that it is kept, or foreign."""
    highest = max(ord(character) for character in alphabet + keep) + 1
    table = np.full(highest + 1, _FOREIGN, np.int32)
    for code, character in enumerate(alphabet):
        table[ord(character)] = code
    table[[ord(character) for character in keep]] = _KEPT
    found: NDArray[np.int32] = table[np.minimum(points.astype(np.uint32), highest)]
    return found


def _texts(points: NDArray[np.unsignedinteger[Any]], row_of: NDArray[np.int64], lengths: NDArray[np.int64], valid: NDArray[np.bool_]) -> pa.Array:
    """Return characters as texts of so many each."""
    if points.dtype == np.uint8:
        ends, data = np.cumsum(lengths), points.tobytes()
    else:
        sizes = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
        ends, data = np.cumsum(np.bincount(row_of, sizes, len(lengths)).astype(np.int64)), points.tobytes().decode("utf-32-le").encode()
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    whole = pa.Array.from_buffers(pa.large_string(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(data)]).cast(pa.string())
    return whole if valid.all() else pc.if_else(pa.array(valid), whole, pa.scalar(None, pa.string()))
