"""Rows as delimited lines: minimal quotes, null as an empty field, the empty string as a quoted one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.canonical import as_text
from sfumato.core.kernels.pieces import MARGIN, join
from sfumato.core.text_content import text_content
from sfumato.errors import DataError

_BYTE_ORDER_MARK = "\ufeff"


def delimited_lines(columns: Sequence[pa.Array], delimiter: str, quote: str | None) -> memoryview:
    r"""Return one line a row; raise a DataError where a value needs quotes and there are none.

    >>> delimited_lines([pa.array([1, None]), pa.array(["a,b", ""])], ",", '"').tobytes()
    b'1,"a,b"\n,""\n'
    """
    if not columns or not len(columns[0]):
        return memoryview(b"")
    runs = _runs(columns)
    pieces = [_joined(run, delimiter, quote) for run in runs]
    codes = [run[0].indices if pa.types.is_dictionary(run[0].type) else None for run in runs]
    return _lines(pieces, codes, len(columns[0]), delimiter)


def _runs(columns: Sequence[pa.Array]) -> list[list[pa.Array]]:
    """Return the columns in runs of neighbours that share their codes; all others alone."""
    runs: list[list[pa.Array]] = []
    for column in columns:
        if runs and _share_codes(runs[-1][-1], column):
            runs[-1].append(column)
        else:
            runs.append([column])
    return runs


def _share_codes(one: pa.Array, other: pa.Array) -> bool:
    if not (pa.types.is_dictionary(one.type) and pa.types.is_dictionary(other.type)) or one.null_count or other.null_count:
        return False
    first, second = one.indices, other.indices
    return len(first) == len(second) and first.offset == second.offset and first.buffers()[1].address == second.buffers()[1].address


def _joined(run: Sequence[pa.Array], delimiter: str, quote: str | None) -> pa.Array:
    """Return the texts that neighbouring columns which share their codes show for each of them, or the texts of one column."""
    parts = [_quoted(column.dictionary if pa.types.is_dictionary(column.type) else column, delimiter, quote) for column in run]
    if len(parts) == 1:
        return parts[0]
    return pc.binary_join_element_wise(*parts, delimiter, null_handling="replace", null_replacement="")


def _quoted(column: pa.Array, delimiter: str, quote: str | None) -> pa.Array:
    text = as_text(column)
    data = text_content(text)[0].tobytes()
    marks = (delimiter.encode(), b"\n", b"\r", _BYTE_ORDER_MARK.encode(), (quote or "\n").encode())
    empty = pc.any(pc.equal(pc.binary_length(text), 0)).as_py()
    if not empty and not any(mark in data for mark in marks):
        return text
    return _enclosed(text, delimiter, quote)


def _enclosed(text: pa.Array, delimiter: str, quote: str | None) -> pa.Array:
    special = "".join(f"\\x{ord(mark):02x}" for mark in f"{delimiter}\r\n{quote or ''}")
    # at the beginning of a file, a byte order mark that is not in quotes would be taken for the file's own
    needs = pc.or_(pc.match_substring_regex(text, f"[{special}]|^{_BYTE_ORDER_MARK}"), pc.equal(pc.binary_length(text), 0))
    if quote is None:
        raise DataError(
            "a value cannot be written without quotes",
            code="sink-quote",
            hint="give the sink a quote, or another delimiter",
        )
    doubled = pc.replace_substring(text, quote, quote * 2)
    return pc.if_else(needs, pc.binary_join_element_wise(quote, doubled, quote, ""), text)


def _lines(pieces: Sequence[pa.Array], codes: Sequence[pa.Array | None], rows: int, delimiter: str) -> memoryview:
    """Return one line a row; each has one text of every piece, that of its code or its own, and nothing where it is null."""
    values = np.empty((len(pieces), rows), np.int64)
    starts, data = [np.zeros(1, np.int64)], []
    number = used = 0
    for place, (text, coded) in enumerate(zip(pieces, codes, strict=True)):
        content, offsets = text_content(text)
        values[place] = np.arange(rows) if coded is None else coded.fill_null(len(text)).to_numpy(zero_copy_only=False)
        values[place] += number
        # behind the last text an empty one, which null picks
        starts += [offsets[1:] + used, np.array([used + len(content)])]
        data.append(content)
        number += len(text) + 1
        used += len(content)
    places = np.concatenate(starts)
    lengths = np.diff(places)
    size = sum(int(lengths[piece].sum()) for piece in values) + values.size
    text = np.empty(size + MARGIN, np.uint8)
    join(np.concatenate([*data, np.zeros(MARGIN, np.uint8)]), places, values, ord(delimiter), text)
    return text.data[:size]
