"""Delimited text in blocks of bytes: coded columns as dictionaries that grow with the file, the others as text.

One dictionary serves the whole file as long as it is smaller than a batch, so codes given out before stay right and nothing is
looked up twice. Nothing here knows where the bytes come from.
"""

from __future__ import annotations

import secrets
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.kernels import delimited_parse as kernel
from sfumato.core.kernels.pieces import MARGIN, gather

_BLOCK = 4 << 20
_LARGEST_RECORD = 256 << 20
_FIRST_BATCH = 1 << 15
_BATCH = 1 << 19
_BATCH_BYTES = 64 << 20
# of many columns fewer rows at a time: arrays for more would only be made and thrown away
_BATCH_CELLS = 1 << 23
# the line end behind the last byte, and room to read eight bytes at a time
_MARGIN = 2 * MARGIN
TOO_LARGE = -1
_SEED = np.uint64(secrets.randbits(64))


class Bytes(Protocol):
    """Where bytes come from."""

    def readinto(self, buffer: Any, /) -> int | None:
        """Fill a buffer and return how many bytes there were; 0 at the end."""


class MalformedError(Exception):
    """A record that breaks the dialect: what is wrong (a status of the kernel, or too large), its line, and how many fields it has."""

    def __init__(self, fault: int, line: int, fields: int) -> None:
        super().__init__(fault, line, fields)
        self.fault, self.line, self.fields = fault, line, fields


