"""What each type of a server becomes, and what is refused because nobody could publish it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

import sfumato
from sfumato.core.nested_types import is_readable
from sfumato.errors import DataError, SfumatoError
from sfumato.sources.sql import Sql
from tests.servers import ask, component

POSTGRESQL: dict[str, tuple[str, Any]] = {
    "smallint": ("-3", -3),
    "bigint": ("9223372036854775807", 9223372036854775807),
    "numeric(6, 2)": ("-12.50", Decimal("-12.50")),
    "numeric": ("123456789012345678901234567890123456789012345.5", "123456789012345678901234567890123456789012345.5"),
    "real": ("0.5", 0.5),
    "double precision": ("1e300", 1e300),
    "boolean": ("true", True),
    "text": ("'O''Brien 🙂'", "O'Brien 🙂"),
    "char(5)": ("'ab'", "ab"),
    "name": ("'n'", "n"),
    "date": ("'0001-01-01'", date(1, 1, 1)),
    "timestamp": ("'1969-12-31 23:59:59.999999'", datetime(1969, 12, 31, 23, 59, 59, 999999)),
    "timestamptz": ("'2020-10-25 02:30:00+02'", datetime(2020, 10, 25, 0, 30, tzinfo=UTC)),
    "uuid": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    "inet": ("'10.0.0.1'", "10.0.0.1"),
    "cidr": ("'10.1.0.0/16'", "10.1.0.0/16"),
    "jsonb": ("""'{"a": 1}'""", '{"a": 1}'),
    "mood": ("'glad'", "glad"),
    "small_number": ("7", 7),
    "int[]": ("'{1,2}'", None),
    "bytea": ("'a'", None),
    "interval": ("'1 day'", None),
}
MARIADB: dict[str, tuple[str, Any]] = {
    "tinyint(1)": ("1", 1),
    "bigint unsigned": ("18446744073709551615", 18446744073709551615),
    "decimal(6, 2)": ("-12.50", Decimal("-12.50")),
    "double": ("1e300", 1e300),
    "varchar(20)": ("'O''Brien 🙂'", "O'Brien 🙂"),
    "enum('glad', 'sad')": ("'glad'", "glad"),
    "date": ("'1000-01-01'", date(1000, 1, 1)),
    "datetime(6)": ("'9999-12-31 23:59:59.999999'", datetime(9999, 12, 31, 23, 59, 59, 999999)),
    "time": ("'-101:30:00'", "-101:30:00"),
    "year": ("1999", 1999),
    "inet6": ("'::1'", "::1"),
    "uuid": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    "blob": ("'a'", None),
    "bit(3)": ("b'101'", None),
}


def values_of(url: str, types: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    columns = {kind: f"c{number}" for number, kind in enumerate(types)}
    ask(url, "DROP TABLE IF EXISTS kinds", f"CREATE TABLE kinds ({', '.join(f'{name} {kind}' for kind, name in columns.items())})")
    ask(url, f"INSERT INTO kinds VALUES ({', '.join(value for value, _ in types.values())}), ({', '.join('NULL' for _ in types)})")
    source = Sql(**component(url, "kinds"))
    readable = [field.name for field in source.describe() if is_readable(field)]
    rows = [row for batch in source.batches(readable) for row in batch.to_pylist()]
    assert all(value is None for value in rows[1].values())
    return {kind: rows[0].get(name) for kind, name in columns.items()}


def test_values_of_postgresql_are_what_they_are(postgresql_url: str) -> None:
    ask(postgresql_url, "CREATE TYPE mood AS ENUM ('glad', 'sad')", "CREATE DOMAIN small_number AS int CHECK (VALUE < 10)")
    assert values_of(postgresql_url, POSTGRESQL) == {kind: value for kind, (_, value) in POSTGRESQL.items()}


def test_values_of_mariadb_are_what_they_are(mariadb_url: str) -> None:
    assert values_of(mariadb_url, MARIADB) == {kind: value for kind, (_, value) in MARIADB.items()}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("numeric(6, 2)", "NaN"),
        ("date", "infinity"),
        ("date", "0044-03-15 BC"),
        ("timestamptz", "-infinity"),
        ("timestamp", "10000-01-01"),
        ("time", "24:00"),
    ],
)
def test_what_nobody_could_publish_is_refused_by_the_name_of_its_column(postgresql_url: str, kind: str, value: str) -> None:
    ask(postgresql_url, "DROP TABLE IF EXISTS odd", f"CREATE TABLE odd (pay {kind})", f"INSERT INTO odd VALUES ('{value}')")
    with pytest.raises(DataError) as caught:
        list(Sql(**component(postgresql_url, "odd")).batches(["pay"]))
    assert (caught.value.code, "column pay holds" in caught.value.message) == ("database-type", True)


def test_a_day_of_zeros_is_refused(mariadb_url: str) -> None:
    ask(mariadb_url, "SET sql_mode = ''", "CREATE TABLE zeros (born date)", "INSERT INTO zeros VALUES ('0000-00-00')")
    with pytest.raises(DataError) as caught:
        list(Sql(**component(mariadb_url, "zeros")).batches(["born"]))
    assert caught.value.code == "database-type"


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE parted (age int, ward text) PARTITION BY LIST (ward); CREATE TABLE a PARTITION OF parted FOR VALUES IN ('a')",
        "CREATE MATERIALIZED VIEW parted AS SELECT 1 AS age, 'a'::text AS ward",
        "CREATE VIEW parted AS SELECT 1 AS age, 'a'::text AS ward",
    ],
)
def test_views_and_partitioned_tables_are_sources(postgresql_url: str, made: str) -> None:
    ask(postgresql_url, 'CREATE SCHEMA IF NOT EXISTS "my ward"', 'SET search_path TO "my ward"', *made.split("; "))
    if "PARTITION" in made:
        ask(postgresql_url, "INSERT INTO \"my ward\".parted VALUES (1, 'a')")
    source = Sql(**component(postgresql_url, "parted"), schema="my ward")
    assert [row for batch in source.batches(["age", "ward"]) for row in batch.to_pylist()] == [{"age": 1, "ward": "a"}]
    ask(postgresql_url, 'DROP SCHEMA "my ward" CASCADE')


def test_numbers_beyond_eight_bytes_with_a_sign_are_told_with_a_way_out(mariadb_url: str) -> None:
    rows = ", ".join(f"({number}, {2**64 - 1 - number % 3})" for number in range(12))
    ask(mariadb_url, "DROP TABLE IF EXISTS large", "CREATE TABLE large (id INT PRIMARY KEY, v BIGINT UNSIGNED)", f"INSERT INTO large VALUES {rows}")
    columns: dict[str, Any] = {"id": {"role": "identifier"}, "v": {"role": "quasi_identifier"}}
    policy = {"source": {"sql": component(mariadb_url, "large")}, "columns": columns, "promises": [{"k_anonymity": {"k": 3}}]}
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy)
    assert (caught.value.code, str(caught.value.hint)[:53]) == ("value-type", "numbers above 9,223,372,036,854,775,807 have no order")
    columns["v"]["type"] = "text"
    assert sfumato.run(policy).record.rows.out == 12  # type: ignore[union-attr]
