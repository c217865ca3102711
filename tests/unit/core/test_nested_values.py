"""Lists, structures and maps as text in JSON, and back."""

from __future__ import annotations

import json
from datetime import date, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.nested_types import described, plain_type
from sfumato.core.nested_values import as_described, as_json, as_nested
from sfumato.errors import DataError

INSTANT = 1_577_836_800_123_456_789


def of(values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(values, kind)


WRITTEN = [
    (of([["a", None], [], None], pa.list_(pa.string())), ['["a",null]', "[]", None]),
    (of([['"\\\n\x01\x7f', "é😀", "שלום", "e\u0301", ""]], pa.list_(pa.string())), ['["\\"\\\\\\n\\u0001\x7f","é😀","שלום","e\u0301",""]']),
    (of([[[1, 2], []], [None]], pa.list_(pa.list_(pa.int8()))), ["[[1,2],[]]", "[null]"]),
    (
        of([{"a": 2**63, "b": {"c": None}}, None], pa.struct([("a", pa.uint64()), ("b", pa.struct([("c", pa.string())]))])),
        ['{"a":9223372036854775808,"b":{"c":null}}', None],
    ),
    (of([{"ö 'n'": True}], pa.struct([("ö 'n'", pa.bool_())])), ["{\"ö 'n'\":true}"]),
    (
        of([[("k", 1.5), ("k", None)], [], None], pa.map_(pa.string(), pa.float32())),
        ['[{"key":"k","value":1.5},{"key":"k","value":null}]', "[]", None],
    ),
    (of([[0.1, 1e-5, 1.0, -0.0, 1e300]], pa.list_(pa.float64())), ["[0.1,1e-05,1.0,-0.0,1e+300]"]),
    (of([[0.1]], pa.list_(pa.float32())), ["[0.1]"]),
    (of([[Decimal("12.50"), Decimal("12345678901234567890.12")]], pa.list_(pa.decimal128(30, 2))), ['["12.50","12345678901234567890.12"]']),
    (of([[Decimal("0.0000001")]], pa.list_(pa.decimal256(60, 7))), ['["0.0000001"]']),
    (of([[date(2020, 1, 31)]], pa.list_(pa.date32())), ['["2020-01-31"]']),
    (of([[date(2020, 1, 31)]], pa.list_(pa.date64())), ['["2020-01-31"]']),
    (of([[INSTANT]], pa.list_(pa.timestamp("ns"))), ['["2020-01-01T00:00:00.123456789Z"]']),
    (of([[INSTANT]], pa.list_(pa.timestamp("ns", "Europe/Berlin"))), ['["2020-01-01T00:00:00.123456789Z"]']),
    (of([[1_577_836_800]], pa.list_(pa.timestamp("s", "+05:30"))), ['["2020-01-01T00:00:00Z"]']),
    (of([[time(12, 30, 1, 500)]], pa.list_(pa.time64("us"))), ['["12:30:01.0005"]']),
    (of([[time(12, 30)]], pa.list_(pa.time32("ms"))), ['["12:30:00"]']),
    (of([[1, 2], None, [3, None]], pa.list_(pa.int8(), 2)), ["[1,2]", None, "[3,null]"]),
    (of([[1], None], pa.large_list(pa.int64())), ["[1]", None]),
    (pa.ListArray.from_arrays([0, 2], pa.array(["x", "x"]).dictionary_encode()), ['["x","x"]']),
    (of([["x"], None], pa.list_view(pa.string_view())), ['["x"]', None]),
    (of([[None]], pa.list_(pa.null())), ["[null]"]),
]


@pytest.mark.parametrize(("values", "texts"), WRITTEN, ids=lambda one: str(one.type) if isinstance(one, pa.Array) else "")
def test_values_are_written_in_one_form_and_read_as_the_same(values: pa.Array, texts: list[str | None]) -> None:
    written = as_json(values, "a")
    read = as_nested(written, plain_type(values.type), "a")

    assert written.to_pylist() == texts
    read.validate(full=True)
    assert read.type == plain_type(values.type)
    assert read.to_pylist() == values.to_pylist()
    assert as_json(read, "a").equals(written)


@pytest.mark.parametrize(("values", "texts"), WRITTEN, ids=lambda one: str(one.type) if isinstance(one, pa.Array) else "")
def test_the_form_is_that_in_which_documents_are_written_after_a_mask(values: pa.Array, texts: list[str | None]) -> None:
    del values
    assert [text and json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) for text in texts] == texts


@pytest.mark.parametrize(("values", "texts"), WRITTEN, ids=lambda one: str(one.type) if isinstance(one, pa.Array) else "")
def test_a_part_of_a_column_is_written_as_in_the_whole(values: pa.Array, texts: list[str | None]) -> None:
    assert as_json(values.slice(1), "a").to_pylist() == texts[1:]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_refused(number: float) -> None:
    with pytest.raises(DataError) as caught:
        as_json(pa.array([[1.0, None, number]]), "a")
    assert caught.value.code == "nested-value"
    assert caught.value.message == "column a holds numbers or instants that have no JSON, such as ones that are not finite"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[1.5]", pa.list_(pa.int64())),
        ("[true]", pa.list_(pa.int64())),
        ("[300]", pa.list_(pa.int8())),
        ("[1]", pa.list_(pa.string())),
        ('["canary"]', pa.list_(pa.date32())),
        ('["canary"]', pa.list_(pa.timestamp("s"))),
        ('["1.234"]', pa.list_(pa.decimal128(5, 2))),
        ("[1,2,3]", pa.list_(pa.int8(), 2)),
        ('{"a":1,"b":2}', pa.struct([("a", pa.int64())])),
        ('[{"value":"canary"}]', pa.map_(pa.string(), pa.string())),
        ("canary", pa.list_(pa.string())),
        ("[]", pa.struct([("a", pa.int64())])),
    ],
    ids=str,
)
def test_what_a_type_cannot_hold_is_refused_without_the_value(text: str, kind: pa.DataType) -> None:
    with pytest.raises(DataError) as caught:
        as_nested(pa.array([None, text]), kind, "a")
    assert caught.value.code == "nested-type"
    assert caught.value.message == f"column a: its mask made what a value of type {kind} cannot hold"


def test_large_rows_come_in_small_parts() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [["x" * 100_000]] * 100})

    parts = list(as_described(batch, pa.schema([described(batch.schema.field("a"))]), 1 << 18))
    assert sum(part.num_rows for part in parts) == 100
    assert max(part.num_rows for part in parts) < 50
