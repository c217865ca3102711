"""How a column enters an expression: so that an engine sees the value that would have been read from it, and nothing but its bytes counts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sfumato.databases.dialects import Engine
from sfumato.databases.table import TableColumn

UNKNOWN = "binary"
"""The type of a column that may be kept or emptied, and that no function takes."""

_SHORT_TEXTS = ("char", "varchar", "tinytext", "text", "enum")
_FIRST, _LAST = "0001-01-01", "9999-12-31"


def entry(engine: Engine, column: TableColumn, name: str) -> tuple[Any, str]:
    """Return the type of ibis that a column has in an expression, and the SQL that stands for it."""
    kind = column.kind
    if kind is None or not _is_taken(engine, column):
        return UNKNOWN, name
    if pa.types.is_string(kind):
        return "string", _text(engine, column, name)
    if pa.types.is_timestamp(kind):
        if kind.tz is None:
            return "timestamp", name
        return "timestamp('UTC')", f"({name} AT TIME ZONE 'UTC')"
    if engine == "mysql":
        from sfumato.databases.mysql_types import number

        return _type(kind), number(column, name)
    return _type(kind), name


def unreadable(engine: Engine, column: TableColumn, name: str) -> str | None:
    """Return the condition under which a value could not have been read; None where every value of the type can be."""
    kind = column.kind
    if kind is None:
        return None
    if engine == "postgresql" and pa.types.is_decimal(kind):
        return f"({name} = 'NaN')"
    if engine in ("postgresql", "duckdb") and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        day = f"CAST({name} AT TIME ZONE 'UTC' AS DATE)" if pa.types.is_timestamp(kind) and kind.tz else f"CAST({name} AS DATE)"
        return f"({name} IS NOT NULL AND (NOT ISFINITE({name}) OR {day} < DATE '{_FIRST}' OR {day} > DATE '{_LAST}'))"
    if engine == "mysql" and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        # days of zeros, and months and days of zeros within others
        return f"({name} IS NOT NULL AND (YEAR({name}) = 0 OR MONTH({name}) = 0 OR DAYOFMONTH({name}) = 0))"
    return None


def _is_taken(engine: Engine, column: TableColumn) -> bool:
    """Return whether functions of the engine see of a column what is read from it."""
    word = column.called.lower().partition("(")[0].strip()
    if engine == "postgresql":
        return True
    if engine == "mysql":
        # longer texts may become longer than a packet, and nothing then; a timestamp is shown in the zone of the session
        return column.as_text or (word.split(" ")[0] in _SHORT_TEXTS if pa.types.is_string(column.kind) else word != "timestamp")
    if pa.types.is_timestamp(column.kind):
        return engine == "duckdb" and column.kind == pa.timestamp("us")
    return "collate" not in column.called.lower() and word not in ("char", "varchar") if engine == "spark" else True


def _text(engine: Engine, column: TableColumn, name: str) -> str:
    if engine == "postgresql":
        from sfumato.databases.postgresql_types import bytewise

        return f"({bytewise(column, f'{name}::text' if not column.as_text else name)})"
    if engine == "mysql":
        from sfumato.databases.mysql_types import selected

        return f"(CONVERT({selected(column, name)} USING utf8mb4) COLLATE utf8mb4_bin)"
    if engine == "duckdb":
        from sfumato.databases.duckdb_types import bytewise, readable

        return readable(column, bytewise(column, name))
    return name


def _type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})" if kind.precision <= 38 else UNKNOWN
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return str(kind)
    # binary fractions are among what is kept or emptied: engines write them, and calculate with them, each in its own way
    return "date" if pa.types.is_date(kind) else UNKNOWN
