"""Dumps, restored by the programs of the servers: what is in the database afterwards is the release, whatever its names and values are."""

from __future__ import annotations

import base64
import datetime
import gzip
import os
import shutil
import subprocess
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pytest

import sfumato
from services.cache import cache_folder
from sfumato.cli.tables import told_of_tables
from sfumato.errors import DataError, PolicyError, PromiseError
from sfumato.policy.model import Component
from sfumato.sinks._dumped import Dumped
from sfumato.sinks.sql_dump import SqlDump
from tests.databases.kills import endings
from tests.servers import ask, component

NASTY = ["", None, "\\.", "\\", "\\N", "NULL", "null", "tab\there", "two\nlines", "\r\n", "it's", '"q"', "a;b", "-- no", "/* no */", "😀 Zoë", "0xFF",
         "\x1a", "\\x41", "%s", ":name", "\ufeffmark", "';DROP TABLE x;--", "a,b),(c", "\x01\x7f", "$$", "\\'", "'", "''", "`"]  # fmt: skip
ROWS = len(NASTY)
DAYS = [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(1970, 1, 1), None]
TABLE = pa.table(
    {
        "text": NASTY,
        "flag": pa.array([(True, False, None)[row % 3] for row in range(ROWS)]),
        "small": pa.array([(-(2**15), 2**15 - 1, None)[row % 3] for row in range(ROWS)], pa.int16()),
        "whole": pa.array([(-(2**31), 2**31 - 1, 0)[row % 3] for row in range(ROWS)], pa.int32()),
        "large": pa.array([(-(2**63), 2**63 - 1, None)[row % 3] for row in range(ROWS)], pa.int64()),
        "price": pa.array([(Decimal("-9999999.99"), Decimal("0.01"), None)[row % 3] for row in range(ROWS)], pa.decimal128(9, 2)),
        "tiny": pa.array([(Decimal("0.0000000001"), None)[row % 2] for row in range(ROWS)], pa.decimal128(30, 10)),
        "share": pa.array([(0.1, -1.5e300, 5e-324, None)[row % 4] for row in range(ROWS)], pa.float64()),
        "day": pa.array([DAYS[row % 4] for row in range(ROWS)], pa.date32()),
        "seen": pa.array([datetime.datetime(2020, 1, 31, 12, 30, row % 60, 1) for row in range(ROWS)], pa.timestamp("us")),
        "sent": pa.array(
            [datetime.datetime(2020, 1, 31, 12, 30, row % 60, tzinfo=datetime.UTC) for row in range(ROWS)], pa.timestamp("us", tz="UTC")
        ),
    }
)
KEPT: dict[str, Any] = {name: {"role": "other", "accept": "singling_out"} for name in TABLE.column_names}
DIALECTS = ["postgresql", "mysql"]


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> Any:
    name: str = request.param
    return name


