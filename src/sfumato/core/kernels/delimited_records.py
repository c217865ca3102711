"""Where the records of delimited bytes begin and end, good ones and bad ones: what a reader that must go on needs to know before it reads.

A record ends with the first line end that is not within quotes. One whose quotes are wrong ends with its first line end that is not escaped, so
that a quote that is never closed costs one line and not all that follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel, plain_kernel
from sfumato.core.kernels._words import trailing_zeros, word_at
from sfumato.core.kernels.delimited_parse import AFTER_QUOTE, LONG, OPEN_ESCAPE, OPEN_QUOTE, SHORT

GOOD = 0
_NOT_WHOLE = -1


@plain_kernel
def find_records(
    data: Any, position: int, end: int, last: bool, delimiter: int, quote: int, escape: int, width: int, header: bool, largest: int, found: Any
) -> Any:
    """Return how many records there are in ``data[position:end]``, and where the last of them ends with its line.

    ``data`` must hold a line end at ``end``; a quote or escape of -1 does not exist. As far as ``found`` has room it gets start and end of each
    record, what is wrong with it, and how many fields it has. The record at the end counts only if it is whole, or the ``last``. A line without
    anything is no record, except where a record is one field and the ``header`` has been. At the end of a line that is ``largest`` bytes behind
    the beginning of its record, a quote counts as never closed.
    """
    in_plain = (_spread(delimiter), _spread(10), _spread(13), _spread(escape if escape >= 0 else delimiter))
    in_quotes = (_spread(quote if quote >= 0 else 10), _spread(10), _spread(10), _spread(escape if escape >= 0 else 10))
    number, used = np.int64(0), np.int64(position)
    position = np.int64(position)
    while position < end:
        begin, field, fault = position, np.int64(0), np.int64(GOOD)
        blank = (data[position] == 10 or data[position] == 13) and (width > 1 or (header and number == 0))
        more = not blank
        while more:
            if position < end and data[position] == quote:
                position, fault = _after_quotes(data, begin, position + 1, end, last, quote, escape, largest, in_quotes)
                if fault == GOOD and position < end and data[position] != delimiter and data[position] != 10 and data[position] != 13:
                    fault = np.int64(AFTER_QUOTE)
            else:
                position = _until(data, position, in_plain)
                while position < end and data[position] == escape:
                    if position + 1 >= end:
                        fault = np.int64(OPEN_ESCAPE if last else _NOT_WHOLE)
                        break
                    position = _until(data, position + 2, in_plain)
            field += 1
            more = fault == GOOD and position < end and data[position] == delimiter
            position += more
        if fault > GOOD:
            # a line end that is escaped ends no line, here as elsewhere: read by itself, the line is as wrong as it was among the others
            position = begin
            while position < end and data[position] != 10 and data[position] != 13:
                position = min(position + (2 if data[position] == escape else 1), end)
        stop = position
        if fault == _NOT_WHOLE or (position >= end and not last):
            break
        if data[position] == 13 and position < end:
            if position + 1 >= end and not last:
                # whether a line feed belongs to it is in the next bytes
                break
            position += 1
            position += position < end and data[position] == 10
        elif position < end:
            position += 1
        used = position
        if blank:
            continue
        if fault == GOOD and field != width:
            fault = np.int64(SHORT if field < width else LONG)
        if number < found.shape[1]:
            found[0, number], found[1, number], found[2, number], found[3, number] = begin, stop, fault, field
        number += 1
    return number, used


@inner_kernel
def _after_quotes(data: Any, begin: Any, position: Any, end: int, last: bool, quote: int, escape: int, largest: int, in_quotes: Any) -> Any:
    """Return the place behind the quote that closes a field, and what is wrong."""
    fault = np.int64(GOOD)
    while True:
        position = _until(data, position, in_quotes)
        if position >= end or (data[position] == escape and position + 1 >= end):
            fault = np.int64(OPEN_QUOTE if last else _NOT_WHOLE)
            break
        if data[position] == escape:
            position += 2
        elif data[position] == quote:
            position += 1
            if escape != -1 or position >= end or data[position] != quote:
                break
            # doubled, which only a dialect without escape knows
            position += 1
        else:
            position += 1
            if position - begin > largest:
                fault = np.int64(OPEN_QUOTE)
                break
    return position, fault


@inner_kernel
def _until(data: Any, position: Any, marks: Any) -> Any:
    """Return the place of the first of four bytes, eight at a time."""
    one, other, third, fourth = marks
    while True:
        word = word_at(data, position)
        found = _zeros(word ^ one) | _zeros(word ^ other) | _zeros(word ^ third) | _zeros(word ^ fourth)
        if found != np.uint64(0):
            return position + np.int64(trailing_zeros(found) >> np.uint64(3))
        position += 8


@inner_kernel
def _spread(byte: Any) -> Any:
    return np.uint64(byte & 0xFF) * np.uint64(0x0101010101010101)


@inner_kernel
def _zeros(word: Any) -> Any:
    return (word - np.uint64(0x0101010101010101)) & ~word & np.uint64(0x8080808080808080)
