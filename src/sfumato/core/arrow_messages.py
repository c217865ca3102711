"""The messages of Arrow's interprocess format, one after the other: where each begins and ends, without what is in it being read.

Arrow's columnar format, "Serialization and Interprocess Communication". A message is a length, its metadata and a body whose length the metadata say.
A stream ends with a length of zero; a file is a stream between two marks, with a footer behind it. Whatever is written to a growing file may be half
there: that is told apart from what can be no message at all.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal, Self

Kind = Literal["schema", "dictionary", "rows", "end", "mark"]

_MARK = b"ARROW1\0\0"
_FOOTER_END = b"ARROW1"
_CONTINUES = b"\xff\xff\xff\xff"
_KINDS: dict[int, Kind] = {1: "schema", 2: "dictionary", 3: "rows"}
_LARGEST_METADATA = 64 << 20
_LARGEST_BODY = 1 << 31
_AT_ONCE = 1 << 20


class NoMessageError(Exception):
    """Bytes that no message begins with, whatever may follow; it never leaves the reader."""


@dataclass(frozen=True)
class Part:
    """A whole part of a file: a schema, a dictionary, further rows, the end of a stream, or a mark of a file with its footer.

    ``dictionary`` is the number of a dictionary; it stands in the place of all of that number before it, unless it ``adds`` to them.
    """

    kind: Kind
    start: int
    end: int
    dictionary: int | None = None
    adds: bool = False


class FarBytes:
    """The bytes of a file, of which those are read that somebody asks for."""

    def __init__(self, read: Callable[[int, int], bytes], size: int) -> None:
        self._read, self._size = read, size

    @classmethod
    def of_file(cls, handle: BinaryIO) -> Self:
        """Return the bytes of an open file."""
        number = handle.fileno()
        return cls(lambda start, end: os.pread(number, end - start, start), os.fstat(number).st_size)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: slice) -> bytes:
        start, end, _ = place.indices(self._size)
        return self._read(start, end) if end > start else b""

    def find(self, wanted: bytes, start: int) -> int:
        """Return where bytes stand first from a place on, -1 where they do not."""
        while start < self._size:
            found = self[start : start + _AT_ONCE].find(wanted)
            if found >= 0:
                return start + found
            start += _AT_ONCE - len(wanted) + 1
        return -1


def files_in(block: bytes | FarBytes) -> list[tuple[int, int]]:
    """Return where files begin and end that follow each other, as far as they are whole.

    >>> one = _MARK + _CONTINUES + bytes(4) + bytes([16, 0, 0, 0]) + struct.pack("<i", 4) + _FOOTER_END
    >>> files_in(one + one + one[:-1])
    [(0, 30), (30, 60)]
    """
    marks = [part for part in parts_of(block) if part.kind == "mark"]
    begins = [part.start for part in marks if block[part.start : part.end] == _MARK]
    ends = [part.end for part in marks if block[part.start : part.end] != _MARK]
    return list(zip(begins, ends, strict=False))


def parts_of(block: bytes | FarBytes) -> Iterator[Part]:
    """Yield the whole parts with which a block begins; raise a NoMessageError where something follows them that never becomes one.

    >>> [part.kind for part in parts_of(_MARK + _CONTINUES + bytes(4) + _CONTINUES)]
    ['mark', 'end']
    """
    start = 0
    while (part := _part(block, start)) is not None:
        yield part
        start = part.end


def _part(block: bytes | FarBytes, start: int) -> Part | None:
    """Return the part at a place, None where it is not whole yet."""
    beginning = block[start : start + 8]
    if beginning == _MARK:
        return Part("mark", start, start + 8)
    if len(beginning) < 4 or _MARK.startswith(beginning):
        return None
    if not beginning.startswith(_CONTINUES):
        # older writers have no sign of continuation
        return _message(block, start, start + 4) or _footer(block, start)
    return _message(block, start, start + 8) if len(beginning) == 8 else None


def _message(block: bytes | FarBytes, start: int, begin: int) -> Part | None:
    """Return the message whose metadata begin at a place."""
    (length,) = struct.unpack("<i", block[begin - 4 : begin])
    if length == 0:
        return Part("end", start, begin)
    if not 0 < length <= _LARGEST_METADATA:
        raise NoMessageError
    metadata = block[begin : begin + length]
    if len(metadata) < length:
        return None
    try:
        kind, body, of_dictionary = _told(metadata)
    except struct.error:
        if begin - start == 4:
            return None
        raise NoMessageError from None
    end = begin + length + body
    return Part(_KINDS[kind], start, end, *of_dictionary) if end <= len(block) else None


def _told(metadata: bytes) -> tuple[int, int, tuple[int | None, bool]]:
    """Return the kind of a message, the length of its body, which dictionary it is and whether it adds to it: fields of tables of FlatBuffers."""
    (root,) = struct.unpack_from("<I", metadata)
    fields = _fields(metadata, root)
    kind = struct.unpack_from("<B", metadata, root + fields[1])[0] if fields[1] else 0
    body = struct.unpack_from("<q", metadata, root + fields[3])[0] if fields[3] else 0
    if kind not in _KINDS or not 0 <= body <= _LARGEST_BODY:
        raise struct.error
    return kind, body, _dictionary(metadata, root + fields[2]) if _KINDS[kind] == "dictionary" else (None, False)


def _dictionary(metadata: bytes, place: int) -> tuple[int, bool]:
    header = place + struct.unpack_from("<I", metadata, place)[0]
    fields = _fields(metadata, header)
    number = struct.unpack_from("<q", metadata, header + fields[0])[0] if fields[0] else 0
    adds = struct.unpack_from("<B", metadata, header + fields[2])[0] if fields[2] else 0
    return int(number), bool(adds)


def _fields(metadata: bytes, table: int) -> list[int]:
    """Return how far behind the beginning of a table its first four fields stand, 0 for one that has its default and is left out."""
    sizes = table - struct.unpack_from("<i", metadata, table)[0]
    # the end of the table may be left out too
    size = min(struct.unpack_from("<H", metadata, sizes)[0], 12) // 2 - 2
    return [*struct.unpack_from(f"<{max(size, 0)}H", metadata, sizes + 4), 0, 0, 0, 0]


def _footer(block: bytes | FarBytes, start: int) -> Part | None:
    """Return the footer of a file: it ends with its length and a mark."""
    found = block.find(_FOOTER_END, start)
    while found >= 0:
        if found >= start + 4 and struct.unpack("<i", block[found - 4 : found])[0] == found - 4 - start:
            return Part("mark", start, found + len(_FOOTER_END))
        found = block.find(_FOOTER_END, found + 1)
    return None