@pytest.fixture
def url(dialect: str, request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue("postgresql_url" if dialect == "postgresql" else "mariadb_url")
    return found


def restore(url: str, path: Path) -> None:
    """Restore a dump as its first line says."""
    parts = urlsplit(url)
    where = ["-h", str(parts.hostname), "-p" if url.startswith("postgresql") else "-P", str(parts.port)]
    database, password = parts.path[1:], unquote(parts.password or "")
    if url.startswith("postgresql"):
        command = [
            program("psql", "apt-get install postgresql-client"),
            *where,
            "-U",
            str(parts.username),
            "-X",
            "-q",
            "--single-transaction",
            f"--file={path}",
            database,
        ]
        done = subprocess.run(command, env={**os.environ, "PGPASSWORD": password}, capture_output=True, check=False)
    else:
        command = [
            program("mariadb", "apt-get install mariadb-client"),
            "--no-defaults",
            *where,
            "--protocol=tcp",
            "-u",
            str(parts.username),
            database,
        ]
        with path.open("rb") as script:
            done = subprocess.run(command, env={**os.environ, "MYSQL_PWD": password}, stdin=script, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def program(name: str, command: str) -> str:
    found = shutil.which(name) or next((str(path) for path in cache_folder().glob(f"*/usr/bin/{name}")), None)
    if found is None:
        pytest.skip(f"no program {name} here; run: {command}")
    return found


def clear(url: str, *tables: str) -> None:
    quote = '"' if url.startswith("postgresql") else "`"
    for name in tables:
        ask(url, f"DROP TABLE IF EXISTS {quote}{name.replace(quote, quote * 2)}{quote}")


def dump(path: Path, dialect: str, **more: Any) -> dict[str, Any]:
    return {"sql_dump": {"path": str(path), "dialect": dialect, **more}}


def test_every_value_is_restored_as_it_was_released(tmp_path: Path, dialect: str, url: str) -> None:
    path = tmp_path / "release.sql"
    sfumato.run({"columns": KEPT, "sink": dump(path, dialect, table="values_of")}, TABLE)
    clear(url, "values_of")
    restore(url, path)

    expected = TABLE
    if dialect == "mysql":
        # MySQL has no type for truth values, and no zones
        bare = [TABLE["flag"].cast(pa.int8()), TABLE["sent"].cast(pa.timestamp("us"))]
        expected = TABLE.set_column(1, "flag", bare[0]).set_column(10, "sent", bare[1])
    found = Counter(ask(url, f"SELECT {', '.join(TABLE.column_names)} FROM values_of"))
    assert found == Counter(zip(*(expected[name].to_pylist() for name in TABLE.column_names), strict=True))


def test_times_of_a_day_are_restored(tmp_path: Path, dialect: str, url: str) -> None:
    path, times = tmp_path / "times_of.sql", [datetime.time(10), datetime.time(23, 59, 59, 999999), None]
    table = pa.table({"at": pa.array(times, pa.time64("us"))})
    sfumato.run({"columns": {"at": {"role": "other", "accept": "singling_out"}}, "sink": dump(path, dialect)}, table)
    clear(url, "times_of")
    restore(url, path)

    # MySQL has a type for lengths of time, and none for times of a day
    expected = times if dialect == "postgresql" else ["10:00:00.000000", "23:59:59.999999", None]
    assert Counter(ask(url, "SELECT at FROM times_of")) == Counter((each,) for each in expected)


TYPES = {
    "postgresql": ["text", "boolean", "smallint", "integer", "bigint", "numeric", "numeric", "double precision", "date",
                   "timestamp without time zone", "timestamp with time zone"],
    "mysql": ["longtext", "tinyint", "smallint", "int", "bigint", "decimal", "decimal", "double", "date", "datetime", "datetime"],
}  # fmt: skip


def test_columns_are_restored_in_their_types(tmp_path: Path, dialect: str, url: str) -> None:
    path = tmp_path / "types_of.sql"
    sfumato.run({"columns": KEPT, "sink": dump(path, dialect)}, TABLE)
    clear(url, "types_of")
    restore(url, path)

    query = "SELECT data_type FROM information_schema.columns WHERE table_name = 'types_of' ORDER BY ordinal_position"
    assert [str(kind).lower() for (kind,) in ask(url, query)] == TYPES[dialect]


def test_a_release_restored_is_the_release(tmp_path: Path, dialect: str, url: str) -> None:
    path = tmp_path / "release.sql"
    table = pa.table({"age": [number % 50 for number in range(300)], "town": ["Ulm", "Köln", None] * 100, "ill": ["flu", "it's"] * 150})
    columns = {"age": {"role": "quasi_identifier", "publish": "typed_bounds"}, "town": {"role": "quasi_identifier"}, "ill": {"role": "sensitive"}}
    release: Any = sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 5}}], "sink": dump(path, dialect)}, table)
    clear(url, "release")
    restore(url, path)

    assert Counter(ask(url, "SELECT * FROM `release`" if dialect == "mysql" else "SELECT * FROM release")) == Counter(
        zip(*(release.table[name].to_pylist() for name in release.table.column_names), strict=True)
    )
    assert (tmp_path / "release.sql.record.json").exists()


