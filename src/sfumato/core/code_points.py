"""Text as code points: one array for all values of a column, so that masks look at every character of it at once.

A character is a Unicode code point here, not what a reader would call a letter: an accent that is written as a mark of its own counts as one,
and so does each part of a joined emoji.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

_ASCII_END = 0x80
# Arrow counts the bytes of a column of text in 31 bits
_LARGEST = (1 << 31) - 1


def _shown(value: str) -> str:
    if len(value) != 1 or not value.isprintable():
        raise ValueError("must be one character that can be printed")
    return value


MaskCharacter = Annotated[str, AfterValidator(_shown), Field(description="what is shown in place of a character")]
"""The character that masks write."""


@dataclass(frozen=True, eq=False)
class CodePoints:
    """The characters of a column: those of value ``i`` stand from ``starts[i]`` to ``starts[i + 1]``.

    ``points`` are bytes where all text is ASCII, which is four times smaller, else 32-bit numbers. ``missing`` says which values are none.

    >>> CodePoints.of(pa.array(["ab", None, "ö"])).masked_between(1, 0, "*").text().to_pylist()
    ['a*', None, '*']
    """

    points: NDArray[Any]
    starts: NDArray[np.int64]
    missing: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, texts: pa.Array) -> CodePoints:
        """Return the characters of a column of text."""
        missing = texts.is_null().to_numpy(zero_copy_only=False) if texts.null_count else None
        if missing is not None:
            # what stands behind a missing value need not be text
            texts = pc.fill_null(texts, "")
        if not len(texts):
            return cls(np.empty(0, np.uint8), np.zeros(1, np.int64))
        _, places, data = texts.buffers()
        offsets = np.frombuffer(places, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
        content = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]] if data is not None else np.empty(0, np.uint8)
        if content.max(initial=0) < _ASCII_END:
            return cls(content, offsets - offsets[0], missing)
        points = np.frombuffer(content.tobytes().decode("utf-8").encode("utf-32-le"), np.uint32)
        return cls(points, _starts(pc.utf8_length(texts).to_numpy()), missing)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many characters each value has."""
        return np.diff(self.starts)

    def of_each(self, per_value: NDArray[Any]) -> NDArray[Any]:
        """Return for each character what is said of its value."""
        return np.repeat(per_value, self.lengths)

    def among(self, characters: str) -> NDArray[np.bool_]:
        """Return for each character whether it is one of these."""
        found = np.zeros(len(self.points), bool)
        for character in set(characters):
            found |= self.points == ord(character)
        return found

    def numbers(self, counted: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return for each character how many counted ones of its value stand before it, and for each value how many it has."""
        before = _before(counted)
        first = before[self.starts]
        return before[:-1] - self.of_each(first[:-1]), np.diff(first)

    def ends(self, counted: NDArray[np.bool_], first: int | NDArray[np.int64], last: int) -> NDArray[np.bool_]:
        """Return which characters stay where the first and the last of the counted ones do, and all that are not counted.

        Of a value that has no more counted characters than these none of them stays: it would be shown whole.
        """
        number, total = self.numbers(counted)
        leading, trailing = (np.where(total > first + last, wanted, 0).astype(np.int32) for wanted in (first, last))
        return ~counted | (number < self.of_each(leading)) | (number >= self.of_each(total - trailing))

    def masked(self, kept: NDArray[np.bool_], character: str) -> CodePoints:
        """Return the text with a mask character in place of every character that is not kept."""
        points = np.where(kept, self.points, self._point(character))
        return replace(self, points=points)

    def masked_between(self, first: int, last: int, character: str) -> CodePoints:
        """Return the text with all but its first and last characters masked; no value is shown whole.

        Means ``masked(ends(...))`` where every character counts, and touches only those that stay.
        """
        point = self._point(character)
        points = np.full(len(self.points), point, np.result_type(self.points.dtype, point.dtype))
        long = self.lengths > first + last
        if long.any():
            begins, ends = self.starts[:-1][long], self.starts[1:][long]
            for places in chain((begins + place for place in range(first)), (ends - place for place in range(1, last + 1))):
                points[places] = self.points[places]
        return replace(self, points=points)

    def only(self, chosen: NDArray[np.bool_]) -> CodePoints:
        """Return the text without the characters that are not chosen."""
        return CodePoints(self.points[chosen], _before(chosen)[self.starts].astype(np.int64), self.missing)

    def text(self, valid: NDArray[np.bool_] | None = None) -> pa.Array:
        """Return the characters as a column of text; null where a value was missing, or is not valid. More than Arrow can hold is a MemoryError."""
        shown = np.ones(len(self.starts) - 1, bool) if valid is None else valid
        shown = shown if self.missing is None else shown & ~self.missing
        data, offsets = self._encoded()
        if offsets[-1] > _LARGEST:
            raise MemoryError
        nulls = len(shown) - int(shown.sum())
        validity = pa.py_buffer(np.packbits(shown, bitorder="little")) if nulls else None
        return pa.StringArray.from_buffers(len(shown), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data), validity, nulls)

    def _encoded(self) -> tuple[Any, NDArray[np.int64]]:
        if self.points.dtype == np.uint8:
            return np.ascontiguousarray(self.points), self.starts
        points = self.points
        widths = 1 + (points > 0x7F).astype(np.int8) + (points > 0x7FF) + (points > 0xFFFF)
        return points.astype("<u4").tobytes().decode("utf-32-le").encode("utf-8"), _starts(widths)[self.starts]

    def _point(self, character: str) -> NDArray[Any]:
        return np.array(ord(character), np.uint8 if ord(character) < _ASCII_END else np.uint32)


def _before(counted: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return how many were counted before each place and at the end; a column has fewer characters than 31 bits can count."""
    before = np.zeros(len(counted) + 1, np.int32)
    np.cumsum(counted, out=before[1:])
    return before


def _starts(lengths: NDArray[Any]) -> NDArray[np.int64]:
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts
