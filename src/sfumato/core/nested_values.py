"""Lists, structures and maps as text in JSON, and back again: what is written is read as the same.

Numbers and truth values are those of JSON. Text, days, times and instants (in UTC) are texts, and so are decimals, whose digits a number of JSON
would not keep. A map is a list of objects with ``key`` and ``value``. Numbers that are not finite have no JSON and are refused.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core import canonical
from sfumato.core.column_types import plain_column
from sfumato.core.nested_types import is_list, nested_type
from sfumato.errors import DataError

_CONTROL = "[\\x00-\\x1f]"
_BYTES = 4 << 20


def as_described(batch: pa.RecordBatch, schema: pa.Schema, rows: int, coded: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
    """Yield some rows at a time, columns of nested values as text in JSON and others in the types of the schema; small parts where rows are large.

    Those of ``coded`` stay dictionaries where they are.
    """
    if not schema.names:
        yield batch.select([])
        return
    if any(nested_type(field) is not None for field in schema):
        rows = max(1, min(rows, _BYTES * max(1, batch.num_rows) // max(1, batch.nbytes)))
    for start in range(0, max(1, batch.num_rows), rows):
        part = batch.slice(start, rows)
        columns = [_as_described(part.column(field.name), field, field.name in coded) for field in schema]
        yield pa.RecordBatch.from_arrays(columns, names=schema.names)


def _as_described(column: pa.Array, field: pa.Field, coded: bool) -> pa.Array:
    return plain_column(column, field.type, coded) if nested_type(field) is None else as_json(column, field.name)


def as_json(values: pa.Array, column: str) -> pa.Array:
    """Return nested values as text in JSON, in the one form in which it is written everywhere.

    >>> as_json(pa.array([[{"a": 1, "b": "x"}, None], [], None]), "tags").to_pylist()
    ['[{"a":1,"b":"x"},null]', '[]', None]
    """
    try:
        return _text(values)
    except (pa.ArrowException, _NotFiniteError):
        raise DataError(
            f"column {column} holds numbers or instants that have no JSON, such as ones that are not finite",
            code="nested-value",
            hint="write null in their place, or give the column the role identifier, which removes it",
        ) from None


def as_nested(texts: pa.Array, kind: pa.DataType, column: str) -> pa.Array:
    """Return text in JSON as nested values of a type; refuse what the type cannot hold.

    >>> as_nested(pa.array(['["2020-01-31",null]', None]), pa.list_(pa.date32()), "days").to_pylist()
    [[datetime.date(2020, 1, 31), None], None]
    """
    if pa.types.is_dictionary(texts.type):
        return as_nested(texts.dictionary, kind, column).take(texts.indices)
    try:
        return _built([None if text is None else json.loads(text) for text in texts.to_pylist()], kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        raise DataError(
            f"column {column}: its mask made what a value of type {kind} cannot hold",
            code="nested-type",
            hint="another mask for it, or a sink without types, such as JSON lines",
        ) from None


def nested_again(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table that was read with its nested columns as what they are."""
    for place, field in enumerate(schema):
        kind = nested_type(field)
        if kind is not None:
            chunks = [as_nested(chunk, kind, field.name) for chunk in table.column(place).chunks]
            table = table.set_column(place, field.name, pa.chunked_array(chunks, kind))
    return table


class _NotFiniteError(ValueError):
    """A number that JSON does not have."""


