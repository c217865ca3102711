"""Incoming: records of any form as columns of the stream's schema; those that do not fit it are set aside.

The schema is that of the first records, or it was declared. Later records must fit it: a value of another type is taken where it can be read as one
of the column's, and otherwise its record is a dead letter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.canonical import ValueType
from sfumato.core.column_types import refuse_same_names
from sfumato.core.meant_name import meant
from sfumato.core.nested_types import described, nested_type
from sfumato.core.nested_values import as_json
from sfumato.engine.frames import as_table
from sfumato.engine.stream.dead_letters import Unfit
from sfumato.engine.stream.exact_casts import FAILURES, cast, is_number, text_of_number, texts_of
from sfumato.errors import DataError, UsageError
from sfumato.policy.model import Column, Policy

_DECLARED: dict[ValueType, pa.DataType] = {"integer": pa.int64(), "decimal": pa.float64()}
_EXACT = 2**53
_TEXTS = (pa.large_string(), pa.string_view())


@dataclass(frozen=True, eq=False)
class Taken:
    """Columns as they were given, all of the same number of rows; ``loose`` where each record names its own columns.

    ``unreadable`` are, by column, rows whose value has no place in the column, ``strange`` the rows that name a column nobody knows, by the
    column of the policy that was probably meant.
    """

    columns: Mapping[str, pa.Array]
    rows: int
    loose: bool = False
    unreadable: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    strange: Mapping[str | None, NDArray[np.bool_]] = field(default_factory=dict)
    mixed: frozenset[str] = frozenset()
    """The columns whose values are of several types."""


def take(data: Any, policy: Policy, schema: pa.Schema | None = None) -> Taken:
    """Return records as columns: an Arrow batch or table, a data frame of pandas or polars, or a list of mappings."""
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        if not all(isinstance(record, Mapping) for record in data):
            raise UsageError("records in a list are mappings", code="data-kind", hint="[{'age': 34, ...}, ...], or an Arrow table")
        return _of_mappings(data, policy, schema)
    if not isinstance(data, pa.Table):
        data = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else as_table(data)
    try:
        # before anything is made of it: what is damaged may point anywhere, and text be none
        data.validate(full=True)
    except pa.ArrowInvalid:
        raise UsageError("the Arrow data that came is damaged", code="data-kind", hint="its validate(full=True) says what is wrong") from None
    refuse_same_names(data.column_names, "what came", "rename them: a policy speaks of columns by name")
    columns = {name: _plain(column.combine_chunks()) for name, column in zip(data.column_names, data.columns, strict=True)}
    return Taken(columns, data.num_rows)


def schema_of(taken: Taken, policy: Policy) -> pa.Schema:
    """Return the schema of a stream from its first records.

    Where records name their own columns it has all columns of the policy, and one that nobody has named yet is of the type that the policy says.
    """
    if not taken.loose:
        return pa.schema([described(pa.field(name, _kind_of(column.type, policy.columns.get(name)))) for name, column in taken.columns.items()])
    fields = []
    for name, column in policy.columns.items():
        found = taken.columns.get(name)
        declared = _DECLARED.get(column.type or "text", pa.string())
        kind = _declared(found.type, column) if found is not None and not pa.types.is_null(found.type) else declared
        # how many digits the first numbers have says nothing of those that follow
        kind = pa.float64() if pa.types.is_decimal(kind) else kind
        if name in taken.mixed and not column.missing and column.on_unknown == "error" and name not in policy.formats:
            # what is of the type that the policy says is right, and the others are to be set aside
            kind = declared
        fields.append(described(pa.field(name, kind)))
    return pa.schema(fields)


def _kind_of(kind: pa.DataType, column: Column | None) -> pa.DataType:
    """Return the type of a column of Arrow; of one that has nothing in it yet as the policy says it, and any value is text."""
    if pa.types.is_null(kind) and column is not None:
        return _DECLARED.get(column.type or "text", pa.string())
    return _declared(kind, column)


def _declared(kind: pa.DataType, column: Column | None) -> pa.DataType:
    """Return the type of a column of numbers as the policy says it: that the first ones are whole says nothing of those that follow."""
    if column is None or column.type is None or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return kind
    if column.type == "decimal":
        return pa.float64() if pa.types.is_integer(kind) else kind
    if column.type == "integer":
        return pa.int64() if pa.types.is_floating(kind) else kind
    return pa.string() if column.type == "text" else kind


def fitted(taken: Taken, schema: pa.Schema, policy: Policy, unfit: Unfit) -> dict[str, pa.Array]:
    """Return the columns in the types of the schema; set records aside that do not fit."""
    if policy.unnamed == "refuse":
        for name, rows in taken.strange.items():
            unfit.add(rows, "columns-differ", name)
    if not taken.loose:
        differs = {*taken.columns} ^ {*schema.names} if policy.unnamed == "refuse" else {*schema.names} - {*taken.columns}
        if differs:
            # nobody can tell which records are right
            absent = tuple(name for name in policy.columns if name in differs and name not in taken.columns)
            unfit.add(np.ones(taken.rows, bool), "columns-differ", meant(absent, tuple(name for name in taken.columns if name not in schema.names)))
    for name, rows in taken.unreadable.items():
        unfit.add(rows, "value-type", name)
    found = {}
    for one in schema:
        column = taken.columns.get(one.name)
        column = pa.nulls(taken.rows, one.type) if column is None else column
        if pa.types.is_string(one.type) and pa.types.is_timestamp(column.type) and _type_of(one.name, policy) == "date":
            column = _days(column)
        found[one.name], wrong = _as_field(column, one)
        unfit.add(wrong, "value-type", one.name)
    return found


def _type_of(name: str, policy: Policy) -> ValueType | None:
    column = policy.columns.get(name)
    return column.type if column is not None else None


def _as_field(values: pa.Array, one: pa.Field) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return values as those of a field, and which of them cannot be."""
    nobody = np.zeros(len(values), bool)
    if nested_type(one) is not None and pa.types.is_nested(values.type):
        return _as_documents(values, one.name)
    if values.type == one.type:
        return values, nobody
    if pa.types.is_nested(values.type) or pa.types.is_nested(one.type):
        return pa.nulls(len(values), one.type), values.is_valid().to_numpy(zero_copy_only=False)
    made = cast(values, one.type)
    return made, values.is_valid().to_numpy(zero_copy_only=False) & made.is_null().to_numpy(zero_copy_only=False)