def test_ranges_are_restored_in_postgresql(tmp_path: Path, postgresql_url: str) -> None:
    path = tmp_path / "ranges_of.sql"
    table = pa.table(
        {"age": pa.array([*range(50), None, None], pa.int32()), "seen": [datetime.datetime(2020, 1, 1, hour % 24) for hour in range(52)]}
    )
    column = {"role": "quasi_identifier", "publish": "range"}
    sfumato.run({"columns": {"age": column, "seen": column}, "promises": [{"k_anonymity": {"k": 5}}], "sink": dump(path, "postgresql")}, table)
    clear(postgresql_url, "ranges_of")
    restore(postgresql_url, path)

    assert ask(postgresql_url, "SELECT DISTINCT pg_typeof(age)::text, pg_typeof(seen)::text FROM ranges_of") == [("int4range", "tsrange")]
    assert ask(postgresql_url, "SELECT count(*) FROM ranges_of") == [(52,)]


def test_mysql_has_no_ranges(tmp_path: Path) -> None:
    column = {"role": "quasi_identifier", "publish": "range"}
    with pytest.raises(PolicyError, match="the sink has no type for ranges"):
        sfumato.run(
            {"columns": {"age": column}, "promises": [{"k_anonymity": {"k": 2}}], "sink": dump(tmp_path / "x.sql", "mysql")},
            pa.table({"age": [1, 2]}),
        )


NAMES = ["re\"le`a'se; DROP TABLE x; --", "two\nlines", "Ω (a, b) ", "FROM stdin;\n", "%s :x $1", "select", "/* a", "-- b", ");\n"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_only_names(tmp_path: Path, dialect: str, url: str, name: str) -> None:
    name = name.rstrip() if dialect == "mysql" else f"{name}\\ 😀"
    path = tmp_path / "names.sql"
    asked = {"columns": {name: {"role": "other", "accept": "singling_out"}, "b": {"role": "other"}}, "sink": dump(path, dialect, table=name)}
    sfumato.run(asked, pa.table({name: ["x", "y"], "b": ["z", "z"]}))
    clear(url, name)
    restore(url, path)

    quote = '"' if dialect == "postgresql" else "`"
    quoted = f"{quote}{name.replace(quote, quote * 2)}{quote}"
    assert sorted(ask(url, f"SELECT {quoted}, b FROM {quoted}")) == [("x", "z"), ("y", "z")]
    clear(url, name)


@pytest.mark.parametrize("name", ["a\\", "a ", "a\n", "😀"])
def test_names_that_mysql_or_its_program_does_not_take_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PolicyError, match="take no name with emoji or a backslash"):
        sfumato.run({"columns": {name: {"role": "other"}}, "sink": dump(tmp_path / "x.sql", "mysql")}, pa.table({name: ["x"]}))


@pytest.mark.parametrize("names", [[""], ["a\0"], ["x" * 65]])
def test_names_that_no_server_has_are_refused(tmp_path: Path, dialect: str, names: list[str]) -> None:
    table = pa.table({name: ["x"] for name in names})
    for sink, columns in (({}, names), ({"table": names[0]}, ["a"])):
        with pytest.raises(PolicyError):
            sfumato.run(
                {"columns": {name: {"role": "other"} for name in columns}, "sink": dump(tmp_path / "x.sql", dialect, **sink)},
                table if not sink else pa.table({"a": ["x"]}),
            )
    assert list(tmp_path.iterdir()) == []


def test_names_that_mysql_takes_for_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="take Age and age for one name"):
        sfumato.run(
            {"columns": {"age": {"role": "other"}, "Age": {"role": "other"}}, "sink": dump(tmp_path / "x.sql", "mysql")},
            pa.table({"age": [1], "Age": [2]}),
        )


