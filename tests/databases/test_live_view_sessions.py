"""What a reader sets in a session changes nothing of what a live view masks, whatever the mask, on values that engines do not agree on."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from sfumato.core.mask import MaskContext
from sfumato.databases.address import parsed
from sfumato.databases.connection import connected
from sfumato.databases.engines import engine_of
from sfumato.databases.live_view import Definition, ShownColumn, kept_column, live_views_of, masked_column
from sfumato.databases.table import TableName
from tests.databases.corpus import COLUMNS, VALUE
from tests.databases.test_expressions import CASES
from tests.servers import SERVER_FIXTURES, component, connect

pytestmark = pytest.mark.slow

POSTGRESQL = (
    "DateStyle = 'German, DMY'",
    "DateStyle = 'SQL, MDY'",
    "TimeZone = 'Asia/Kolkata'",
    "IntervalStyle = 'sql_standard'",
    "extra_float_digits = -10",
    "bytea_output = 'escape'",
    "standard_conforming_strings = off",
    "backslash_quote = on",
    "transform_null_equals = on",
    "lc_numeric = 'C'",
    "client_encoding = 'LATIN1'",
    "search_path = pg_temp, public",
)
MYSQL = (
    "time_zone = '+05:30'",
    "lc_time_names = 'de_DE'",
    "div_precision_increment = 0",
    "collation_connection = 'utf8mb4_general_ci'",
    "collation_connection = 'utf8mb4_unicode_ci'",
    "collation_connection = 'utf8mb4_bin'",
    "collation_connection = 'latin1_swedish_ci'",
    "collation_connection = 'utf16_unicode_ci'",
    "collation_connection = 'binary'",
    "character_set_results = NULL",
    "default_week_format = 6",
    "sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'",
    "sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "sql_mode = 'ANSI'",
    "sql_mode = 'HIGH_NOT_PRECEDENCE'",
    "sql_mode = 'NO_UNSIGNED_SUBTRACTION,TIME_TRUNCATE_FRACTIONAL'",
    "sql_mode = 'TRADITIONAL'",
    "sql_mode = ''",
)
MARIADB = (
    *(setting for setting in MYSQL if "TRUNCATE" not in setting),
    "default_regex_flags = 'EXTENDED'",
    "default_regex_flags = 'DOTALL,MULTILINE,UNGREEDY'",
    "sql_mode = 'ORACLE'",
    "sql_mode = 'MSSQL'",
    "sql_mode = 'EMPTY_STRING_IS_NULL'",
    "sql_mode = 'TIME_ROUND_FRACTIONAL,NO_UNSIGNED_SUBTRACTION'",
    "old_mode = 'ZERO_DATE_TIME_CAST'",
)
SETTINGS = {"postgresql": POSTGRESQL, "postgresql18": POSTGRESQL, "mariadb": MARIADB, "mysql": MYSQL}


@pytest.mark.parametrize("server", SETTINGS)
def test_no_setting_of_a_session_changes_what_is_masked(request: pytest.FixtureRequest, server: str) -> None:
    url = str(request.getfixturevalue(SERVER_FIXTURES[server]))
    named = component(url, "x")
    password = url.split("@")[0].rsplit(":", 1)[1]
    changed: list[str] = []
    looked_at = 0
    with connected(parsed(named["url"]), password) as connection, closing(connect(url)) as reader:
        for column in COLUMNS:
            shown = made(connection, server, reader, column)
            looked_at += len(shown) - 1
            changed += [f"{case} under {setting}" for setting in SETTINGS[server] for case in differing(reader, server, column, shown, setting)]

    assert changed == []
    assert looked_at > 100


def made(connection: Any, server: str, reader: Any, name: str) -> dict[str, str]:
    """Make a view of all masks of a column of the corpus, and a table of what it shows; return the masks by the names of their columns."""
    column, is_postgresql, kind = COLUMNS[name], server.startswith("postgresql"), "postgresql" if server.startswith("postgresql") else "mysql"
    value, table = connection.quoted_name(VALUE), f"corpus_{name}"
    with reader.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {table} (id int, {value} {column.postgresql if is_postgresql else column.mysql or column.postgresql})"
                       + ("" if is_postgresql else " CHARACTER SET utf8mb4"))  # fmt: skip
        cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s)", list(enumerate(column.values)))
    known = {each.name: each for each in connection.columns(TableName(table))}
    engine = engine_of(connection, kind)
    shown, cases = [kept_column(known["id"])], {"id": "id"}
    for title, of, masked in CASES:
        found = masked_column(masked, MaskContext(VALUE), known, engine) if of == name else ""
        if isinstance(found, ShownColumn):
            cases[f"m{len(cases)}"] = title
            shown.append(replace(found, column=replace(found.column, name=list(cases)[-1])))
    definition = Definition(TableName(f"view_{name}"), TableName(table), shown)
    views: Any = live_views_of(connection, kind, definition)
    connection.do(views._made(views._target))
    connection.commit()
    with reader.cursor() as cursor:
        cursor.execute(f"CREATE TABLE base_{name} AS SELECT * FROM view_{name}")
    return cases


def differing(reader: Any, server: str, name: str, cases: dict[str, str], setting: str) -> list[str]:
    """Return the masks that show something else under a setting."""
    is_postgresql = server.startswith("postgresql")
    other = "v.{0} IS DISTINCT FROM b.{0}" if is_postgresql else "NOT (CAST(v.{0} AS BINARY) <=> CAST(b.{0} AS BINARY))"
    counts = ", ".join(f"SUM(CASE WHEN {other.format(each)} THEN 1 ELSE 0 END)" for each in cases)
    schema = "public." if is_postgresql else ""
    variable = setting.partition(" = ")[0]
    with reader.cursor() as cursor:
        if not is_postgresql:
            cursor.execute(f"SELECT @@{variable}")
            ((before,),) = cursor.fetchall()
        cursor.execute(f"SET {setting}")
        cursor.execute(f"SELECT {counts} FROM {schema}view_{name} v JOIN {schema}base_{name} b ON v.id = b.id")
        (found,) = cursor.fetchall()
        if not is_postgresql:
            # a warning can quote what is behind a mask
            cursor.execute(f"SELECT * FROM view_{name}")
            cursor.fetchall()
            cursor.execute("SHOW WARNINGS")
            told = {message for _, _, message in cursor.fetchall()}
            assert told == set(), f"{name} under {setting}: {sorted(told)[:3]}"
        cursor.execute(f"RESET {variable}" if is_postgresql else f"SET {variable} = %s", () if is_postgresql else (before,))
    return [case for case, number in zip(cases.values(), found, strict=True) if number]
