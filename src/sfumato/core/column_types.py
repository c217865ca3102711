"""The Arrow types that columns may have: values that can be written as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from sfumato.core.nested_types import described
from sfumato.errors import DataError

_DIGITS, _BITS = 38, 128


def refuse_same_names(names: Sequence[str], where: str, hint: str) -> None:
    """Refuse names that occur twice. Their places are told and not the names: without a header, these would be cells.

    >>> refuse_same_names(["a", "b", "a"], "people.csv", "rename them")
    Traceback (most recent call last):
    sfumato.errors.DataError: people.csv has columns of the same name: columns 1 and 3 [column-duplicate]
      try: rename them
    """
    double = [name for name, times in Counter(names).items() if times > 1]
    if double:
        alike = (" and ".join(str(place) for place, own in enumerate(names, 1) if own == name) for name in double)
        told = "; ".join(f"columns {places}" for places in alike)
        raise DataError(f"{where} has columns of the same name: {told}", code="column-duplicate", hint=hint)


def plain_schema(schema: pa.Schema, name: str) -> pa.Schema:
    """Return the schema as it is worked on, dictionaries as what they hold and nested columns as text in JSON.

    Names that occur twice are refused, and zones that nobody knows.

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
    lost = [field.name for field in schema if pa.types.is_timestamp(field.type) and field.type.tz and not _is_zone(field.type.tz)]
    if lost:
        raise DataError(
            f"{name} has columns in a time zone that nobody knows: {', '.join(lost)}",
            code="column-zone",
            hint="write them in UTC, or in a zone such as Europe/Berlin",
        )
    return pa.schema([_plain(described(pa.field(field.name, field.type))) for field in schema])


def plain_column(column: pa.Array, kind: pa.DataType, coded: bool = False) -> pa.Array:
    """Return a column in a plain type; where it is a dictionary it may stay one.

    >>> plain_column(pa.array([7, None, 7]).dictionary_encode(), pa.int64()).to_pylist()
    [7, None, 7]
    """
    if not pa.types.is_dictionary(column.type) or pa.types.is_dictionary(kind):
        return column.cast(kind)
    # the dictionary is cast, not the rows: Arrow cannot look up views of text
    held = pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(kind))
    return held if coded else held.dictionary_decode()


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


def _plain(field: pa.Field) -> pa.Field:
    return field.with_type(_plain_type(field.type))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_null(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_decimal(kind):
        return _plain_decimal(kind)
    return pa.float32() if pa.types.is_float16(kind) else kind


def _plain_decimal(kind: pa.DataType) -> pa.DataType:
    """Return a type that Arrow calculates with: not narrower than 128 bits, with no fewer than no decimals."""
    digits, decimals = kind.precision - min(0, kind.scale), max(0, kind.scale)
    return pa.decimal128(digits, decimals) if digits <= _DIGITS and kind.bit_width <= _BITS else pa.decimal256(min(digits, 2 * _DIGITS), decimals)