@pytest.mark.parametrize(
    ("dialect", "value"), [("postgresql", "zero\0byte"), ("mysql", "zero\0byte"), ("mysql", float("nan")), ("mysql", float("inf"))]
)
def test_values_that_no_script_holds_are_refused(tmp_path: Path, dialect: str, value: Any) -> None:
    with pytest.raises(DataError) as caught:
        sfumato.run(
            {"columns": {"a": {"role": "other", "accept": "singling_out"}}, "sink": dump(tmp_path / "x.sql", dialect)}, pa.table({"a": [value]})
        )
    assert caught.value.code == "dump-value"
    assert "zero\0byte" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_many_rows_go_into_many_statements(tmp_path: Path, dialect: str, url: str) -> None:
    path = tmp_path / "many.sql.gz"
    table = pa.table({"number": list(range(60_000)), "note": ["x" * 60] * 60_000})
    columns = {"number": {"role": "other", "accept": "singling_out"}, "note": {"role": "other"}}
    sfumato.run({"columns": columns, "sink": dump(path, dialect, table="many")}, table)
    plain = tmp_path / "many.sql"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    clear(url, "many")
    restore(url, plain)

    assert [tuple(map(int, row)) for row in ask(url, "SELECT count(*), sum(number) FROM many")] == [(60_000, 60_000 * 59_999 // 2)]


def test_a_dump_without_rows_makes_an_empty_table(tmp_path: Path, dialect: str, url: str) -> None:
    path = tmp_path / "nobody.sql"
    writer = SqlDump(**dump(path, dialect)["sql_dump"]).open(TABLE.schema)
    writer.finish()
    writer.publish()
    clear(url, "nobody")
    restore(url, path)

    assert ask(url, "SELECT count(*) FROM nobody") == [(0,)]


def test_a_release_that_breaks_its_promise_leaves_the_old_dump(tmp_path: Path, dialect: str) -> None:
    path = tmp_path / "release.sql"
    asked = {"columns": {"age": {"role": "quasi_identifier"}}, "sink": dump(path, dialect)}
    sfumato.run({**asked, "promises": [{"k_anonymity": {"k": 2}}]}, pa.table({"age": [1, 2, 3]}))
    before = path.read_bytes()
    with pytest.raises(PromiseError):
        sfumato.run({**asked, "promises": [{"k_anonymity": {"k": 4}}]}, pa.table({"age": [1, 2, 3]}))

    assert path.read_bytes() == before
    assert sorted(found.name for found in tmp_path.iterdir()) == ["release.sql", "release.sql.record.json"]


KEY = f"k1:{base64.b64encode(bytes(range(32))).decode()}"
PSEUDONYM: dict[str, Any] = {"role": "identifier", "mask": {"hash": {"key": "main", "domain": "patient"}}}
TABLES: dict[str, Any] = {
    "patients": {
        "columns": {"id": PSEUDONYM, "age": {"role": "quasi_identifier"}},
        "promises": [{"k_anonymity": {"k": 3}}],
        "accept": "singling_out",
    },
    "visits": {"columns": {"patient": PSEUDONYM, "reason": {"role": "other"}}},
}


@pytest.fixture
def hospital(url: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A policy of two tables, whose rows belong together."""
    monkeypatch.setenv("SFUMATO_KEY", KEY)
    clear(url, "visits", "patients")
    ask(
        url,
        "CREATE TABLE patients (id int PRIMARY KEY, age int)",
        "CREATE TABLE visits (patient int, reason varchar(20), FOREIGN KEY (patient) REFERENCES patients (id))",
        f"INSERT INTO patients VALUES {', '.join(f'({number}, {20 + number % 9})' for number in range(30))}",
        f"INSERT INTO visits VALUES {', '.join(f'({number % 30}, {chr(39)}reason {number % 3}{chr(39)})' for number in range(90))}",
    )
    settings = component(url, "")
    return {
        "source": {"sql": {"url": settings["url"], "password": settings["password"]}},
        "keys": {"main": {"environment": "SFUMATO_KEY"}},
        "tables": TABLES,
    }


@pytest.mark.parametrize("ending", ["", ".gz", ".zst", ".xz", ".bz2"])
def test_several_tables_are_one_dump_that_can_still_be_joined(tmp_path: Path, dialect: str, url: str, hospital: dict[str, Any], ending: str) -> None:
    path = tmp_path / f"hospital.sql{ending}"
    releases: Any = sfumato.run({**hospital, "sink": dump(path, dialect)})
    assert releases["visits"].record.foreign_keys[0].joined == 90
    assert releases["patients"].table.num_rows == 30
    records = {name: releases[name].record for name in ("patients", "visits")}
    told = list(told_of_tables(records, Component(name="sql_dump", settings={"path": path.name}), tmp_path))
    assert told[-1] == f"records   {path}.records"
    assert sorted(found.name for found in tmp_path.iterdir()) == [path.name, f"{path.name}.records"]
    assert sorted(found.name for found in (tmp_path / f"{path.name}.records").iterdir()) == ["patients.record.json", "visits.record.json"]
    if ending in ("", ".gz"):
        plain = tmp_path / "plain.sql"
        plain.write_bytes(gzip.decompress(path.read_bytes()) if ending else path.read_bytes())
        clear(url, "visits", "patients")
        restore(url, plain)
        assert ask(url, "SELECT count(*) FROM visits v JOIN patients p ON p.id = v.patient") == [(90,)]


def test_no_table_of_several_is_dumped_where_one_breaks_its_promise(tmp_path: Path, dialect: str, hospital: dict[str, Any]) -> None:
    for tables in (TABLES, dict(reversed(TABLES.items()))):
        impossible = {**tables, "patients": {**TABLES["patients"], "promises": [{"k_anonymity": {"k": 31}}]}}
        with pytest.raises(PromiseError):
            sfumato.run({**hospital, "tables": impossible, "sink": dump(tmp_path / "hospital.sql", dialect)})
        assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_the_old_dump_or_the_new_one(tmp_path: Path, dialect: str, hospital: dict[str, Any]) -> None:
    path = tmp_path / "hospital.sql"
    asked = {**hospital, "sink": dump(path, dialect)}
    sfumato.run(asked)
    for _ in endings(*[(asked,)] * 6):
        for table, rows in (("patients", 30), ("visits", 90)):
            source = Dumped(path=str(path), table=table, dialect=dialect)
            assert sum(batch.num_rows for batch in source.batches(source.describe().names)) == rows
    sfumato.run(asked)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["hospital.sql", "hospital.sql.records"]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_classes_and_rows_of_one_dump_joined_are_the_release(tmp_path: Path, dialect: Any, url: str, ending: str) -> None:
    path = tmp_path / f"classes.sql{ending}"
    table = pa.table({"age": [number % 50 for number in range(300)], "ill": ["flu", "it's", None] * 100, "town": ["Ulm", "Köln"] * 150})
    columns = {"age": {"role": "quasi_identifier"}, "ill": {"role": "sensitive"}, "town": {"role": "quasi_identifier"}}
    asked = {"columns": columns, "promises": [{"k_anonymity": {"k": 5}}]}
    release: Any = sfumato.run({**asked, "sink": dump(path, dialect, table="dumped_rows", classes="dumped_classes")}, table)
    one: Any = sfumato.run(asked, table)
    assert release.table.to_pylist() == one.table.to_pylist()
    plain = tmp_path / "plain.sql"
    plain.write_bytes(gzip.decompress(path.read_bytes()) if ending else path.read_bytes())
    clear(url, "dumped_rows", "dumped_classes")
    restore(url, plain)

    joined = "SELECT c.age, r.ill, c.town FROM dumped_rows r JOIN dumped_classes c ON c.class_id = r.class_id"
    assert Counter(ask(url, joined)) == Counter(zip(*(one.table[name].to_pylist() for name in ("age", "ill", "town")), strict=True))
    assert ask(url, "SELECT sum(class_size), min(class_id) FROM dumped_classes") == [(300, 1)]


def test_classes_of_a_dump_that_cannot_be_are_refused(tmp_path: Path, dialect: Any) -> None:
    kept = {"columns": {"a": {"role": "other"}}}
    with pytest.raises(PolicyError, match="there is no quasi_identifier, and so there are no classes"):
        sfumato.run({**kept, "sink": dump(tmp_path / "x.sql", dialect, classes="c")}, pa.table({"a": ["x"]}))
    with pytest.raises(PolicyError, match="needs another table for the classes"):
        sfumato.run({**kept, "sink": dump(tmp_path / "x.sql", dialect, classes="x")}, pa.table({"a": ["x"]}))
    assert list(tmp_path.iterdir()) == []
