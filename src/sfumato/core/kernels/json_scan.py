"""Lines of JSON to values in one strict pass: structure checked, fields found by their path, numbers read, places of texts noted.

What this pass does not vouch for (an error, a name or a text written in an unusual way, a number that is hard to round, a value of another kind than
its column) it leaves to the slow reader, ``core.json_records.record``, line by line: so the two never differ, and only good plain lines are fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inlined_kernel, inner_kernel, kernel
from sfumato.core.kernels._words import put_word, trailing_zeros, word_at

# what is wanted of a field
NOTHING, TEXT, LIST, INTEGER, NUMBER, BOOLEAN = range(6)
# places in the state array: how many rows and records there were, how many lines are unsure, how many numbers are to be read with more care
ROWS, RECORDS, UNSURE, CAREFUL = range(4)
ROOT = 0
DEEPEST = 64
_UNKNOWN, _WITHIN_LIST = -1, -2
_MOST_MET = 512
_SURE_DIGITS, _MANTISSA_DIGITS, _LONGEST, _POWER = 15, 19, 300, 22
_POWERS = np.array([float(f"1e{power}") for power in range(_POWER + 1)])
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


@kernel
def scan(
    data: Any,
    end: int,
    spare: int,
    separator: int,
    refuse: bool,
    keys: Any,
    key_starts: Any,
    key_lengths: Any,
    parents: Any,
    columns: Any,
    flat: Any,
    uses: Any,
    slots: Any,
    starts: Any,
    lengths: Any,
    wholes: Any,
    fractions: Any,
    valid: Any,
    places: Any,
    unsure: Any,
    careful: Any,
    state: Any,
) -> None:
    """Read the lines of ``data[:end]``; ``data`` must hold a line end at ``end``, and from ``spare`` on room for as many bytes again.

    Node ``i`` of the tree of names is a field of the object ``parents[i]``; its name, with the closing quote, is ``keys[key_starts[i]:]``, of
    ``key_lengths[i]`` bytes. It is column ``columns[i]``, or none (-1); where ``flat[i]``, its name is a whole path. Column ``c`` is wanted as
    ``uses[c]`` and goes into row ``slots[c]`` of the arrays for texts, whole numbers or fractions. ``places`` gets the place of each row among the
    records; ``unsure`` place, start and length of lines that are not read here; ``careful`` column, row, start and length of numbers that are not.
    """
    width, nodes = len(uses), len(parents)
    table = _table_of(keys, key_starts, key_lengths, parents)
    first, after = np.full(nodes, -1, np.int64), np.full(nodes, -1, np.int64)
    seen_nodes, seen_columns = np.full(nodes, -1, np.int64), np.full(width, -1, np.int64)
    met, met_at = np.zeros(2 * _MOST_MET, np.uint64), np.full(2 * _MOST_MET, -1, np.int64)
    # of each open container: its node, its number among the objects (-1 for a list), and the field before
    within, objects, before = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    position, row, record, doubts, numbers = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    while position < end:
        line = position
        while _is_space(data[position]) or data[position] == 11 or data[position] == 12:
            position += 1
        if data[position] == 10:
            position += 1
            continue
        numbers_before, spare_before = numbers, spare
        sure = data[position] == 123
        for place in range(line, position):
            sure = sure and data[place] != 11 and data[place] != 12
        for column in range(width):
            valid[column, row] = 0
            if uses[column] == TEXT or uses[column] == LIST:
                lengths[slots[column], row] = -1
        depth, copying, copied, list_column = np.int64(0), np.int64(-1), np.int64(0), np.int64(-1)
        made, unknown = np.int64(1), np.int64(0)
        within[0], objects[0], before[0] = ROOT, 0, -1
        high = np.uint64(0)
        fresh, done = True, False
        position += 1
        while sure and not done:
            while _is_space(data[position]):
                position += 1
            byte = data[position]
            if not (fresh and byte == (125 if objects[depth] >= 0 else 93)):
                node, use, column = np.int64(_WITHIN_LIST), np.int64(NOTHING), np.int64(-1)
                if objects[depth] >= 0:
                    if byte != 34:
                        sure = False
                        break
                    position += 1
                    start, parent, node = position, within[depth], np.int64(_UNKNOWN)
                    guess = np.int64(-1)
                    if parent >= 0:
                        guess = first[parent] if before[depth] < 0 else after[before[depth]]
                    if guess >= 0 and _same(data, position, keys, key_starts[guess], key_lengths[guess]):
                        node = guess
                        position += key_lengths[guess]
                    else:
                        position, high = _until(data, position, high)
                        if data[position] != 34:
                            sure = False
                            break
                        mixed = _mixed(data, start, position - start)
                        position += 1
                        if parent >= 0:
                            node = _found(table, keys, key_starts, key_lengths, parents, data, start, position - start, parent, mixed)
                        if node >= 0:
                            if before[depth] < 0:
                                first[parent] = node
                            else:
                                after[before[depth]] = node
                        else:
                            # nobody knows the name: only that it is not there twice, and is no path
                            unknown += 1
                            for place in range(start, position):
                                sure = sure and (data[place] != separator or parent == _WITHIN_LIST)
                            mixed ^= np.uint64(objects[depth]) * np.uint64(0xC2B2AE3D27D4EB4F)
                            slot = np.int64((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) % len(met)
                            while met_at[slot] == record and met[slot] != mixed:
                                slot = (slot + 1) % len(met)
                            if not sure or met_at[slot] == record or unknown >= _MOST_MET:
                                sure = False
                                break
                            met[slot], met_at[slot] = mixed, record
                    if copying >= 0:
                        _copy(data, start - 1, position - start + 1, spare)
                        spare += position - start + 1
                        data[spare] = 58
                        spare += 1
                    if node >= 0:
                        if seen_nodes[node] == record:
                            sure = False
                            break
                        seen_nodes[node] = record
                        before[depth] = node
                    elif parent == _WITHIN_LIST:
                        node = np.int64(_WITHIN_LIST)
                    while _is_space(data[position]):
                        position += 1
                    if data[position] != 58:
                        sure = False
                        break
                    position += 1
                    while _is_space(data[position]):
                        position += 1
                    byte = data[position]
                    if byte != 123 and node != _WITHIN_LIST:
                        column = columns[node] if node >= 0 else np.int64(-1)
                        if column >= 0:
                            if seen_columns[column] == record:
                                sure = False
                                break
                            seen_columns[column] = record
                            use = uses[column]
                        elif refuse and not (node >= 0 and byte == 110):
                            # a null in the place of an object is no field
                            sure = False
                            break
                if byte == 123 or byte == 91:
                    opened = byte == 123
                    if depth + 1 == DEEPEST or (opened and node >= 0 and flat[node]) or (not opened and use != NOTHING and use != LIST):
                        sure = False
                        break
                    depth += 1
                    within[depth] = node if opened else np.int64(_WITHIN_LIST)
                    objects[depth] = made if opened else np.int64(-1)
                    before[depth] = -1
                    made += opened
                    if use == LIST:
                        copying, copied, list_column = depth, spare, column
                    if copying >= 0:
                        data[spare] = byte
                        spare += 1
                    position += 1
                    fresh = True
                    continue
                start, piece, length = position, position, np.int64(0)
                if byte == 34:
                    position, high = _until(data, position + 1, high)
                    piece, length = start + 1, position - start - 1
                    if data[position] == 92:
                        position, length, high, usual = _written_anew(data, start + 1, spare, high)
                        piece = spare
                        if position < 0 or ((use == LIST or copying >= 0) and not usual):
                            sure = False
                            break
                        if use == TEXT:
                            spare += length
                    elif data[position] != 34:
                        sure = False
                        break
                    position += 1
                    if use == LIST or copying >= 0:
                        piece, length = start, position - start
                    elif use != TEXT and use != NOTHING:
                        sure = False
                        break
                elif byte == 45 or (byte >= 48 and byte <= 57):
                    position, mantissa, digits, exponent, form, leading = _number(data, position)
                    whole = form == 0
                    length = position - start
                    if form < 0 or length > _LONGEST or digits + exponent > _LONGEST or exponent < -_LONGEST:
                        # no number, or one so long that it may be none that can be held
                        sure = False
                        break
                    negative = byte == 45
                    if use == INTEGER:
                        largest = np.uint64(9223372036854775807) + np.uint64(negative)
                        if not whole or digits > _MANTISSA_DIGITS or mantissa > largest:
                            sure = False
                            break
                        wholes[slots[column], row] = np.int64(np.uint64(0) - mantissa if negative else mantissa)
                    elif use == NUMBER:
                        if digits <= _MANTISSA_DIGITS and mantissa <= np.uint64(1 << 53) and exponent <= _POWER and exponent >= -_POWER:
                            number = np.float64(mantissa)
                            number = number * _POWERS[exponent] if exponent >= 0 else number / _POWERS[-exponent]
                            # a whole number has no minus zero
                            fractions[slots[column], row] = -number if negative and not (whole and mantissa == np.uint64(0)) else number
                        else:
                            careful[0, numbers], careful[1, numbers], careful[2, numbers], careful[3, numbers] = column, row, start, length
                            numbers += 1
                    elif use == BOOLEAN:
                        sure = False
                        break
                    elif use != NOTHING or copying >= 0:
                        if whole:
                            if negative and mantissa == np.uint64(0) and digits == 0:
                                piece, length = start + 1, np.int64(1)
                        elif form == 1 and digits <= _SURE_DIGITS and leading <= 3:
                            # as Python would write it again: without zeros at the end
                            while data[piece + length - 1] == 48 and data[piece + length - 2] != 46:
                                length -= 1
                        elif use == TEXT:
                            careful[0, numbers], careful[1, numbers], careful[2, numbers], careful[3, numbers] = column, row, start, length
                            numbers += 1
                        else:
                            sure = False
                            break
                else:
                    word = word_at(data, position)
                    low = word & np.uint64(0xFFFFFFFF)
                    length = np.int64(4)
                    truth = low == np.uint64(0x65757274)
                    if low == np.uint64(0x6C6C756E):
                        if copying < 0:
                            length = np.int64(-1)
                        position += 4
                    elif truth or (word & np.uint64(0xFFFFFFFFFF)) == np.uint64(0x65736C6166):
                        length = np.int64(4 if truth else 5)
                        position += length
                        if use == INTEGER or use == NUMBER:
                            sure = False
                            break
                        if use == BOOLEAN:
                            wholes[slots[column], row] = truth
                    else:
                        sure = False
                        break
                if copying >= 0:
                    _copy(data, piece, length, spare)
                    spare += length
                elif use != NOTHING:
                    valid[column, row] = length >= 0
                    if use == TEXT or use == LIST:
                        starts[slots[column], row], lengths[slots[column], row] = piece, length
            fresh = False
            while True:
                while _is_space(data[position]):
                    position += 1
                byte = data[position]
                if copying >= 0:
                    data[spare] = byte
                    spare += 1
                if byte == 44:
                    position += 1
                    break
                if byte != (125 if objects[depth] >= 0 else 93):
                    sure = False
                    break
                position += 1
                if copying == depth:
                    starts[slots[list_column], row], lengths[slots[list_column], row] = copied, spare - copied
                    valid[list_column, row] = 1
                    copying = np.int64(-1)
                depth -= 1
                if depth < 0:
                    done = True
                    break
        if sure:
            while _is_space(data[position]):
                position += 1
            sure = data[position] == 10 and (high & _HIGHS == np.uint64(0) or _is_utf8(data, line, position))
        if sure:
            places[row] = record
            row += 1
        else:
            position = line
            while data[position] != 10:
                position += 1
            unsure[0, doubts], unsure[1, doubts], unsure[2, doubts] = record, line, min(position, end) - line
            doubts += 1
            numbers, spare = numbers_before, spare_before
        record += 1
        position += 1
    state[ROWS], state[RECORDS], state[UNSURE], state[CAREFUL] = row, record, doubts, numbers


@inner_kernel
def _is_space(byte: Any) -> Any:
    """Return whether JSON knows a byte as space within a line."""
    return byte == 32 or byte == 13 or byte == 9


@inner_kernel
def _until(data: Any, position: Any, high: Any) -> Any:
    """Return the place of the first quote, backslash or control character, and which high bits have been seen so far.

    Eight bytes at a time: where a word equals a pattern in a byte, their difference is zero in that byte, and the lowest such byte is exact.
    """
    while True:
        word = word_at(data, position)
        found = _zeros(word ^ np.uint64(0x2222222222222222)) | _zeros(word ^ np.uint64(0x5C5C5C5C5C5C5C5C))
        found |= (word - np.uint64(0x2020202020202020)) & ~word & _HIGHS
        if found != np.uint64(0):
            break
        high |= word
        position += 8
    bits = trailing_zeros(found) & np.uint64(0x38)
    return position + np.int64(bits >> np.uint64(3)), high | (word & ((np.uint64(1) << bits) - np.uint64(1)))


@inner_kernel
def _zeros(word: Any) -> Any:
    return (word - _ONES) & ~word & _HIGHS


@inner_kernel
def _same(data: Any, place: Any, keys: Any, start: Any, length: Any) -> Any:
    same = True
    for done in range(0, length, 8):
        differ = word_at(data, place + done) ^ word_at(keys, start + done)
        left = length - done
        if left < 8:
            differ &= (np.uint64(1) << np.uint64(8 * left)) - np.uint64(1)
        if differ != np.uint64(0):
            same = False
            break
    return same


@inner_kernel
def _mixed(data: Any, start: Any, length: Any) -> Any:
    """Return a number that names with the same bytes share."""
    mixed = np.uint64(length)
    for done in range(0, length, 8):
        word, left = word_at(data, start + done), length - done
        if left < 8:
            word &= (np.uint64(1) << np.uint64(8 * left)) - np.uint64(1)
        mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


@inlined_kernel
def _table_of(keys: Any, key_starts: Any, key_lengths: Any, parents: Any) -> Any:
    """Return a table in which the fields of an object are found."""
    size = 16
    while size < 4 * len(parents):
        size *= 2
    table = np.full(size, -1, np.int64)
    for node in range(1, len(parents)):
        # without its closing quote
        slot = _slot(_mixed(keys, key_starts[node], key_lengths[node] - 1), parents[node], size)
        while table[slot] >= 0:
            slot = (slot + 1) % size
        table[slot] = node
    return table


@inner_kernel
def _slot(mixed: Any, parent: Any, size: Any) -> Any:
    return np.int64(((mixed + np.uint64(parent)) * np.uint64(0xC2B2AE3D27D4EB4F)) >> np.uint64(33)) % size


@inner_kernel
def _found(
    table: Any, keys: Any, key_starts: Any, key_lengths: Any, parents: Any, data: Any, start: Any, length: Any, parent: Any, mixed: Any
) -> Any:
    """Return the node of a name, which is given with its closing quote; -1 where there is none."""
    slot = _slot(mixed, parent, len(table))
    while True:
        node = table[slot]
        if node < 0 or (parents[node] == parent and key_lengths[node] == length and _same(data, start, keys, key_starts[node], length)):
            return node
        slot = (slot + 1) % len(table)


@inner_kernel
def _copy(data: Any, start: Any, length: Any, place: Any) -> None:
    for done in range(0, length, 8):
        put_word(data, place + done, word_at(data, start + done))


@inner_kernel
def _written_anew(data: Any, start: Any, place: Any, high: Any) -> Any:
    """Write a text without its escapes at ``place``.

    Return where its closing quote is (-1 where it has none, or is no text), its length, the high bits seen so far, and whether every escape in it is
    one that is always written.
    """
    position, written, usual = start, place, True
    while True:
        byte = data[position]
        if byte == 34:
            break
        if byte < 32:
            position = np.int64(-1)
            break
        if byte != 92:
            high |= np.uint64(byte)
            data[written] = byte
            written += 1
            position += 1
            continue
        byte = data[position + 1]
        position += 2
        if byte == 117:
            usual = False
            point = _hexadecimal(data, position)
            position += 4
            if point >= 0xD800 and point < 0xDC00 and data[position] == 92 and data[position + 1] == 117:
                second = _hexadecimal(data, position + 2)
                position += 6
                point = 0x10000 + ((point - 0xD800) << 10) + (second - 0xDC00) if second >= 0xDC00 and second < 0xE000 else np.int64(-1)
            if point < 0 or (point >= 0xD800 and point < 0xE000):
                # half a character is no text
                position = np.int64(-1)
                break
            if point < 0x80:
                data[written] = point
                written += 1
            elif point < 0x800:
                data[written], data[written + 1] = 0xC0 | (point >> 6), 0x80 | (point & 63)
                written += 2
            elif point < 0x10000:
                data[written], data[written + 1], data[written + 2] = 0xE0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63)
                written += 3
            else:
                data[written], data[written + 1] = 0xF0 | (point >> 18), 0x80 | ((point >> 12) & 63)
                data[written + 2], data[written + 3] = 0x80 | ((point >> 6) & 63), 0x80 | (point & 63)
                written += 4
            continue
        if byte == 34 or byte == 92 or byte == 47:
            data[written] = byte
            usual = usual and byte != 47
        elif byte == 110:
            data[written] = 10
        elif byte == 116:
            data[written] = 9
        elif byte == 114:
            data[written] = 13
        elif byte == 98:
            data[written] = 8
        elif byte == 102:
            data[written] = 12
        else:
            position = np.int64(-1)
            break
        written += 1
    return position, written - place, high, usual


@inner_kernel
def _hexadecimal(data: Any, position: Any) -> Any:
    """Return the number that four digits are; -1 where they are none."""
    number = np.int64(0)
    for place in range(position, position + 4):
        byte = np.int64(data[place])
        if byte >= 48 and byte <= 57:
            number = number * 16 + byte - 48
        elif (byte >= 65 and byte <= 70) or (byte >= 97 and byte <= 102):
            number = number * 16 + (byte & 7) + 9
        else:
            number = np.int64(-1)
            break
    return number


@inner_kernel
def _number(data: Any, position: Any) -> Any:
    """Read a number as far as it goes.

    Return where it ends, its digits as one number, how many they are without zeros before them, the power of ten that it is to be multiplied with,
    its form (0 whole, 1 with a point, 2 with an exponent, -1 no number) and how many zeros follow the point before anything else.
    """
    mantissa, digits, exponent, form, leading = np.uint64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    if data[position] == 45:
        position += 1
    begin = position
    while data[position] >= 48 and data[position] <= 57:
        mantissa = mantissa * np.uint64(10) + np.uint64(data[position] - 48)
        digits += digits > 0 or data[position] != 48
        position += 1
    if position == begin or (data[begin] == 48 and position > begin + 1):
        form = np.int64(-1)
    if data[position] == 46:
        position += 1
        begin = position
        while data[position] >= 48 and data[position] <= 57:
            mantissa = mantissa * np.uint64(10) + np.uint64(data[position] - 48)
            digits += digits > 0 or data[position] != 48
            leading += digits == 0
            position += 1
        exponent = begin - position
        form = np.int64(-1) if form < 0 or position == begin else np.int64(1)
    # of zero nothing matters
    if digits == 0:
        leading = np.int64(0)
    if data[position] | 32 == 101:
        position += 1
        negative = data[position] == 45
        if negative or data[position] == 43:
            position += 1
        begin, power = position, np.int64(0)
        while data[position] >= 48 and data[position] <= 57:
            power = min(power * 10 + np.int64(data[position] - 48), np.int64(100000))
            position += 1
        exponent += -power if negative else power
        form = np.int64(-1) if form < 0 or position == begin else np.int64(2)
    return position, mantissa, digits, exponent, form, leading


@inner_kernel
def _is_utf8(data: Any, position: Any, end: Any) -> Any:
    """Return whether bytes are text: no overlong form, no surrogate, nothing beyond the last character."""
    good = True
    while good and position < end:
        if word_at(data, position) & _HIGHS == np.uint64(0):
            position += 8
            continue
        byte = data[position]
        if byte < 0x80:
            position += 1
            continue
        second = data[position + 1]
        if byte >= 0xC2 and byte < 0xE0:
            size, least, most = 2, 0x80, 0xBF
        elif byte >= 0xE0 and byte < 0xF0:
            size, least, most = 3, 0xA0 if byte == 0xE0 else 0x80, 0x9F if byte == 0xED else 0xBF
        elif byte >= 0xF0 and byte < 0xF5:
            size, least, most = 4, 0x90 if byte == 0xF0 else 0x80, 0x8F if byte == 0xF4 else 0xBF
        else:
            size, least, most = 0, 1, 0
        good = second >= least and second <= most
        for place in range(position + 2, position + size):
            good = good and data[place] & 0xC0 == 0x80
        position += size
    return good
