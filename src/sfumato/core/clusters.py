"""Clusters: the code points that a reader sees as one character, and that must not be torn apart.

After Unicode Standard Annex #29, "Unicode text segmentation", of which this is the part that matters where characters are moved: a base with the
marks, joiners, skin tones and tags that follow it, whatever follows a zero-width joiner, a flag of two letters, a Hangul syllable of parts.
Prepended marks and the conjuncts of Indic scripts are not known.
"""

from __future__ import annotations

import unicodedata

import numpy as np
from numpy.typing import NDArray

from sfumato.core.code_points import CodePoints

_JOINER = 0x200D
_FOLLOWING = [(0x200C, 0x200D), (0x1160, 0x11FF), (0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F)]
_FLAG_LETTERS = (0x1F1E6, 0x1F1FF)


def begins(text: CodePoints) -> NDArray[np.bool_]:
    """Return for each code point whether a cluster begins with it. Cost: linear, and one look-up for each distinct code point.

    >>> import pyarrow as pa
    >>> begins(CodePoints.of(pa.array(["e\u0301a", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7"]))).tolist()
    [True, False, True, True, False, True, False]
    """
    points = text.points
    found = np.ones(len(points), bool)
    if points.dtype != np.uint8:
        found &= ~_following(points)
        found[1:] &= points[:-1] != _JOINER
        found &= ~_second_of_flag(text)
    # whatever stands first in a value has nothing to follow
    first = text.starts[:-1][text.lengths > 0]
    found[first] = True
    return found


def distinct(points: NDArray[np.uint32]) -> list[int]:
    """Return the code points that occur."""
    present = np.zeros(0x110000, bool)
    present[points] = True
    found: list[int] = np.flatnonzero(present).tolist()
    return found


def _following(points: NDArray[np.uint32]) -> NDArray[np.bool_]:
    table = np.zeros(0x110000, bool)
    for point in distinct(points):
        table[point] = unicodedata.category(chr(point)).startswith("M") or any(low <= point <= high for low, high in _FOLLOWING)
    found: NDArray[np.bool_] = table[points]
    return found


def _second_of_flag(text: CodePoints) -> NDArray[np.bool_]:
    """Return which code points are the second letter of a flag: every other one of a row of such letters."""
    low, high = _FLAG_LETTERS
    letters = (text.points >= low) & (text.points <= high)
    if not letters.any():
        return letters
    place = np.arange(len(letters))
    starts = ~letters
    starts[text.starts[:-1][text.lengths > 0]] = True
    # a letter that stands first, in its value or after something else, is the first of its row
    first = letters & (starts | np.r_[True, ~letters[:-1]])
    began = np.maximum.accumulate(np.where(first, place, -1))
    second: NDArray[np.bool_] = letters & ((place - began) % 2 == 1)
    return second
