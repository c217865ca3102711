"""What types of MySQL and MariaDB are to us, and types of ours to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import DataError

_WHOLE = {
    "tinyint": (pa.int8(), pa.uint8()),
    "smallint": (pa.int16(), pa.uint16()),
    "mediumint": (pa.int32(), pa.uint32()),
    "int": (pa.int32(), pa.uint32()),
    "bigint": (pa.int64(), pa.uint64()),
}
_WORDS = {
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "year": pa.int16(),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "json", "uuid", "inet4", "inet6"), pa.string()),
}
_DIGITS = 38
_ALIKE = str.maketrans("jyvw", "iiuu")
_BYTES, LONGEST_ROW = 4, 60_000
"""The bytes of a character, and those of the texts of a row, of which a server takes 65,535."""


def quoted_name(name: str) -> str:
    """Return a name as SQL writes it, whatever characters are in it.

    >>> quoted_name("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def quoted(table: TableName) -> str:
    """Return the name of a table as SQL writes it."""
    return table.written(quoted_name)


def column_of(name: str, called: str, kind: str, digits: int | None, scale: int | None) -> TableColumn:
    """Return a column by what the catalogue says of its type."""
    # MySQL 8 and later give names in capitals and types as bytes
    called, kind = text_of(called), text_of(kind).lower()
    if kind in _WHOLE:
        return TableColumn(text_of(name), called, _WHOLE[kind]["unsigned" in called])
    if kind == "decimal":
        return TableColumn(text_of(name), called, pa.decimal128(int(digits or 0), int(scale or 0)) if int(digits or 0) <= _DIGITS else pa.string())
    if kind == "time":
        # it may be longer than a day, or less than nothing
        return TableColumn(text_of(name), called, pa.string(), as_text=True)
    return TableColumn(text_of(name), called, _WORDS.get(kind))


def is_whole(column: TableColumn) -> bool:
    """Say whether a column holds whole numbers."""
    return column.kind is not None and pa.types.is_integer(column.kind)


def is_plain_text(column: TableColumn) -> bool:
    """Say whether a column holds nothing but text, which takes any other in its place."""
    return re.fullmatch(r"(var)?char\(\d+\)|(tiny|medium|long)?text", column.called) is not None


def is_enumeration(column: TableColumn) -> bool:
    """Say whether the type of a column lists the values that it may have."""
    return re.match(r"(enum|set)\(", column.called) is not None


def may_repeat(column: TableColumn) -> bool:
    """Say whether a type lists values of which a collation might take two for one: no other table can have such a type, in a session that is strict.

    >>> [may_repeat(TableColumn("a", called, pa.string())) for called in ("enum('f','m')", "set('a','A')", "enum('a','ä')", "varchar(9)")]
    [False, True, True, False]
    """
    if not is_enumeration(column):
        return False
    values = re.findall(r"'((?:[^']|'')*)'", column.called)
    # there are collations for which i is j and y, or u is v and w, and others that leave signs out
    folded = {re.sub(r"[^a-z0-9]", "", value.lower()).translate(_ALIKE) for value in values}
    return len(folded) < len(values) or not column.called.isascii()


def is_short(column: TableColumn, characters: int) -> bool:
    """Say whether a column holds texts that have no more than so many characters."""
    found = re.fullmatch(r"(?:var)?char\((\d+)\)", column.called)
    return found is not None and int(found[1]) <= characters


def is_time(called: str) -> bool:
    """Say whether a type is that of times, which may be longer than a day and are read as text."""
    return re.fullmatch(r"time(\(\d\))?", called) is not None


def longest(types: Iterable[str]) -> int:
    """Return the bytes that values of some types take at most of a row, beside those that every other type takes.

    >>> longest(["varchar(40)", "int(11)"])
    162
    """
    return sum(_BYTES * int(found[1]) + 2 for called in types if (found := re.fullmatch(r"(?:var)?char\((\d+)\)", called)) is not None)


def selected(column: TableColumn, name: str | None = None) -> str:
    """Return a column as a query selects it, where it goes by another name than its own by that."""
    name = name or quoted_name(column.name)
    return f"CAST({name} AS CHAR)" if column.as_text else exact(column, name)


def exact(column: TableColumn, name: str) -> str:
    """Return a value of which nothing is lost when it is read or written as text: of a fraction of four bytes the server writes six digits.

    >>> exact(TableColumn("a", "float", pa.float32()), "`a`")
    'CAST(`a` AS DOUBLE)'
    """
    return f"CAST({name} AS DOUBLE)" if column.kind == pa.float32() else name


def number(column: TableColumn, name: str) -> str:
    """Return a number as nothing but the number, whatever its type shows beside it; another value as it is.

    A year that is compared with a number of two digits is taken for one of this century or the last, and ZEROFILL is part of a text.

    >>> number(TableColumn("a", "int(5) unsigned zerofill", pa.uint32()), "`a`")
    'CAST(`a` AS UNSIGNED)'
    """
    words = column.called.lower()
    if words.startswith("year"):
        return f"CAST({name} AS SIGNED)"
    if "zerofill" not in words or column.kind is None:
        return name
    if pa.types.is_decimal(column.kind):
        return f"CAST({name} AS DECIMAL({column.kind.precision}, {column.kind.scale}))"
    return f"CAST({name} AS UNSIGNED)" if is_whole(column) else name


def text_of(value: Any) -> str:
    """Return a name that some servers give as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def typed(rows: Sequence[tuple[Any, ...]], wanted: pa.Schema, columns: Sequence[TableColumn]) -> pa.RecordBatch:
    """Return rows in the types of the table; a day of zeros is none."""
    arrays = []
    for place, (field, column) in enumerate(zip(wanted, columns, strict=True)):
        values = [row[place] for row in rows]
        if pa.types.is_boolean(field.type):
            values = [value if value is None else bool(value) for value in values]
        if pa.types.is_string(field.type):
            values = [value if value is None or isinstance(value, str) else text_of(value) for value in values]
        try:
            arrays.append(pa.array(values, field.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            raise DataError(
                f"column {field.name} holds values that its type {column.called} allows and nobody could publish, such as days of zeros",
                code="database-type",
                hint="write null in their place in a view, and name that as the table",
            ) from None
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def kind_of(field: pa.Field) -> pa.DataType:
    """Return the type in which a column is read back."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_boolean(kind):
        return pa.int8()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC" if kind.tz else None)
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_time(kind) else kind


def made_kind(field: pa.Field) -> pa.DataType:
    """Return the type in which a column is read back that was made for a field: truth values are numbers there."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    return kind if pa.types.is_boolean(kind) else kind_of(field)


def called(field: pa.Field) -> str:
    """Return what MySQL calls the type of a column."""
    kind = kind_of(field)
    for name, (signed, unsigned) in _WHOLE.items():
        # a column of three bytes is read into four of ours, but has no room for them
        if name != "mediumint" and kind in (signed, unsigned):
            return name if kind == signed else f"{name} unsigned"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        # the type timestamp ends in 2038
        return "datetime(6)"
    for is_kind, name in ((pa.types.is_string, "longtext"), (pa.types.is_floating, "double"), (pa.types.is_date, "date")):
        if is_kind(kind):
            return name
    raise DataError(f"column {field.name} is of a type that MySQL does not have, {kind}", code="database-type", hint="a mask that makes text")
