"""The writer of JSON lines held against a slow one, which asks Python's own for every value."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core import json_lines as writer
from sfumato.core.canonical import as_text
from sfumato.core.json_lines import json_lines
from sfumato.core.json_records import grouped, templates


def slowly(batch: pa.RecordBatch, names: list[str], lists: list[str]) -> bytes:
    """Write one value at a time."""
    *befores, end = templates(names, ".")
    columns = [[token(batch.column(name)[row], name in lists) for row in range(batch.num_rows)] for name in names]
    return "".join("".join(map("".join, zip(befores, row, strict=True))) + end for row in zip(*columns, strict=True)).encode()


def token(value: Any, is_json: bool) -> str:
    if pa.types.is_dictionary(value.type):
        value = pa.scalar(value.as_py(), value.type.value_type)
    if not value.is_valid:
        return "null"
    text = as_text(pa.array([value.as_py()], value.type))[0].as_py()
    plain = pa.types.is_boolean(value.type) or pa.types.is_integer(value.type)
    number = pa.types.is_floating(value.type) and text not in ("nan", "inf", "-inf")
    return text if is_json or plain or number else json.dumps(text, ensure_ascii=False)


TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n\r\t\b\f\x00\x1f\x7f\u2028é😀'), max_size=20)
CELLS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "o.text": (pa.string(), TEXT),
    "o.large": (pa.large_string(), TEXT),
    "long": (pa.string(), st.just("a text of some length, without anything to escape")),
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "unsigned": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "fraction": (pa.float64(), st.floats() | st.integers(-5, 5).map(float)),
    "short": (pa.float32(), st.floats(width=32) | st.just(-0.0)),
    "truth": (pa.bool_(), st.booleans()),
    "day": (pa.date32(), st.dates(date(1900, 1, 1), date(2100, 1, 1))),
    "instant": (pa.timestamp("us"), st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))),
    "decimal": (pa.decimal128(10, 2), st.integers(-999, 999).map(lambda number: Decimal(number) / 100)),
    "none": (pa.null(), st.none()),
    "list": (pa.string(), st.sampled_from(['[1,"a"]', "[]", '{"a":"\\""}', "5"])),
    "é": (pa.string(), TEXT),
}


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    names = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=5, unique=True))
    rows = draw(st.integers(0, 5))
    arrays = []
    for name in names:
        kind, cells = CELLS[name]
        values = draw(st.lists(st.none() | cells, min_size=rows + 2, max_size=rows + 2))
        array = pa.array(values, kind)
        if draw(st.booleans()) and kind != pa.null():
            array = array.dictionary_encode(draw(st.sampled_from(["mask", "encode"])))
        # a part of a larger array, as batches often are
        arrays.append(array.slice(1, rows))
    return pa.record_batch(arrays, names=names)


@settings(max_examples=250, deadline=None)
@given(batches())
def test_any_rows_are_written_as_a_slow_writer_would(batch: pa.RecordBatch) -> None:
    names = grouped(batch.schema.names, ".")

    assert json_lines(batch, names, ".", ["list"]) == slowly(batch, names, ["list"])


@pytest.mark.parametrize("text", ["\x01" * 1000, '"' * 100, "x" * 100_000, "\n" + "ö" * 5000])
def test_what_grows_by_its_escapes_has_room(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_ROOM", 0)
    batch = pa.record_batch({"a": [text, None, text[::-1]] * 20, "b": pa.array([text] * 60).dictionary_encode()})

    assert json_lines(batch, ["a", "b"], ".") == slowly(batch, ["a", "b"], [])


def test_rows_without_columns_are_no_lines() -> None:
    assert json_lines(pa.record_batch([pa.nulls(3)], names=[""]).select([]), [], ".") == b""
