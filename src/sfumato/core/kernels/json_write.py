"""Values to lines of JSON: what stands between them copied, texts quoted and escaped as Python's ``json`` does it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel, plain_kernel
from sfumato.core.kernels._words import put_word, word_at

# how a column is written: as it is, as text in quotes, or as a number, which is text where it is none
AS_IT_IS, TEXT, NUMBER = range(3)
# places in the state array
ROW, PLACE = range(2)
MOST_FOR_A_BYTE = 6
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


@plain_kernel
def write(data: Any, starts: Any, values: Any, forms: Any, frames: Any, frame_starts: Any, text: Any, state: Any) -> None:
    """Write one line a row from ``state[ROW]`` on into ``text``, from ``state[PLACE]`` on, until all are written or there is no more room.

    Before value ``values[column, row]``, which has the bytes from ``starts[value]`` to ``starts[value + 1]`` and is null where it is -1, stands frame
    ``column``; the last frame ends the line.
    """
    columns, rows = values.shape
    place, room = state[PLACE], len(text) - frame_starts[columns + 1] - 5 * columns - 16
    row = state[ROW]
    while row < rows:
        needed = place
        for column in range(columns):
            value = values[column, row]
            if value >= 0:
                needed += MOST_FOR_A_BYTE * (starts[value + 1] - starts[value]) + 2
        if needed > room:
            break
        for column in range(columns):
            place = _copied(frames, frame_starts[column], frame_starts[column + 1] - frame_starts[column], text, place)
            value, form = values[column, row], forms[column]
            if value < 0:
                put_word(text, place, np.uint64(0x6C6C756E))
                place += 4
                continue
            start, length = starts[value], starts[value + 1] - starts[value]
            quoted = form == TEXT
            if form == NUMBER:
                last = data[start + length - 1]
                quoted = last < 48 or last > 57
                if length > 2 and last == 48 and data[start + length - 2] == 46:
                    length -= 2
            if quoted:
                text[place] = 34
                place = _escaped(data, start, length, text, place + 1)
                text[place] = 34
                place += 1
            else:
                place = _copied(data, start, length, text, place)
        place = _copied(frames, frame_starts[columns], frame_starts[columns + 1] - frame_starts[columns], text, place)
        row += 1
    state[ROW], state[PLACE] = row, place


@inner_kernel
def _copied(data: Any, start: Any, length: Any, text: Any, place: Any) -> Any:
    """Copy some bytes and return where they end."""
    for done in range(0, length, 8):
        put_word(text, place + done, word_at(data, start + done))
    return place + length


@inner_kernel
def _escaped(data: Any, start: Any, length: Any, text: Any, place: Any) -> Any:
    """Copy some bytes, with escapes for those that need one, and return where they end."""
    done = np.int64(0)
    while done < length:
        word = word_at(data, start + done)
        found = _zeros(word ^ np.uint64(0x2222222222222222)) | _zeros(word ^ np.uint64(0x5C5C5C5C5C5C5C5C))
        found |= (word - np.uint64(0x2020202020202020)) & ~word & _HIGHS
        left = length - done
        if left < 8:
            found &= (np.uint64(1) << np.uint64(8 * left)) - np.uint64(1)
        if found != np.uint64(0):
            break
        put_word(text, place + done, word)
        done += 8
    if done >= length:
        return place + length
    place += done
    while done < length:
        byte = data[start + done]
        done += 1
        if byte >= 32 and byte != 34 and byte != 92:
            text[place] = byte
            place += 1
            continue
        text[place] = 92
        letter = np.uint8(0)
        if byte == 34 or byte == 92:
            letter = byte
        elif byte == 10:
            letter = np.uint8(110)
        elif byte == 13:
            letter = np.uint8(114)
        elif byte == 9:
            letter = np.uint8(116)
        elif byte == 12:
            letter = np.uint8(102)
        elif byte == 8:
            letter = np.uint8(98)
        if letter != 0:
            text[place + 1] = letter
            place += 2
            continue
        text[place + 1], text[place + 2], text[place + 3], text[place + 4] = 117, 48, 48, 48 + (byte >> 4)
        low = byte & 15
        text[place + 5] = low + 48 if low < 10 else low + 87
        place += 6
    return place


@inner_kernel
def _zeros(word: Any) -> Any:
    return (word - _ONES) & ~word & _HIGHS
