"""What types of PostgreSQL are to us, and types of ours to PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.publication import RANGE_TYPE
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import DataError

_WORDS = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "text": pa.string(),
    "varchar": pa.string(),
    "bpchar": pa.string(),
    "name": pa.string(),
    "citext": pa.string(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
}
_RANGES = ("int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange")
_AS_TEXT = (*_RANGES, "uuid", "cidr", "inet", "macaddr", "macaddr8", "json", "jsonb", "xml", "timetz")
# equal values of these have several texts; by its base type is known also what is of a domain
_SAME_TEXT = {
    "numeric": "trim_scale({0})::text",
    # numbers lose zeros at their end; what is between quotation marks stays
    "jsonb": r"""regexp_replace({0}::text, '("(?:[^"\\]|\\.)*")|(\.[0-9]*[1-9])0+(?![0-9])|\.0+(?![0-9])', '\1\2', 'g')""",
    "numrange": "CASE WHEN {0} IS NULL THEN NULL WHEN isempty({0}) THEN 'empty' ELSE numrange(trim_scale(lower({0})), trim_scale(upper({0})), "
    "CASE WHEN lower_inc({0}) THEN '[' ELSE '(' END || CASE WHEN upper_inc({0}) THEN ']' ELSE ')' END)::text END",
    # the text of an address alone would end in /32
    "inet": "abbrev({0})",
}
_PADDED = re.compile(r"character(?:\(\d+\))?|bpchar")
_TEXTS = re.compile(r"text|name|character(?: varying)?(?:\(\d+\))?")
_DIGITS = 38
_DAY = 86_400_000_000
# from 1970 on, the first day of the year 1 and that of the year 10000
_FIRST_DAY, _BEYOND_DAY = -719_162, 2_932_897


def quoted_name(name: str) -> str:
    """Return a name as SQL writes it, whatever characters are in it.

    >>> quoted_name('a "b c')
    '"a ""b c"'
    """
    return '"' + name.replace('"', '""') + '"'


def quoted(table: TableName) -> str:
    """Return the name of a table as SQL writes it."""
    return table.written(quoted_name)


def column_of(name: str, called: str, kind: str, sort: str, modifier: int) -> TableColumn:
    """Return a column by what the catalogue says of its type."""
    if kind == "numeric":
        digits, scale = ((modifier - 4) >> 16) & 0xFFFF, (modifier - 4) & 0x7FF
        fits = modifier >= 4 and digits <= _DIGITS and scale <= digits
        if fits:
            return TableColumn(name, called, pa.decimal128(digits, scale), as_text=True)
    if kind in _SAME_TEXT or kind in _AS_TEXT or sort == "e":
        return TableColumn(name, kind if kind in _SAME_TEXT else called, pa.string(), as_text=True)
    return TableColumn(name, called, _WORDS.get(kind), padded=kind == "bpchar")


def is_padded(own: str) -> bool:
    """Say whether a type of the server fills texts with blanks: they mean nothing to it, and a cast to text leaves them out.

    >>> is_padded("character(8)"), is_padded("character varying(8)")
    (True, False)
    """
    return _PADDED.fullmatch(own) is not None


def selected(column: TableColumn, name: str | None = None) -> str:
    """Return a column as a query selects it, where it goes by another name than its own by that; equal values have one text."""
    name = name or quoted_name(column.name)
    if not (column.as_text or column.padded):
        return name
    return _SAME_TEXT.get(column.called, "{0}::text").format(name)


def bytewise(column: TableColumn, name: str) -> str:
    """Return a column as it is read, and text so that only equal bytes are equal, whatever the rules of its language are."""
    shown = selected(column, name)
    return f'{shown}::text COLLATE "C"' if is_text(column) else shown


def known_person(column: TableColumn, name: str) -> str:
    """Return whose a row is, bytewise and by ``core.whose``: an empty text is nobody, as a missing one is."""
    return f"NULLIF({bytewise(column, name)}, '')" if is_text(column) else bytewise(column, name)


def is_text(column: TableColumn) -> bool:
    """Return whether a column is read as text."""
    return column.as_text or column.kind == pa.string()


def typed(batch: pa.RecordBatch, wanted: pa.Schema, columns: Sequence[TableColumn]) -> pa.RecordBatch:
    """Return rows in the types of the table; numbers come as text, and some of them are none."""
    arrays = []
    for array, field, column in zip(batch.columns[: len(columns)], wanted, columns, strict=True):
        try:
            arrays.append(_within_the_calendar(array.cast(field.type)))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise DataError(
                f"column {field.name} holds values that its type {column.called} allows and nobody could publish, such as NaN, infinity or 24:00",
                code="database-type",
                hint="write null in their place in a view, and name that as the table",
            ) from None
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _within_the_calendar(array: pa.Array) -> pa.Array:
    """Return the array; raise what Arrow raises for days and instants outside of the years 1 to 9999, infinite ones among them, and for 24:00."""
    if pa.types.is_time(array.type) and pc.any(pc.greater_equal(array.cast(pa.int64()), _DAY)).as_py():
        raise pa.ArrowInvalid("beyond the day")
    if pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
        whole = array.cast(pa.int32() if pa.types.is_date(array.type) else pa.int64())
        day = 1 if pa.types.is_date(array.type) else _DAY
        if pc.any(pc.or_(pc.less(whole, _FIRST_DAY * day), pc.greater_equal(whole, _BEYOND_DAY * day))).as_py():
            raise pa.ArrowInvalid("beyond the calendar")
    return array


def plain(column: pa.Array) -> pa.Array:
    """Return a column in the type that the server's has: its binary form must be the same."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain(column.dictionary_decode())
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", tz="UTC" if kind.tz else None))
    for is_kind, _, narrow in _NAMES:
        if is_kind(kind):
            return column.cast(narrow)
    return column


def range_of(field: pa.Field) -> str | None:
    """Return what PostgreSQL calls the type of a column of ranges, which come as text; None where it is no such column."""
    found = (field.metadata or {}).get(RANGE_TYPE)
    return found.decode() if found is not None else None


def is_written(field: pa.Field, own: str) -> bool:
    """Say whether values of a type of the server come to it as text, which is not the form that it has for them."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind)) and _TEXTS.fullmatch(own) is None


def called(field: pa.Field) -> str:
    """Return what PostgreSQL calls the type of a column."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    for is_kind, name, _ in _NAMES:
        if is_kind(kind):
            return name
    raise DataError(f"column {field.name} is of a type that PostgreSQL does not have, {kind}", code="database-type", hint="a mask that makes text")


_NAMES = (
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), "text", pa.string()),
    (pa.types.is_boolean, "boolean", pa.bool_()),
    (lambda kind: pa.types.is_int8(kind) or pa.types.is_int16(kind) or pa.types.is_uint8(kind), "smallint", pa.int16()),
    (lambda kind: pa.types.is_int32(kind) or pa.types.is_uint16(kind), "integer", pa.int32()),
    (lambda kind: pa.types.is_int64(kind) or pa.types.is_uint32(kind), "bigint", pa.int64()),
    (pa.types.is_uint64, "numeric(20)", pa.decimal128(20, 0)),
    (lambda kind: pa.types.is_float32(kind) or pa.types.is_float16(kind), "real", pa.float32()),
    (pa.types.is_float64, "double precision", pa.float64()),
    (pa.types.is_date, "date", pa.date32()),
    (pa.types.is_time, "time", pa.time64("us")),
)