def _days(values: pa.Array) -> pa.Array:
    """Return instants at midnight as days, in text, which is how other records have them in a column of days."""
    days = pc.cast(values, pa.date32(), safe=False)
    return pc.if_else(pc.equal(pc.cast(days, values.type), values), pc.cast(days, pa.string()), texts_of(values))


def _as_documents(values: pa.Array, name: str) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return lists and structures as text in JSON, and which have none; halves are looked at apart until the culprits are alone."""
    try:
        return as_json(values, name), np.zeros(len(values), bool)
    except DataError:
        if len(values) == 1:
            return pa.nulls(1, pa.string()), np.ones(1, bool)
    middle = len(values) // 2
    first, second = _as_documents(values[:middle], name), _as_documents(values[middle:], name)
    return pa.concat_arrays([first[0], second[0]]), np.concatenate([first[1], second[1]])


def _plain(values: Any) -> pa.Array:
    """Return a column without a dictionary, and text in the one type that all of it has here."""
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.nulls(0, values.type)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values.cast(pa.string()) if values.type in _TEXTS else values


def _of_mappings(records: Sequence[Mapping[str, Any]], policy: Policy, schema: pa.Schema | None) -> Taken:
    known = list(policy.columns)
    strange = _strange(records, policy.columns)
    columns, unreadable, mixed = {}, {}, set()
    for name in known:
        values = [record.get(name) for record in records]
        if schema is not None and name not in schema.names:
            continue
        columns[name], wrong = _of_values(values, None if schema is None else schema.field(name))
        if pa.types.is_string(columns[name].type) and not all(value is None or isinstance(value, str) for value in values):
            mixed.add(name)
        if wrong.any():
            unreadable[name] = wrong
    return Taken(columns, len(records), True, unreadable, strange, frozenset(mixed))


def _strange(records: Sequence[Mapping[str, Any]], known: Mapping[str, Any]) -> dict[str | None, NDArray[np.bool_]]:
    """Return which records name a column nobody knows, by the column that was probably meant."""
    found: dict[str | None, NDArray[np.bool_]] = {}
    for place, record in enumerate(records):
        others = tuple(str(name) for name in record if name not in known)
        if others:
            absent = tuple(name for name in known if name not in record)
            found.setdefault(meant(absent, others), np.zeros(len(records), bool))[place] = True
    return found


def _of_values(values: list[Any], one: pa.Field | None) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return Python's values as a column, and which of them have no place in it."""
    nobody = np.zeros(len(values), bool)
    if one is not None and nested_type(one) is not None:
        texts = [None if value is None else _document(value) for value in values]
        wrong = np.array([text is None and value is not None for text, value in zip(texts, values, strict=True)], bool)
        return pa.array(texts, pa.string()), wrong
    if any(isinstance(value, np.floating) and not isinstance(value, float) for value in values):
        # a fraction of few bytes means the shortest number that it is written with
        values = [float(str(value)) if isinstance(value, np.floating) else value for value in values]
    try:
        if _has_days_and_instants(values):
            # Arrow would make days of all
            raise ValueError
        if one is not None and is_number(one.type) and any(_is_long(value, one.type) for value in values):
            # each by itself: Arrow would round it
            raise ValueError
        decides = one is not None and _decides(one.type, values)
        made = pa.array(values, one.type if one is not None and decides else None)
        if not (pa.types.is_nested(made.type) and one is None):
            return _plain(made), nobody
        return made, nobody
    except FAILURES:
        texts = [_text(value) for value in values]
        wrong = np.array([text is None and value is not None for text, value in zip(texts, values, strict=True)], bool)
        return pa.array(texts, pa.string()), wrong


