"""What types of Spark are to us, and types of ours to Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sfumato.databases.table import TableColumn
from sfumato.errors import DataError

_KINDS = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0)}
_DIGITS = 38


def quoted_name(name: str) -> str:
    """Return a name as Spark's SQL writes it, whatever characters are in it.

    >>> quoted_name("a`b.c")
    '`a``b.c`'
    """
    return "`" + name.replace("`", "``") + "`"


def column_of(field: Any) -> TableColumn:
    """Return a column by the type that Spark gives it."""
    called = str(field.dataType.simpleString())
    word = called.partition("(")[0].partition(" ")[0]
    if word == "decimal":
        return TableColumn(field.name, called, pa.decimal128(field.dataType.precision, field.dataType.scale))
    return TableColumn(field.name, called, pa.string() if word in ("string", "char", "varchar") else _KINDS.get(called))


def called(kind: pa.DataType) -> str:
    """Return what Spark calls a type.

    >>> called(pa.int64()), called(pa.string()), called(pa.decimal128(9, 2))
    ('bigint', 'string', 'decimal(9,2)')
    """
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return next((word for word, known in _KINDS.items() if known == kind), "string")


def bytewise(column: TableColumn, expression: Any) -> Any:
    """Return a column so that only equal bytes of text are equal, whatever collation it has."""
    from pyspark.sql import functions

    return functions.collate(expression, "UTF8_BINARY") if "collate" in column.called else expression


def kind_of(field: pa.Field) -> pa.DataType:
    """Return the type in which a column is written for Spark, which has no unsigned numbers and no nanoseconds."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC" if kind.tz else None)
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_large_string(kind) or pa.types.is_string(kind) or pa.types.is_time(kind):
        return pa.string()
    kind = _WIDER.get(kind, kind)
    if kind in _KINDS.values() or (pa.types.is_decimal(kind) and kind.precision <= _DIGITS):
        return kind
    raise DataError(f"column {field.name} is of a type that Spark does not have, {kind}", code="database-type", hint="a mask that makes text")


def as_written(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows in the types in which they are written."""
    try:
        return pa.RecordBatch.from_arrays([_cast(column, field.type) for column, field in zip(batch.columns, schema, strict=True)], schema=schema)
    except pa.ArrowInvalid:
        # what Arrow says quotes the value
        raise DataError(
            "Spark cannot hold a value that would be written", code="database-value", hint="instants have six digits of a second, not nine"
        ) from None


def typed(table: pa.Table, columns: Sequence[TableColumn]) -> pa.RecordBatch:
    """Return what Spark gave under the names and in the types of columns, as one batch."""
    arrays = [one_array(part, column.kind) for part, column in zip(table.columns, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])


def one_array(column: pa.ChunkedArray, kind: pa.DataType | None) -> pa.Array:
    """Return a column in one piece and in a type."""
    return pa.concat_arrays(column.chunks).cast(kind) if column.num_chunks else pa.nulls(0, kind)


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return (column.dictionary_decode() if pa.types.is_dictionary(column.type) else column).cast(kind)
