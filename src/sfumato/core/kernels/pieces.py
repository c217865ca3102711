"""Pieces of bytes put together: into one column, or into lines."""

from __future__ import annotations

from typing import Any

from sfumato.core.kernels import plain_kernel
from sfumato.core.kernels._words import put_word, word_at

MARGIN = 8
"""Copies go eight bytes at a time: what is read and what is written must have this much room behind its end."""


@plain_kernel
def gather(data: Any, starts: Any, lengths: Any, places: Any, text: Any) -> None:
    """Copy pieces of ``data`` one after the other; piece ``i`` begins at ``places[i]``."""
    for piece in range(len(starts)):
        start, begin = starts[piece], places[piece]
        for done in range(0, lengths[piece], 8):
            put_word(text, begin + done, word_at(data, start + done))


@plain_kernel
def join(data: Any, starts: Any, values: Any, delimiter: int, text: Any) -> None:
    """Write one line a row: for each of its ``values`` the bytes from ``starts[value]`` to ``starts[value + 1]``, and what separates them."""
    place = 0
    pieces, rows = values.shape
    for row in range(rows):
        for piece in range(pieces):
            value = values[piece, row]
            start, length = starts[value], starts[value + 1] - starts[value]
            for done in range(0, length, 8):
                put_word(text, place + done, word_at(data, start + done))
            place += length
            text[place] = delimiter if piece + 1 < pieces else 10
            place += 1
