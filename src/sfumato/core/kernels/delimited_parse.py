"""Delimited bytes to fields in one strict pass: structure checked, values of coded columns looked up, places of plain fields noted.

Fast readers forgive: a stray quote can swallow lines, and a file that ends within quotes looks whole. This one forgives nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel, plain_kernel
from sfumato.core.kernels._words import trailing_zeros, word_at

# why the kernel came back: the bytes are used up, the arrays for rows, values or their bytes are full, or a record is bad
MORE, ROWS_FULL, VALUES_FULL, BYTES_FULL, SHORT, LONG, AFTER_QUOTE, OPEN_QUOTE, OPEN_ESCAPE = range(9)
# places in the state array
POSITION, SPARE, ROWS, LINE, HEADER, VALUES, BYTES, FAULT_LINE, FAULT_FIELDS = range(9)
NOTHING, CODED, PLAIN = range(3)
# a slot of the table of values: up to fifteen bytes and their number, or a hash of more; column and code; the value
_EXACT = 15
FREE = np.uint64(0xFFFFFFFFFFFFFFFF)


@plain_kernel
def parse(
    data: Any,
    end: int,
    last: bool,
    delimiter: int,
    quote: int,
    escape: int,
    uses: Any,
    places: Any,
    codes: Any,
    starts: Any,
    lengths: Any,
    slots: Any,
    value_columns: Any,
    value_starts: Any,
    value_lengths: Any,
    pool: Any,
    counts: Any,
    seed: Any,
    state: Any,
) -> int:
    """Read records from ``data[state[POSITION]:end]`` until something is used up; a quote or escape of -1 does not exist.

    ``data`` must hold a line end at ``end``. Field ``i`` goes where ``uses[i]`` says, into row ``places[i]`` of ``codes``, or of ``starts``
    and ``lengths`` (-1 is null); values with quotes or escapes within them are written anew behind ``state[SPARE]``. A record that is not
    whole is left for the next call, so what is written twice is the same.
    """
    in_plain = (_spread(delimiter), _spread(10), _spread(13), _spread(escape if escape >= 0 else delimiter))
    in_quotes = (_spread(quote), _spread(10), _spread(10), _spread(escape if escape >= 0 else quote))
    width = len(uses)
    capacity = codes.shape[1]
    position, spare, row, line = state[POSITION], state[SPARE], state[ROWS], state[LINE]
    status, begin_line = -1, line
    while status < 0:
        state[POSITION], state[SPARE], state[ROWS], state[LINE] = position, spare, row, line
        if position >= end:
            status = MORE
            break
        header = state[HEADER] == 1
        if row == capacity and not header:
            status = ROWS_FULL
            break
        begin_line = line
        byte = data[position]
        # a line without anything is no record, except where a record is one field
        blank = (byte == 10 or byte == 13) and (width > 1 or header)
        field = 0
        whole = blank
        while not whole:
            use = uses[field] if field < width and not header else NOTHING
            quoted = data[position] == quote and position < end
            start = position + quoted
            position, high, word = _until(data, start, in_quotes if quoted else in_plain)
            length = position - start
            byte = data[position]
            if quoted:
                careful = position >= end or byte != quote or (escape == -1 and data[position + 1] == quote)
            else:
                careful = byte == escape and position < end
                if length == 0:
                    length = np.int64(-1)
            if careful:
                position, length, lines, status = _written_anew(data, start, end, last, quoted, delimiter, quote, escape, spare)
                if status >= 0:
                    break
                start = spare
                spare += length
                line += lines
                high, word = _packed(data, start, length)
            if quoted:
                position += 1
                byte = data[position]
                if position < end and byte != delimiter and byte != 10 and byte != 13:
                    status = AFTER_QUOTE
                    state[FAULT_LINE] = line
                    break
            if position >= end and not last:
                status = MORE
                break
            if use == PLAIN:
                starts[places[field], row] = start
                lengths[places[field], row] = length
            elif use == CODED and length < 0:
                codes[places[field], row] = -1
            elif use == CODED:
                column = places[field]
                low = word | (np.uint64(min(length, _EXACT + 1)) << np.uint64(56))
                slot = _slot(high, low, column, len(slots), seed)
                found = slots[slot, 2]
                while found != FREE:
                    if slots[slot, 0] == high and slots[slot, 1] == low and np.int64(found >> np.uint64(32)) == column:
                        value = slots[slot, 3]
                        if length <= _EXACT or _same(data, start, length, pool, value_starts[value], value_lengths[value]):
                            break
                    slot = (slot + 1) & (len(slots) - 1)
                    found = slots[slot, 2]
                if found == FREE:
                    value, used = state[VALUES], state[BYTES]
                    if 2 * value >= len(slots):
                        status = VALUES_FULL
                        break
                    if used + length + 8 > len(pool):
                        status = BYTES_FULL
                        break
                    for place in range(length):
                        pool[used + place] = data[start + place]
                    value_columns[value], value_starts[value], value_lengths[value] = column, used, length
                    state[VALUES], state[BYTES] = value + 1, used + length
                    found = (np.uint64(column) << np.uint64(32)) | np.uint64(counts[column])
                    counts[column] += 1
                    slots[slot, 0], slots[slot, 1], slots[slot, 2], slots[slot, 3] = high, low, found, np.uint64(value)
                codes[column, row] = np.int64(found & np.uint64(0xFFFFFFFF))
            field += 1
            whole = position >= end or data[position] != delimiter
            if not whole:
                position += 1
        if status >= 0:
            break
        if not blank and field != width:
            status = SHORT if field < width else LONG
            state[FAULT_FIELDS] = field
            break
        if position < end and data[position] == 13:
            if position + 1 >= end and not last:
                # whether a line feed belongs to it is in the next bytes
                status = MORE
                break
            position += 1
            if position < end and data[position] == 10:
                position += 1
        elif position < end:
            position += 1
        line += 1
        if header and not blank:
            state[HEADER] = 0
        elif not blank:
            row += 1
    if status != AFTER_QUOTE:
        state[FAULT_LINE] = begin_line if status > BYTES_FULL else line
    return status


@inner_kernel
def _until(data: Any, start: Any, marks: Any) -> Any:
    """Return the place of the first of four bytes, and what is before it, packed: all words of eight bytes but the last, and the last.

    Eight bytes at a time: where a word equals a pattern in a byte, their difference is zero in that byte, and the lowest such byte is exact.
    """
    one, other, third, fourth = marks
    high, position = np.uint64(0), start
    while True:
        word = word_at(data, position)
        found = _zeros(word ^ one) | _zeros(word ^ other) | _zeros(word ^ third) | _zeros(word ^ fourth)
        if found != np.uint64(0):
            break
        high = _folded(high, word)
        position += 8
    bits = trailing_zeros(found) & np.uint64(0x38)
    return position + np.int64(bits >> np.uint64(3)), high, word & ((np.uint64(1) << bits) - np.uint64(1))


@inner_kernel
def _spread(byte: Any) -> Any:
    return np.uint64(byte & 0xFF) * np.uint64(0x0101010101010101)


@inner_kernel
def _zeros(word: Any) -> Any:
    return (word - np.uint64(0x0101010101010101)) & ~word & np.uint64(0x8080808080808080)


@inner_kernel
def _written_anew(data: Any, start: Any, end: int, last: bool, quoted: Any, delimiter: int, quote: int, escape: int, spare: Any) -> Any:
    """Write a value without its doubled quotes and escapes behind ``spare``; return where it ends, its length, its line ends and a status."""
    position, written, lines, status = start, spare, np.int64(0), np.int64(-1)
    while True:
        byte = data[position]
        if position >= end:
            if quoted:
                status = OPEN_QUOTE if last else MORE
            break
        if byte == escape:
            position += 1
            if position >= end:
                status = MORE if not last else OPEN_QUOTE if quoted else OPEN_ESCAPE
                break
            byte = data[position]
        elif quoted and byte == quote:
            # doubled, which only a dialect without escape knows, or the closing one
            if escape != -1 or position + 1 >= end or data[position + 1] != quote:
                break
            position += 1
        elif not quoted and (byte == delimiter or byte == 10 or byte == 13):
            break
        if byte == 10:
            lines += 1
        data[written] = byte
        written += 1
        position += 1
    return position, written - spare, lines, status


@inner_kernel
def _packed(data: Any, start: Any, length: Any) -> Any:
    """Return a value as ``_until`` packs it."""
    high, word = np.uint64(0), np.uint64(0)
    for place in range(length):
        word |= np.uint64(data[start + place]) << np.uint64(8 * (place & 7))
        if place & 7 == 7:
            high = _folded(high, word)
            word = np.uint64(0)
    return high, word


@inner_kernel
def _folded(high: Any, word: Any) -> Any:
    """Mix a word into those before it; the first one stays as it is."""
    mixed = high * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29)) ^ word


@inner_kernel
def _slot(high: Any, low: Any, column: Any, capacity: int, seed: Any) -> Any:
    # the seed is a secret of the process: nobody can write a file whose values all meet in one place
    mixed = (high ^ seed) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(31)) ^ low) * (seed | np.uint64(1))
    mixed = (mixed ^ (mixed >> np.uint64(29)) ^ np.uint64(column)) * np.uint64(0xC2B2AE3D27D4EB4F)
    return np.int64((mixed >> np.uint64(32)) & np.uint64(capacity - 1))


@inner_kernel
def _same(data: Any, start: Any, length: Any, pool: Any, other: Any, other_length: Any) -> Any:
    same = length == other_length
    place = 0
    while same and place < length:
        same = data[start + place] == pool[other + place]
        place += 1
    return same


@plain_kernel
def place_again(slots: Any, larger: Any, seed: Any) -> None:
    """Move all values to a larger table, whose slots are free."""
    for old in range(len(slots)):
        if slots[old, 2] != FREE:
            slot = _slot(slots[old, 0], slots[old, 1], slots[old, 2] >> np.uint64(32), len(larger), seed)
            while larger[slot, 2] != FREE:
                slot = (slot + 1) & (len(larger) - 1)
            for part in range(4):
                larger[slot, part] = slots[old, part]
