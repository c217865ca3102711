"""The Arrow types that columns may have: flat values that can be written as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from sfumato.errors import DataError

_DIGITS, _BITS = 38, 128


def plain_schema(schema: pa.Schema, name: str) -> pa.Schema:
    """Return the schema as it is worked on, dictionaries as what they hold; refuse nested and binary columns, and names that occur twice.

    >>> plain_schema(pa.schema([("a", pa.string_view()), ("b", pa.dictionary(pa.int8(), pa.int64()))]), "table").types
    [DataType(string), DataType(int64)]
    """
    double = sorted(name for name, times in Counter(schema.names).items() if times > 1)
    if double:
        raise DataError(
            f"{name} has several columns called {', '.join(double)}",
            code="column-duplicate",
            hint="rename them: a policy speaks of columns by name",
        )
    refused = [field.name for field in schema if _is_refused(field.type)]
    if refused:
        raise DataError(
            f"{name} has columns whose values are lists, structures, bytes or lengths of time: {', '.join(refused)}",
            code="column-nested",
            hint="flatten or decode them into columns of text, numbers, dates or instants, or leave them out",
        )
    lost = [field.name for field in schema if pa.types.is_timestamp(field.type) and field.type.tz and not _is_zone(field.type.tz)]
    if lost:
        raise DataError(
            f"{name} has columns in a time zone that nobody knows: {', '.join(lost)}",
            code="column-zone",
            hint="write them in UTC, or in a zone such as Europe/Berlin",
        )
    return pa.schema([(field.name, _plain(field.type)) for field in schema])


def plain_batch(batch: pa.RecordBatch, schema: pa.Schema, coded: Sequence[str] = ()) -> pa.RecordBatch:
    """Return the columns of a schema in its types; those of ``coded`` stay dictionaries where they are.

    >>> batch = pa.RecordBatch.from_pydict({"a": pa.array([7, None, 7]).dictionary_encode()})
    >>> plain_batch(batch, pa.schema([("a", pa.int64())])).column(0).to_pylist()
    [7, None, 7]
    """
    columns = [_plain_column(batch.column(field.name), field.type, field.name in coded) for field in schema]
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def refuse_damaged_text(batch: pa.RecordBatch, name: str) -> pa.RecordBatch:
    """Return the batch; refuse text that is not UTF-8, and other values that their type does not allow, which some writers let through."""
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        raise _of_no_type(batch, name) from None
    return batch


def _of_no_type(batch: pa.RecordBatch, name: str) -> DataError:
    for field, column in zip(batch.schema, batch.columns, strict=True):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                words = f"{name} holds values in the column {field.name} that its type {kind} does not allow"
                return DataError(words, code="column-type", hint="write it anew in its type, or as text; days as date32")
    return DataError(f"{name} holds text that is not UTF-8", code="file-encoding", hint="write its text as UTF-8")


@contextmanager
def damage_is(error: DataError) -> Iterator[None]:
    """Turn whatever Arrow says about a damaged file into one error: its own words may quote the file."""
    try:
        yield
    except pa.ArrowException:
        raise error from None
    except OSError as found:
        # the library reports damage as an error of the system that has no number
        if found.errno is None:
            raise error from None
        raise


def _is_zone(name: str) -> bool:
    if re.fullmatch(r"[+-][0-9]{2}:?[0-9]{2}", name):
        return True
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _is_refused(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind)
    spans = pa.types.is_duration(kind) or pa.types.is_interval(kind)
    return pa.types.is_nested(kind) or binary or spans or isinstance(kind, pa.BaseExtensionType)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_null(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_decimal(kind):
        return _plain_decimal(kind)
    return pa.float32() if pa.types.is_float16(kind) else kind


def _plain_decimal(kind: pa.DataType) -> pa.DataType:
    """Return a type that Arrow calculates with: not narrower than 128 bits, with no fewer than no decimals."""
    digits, decimals = kind.precision - min(0, kind.scale), max(0, kind.scale)
    return pa.decimal128(digits, decimals) if digits <= _DIGITS and kind.bit_width <= _BITS else pa.decimal256(min(digits, 2 * _DIGITS), decimals)


def _plain_column(column: pa.Array, kind: pa.DataType, coded: bool) -> pa.Array:
    if not pa.types.is_dictionary(column.type):
        return column.cast(kind)
    # the dictionary is cast, not the rows: Arrow cannot look up views of text
    held = pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(kind))
    return held if coded else held.dictionary_decode()
