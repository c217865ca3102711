"""Types of lists, structures and maps, remembered beside columns of text in JSON."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato.core.nested_types import described, is_readable, leaves_of, nested_type, refuse_unreadable
from sfumato.errors import DataError

CALLS = pa.list_(pa.struct([("to", pa.string()), ("on", pa.date32())]))


def deep(levels: int) -> pa.DataType:
    kind: pa.DataType = pa.string()
    for _ in range(levels):
        kind = pa.list_(kind)
    return kind


def test_a_nested_column_is_text_that_remembers_its_type() -> None:
    field = described(pa.field("calls", CALLS))

    assert field.type == pa.string()
    assert nested_type(field) == CALLS


def test_a_flat_column_stays_as_it_is() -> None:
    field = pa.field("age", pa.int64())

    assert described(field) is field
    assert nested_type(field) is None


@pytest.mark.parametrize(
    ("kind", "given_back"),
    [
        (pa.list_(pa.dictionary(pa.int8(), pa.string())), pa.list_(pa.string())),
        (pa.list_(pa.field("item", pa.large_string(), nullable=False)), pa.list_(pa.string())),
        (pa.list_view(pa.float16()), pa.list_(pa.float32())),
        (pa.large_list(pa.null()), pa.large_list(pa.string())),
        (pa.list_(pa.int8(), 3), pa.list_(pa.int8(), 3)),
        (pa.map_(pa.string(), pa.string_view()), pa.map_(pa.string(), pa.string())),
    ],
    ids=str,
)
def test_a_type_is_remembered_in_the_form_in_which_it_is_given_back(kind: pa.DataType, given_back: pa.DataType) -> None:
    assert nested_type(described(pa.field("a", kind))) == given_back


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (pa.binary(), "bytes"),
        (pa.list_(pa.struct([("a", pa.large_binary())])), "bytes"),
        (pa.duration("s"), "lengths of time"),
        (pa.map_(pa.string(), pa.duration("s")), "lengths of time"),
        (pa.uuid(), "values of an unusual type"),
        (pa.dense_union([pa.field("a", pa.int8())]), "values of an unusual type"),
        (pa.struct([("a", pa.int8()), ("a", pa.string())]), "structures with two fields of one name"),
        (pa.struct([]), "structures without fields"),
        (deep(60), "nested deeper than 50"),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_refused_where_somebody_asks_for_it(kind: pa.DataType, why: str) -> None:
    schema = pa.schema([pa.field("who", pa.string()), described(pa.field("x", kind))])

    assert not is_readable(schema.field("x"))
    refuse_unreadable(schema, ["who"], "the table")
    with pytest.raises(DataError) as caught:
        refuse_unreadable(schema, ["who", "x"], "the table")
    assert caught.value.code == "column-nested"
    assert caught.value.message == f"the table has columns that cannot be read: x ({why})"


def test_fifty_levels_can_be_read() -> None:
    assert is_readable(described(pa.field("x", deep(50))))


def test_leaves_are_found_along_structures_lists_and_maps() -> None:
    kind = pa.struct([("a.b", pa.list_(pa.list_(pa.int8()))), ("m", pa.map_(pa.string(), CALLS))])

    leaves = [(leaf.path, leaf.is_key) for leaf in leaves_of(kind)]
    assert leaves == [('$["a.b"][*][*]', False), ("$.m[*].key", True), ("$.m[*].value[*].to", False), ("$.m[*].value[*].on", False)]
