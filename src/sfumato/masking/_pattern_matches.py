"""Where an expression of RE2 matches within texts: Arrow says whether, and replaces, but does not say where."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# no characters, by the standard, and then those that everybody may use as they like
_MARKS = (range(0xFDD0, 0xFDF0), range(0xE000, 0xF900), range(0xF0000, 0xFFFFE))


def matches_in(texts: pa.Array, pattern: str) -> dict[int, list[tuple[int, int]]]:
    """Return begin and end of each match, by row; a match of nothing is none.

    >>> matches_in(pa.array(["ward 7, bed 12", "none"]), "[0-9]+")
    {0: [(5, 6), (12, 14)]}
    """
    rows = np.flatnonzero(pc.fill_null(pc.match_substring_regex(texts, pattern), False).to_numpy(zero_copy_only=False))
    there = texts.take(pa.array(rows))
    unused = (mark for mark in map(chr, chain.from_iterable(_MARKS)) if not pc.any(pc.match_substring(there, mark)).as_py())
    opening, closing = next(unused), next(unused)
    marked = pc.replace_substring_regex(there, pattern, f"{opening}\\0{closing}").to_pylist()
    found = {int(row): list(_spans(text, opening, closing)) for row, text in zip(rows, marked, strict=True)}
    return {row: spans for row, spans in found.items() if spans}


def _spans(marked: str, opening: str, closing: str) -> Iterator[tuple[int, int]]:
    before, *parts = marked.split(opening)
    place = len(before)
    for part in parts:
        match, _, rest = part.partition(closing)
        if match:
            yield place, place + len(match)
        place += len(match) + len(rest)
