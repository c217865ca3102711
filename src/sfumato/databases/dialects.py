r"""What the functions of ``server_functions`` are in the SQL of each engine; one that is missing here an engine cannot do exactly.

``{0}`` is the first argument. Measured traps, each a test: numeric division of PostgreSQL rounds, so nothing is divided; MariaDB takes "a" and "A "
for one unless bytes are compared; ``$`` of PCRE and of Java lets a line end follow, ``\z`` does not; years below 1000 have four digits; DuckDB writes
no zero before the point of a decimal whose type has no room for one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

Engine = Literal["postgresql", "mysql", "duckdb", "spark"]
"""An engine that computes expressions; MariaDB is ``mysql`` too."""

Written = str | Callable[..., str]

COMPILERS: Mapping[Engine, tuple[str, str]] = {
    "postgresql": ("postgres", "postgres"),
    "mysql": ("mysql", "mysql"),
    "duckdb": ("duckdb", "duckdb"),
    "spark": ("pyspark", "spark"),
}
"""What ibis and sqlglot call the engines."""


def _unit(scale: str) -> str:
    """Return one of the last digit as a decimal.

    >>> _unit("2")
    '0.01'
    """
    return f"0.{'1'.rjust(int(scale), '0')}" if int(scale) else "1"


def _power(scale: str) -> str:
    return str(10 ** int(scale))


_POSTGRESQL: dict[str, Written] = {
    "length": "CHAR_LENGTH({0})",
    "first": "LEFT({0}, CAST({1} AS INTEGER))",
    "last": "RIGHT({0}, CAST({1} AS INTEGER))",
    "repeated": "REPEAT({0}, CAST({1} AS INTEGER))",
    "position": "STRPOS({0}, {1})",
    "same": '(({0}) COLLATE "C" = {1})',
    "is_written_as": "({0} ~ ('^(?:' || {1} || ')$'))",
    "replaced": "REGEXP_REPLACE({0}, {1}, {2}, 'g')",
    "plain_text": "CAST({0} AS TEXT)",
    "decimal_text": "CAST({0} AS TEXT)",
    "shortest_text": "RTRIM(RTRIM({0}, '0'), '.')",
    "day_text": "TO_CHAR(CAST({0} AS TIMESTAMP), 'YYYY-MM-DD')",
    "instant_text": "(RTRIM(RTRIM(TO_CHAR({0}, 'YYYY-MM-DD\"T\"HH24:MI:SS.US'), '0'), '.') || 'Z')",
    "whole": "CAST({0} AS NUMERIC)",
    "whole_digits": lambda value, scale: f"TRUNC({value} * {_power(scale)})",
    "quotient": lambda number, digits: f"TRUNC(({number}) * {_unit(digits)})",
    "decimal_of": lambda number, scale: f"CAST(({number}) * {_unit(scale)} AS NUMERIC(38, {scale}))",
    "integer_of": "CAST({0} AS BIGINT)",
    "days": "({0} - DATE '1970-01-01')",
    "day": "(DATE '1970-01-01' + CAST({0} AS INTEGER))",
    "day_of_instant": "CAST({0} AS DATE)",
    "instant": "CAST({0} AS TIMESTAMP)",
    "in_zone": "(({0}) AT TIME ZONE 'UTC')",
    "year_label": "TO_CHAR(CAST({0} AS TIMESTAMP), 'YYYY')",
    "quarter_label": "TO_CHAR(CAST({0} AS TIMESTAMP), 'YYYY-\"Q\"Q')",
    "month_label": "TO_CHAR(CAST({0} AS TIMESTAMP), 'YYYY-MM')",
    "week_label": "TO_CHAR(CAST({0} AS TIMESTAMP), 'IYYY-\"W\"IW')",
    "day_label": "TO_CHAR(CAST({0} AS TIMESTAMP), 'YYYY-MM-DD')",
    "pseudonym": "ENCODE(SHA256({2} || SHA256({1} || CONVERT_TO({0}, 'UTF8'))), 'hex')",
    "sha256": "ENCODE(SHA256(CONVERT_TO({0}, 'UTF8')), 'hex')",
    "sha512": "ENCODE(SHA512(CONVERT_TO({0}, 'UTF8')), 'hex')",
    "leading_bits": "CAST(CAST(('x' || LEFT({0}, 16)) AS BIT(63)) AS BIGINT)",
}


def _pinned(value: str) -> str:
    """Return a value as text that has a character set and a collation of its own: what a server writes has those of whoever asks, also in a view.

    >>> _pinned("SHA2({0}, 256)")
    '(CAST(SHA2({0}, 256) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)'
    """
    return f"(CAST({value} AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)"


_WRITTEN = _pinned("{0}")
# DATE_FORMAT of MySQL writes characters that nobody asked for where the session has a character set of two bytes
_INSTANT = _pinned("CAST({0} AS DATETIME(6))")
_WEEK = f"LPAD({_pinned('YEARWEEK({0}, 3)')}, 6, '0')"
_MYSQL: dict[str, Written] = {
    "length": "CHAR_LENGTH({0})",
    "first": "LEFT({0}, {1})",
    "last": "RIGHT({0}, {1})",
    "repeated": "REPEAT({0}, {1})",
    "position": "LOCATE({1}, {0})",
    "same": "(CAST({0} AS BINARY) = CAST({1} AS BINARY))",
    "is_written_as": "({0} REGEXP CONCAT('\\\\A(?:', {1}, ')\\\\z'))",
    "replaced": "REGEXP_REPLACE({0}, {1}, {2})",
    "plain_text": _WRITTEN,
    "decimal_text": _WRITTEN,
    "shortest_text": "TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM {0}))",
    "day_text": _WRITTEN,
    "instant_text": f"CONCAT(TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM REPLACE({_INSTANT}, ' ', 'T'))), 'Z')",
    "whole": "CAST({0} AS DECIMAL(38, 0))",
    "whole_digits": lambda value, scale: f"CAST({value} * {_power(scale)} AS DECIMAL(65, 0))",
    "quotient": lambda number, digits: f"CAST(({number}) * {_unit(digits)} AS DECIMAL(38, 0))",
    "decimal_of": lambda number, scale: f"CAST(({number}) * {_unit(scale)} AS DECIMAL(38, {scale}))",
    "integer_of": "CAST({0} AS SIGNED)",
    "days": "DATEDIFF({0}, DATE '1970-01-01')",
    "day": "DATE_ADD(DATE '1970-01-01', INTERVAL {0} DAY)",
    "day_of_instant": "CAST({0} AS DATE)",
    "instant": "CAST({0} AS DATETIME(6))",
    "year_label": f"LEFT({_WRITTEN}, 4)",
    "quarter_label": f"CONCAT(LEFT({_WRITTEN}, 4), '-Q', QUARTER({{0}}))",
    "month_label": f"LEFT({_WRITTEN}, 7)",
    "week_label": f"CONCAT(LEFT({_WEEK}, 4), '-W', RIGHT({_WEEK}, 2))",
    "day_label": _WRITTEN,
    "pseudonym": _pinned("SHA2(CONCAT({2}, UNHEX(SHA2(CONCAT({1}, CAST({0} AS BINARY)), 256))), 256)"),
    "sha256": _pinned("SHA2(CAST({0} AS BINARY), 256)"),
    "sha512": _pinned("SHA2(CAST({0} AS BINARY), 512)"),
    "leading_bits": "CAST(CAST(CONV(LEFT({0}, 16), 16, 10) AS UNSIGNED) >> 1 AS SIGNED)",
}

_DUCKDB: dict[str, Written] = {
    "length": "LENGTH({0})",
    "first": "LEFT({0}, {1})",
    "last": "RIGHT({0}, {1})",
    "repeated": "REPEAT({0}, {1})",
    "position": "STRPOS({0}, {1})",
    "same": "({0} = {1})",
    "is_written_as": "REGEXP_FULL_MATCH({0}, {1})",
    "replaced": "REGEXP_REPLACE({0}, {1}, {2}, 'g')",
    "finds": "REGEXP_MATCHES({0}, {1})",
    "plain_text": "CAST({0} AS VARCHAR)",
    "decimal_text": r"REGEXP_REPLACE(CAST({0} AS VARCHAR), '^(-?)[.]', '\10.')",
    "shortest_text": "RTRIM(RTRIM({0}, '0'), '.')",
    "day_text": "STRFTIME({0}, '%Y-%m-%d')",
    "instant_text": "(RTRIM(RTRIM(STRFTIME({0}, '%Y-%m-%dT%H:%M:%S.%f'), '0'), '.') || 'Z')",
    "whole": "CAST({0} AS HUGEINT)",
    "quotient": lambda number, digits: f"(({number}) // {_power(digits)})",
    "whole_digits": lambda value, _: f"CAST(REPLACE(CAST({value} AS VARCHAR), '.', '') AS HUGEINT)",
    "decimal_of": lambda number, scale: (
        f"(TRY_CAST({number} AS DECIMAL(19, 0)) * CAST('{_unit(scale)}' AS DECIMAL({int(scale) + 1}, {scale})))"
        if int(scale)
        else f"TRY_CAST({number} AS DECIMAL(38, 0))"
    ),
    "integer_of": "TRY_CAST({0} AS BIGINT)",
    "days": "DATE_DIFF('day', DATE '1970-01-01', {0})",
    "day": "(DATE '1970-01-01' + CAST({0} AS INTEGER))",
    "day_of_instant": "CAST({0} AS DATE)",
    "instant": "CAST({0} AS TIMESTAMP)",
    "year_label": "STRFTIME({0}, '%Y')",
    "quarter_label": "(STRFTIME({0}, '%Y') || '-Q' || QUARTER({0}))",
    "month_label": "STRFTIME({0}, '%Y-%m')",
    "week_label": "STRFTIME({0}, '%G-W%V')",
    "day_label": "STRFTIME({0}, '%Y-%m-%d')",
    "pseudonym": "SHA256({2} || UNHEX(SHA256({1} || ENCODE({0}))))",
    "sha256": "SHA256(ENCODE({0}))",
    "leading_bits": "CAST(CAST('0x' || LEFT({0}, 16) AS UBIGINT) >> 1 AS BIGINT)",
}

_SPARK: dict[str, Written] = {
    "length": "CHAR_LENGTH({0})",
    "first": "LEFT({0}, CAST({1} AS INT))",
    "last": "RIGHT({0}, CAST({1} AS INT))",
    "repeated": "REPEAT({0}, CAST({1} AS INT))",
    "position": "INSTR({0}, {1})",
    "same": "(CAST({0} AS BINARY) = CAST({1} AS BINARY))",
    "plain_text": "CAST({0} AS STRING)",
    "decimal_text": "CAST({0} AS STRING)",
    "shortest_text": "RTRIM('.', RTRIM('0', {0}))",
    "day_text": "CAST({0} AS STRING)",
    "whole": "CAST({0} AS DECIMAL(38, 0))",
    "integer_of": "CAST({0} AS BIGINT)",
    "days": "DATEDIFF({0}, DATE'1970-01-01')",
    "day": "DATE_ADD(DATE'1970-01-01', CAST({0} AS INT))",
    "year_label": "LEFT(CAST({0} AS STRING), 4)",
    "quarter_label": "CONCAT(LEFT(CAST({0} AS STRING), 4), '-Q', QUARTER({0}))",
    "month_label": "LEFT(CAST({0} AS STRING), 7)",
    "day_label": "CAST({0} AS STRING)",
    "pseudonym": "SHA2(CONCAT({2}, UNHEX(SHA2(CONCAT({1}, CAST({0} AS BINARY)), 256))), 256)",
    "sha256": "SHA2(CAST({0} AS BINARY), 256)",
    "sha512": "SHA2(CAST({0} AS BINARY), 512)",
}

FUNCTIONS: Mapping[Engine, Mapping[str, Written]] = {"postgresql": _POSTGRESQL, "mysql": _MYSQL, "duckdb": _DUCKDB, "spark": _SPARK}