def _decides(kind: pa.DataType, values: Sequence[Any]) -> bool:
    """Return whether a schema that is known makes of values what they are: 1 is text where texts are, but a fraction is no whole number."""
    if pa.types.is_integer(kind):
        return not any(map(_is_broken, values))
    # of times Arrow would cut off what is finer, and take numbers for them
    return pa.types.is_float64(kind) or not (pa.types.is_string(kind) or is_number(kind) or pa.types.is_temporal(kind))


def _has_days_and_instants(values: Sequence[Any]) -> bool:
    kinds = {type(value) for value in values if isinstance(value, date)}
    return len({issubclass(kind, datetime) for kind in kinds}) > 1


def _is_long(value: Any, kind: pa.DataType) -> bool:
    """Return whether a value is a number that a column may have no place for."""
    return isinstance(value, Decimal) or (isinstance(value, int) and not pa.types.is_integer(kind) and abs(value) > _EXACT)


def _is_broken(value: Any) -> bool:
    """Return whether a value is a number that need not be whole."""
    return isinstance(value, Real | Decimal) and not isinstance(value, Integral)


def _document(value: Any) -> str | None:
    """Return a list or mapping as text in JSON, as other columns of documents are read; None where it has none."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return None
    return text if _is_encoded(text) else None


def _is_encoded(text: str) -> bool:
    """Return whether a text can be written down at all."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(value: Any) -> str | None:
    """Return a single value as text; None for what is no single value."""
    if value is None:
        return None
    if isinstance(value, str):
        # half a pair of surrogates is no character
        return value if value.isascii() or _is_encoded(value) else None
    if isinstance(value, Mapping | Sequence | set):
        return None
    try:
        if isinstance(value, Decimal) or (isinstance(value, int) and not isinstance(value, bool)):
            return text_of_number(value)
        found: str | None = texts_of(pa.array([value])).to_pylist()[0]
    except FAILURES:
        return None
    return found