def _text(values: pa.Array) -> pa.Array:
    """Return values as JSON; null stays null."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _text(values.dictionary).take(values.indices)
    if pa.types.is_struct(kind):
        return _objects(values, [field.name for field in kind], values.flatten())
    if pa.types.is_map(kind):
        return _text(values.cast(pa.list_(pa.struct([pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)]))))
    if is_list(kind):
        return _lists(values)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind):
        return values.cast(pa.string())
    if pa.types.is_floating(kind):
        return _numbers(values)
    if pa.types.is_timestamp(kind):
        return _quoted(canonical.render(values.cast(pa.timestamp(kind.unit, tz="UTC"))))
    if pa.types.is_time(kind):
        # as many digits as there are, whatever the unit in which a file holds them
        return _quoted(pc.replace_substring_regex(values.cast(pa.string()), r"\.0+$|(\.[0-9]*[1-9])0+$", r"\1"))
    if pa.types.is_decimal(kind) or pa.types.is_date(kind):
        return _quoted(canonical.render(values.cast(pa.date32()) if pa.types.is_date64(kind) else values))
    return _quoted(_escaped(values.cast(pa.string())))


def _objects(values: pa.Array, names: Sequence[str], members: Sequence[pa.Array]) -> pa.Array:
    parts: list[Any] = []
    for name, member in zip(names, members, strict=True):
        parts += [f"{',' if parts else '{'}{json.dumps(name, ensure_ascii=False)}:", pc.fill_null(_text(member), "null")]
    joined = pc.binary_join_element_wise(*parts, "}", "") if parts else pa.repeat("{}", len(values))
    return _where_valid(values, joined)


def _lists(values: pa.Array) -> pa.Array:
    # a null of a list of fixed size has elements, which are nobody's
    present = values.drop_null() if pa.types.is_fixed_size_list(values.type) and values.null_count else values
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    elements = pc.fill_null(_text(present.flatten()), "null")
    lists = pa.LargeListArray.from_arrays(np.append(0, np.cumsum(lengths, dtype=np.int64)), elements)
    return _where_valid(values, pc.binary_join_element_wise("[", pc.binary_join(lists, ","), "]", ""))


def _where_valid(values: pa.Array, texts: pa.Array) -> pa.Array:
    return pc.if_else(values.is_valid(), texts, pa.scalar(None, pa.string())) if values.null_count else texts


def _numbers(values: pa.Array) -> pa.Array:
    if pc.is_finite(values).false_count:
        raise _NotFiniteError
    if not pa.types.is_float64(values.type):
        # 0.1 of 32 bits is written 0.1, not as the nearest number of 64
        values = values.cast(pa.float32()).cast(pa.string()).cast(pa.float64())
    return pa.array([None if number is None else repr(number) for number in values.to_pylist()], pa.string())


def _quoted(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _escaped(texts: pa.Array) -> pa.Array:
    texts = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
    if pc.any(pc.match_substring_regex(texts, _CONTROL)).as_py():
        for code in range(32):
            texts = pc.replace_substring(texts, chr(code), json.dumps(chr(code))[1:-1])
    return texts


def _built(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return values of JSON in a type; raise a ValueError or what Arrow raises where one is of another."""
    if pa.types.is_struct(kind):
        names = {field.name for field in kind}
        _refuse_others(values, dict)
        if any(value is not None and not value.keys() <= names for value in values):
            raise ValueError
        members = [_built([None if value is None else value.get(field.name) for value in values], field.type) for field in kind]
        return pa.StructArray.from_arrays(members, fields=list(kind), mask=_missing(values)) if members else pa.array(values, kind)
    if pa.types.is_map(kind):
        return _maps(values, kind)
    if is_list(kind):
        return _built_lists(values, kind)
    return _leaves(values, kind)


def _maps(values: list[Any], kind: pa.DataType) -> pa.Array:
    _refuse_others(values, list)
    pairs = _built(list(chain.from_iterable(value or () for value in values)), pa.struct([("key", kind.key_type), ("value", kind.item_type)]))
    keys, items = pairs.flatten()
    if keys.null_count:
        raise ValueError
    return pa.MapArray.from_arrays(_offsets(values, pa.int32()), keys, items, type=kind, mask=_missing(values))


def _built_lists(values: list[Any], kind: pa.DataType) -> pa.Array:
    _refuse_others(values, list)
    if pa.types.is_fixed_size_list(kind):
        if any(value is not None and len(value) != kind.list_size for value in values):
            raise ValueError
        nothing = [None] * kind.list_size
        elements = _built(list(chain.from_iterable(nothing if value is None else value for value in values)), kind.value_type)
        return pa.FixedSizeListArray.from_arrays(elements, type=kind, mask=_missing(values))
    elements = _built(list(chain.from_iterable(value or () for value in values)), kind.value_type)
    if pa.types.is_large_list(kind):
        return pa.LargeListArray.from_arrays(_offsets(values, pa.int64()), elements, type=kind, mask=_missing(values))
    return pa.ListArray.from_arrays(_offsets(values, pa.int32()), elements, type=kind, mask=_missing(values))


def _leaves(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind):
        _refuse_others(values, bool)
        return pa.array(values, kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        if any(isinstance(value, bool) for value in values):
            raise ValueError
        # Arrow would cut off what stands behind the point
        _refuse_others(values, int if pa.types.is_integer(kind) else int | float)
        return pa.array(values, kind)
    _refuse_others(values, str)
    texts = pa.array(values, pa.string())
    if pa.types.is_timestamp(kind):
        return texts.cast(pa.timestamp(kind.unit, tz="UTC")).cast(kind)
    if pa.types.is_time(kind):
        return pc.binary_join_element_wise("1970-01-01T", texts, "").cast(pa.timestamp(kind.unit)).cast(kind)
    return texts.cast(kind)


def _refuse_others(values: list[Any], kind: Any) -> None:
    if not all(value is None or isinstance(value, kind) for value in values):
        raise ValueError


def _offsets(values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(list(accumulate((len(value or ()) for value in values), initial=0)), kind)


def _missing(values: list[Any]) -> pa.Array:
    return pa.array([value is None for value in values], pa.bool_())
