"""Blocks of delimited text as columns of text: a malformed record is poison, the others go on.

The blocks of a stream are cut between records, which only who knows about quotes can do. Where a quote is never closed, its line alone is lost: what
follows is read as records again.
"""

from __future__ import annotations

import io
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.decoded import Decoded, Poison
from sfumato.core.delimited_text import DelimitedText
from sfumato.core.kernels.delimited_parse import AFTER_QUOTE, LONG, OPEN_ESCAPE, OPEN_QUOTE, SHORT
from sfumato.core.kernels.delimited_records import GOOD, find_records
from sfumato.core.kernels.pieces import MARGIN

LARGEST = 1 << 20
"""At the end of a line so many bytes behind the beginning of its record, a quote counts as never closed."""
_NOT_TEXT = -1
_CODES = {
    SHORT: "delimited-line-short",
    LONG: "delimited-line-long",
    AFTER_QUOTE: "delimited-quote",
    OPEN_QUOTE: "delimited-quote",
    OPEN_ESCAPE: "delimited-quote",
    _NOT_TEXT: "file-encoding",
}


@dataclass(frozen=True)
class Dialect:
    """What stands between two fields, what encloses one, and what takes a quote's meaning away; where nothing does a quote is doubled."""

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None

    @property
    def marks(self) -> tuple[str, str | None, str | None]:
        """All three."""
        return self.delimiter, self.quote, self.escape


def decoded(
    block: bytes, dialect: Dialect, names: Sequence[str], columns: Sequence[str], header: bool, beginning: bool = False, largest: int = LARGEST
) -> Decoded:
    r"""Return some columns of the records of a block of whole records, all as text; an empty field is null, an empty one in quotes the empty string.

    ``names`` are those of all fields. With a ``header`` the first record is none. ``beginning`` says that the block begins a file, which may have a
    byte order mark.

    >>> found = decoded(b'a,b\n1,"x\ny"\n2\n3,"z"z\n4,\n', Dialect(), ["a", "b"], ["b"], header=True)
    >>> found.rows.to_pylist(), found.places.tolist(), [(each.place, each.code, each.start, each.length) for each in found.poison]
    ([{'b': 'x\ny'}, {'b': None}], [0, 3], [(1, 'delimited-line-short', 12, 1), (2, 'delimited-quote', 14, 6)])
    """
    begin = len(BOM_UTF8) if beginning and block.startswith(BOM_UTF8) else 0
    starts, ends, faults, _ = _records(block, begin, dialect, len(names), header, largest)
    _refuse_other_encodings(block, starts, ends, faults)
    good = faults == GOOD
    content, skipped = block[begin:], header
    if not good.all():
        good[: int(header)] = False
        content, skipped = b"".join([block[start:end] + b"\n" for start, end in zip(starts[good], ends[good], strict=True)]), False
    fields = [list(names).index(name) for name in columns]
    rows = _rows(content, dialect, len(names), skipped, fields, columns)
    faults, starts, ends = faults[int(header) :], starts[int(header) :], ends[int(header) :]
    lengths = ends - starts
    codes = ((place, _CODES[int(faults[place])]) for place in np.flatnonzero(faults != GOOD).tolist())
    poison = [Poison(place, code, int(starts[place]), int(lengths[place])) for place, code in codes]
    return Decoded(rows, np.flatnonzero(faults == GOOD), len(faults), poison)


def header_of(block: bytes, dialect: Dialect, largest: int = LARGEST) -> list[str] | None:
    r"""Return the names in the first record of a file; None where there is no record, or none that can be read.

    >>> header_of(b'\xef\xbb\xbf\n"a, b",c\n1,2\n', Dialect())
    ['a, b', 'c']
    """
    begin = len(BOM_UTF8) if block.startswith(BOM_UTF8) else 0
    starts, ends, faults, widths = _records(block, begin, dialect, 0, True, largest)
    if not len(starts) or faults[0] != LONG:
        return None
    first, width = block[starts[0] : ends[0]], int(widths[0])
    try:
        first.decode()
    except UnicodeDecodeError:
        return None
    (row,) = _rows(first, dialect, width, False, range(width), [str(place) for place in range(width)]).to_pylist()
    return [name or "" for name in row.values()]


def whole_records(block: bytes, ended: bool, dialect: Dialect, largest: int = LARGEST) -> int:
    r"""Return how many bytes of a block, which begins with a record, are whole records; all of them where nothing will follow.

    >>> whole_records(b'1,2\n3,"4\n', False, Dialect()), whole_records(b'1,2\n3,"4\n', True, Dialect())
    (4, 9)
    """
    if ended:
        return len(block)
    if not any(mark and mark.encode() in block for mark in (dialect.quote, dialect.escape)) and b"\r" not in block:
        return block.rfind(b"\n") + 1
    return _found(block, 0, False, dialect, 1, False, largest, np.empty((4, 0), np.int64))[1]


def _found(
    block: bytes, begin: int, last: bool, dialect: Dialect, width: int, header: bool, largest: int, found: NDArray[np.int64]
) -> tuple[int, int]:
    # the line end behind the last byte, and room to read eight bytes at a time
    data = np.frombuffer(block + b"\n" * (2 * MARGIN), np.uint8)
    marks = [ord(mark) if mark else -1 for mark in dialect.marks]
    number, used = find_records(data, begin, len(block), last, *marks, width, header, largest, found)
    return int(number), int(used)


def _records(block: bytes, begin: int, dialect: Dialect, width: int, header: bool, largest: int) -> NDArray[np.int64]:
    """Return start, end, fault and number of fields of each record."""
    found = np.empty((4, block.count(b"\n") + block.count(b"\r") + 1), np.int64)
    number, _ = _found(block, begin, True, dialect, width, header, largest, found)
    return found[:, :number]


def _refuse_other_encodings(block: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], faults: NDArray[np.int64]) -> None:
    """Note of each record whether it is text."""
    try:
        block.decode()
    except UnicodeDecodeError:
        for place, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            if not _is_text(block[start:end]):
                faults[place] = _NOT_TEXT


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _rows(content: bytes, dialect: Dialect, width: int, header: bool, fields: Sequence[int], names: Sequence[str]) -> pa.RecordBatch:
    """Return the fields of records all of which are good."""
    if content.startswith(BOM_UTF8):
        # it is within the first field; that of a file would be taken away
        content = BOM_UTF8 + content
    batches = []
    for number, arrays in DelimitedText(dialect.marks, width, header, [], fields).batches(io.BytesIO(content)):
        # a batch of no columns has its number of rows all the same
        batches.append(pa.record_batch(arrays, names=list(names)) if names else pa.record_batch([pa.nulls(number)], names=[""]).select([]))
    return batches[0] if len(batches) == 1 else _joined(batches, names)


def _joined(batches: Sequence[pa.RecordBatch], names: Sequence[str]) -> pa.RecordBatch:
    if not names:
        return pa.record_batch([pa.nulls(sum(batch.num_rows for batch in batches))], names=[""]).select([])
    if not batches:
        return pa.record_batch([pa.array([], pa.string()) for _ in names], names=list(names))
    return pa.concat_batches(batches)
