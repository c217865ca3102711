"""A release as a script of SQL that restores it: what it begins with, how a table is made and how its rows come, in the language of each server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.databases import mysql_types, postgresql_types
from sfumato.databases.bulk_text import bulk_text
from sfumato.errors import DataError

Dialect = Literal["postgresql", "mysql"]

_LONGEST = {"postgresql": 63, "mysql": 64}
_COLUMNS = {"postgresql": 1600, "mysql": 1017}
_LAST_OF_NAMES = 0xFFFF
# a statement must fit into what a server takes at once, which is 16 MiB where nobody has said more
_STATEMENT = 1 << 20


class Script(Protocol):
    """How a server wants to be told of tables."""

    beginning: bytes
    """What comes before the first table."""

    def table(self, name: str, schema: pa.Schema) -> bytes:
        """Return what makes a table and says that its rows come."""
        ...

    def rows(self, name: str, batch: pa.RecordBatch) -> bytes:
        """Return further rows."""
        ...

    def end(self) -> bytes:
        """Return what says that all rows of a table have come."""
        ...


class PostgresqlScript:
    """``COPY`` from what follows, for psql: it stops at the first mistake."""

    beginning = (
        b"-- made by sfumato; restore it with: psql --single-transaction --file=THIS_FILE\n"
        b"\\set ON_ERROR_STOP on\n"
        b"SET client_encoding = 'UTF8';\nSET standard_conforming_strings = on;\nSET TimeZone = 'UTC';\nSET DateStyle = 'ISO, YMD';\n"
    )

    def table(self, name: str, schema: pa.Schema) -> bytes:
        """Return the table, and the head of its rows."""
        quoted = postgresql_types.quoted_name
        columns = ",\n".join(f"    {quoted(field.name)} {postgresql_types.range_of(field) or postgresql_types.called(field)}" for field in schema)
        names = ", ".join(quoted(field.name) for field in schema)
        return f"\nCREATE TABLE {quoted(name)} (\n{columns}\n);\nCOPY {quoted(name)} ({names}) FROM stdin;\n".encode()

    def rows(self, name: str, batch: pa.RecordBatch) -> bytes:
        """Return one line a row."""
        del name
        _refuse_zeros(batch)
        return bulk_text(batch)

    def end(self) -> bytes:
        """Return the line that ends them."""
        return b"\\.\n"


class MysqlScript:
    """``INSERT`` of many rows at a time, one a line, for MySQL and MariaDB."""

    beginning = (
        b"-- made by sfumato; restore it with: mariadb DATABASE < THIS_FILE, or mysql\n"
        b"SET NAMES utf8mb4;\nSET time_zone = '+00:00';\nSET sql_mode = 'STRICT_ALL_TABLES';\n"
    )

    def __init__(self) -> None:
        self._names = ""

    def table(self, name: str, schema: pa.Schema) -> bytes:
        """Return the table."""
        quoted = mysql_types.quoted_name
        columns = ",\n".join(f"    {quoted(field.name)} {mysql_types.called(field)}" for field in schema)
        self._names = ", ".join(quoted(field.name) for field in schema)
        return f"\nCREATE TABLE {quoted(name)} (\n{columns}\n) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;\n".encode()

    def rows(self, name: str, batch: pa.RecordBatch) -> bytes:
        """Return statements of many rows."""
        _refuse_zeros(batch)
        head = f"INSERT INTO {mysql_types.quoted_name(name)} ({self._names}) VALUES\n"
        lines = pc.binary_join_element_wise(*(_literals(field, column) for field, column in zip(batch.schema, batch.columns, strict=True)), ",")
        between = "),\n("
        return b"".join(f"{head}({between.join(part)});\n".encode() for part in _of_one_statement(lines.to_pylist()))

    def end(self) -> bytes:
        """Return nothing: every statement is whole."""
        return b""


def script_of(dialect: Dialect) -> Script:
    """Return how a server wants to be told of tables."""
    return PostgresqlScript() if dialect == "postgresql" else MysqlScript()


def refused_names(dialect: Dialect, names: Sequence[str]) -> str | None:
    """Return what is wrong with names of tables or columns; None where the server, and the program that restores them, can take all.

    >>> refused_names("mysql", ["age", "Age"])
    'MySQL and MariaDB take Age and age for one name'
    """
    if len(names) > _COLUMNS[dialect]:
        return f"a table has at most {_COLUMNS[dialect]} columns there"
    for name in names:
        long = len(name.encode()) if dialect == "postgresql" else len(name)
        if not name or "\0" in name or long > _LONGEST[dialect]:
            return f"a name there has 1 to {_LONGEST[dialect]} {'bytes' if dialect == 'postgresql' else 'characters'}, none of them zero"
        if dialect == "mysql" and (name != name.rstrip() or "\\" in name or any(ord(character) > _LAST_OF_NAMES for character in name)):
            return "MySQL and MariaDB, or the program that restores the dump, take no name with emoji or a backslash, or with white space at its end"
    if dialect == "mysql":
        known: dict[str, str] = {}
        for name in sorted(names):
            other = known.setdefault(name.casefold(), name)
            if other != name:
                return f"MySQL and MariaDB take {other} and {name} for one name"
    return None


def _refuse_zeros(batch: pa.RecordBatch) -> None:
    """Refuse texts with zero bytes, which scripts cannot hold."""
    for field, column in zip(batch.schema, batch.columns, strict=True):
        held = column.dictionary if pa.types.is_dictionary(column.type) else column
        if (pa.types.is_string(held.type) or pa.types.is_large_string(held.type)) and pc.any(pc.match_substring(held, "\0")).as_py():
            raise _impossible(field.name, "zero bytes")


def _impossible(column: str, what: str) -> DataError:
    return DataError(f"column {column} holds {what}, which a dump cannot hold", code="dump-value", hint="another sink, or a mask that takes them out")


def _literals(field: pa.Field, column: pa.Array) -> pa.Array:
    """Return a column as SQL writes it."""
    if pa.types.is_dictionary(column.type):
        return pc.fill_null(_literals(field, column.dictionary).take(column.indices), "NULL")
    kind = column.type
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(column)).as_py() and column.null_count < len(column):
        raise _impossible(field.name, "numbers that are none or infinite")
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", tz="UTC" if kind.tz else None)).cast(pa.timestamp("us"))
    text = column.cast(pa.string())
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind)):
        for character, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\x1a", "\\Z")):
            text = pc.replace_substring(text, character, escaped)
        text = pc.binary_join_element_wise("'", text, "'", "")
    return pc.fill_null(text, "NULL")


def _of_one_statement(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield as many lines at a time as a statement may have."""
    first = size = 0
    for place, line in enumerate(lines):
        length = len(line.encode()) + 4
        if size + length > _STATEMENT and place > first:
            yield lines[first:place]
            first, size = place, 0
        size += length
    if lines:
        yield lines[first:]
