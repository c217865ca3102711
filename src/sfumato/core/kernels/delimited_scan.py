"""A strict reading of the structure of a delimited file: how many records, how long, and where the first bad one is.

Fast readers forgive: a stray quote can swallow lines, and a file that ends within quotes looks whole. This scan forgives nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import kernel

# where the scan stands between two bytes
START, PLAIN, QUOTED, CLOSING, RETURNED, ESCAPED, ESCAPED_PLAIN = 0, 1, 2, 3, 4, 5, 6
# what the first bad record suffers from
FINE, SHORT, LONG, AFTER_QUOTE, OPEN_QUOTE, OPEN_ESCAPE = 0, 1, 2, 3, 4, 5
# places in the state array, carried from one block of bytes to the next
STATE, LINE, BEGIN_LINE, RECORDS, FIELDS, LENGTH, BLANK, LONGEST, BREAKS, FAULT, FAULT_LINE, FAULT_FIELDS = range(12)


@kernel
def scan(block: Any, delimiter: int, quote: int, escape: int, width: int, carried: Any) -> None:
    """Read one block of bytes; ``width`` is the number of fields of a record, a quote or escape of -1 does not exist.

    An empty block is the end of the file: it closes a last record that has no line end.
    """
    state, line, begin_line, records = carried[STATE], carried[LINE], carried[BEGIN_LINE], carried[RECORDS]
    fields, length, blank = carried[FIELDS], carried[LENGTH], carried[BLANK]
    longest, breaks = carried[LONGEST], carried[BREAKS]
    fault, fault_line, fault_fields = FINE, 0, 0
    end_of_file = len(block) == 0
    place = np.int64(-1)
    while place + 1 < max(1, len(block)):
        place += 1
        byte = np.int64(10) if end_of_file else np.int64(block[place])
        if end_of_file:
            if state == QUOTED or state == ESCAPED:
                fault, fault_line = OPEN_QUOTE, begin_line
                break
            if state == ESCAPED_PLAIN:
                fault, fault_line = OPEN_ESCAPE, begin_line
                break
            if length == 0:
                break
        if state == RETURNED:
            state = START
            if byte == 10:
                continue
        length += 1
        if state == ESCAPED or state == ESCAPED_PLAIN:
            state = QUOTED if state == ESCAPED else PLAIN
            if byte == 10:
                line += 1
            if byte == 10 or byte == 13:
                breaks = 1
        elif state == QUOTED:
            if byte == escape:
                state = ESCAPED
            elif byte == quote:
                state = CLOSING
            elif byte == 10:
                line += 1
                breaks = 1
            elif byte == 13:
                breaks = 1
            else:
                # on to the next byte that means something
                begin = place
                while place + 1 < len(block) and block[place + 1] != quote and block[place + 1] != escape and block[place + 1] > 13:
                    place += 1
                length += place - begin
        elif byte == quote and (state == START or (state == CLOSING and escape == -1)):
            # opens a field, or is the second of a doubled quote, which only a dialect without escape knows
            state = QUOTED
            blank = 0
        elif byte == escape and state != CLOSING:
            state = ESCAPED_PLAIN
            blank = 0
        elif byte == delimiter:
            fields += 1
            blank = 0
            state = START
        elif byte == 10 or byte == 13:
            # a line without anything is no record, except where a record is one field
            if blank == 0 or width == 1:
                records += 1
                if fields + 1 != width:
                    fault, fault_line, fault_fields = SHORT if fields + 1 < width else LONG, begin_line, fields + 1
                    break
            longest = max(longest, length)
            length = 0
            fields = 0
            blank = 1
            line += 1
            begin_line = line
            state = RETURNED if byte == 13 else START
        elif state == CLOSING:
            fault, fault_line = AFTER_QUOTE, line
            break
        else:
            state = PLAIN
            blank = 0
            begin = place
            while place + 1 < len(block) and block[place + 1] != delimiter and block[place + 1] != escape and block[place + 1] > 13:
                place += 1
            length += place - begin
    carried[STATE], carried[LINE], carried[BEGIN_LINE], carried[RECORDS] = state, line, begin_line, records
    carried[FIELDS], carried[LENGTH], carried[BLANK] = fields, length, blank
    carried[LONGEST], carried[BREAKS] = max(longest, length), breaks
    carried[FAULT], carried[FAULT_LINE], carried[FAULT_FIELDS] = fault, fault_line, fault_fields


def fresh_state() -> Any:
    """Return the state before the first byte."""
    state = np.zeros(12, np.int64)
    state[LINE] = state[BEGIN_LINE] = state[BLANK] = 1
    return state
