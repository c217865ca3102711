"""Rows as lines of JSON, without a step for each value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.canonical import as_text, widened
from sfumato.core.json_records import templates
from sfumato.core.kernels import json_write as kernel
from sfumato.core.kernels.pieces import MARGIN
from sfumato.core.text_content import text_content

_ROOM = 1 << 12


def json_lines(batch: pa.RecordBatch, names: Sequence[str], separator: str, lists: Sequence[str] = ()) -> bytes:
    r"""Return one line a row with the columns of ``names``, paths as nested objects; the texts of columns of ``lists`` are JSON already.

    The fields of one object must be neighbours, see ``json_records.grouped``. Numbers and truth values stay what they are, everything else is text.

    >>> json_lines(pa.record_batch({"a.b": [1, None], "a.c": ['"', "é"], "d": ["[1]", "{}"]}), ["a.b", "a.c", "d"], ".", ["d"]).decode().split("\n")
    ['{"a":{"b":1,"c":"\\""},"d":[1]}', '{"a":{"b":null,"c":"é"},"d":{}}', '']
    """
    if not names:
        return b""
    columns = [batch.column(name) for name in names]
    forms = np.array([kernel.AS_IT_IS if name in lists else _form(column.type) for name, column in zip(names, columns, strict=True)], np.int64)
    values = np.empty((len(names), batch.num_rows), np.int64)
    starts, contents = list[NDArray[np.int64]](), list[NDArray[np.uint8]]()
    number = used = size = longest = 0
    for place, (column, form) in enumerate(zip(columns, forms, strict=True)):
        texts, codes = _texts(column, form)
        content, places = text_content(texts)
        values[place] = np.arange(number, number + len(column)) if codes is None else codes + number
        missing = _missing(texts, codes)
        if missing is not None:
            values[place, missing] = -1
        lengths = np.diff(places)
        longest += int(lengths.max(initial=0))
        size += int(lengths.sum() if codes is None else lengths[codes].sum() if len(lengths) else 0)
        starts.append(places + used)
        contents.append(content)
        number += len(places)
        used += len(content)
    frames = [frame.encode() for frame in templates(names, separator)]
    size += batch.num_rows * (sum(map(len, frames)) + 4 * len(names)) + kernel.MOST_FOR_A_BYTE * longest + _ROOM
    data = np.concatenate([*contents, np.zeros(MARGIN, np.uint8)])
    return _written(data, np.concatenate(starts), values, forms, frames, size + sum(map(len, frames)) + 8 * len(names))


def _form(kind: pa.DataType) -> int:
    if pa.types.is_dictionary(kind):
        return _form(kind.value_type)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return kernel.AS_IT_IS
    return kernel.NUMBER if pa.types.is_floating(kind) else kernel.TEXT


def _texts(column: pa.Array, form: int) -> tuple[pa.Array, NDArray[np.int64] | None]:
    """Return the texts of a column, and which of them each row has where that is not its own."""
    if pa.types.is_dictionary(column.type):
        codes = column.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        if column.null_count:
            codes[column.indices.is_null().to_numpy(zero_copy_only=False)] = -1
        return _texts(column.dictionary, form)[0], codes
    if form == kernel.NUMBER:
        # as ``canonical`` does it, but for the point without decimals, which the kernel takes away
        wide = widened(column)
        return pc.cast(pc.if_else(pc.equal(wide, 0.0), 0.0, wide), pa.string()), None
    return as_text(column), None


def _missing(texts: pa.Array, codes: NDArray[np.int64] | None) -> NDArray[np.bool_] | None:
    """Return which rows have no value; None where all have one."""
    none = texts.is_null().to_numpy(zero_copy_only=False) if texts.null_count else None
    if codes is None:
        return none
    missing: NDArray[np.bool_] = codes < 0
    return missing if none is None else missing | none[codes]


def _written(
    data: NDArray[np.uint8], starts: NDArray[np.int64], values: NDArray[np.int64], forms: NDArray[np.int64], frames: Sequence[bytes], size: int
) -> bytes:
    frame_starts = np.cumsum([0, *map(len, frames)])
    between = np.frombuffer(b"".join(frames) + bytes(MARGIN), np.uint8)
    text, state = np.empty(size, np.uint8), np.zeros(2, np.int64)
    while True:
        kernel.write(data, starts, values, forms, between, frame_starts, text, state)
        if state[kernel.ROW] == values.shape[1]:
            return text[: state[kernel.PLACE]].tobytes()
        # escapes have made it longer
        larger = np.empty(2 * len(text), np.uint8)
        larger[: state[kernel.PLACE]] = text[: state[kernel.PLACE]]
        text = larger