class DelimitedText:
    """A reader of records with a fixed number of fields; some fields are coded, some plain, the rest is only checked."""

    def __init__(self, marks: Sequence[str | None], width: int, header: bool, coded: Sequence[int], plain: Sequence[int]) -> None:
        wanted = [*coded, *plain]
        if len({*wanted}) != len(wanted) or not {*wanted} <= {*range(width)}:
            # the kernel fills one column a field: a second column of it would be memory that nobody has written to
            raise ValueError("each field is wanted once, and is one of those that there are")
        self._marks = [ord(mark) if mark else -1 for mark in marks]
        self._uses = np.full(width, kernel.NOTHING, np.int8)
        self._places = np.zeros(width, np.int32)
        for use, fields in ((kernel.CODED, coded), (kernel.PLAIN, plain)):
            self._uses[list(fields)] = use
            self._places[list(fields)] = np.arange(len(fields))
        self._coded, self._plain = len(coded), len(plain)
        self._state = np.zeros(9, np.int64)
        self._state[kernel.LINE] = 1
        self._state[kernel.HEADER] = header
        self._values = _Values(len(coded), self._state)
        self._size = _BLOCK
        self._data = np.empty(2 * self._size + 2 * _MARGIN, np.uint8)
        self._end = 0
        self._ended = False

    def batches(self, content: Bytes) -> Iterator[tuple[int, list[pa.Array]]]:
        """Yield the number of rows and their columns, first the coded, then the plain; the first batch is small."""
        most = max(1, _BATCH_CELLS // max(1, self._coded + self._plain))
        capacity = min(_FIRST_BATCH, most)
        while self._refill(content) and self._end < len(BOM_UTF8):
            pass
        if self._data[: self._end][: len(BOM_UTF8)].tobytes() == BOM_UTF8:
            self._state[kernel.POSITION] = len(BOM_UTF8)
        while not (self._ended and self._state[kernel.POSITION] >= self._end):
            codes, texts = self._batch(content, capacity)
            rows = int(self._state[kernel.ROWS])
            if rows:
                yield rows, [*self._values.coded(codes[:, :rows]), *texts]
            self._state[kernel.ROWS] = 0
            if self._state[kernel.VALUES] > _BATCH or self._state[kernel.BYTES] > _BATCH_BYTES:
                self._values.clear()
            capacity = min(_BATCH, most)

    def _batch(self, content: Bytes, capacity: int) -> tuple[NDArray[np.int32], list[pa.Array]]:
        """Read rows until there are enough of them, or enough bytes."""
        codes = np.empty((self._coded, capacity), np.int32)
        starts, lengths = np.empty((self._plain, capacity), np.int64), np.empty((self._plain, capacity), np.int32)
        pieces: list[list[pa.Array]] = [[] for _ in range(self._plain)]
        gathered, used = 0, 0
        while True:
            self._state[kernel.SPARE] = self._size + _MARGIN
            status = self._parse(codes, starts, lengths)
            rows = int(self._state[kernel.ROWS])
            for column, place in zip(pieces, range(self._plain), strict=True):
                column.append(_texts(self._data, starts[place, gathered:rows], lengths[place, gathered:rows]))
            gathered = rows
            if status == kernel.ROWS_FULL or used >= _BATCH_BYTES or self._ended:
                return codes, [pa.concat_arrays(column) for column in pieces]
            used += self._refill(content)

    def _parse(self, codes: NDArray[np.int32], starts: NDArray[np.int64], lengths: NDArray[np.int32]) -> int:
        while True:
            fields = (self._uses, self._places, codes, starts, lengths)
            status = int(kernel.parse(self._data, self._end, self._ended, *self._marks, *fields, *self._values.arrays, self._state))
            if status == kernel.VALUES_FULL:
                self._values.grow()
            elif status == kernel.BYTES_FULL:
                self._values.grow_pool()
            elif status > kernel.BYTES_FULL:
                raise MalformedError(status, int(self._state[kernel.FAULT_LINE]), int(self._state[kernel.FAULT_FIELDS]))
            else:
                return status

    def _refill(self, content: Bytes) -> int:
        """Put further bytes behind those of a record that is not whole yet; return how many."""
        begin = int(self._state[kernel.POSITION])
        left = self._end - begin
        data = self._data
        if left > self._size // 2:
            if left > _LARGEST_RECORD:
                raise MalformedError(TOO_LARGE, int(self._state[kernel.LINE]), 0)
            self._size *= 2
            data = np.empty(2 * self._size + 2 * _MARGIN, np.uint8)
        data[:left] = self._data[begin : self._end].copy()
        self._data = data
        # a pipe gives what it has: only nothing is the end
        fresh = content.readinto(data.data[left : self._size]) or 0
        self._ended = fresh == 0
        self._end = left + fresh
        data[self._end] = ord("\n")
        self._state[kernel.POSITION] = 0
        return fresh


class _Values:
    """The distinct values of coded columns: a table from values to codes, and their bytes one after the other."""

    def __init__(self, columns: int, state: NDArray[np.int64]) -> None:
        self._columns = columns
        self._state = state
        self.clear()

    def clear(self) -> None:
        """Forget all values: codes begin anew."""
        self._state[[kernel.VALUES, kernel.BYTES]] = 0
        self._counts = np.zeros(self._columns, np.int64)
        self._dictionaries: list[pa.Array] = [_texts(np.empty(0, np.uint8), *_NOTHING)] * self._columns
        self._slots = _free_slots(1 << 12)
        self._value_columns, self._value_lengths = np.empty(1 << 11, np.int32), np.empty(1 << 11, np.int32)
        self._value_starts = np.empty(1 << 11, np.int64)
        self._pool = np.empty((1 << 16) + MARGIN, np.uint8)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the kernel reads and writes."""
        return (self._slots, self._value_columns, self._value_starts, self._value_lengths, self._pool, self._counts, _SEED)

    def grow(self) -> None:
        """Make room for four times as many values."""
        larger = _free_slots(4 * len(self._slots))
        kernel.place_again(self._slots, larger, _SEED)
        self._slots = larger
        wanted = len(larger) // 2
        self._value_columns, self._value_lengths = _longer(self._value_columns, wanted), _longer(self._value_lengths, wanted)
        self._value_starts = _longer(self._value_starts, wanted)

    def grow_pool(self) -> None:
        """Make room for four times as many bytes."""
        self._pool = _longer(self._pool, 4 * len(self._pool) + MARGIN)

    def coded(self, codes: NDArray[np.int32]) -> Iterator[pa.DictionaryArray]:
        """Yield the columns as dictionaries; a column without new values keeps the one it had."""
        number = int(self._state[kernel.VALUES])
        columns = self._value_columns[:number]
        for place, column in enumerate(codes):
            if len(self._dictionaries[place]) < self._counts[place]:
                mine = np.flatnonzero(columns == place)
                self._dictionaries[place] = _texts(self._pool, self._value_starts[mine], self._value_lengths[mine])
            missing = column < 0 if column.min(initial=0) < 0 else None
            yield pa.DictionaryArray.from_arrays(pa.array(column, mask=missing), self._dictionaries[place], safe=False)


_NOTHING = (np.empty(0, np.int64), np.empty(0, np.int32))


def _free_slots(number: int) -> NDArray[np.uint64]:
    return np.full((number, 4), kernel.FREE, np.uint64)


def _longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    longer = np.empty(length, array.dtype)
    longer[: len(array)] = array
    return longer


def _texts(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int32]) -> pa.Array:
    """Return pieces of bytes as text, a length of -1 as null; raise ArrowInvalid where they are no UTF-8."""
    if len(starts) and (int(starts.min()) < 0 or int((starts + lengths).max()) > len(data)):
        raise ValueError("a piece lies outside of the bytes that it is of")
    offsets = np.zeros(len(starts) + 1, np.int32)
    np.cumsum(np.maximum(lengths, 0), out=offsets[1:])
    text = np.empty(int(offsets[-1]) + MARGIN, np.uint8)
    gather(data, starts, lengths, offsets, text)
    missing = int((lengths < 0).sum())
    valid = pa.py_buffer(np.packbits(lengths >= 0, bitorder="little")) if missing else None
    array = pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(text), valid, missing)
    array.validate(full=True)
    return array
