"""What types of DuckDB are to us, and types of ours to DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.databases.table import TableColumn
from sfumato.errors import DataError

_WORDS = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "utinyint": pa.uint8(),
    "usmallint": pa.uint16(),
    "uinteger": pa.uint32(),
    "ubigint": pa.uint64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "varchar": pa.string(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamp_s": pa.timestamp("s"),
    "timestamp_ms": pa.timestamp("ms"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamp with time zone": pa.timestamp("us", tz="UTC"),
}
# integers of 128 bits have more digits than any number of Arrow
_AS_TEXT = ("hugeint", "uhugeint", "bignum", "uuid", "enum", "time with time zone")
_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DAY = 86_400
_DIGITS = 18
# from 1970 on, the first day of the year 1 and that of the year 10000
_FIRST_DAY, _BEYOND_DAY = -719_162, 2_932_897
_LARGEST = 2**63 - 1


def quoted_name(name: str) -> str:
    """Return a name as SQL writes it, whatever characters are in it.

    >>> quoted_name('a "b c')
    '"a ""b c"'
    """
    return '"' + name.replace('"', '""') + '"'


def column_of(name: str, kind: Any) -> TableColumn:
    """Return a column by its type; what the type is called never tells the values of an enumeration, nor what is within a structure."""
    word = str(kind.id)
    if word == "decimal":
        called = str(kind)
        digits, scale = (int(part) for part in called[len("DECIMAL(") : -1].split(","))
        return TableColumn(name, called, pa.decimal128(digits, scale))
    if word in _AS_TEXT:
        return TableColumn(name, word.upper(), pa.string(), as_text=True)
    return TableColumn(name, word.upper(), _WORDS.get(word))


def selected(column: TableColumn, name: str | None = None) -> str:
    """Return a column as a query selects it, where it goes by another name than its own by that."""
    name = name or quoted_name(column.name)
    return f"CAST({name} AS VARCHAR)" if column.as_text else name


def bytewise(column: TableColumn, name: str) -> str:
    """Return a column as it is read, and text as its bytes: a column may have rules by which other texts are equal too."""
    shown = selected(column, name)
    return f"encode({shown})" if is_text(column) else shown


def known_person(column: TableColumn, name: str) -> str:
    """Return whose a row is, by ``core.whose``: an empty text is nobody, as a missing one is."""
    shown = selected(column, name)
    # nothing of JSON is equal to an empty text, and an accent alone is where accents do not count
    return f"CASE WHEN strlen(CAST({shown} AS VARCHAR)) > 0 THEN {shown} END" if is_text(column) else name


def readable(column: TableColumn, name: str) -> str:
    """Return as it is read what was bytewise."""
    return f"decode({name})" if is_text(column) else name


def is_text(column: TableColumn) -> bool:
    """Return whether a column is read as text."""
    return column.as_text or column.kind == pa.string()


def is_of_two_halves(column: TableColumn) -> bool:
    """Return whether a column holds decimals that do not fit into 64 bits.

    >>> [is_of_two_halves(TableColumn("age", "", pa.decimal128(digits, 2))) for digits in (18, 19)]
    [False, True]
    """
    return column.kind is not None and pa.types.is_decimal(column.kind) and column.kind.precision > _DIGITS


def typed(batch: pa.RecordBatch, wanted: pa.Schema, columns: Sequence[TableColumn]) -> pa.RecordBatch:
    """Return rows in the types of the table; days and instants that no calendar has are refused."""
    arrays = []
    for array, field, column in zip(batch.columns[: len(columns)], wanted, columns, strict=True):
        cast = array.cast(field.type)
        if _is_beyond_the_calendar(cast):
            raise DataError(
                f"column {field.name} holds values that its type {column.called} allows and nobody could publish, such as infinity or 24:00",
                code="database-type",
                hint="write null in their place in a view, and name that as the table",
            )
        arrays.append(cast)
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _is_beyond_the_calendar(array: pa.Array) -> bool:
    """Return whether there are days or instants outside of the years 1 to 9999, infinite ones among them, or times outside of a day."""
    kind = array.type
    if pa.types.is_time64(kind):
        return bool(pc.any(pc.greater_equal(array.cast(pa.int64()), _DAY * _UNITS[kind.unit])).as_py())
    if pa.types.is_date(kind):
        whole, day = array.cast(pa.int32()).cast(pa.int64()), 1
    elif pa.types.is_timestamp(kind):
        whole, day = array.cast(pa.int64()), _DAY * _UNITS[kind.unit]
    else:
        return False
    # all that nanoseconds can count is within these years, but for the infinite
    first, beyond = max(_FIRST_DAY * day, -_LARGEST + 1), min(_BEYOND_DAY * day, _LARGEST)
    return bool(pc.any(pc.or_(pc.less(whole, first), pc.greater_equal(whole, beyond))).as_py())


def plain(column: pa.Array) -> pa.Array:
    """Return a column in the type that a table is made with."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain(column.dictionary_decode())
    if pa.types.is_timestamp(kind):
        return column if kind.unit == "ns" and kind.tz is None else column.cast(pa.timestamp("us", tz="UTC" if kind.tz else None))
    for is_kind, _, narrow in _NAMES:
        if is_kind(kind):
            return column.cast(narrow)
    return column


def called(field: pa.Field) -> str:
    """Return what DuckDB calls the type of a column."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_decimal128(kind) and kind.scale >= 0:
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMPTZ" if kind.tz else "TIMESTAMP_NS" if kind.unit == "ns" else "TIMESTAMP"
    for is_kind, name, _ in _NAMES:
        if is_kind(kind):
            return name
    raise DataError(f"column {field.name} is of a type that DuckDB does not have, {kind}", code="database-type", hint="a mask that makes text")


_NAMES = (
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind), "VARCHAR", pa.string()),
    (pa.types.is_boolean, "BOOLEAN", pa.bool_()),
    (pa.types.is_int8, "TINYINT", pa.int8()),
    (pa.types.is_int16, "SMALLINT", pa.int16()),
    (pa.types.is_int32, "INTEGER", pa.int32()),
    (pa.types.is_int64, "BIGINT", pa.int64()),
    (pa.types.is_uint8, "UTINYINT", pa.uint8()),
    (pa.types.is_uint16, "USMALLINT", pa.uint16()),
    (pa.types.is_uint32, "UINTEGER", pa.uint32()),
    (pa.types.is_uint64, "UBIGINT", pa.uint64()),
    (lambda kind: pa.types.is_float32(kind) or pa.types.is_float16(kind), "FLOAT", pa.float32()),
    (pa.types.is_float64, "DOUBLE", pa.float64()),
    (pa.types.is_date, "DATE", pa.date32()),
    (pa.types.is_time, "TIME", pa.time64("us")),
)
