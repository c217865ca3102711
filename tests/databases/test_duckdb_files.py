"""Database files of DuckDB: their types and names, what hangs on their tables, and what can be wrong with a file."""

from __future__ import annotations

import datetime
import os
import resource
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import sfumato
from sfumato.databases.address import parsed
from sfumato.databases.duckdb_connection import DuckdbConnection
from sfumato.databases.duckdb_types import called
from sfumato.databases.table import ForeignKey, TableName
from sfumato.engine.drift import drift
from sfumato.engine.inside import not_inside
from sfumato.engine.plan import make_plan
from sfumato.errors import DataError, SfumatoError, UnreachableError, UsageError
from sfumato.registry import find
from tests.databases.kills import endings

ROWS = 3000
HEADER = 4096
PEOPLE = (
    "CREATE TABLE people AS SELECT (20 + range % 60)::INTEGER AS age, 'w' || (range % 7) AS ward, 'Canary ' || (range % 40) AS note "
    f"FROM range({ROWS})"
)
COLUMNS: dict[str, Any] = {"age": {"role": "quasi_identifier"}, "ward": {"role": "quasi_identifier"}, "note": {"role": "other"}}
OPENED_ELSEWHERE = "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == 'reads'); print(1, flush=True); sys.stdin.read()"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a table of people."""
    path = tmp_path / "hospital.duckdb"
    ask(path, PEOPLE)
    return path


def ask(path: Path, *statements: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(path)) as connection:
        return [connection.execute(statement).fetchall() for statement in statements][-1]


def named(path: Path, table: str, **more: str) -> dict[str, Any]:
    return {"sql": {"url": f"duckdb:///{path}", "table": table, **more}}


def policy(path: Path, **more: Any) -> dict[str, Any]:
    given = {"source": named(path, "people"), "sink": named(path, "release"), "columns": COLUMNS, "promises": [{"k_anonymity": {"k": 5}}]}
    return {**given, **more}


def source(path: Path, table: str, **more: str) -> Any:
    return find("sources", "sql")(**named(path, table, **more)["sql"])


def rows_of(path: Path, table: str, **more: str) -> list[dict[str, Any]]:
    read = source(path, table, **more)
    return pa.Table.from_batches(read.batches(read.describe().names), read.describe()).to_pylist()  # type: ignore[no-any-return]


def failed(given: dict[str, Any]) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(given)
    assert "Canary" not in str(caught.value)
    return caught.value


@contextmanager
def held(path: Path, how: str = "writes") -> Iterator[None]:
    """Let another process have a file open."""
    process = subprocess.Popen([sys.executable, "-c", OPENED_ELSEWHERE, str(path), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        process.communicate()


def test_values_are_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "types.duckdb"
    values = {
        "tiny": ("(-128)::TINYINT", -128),
        "unsigned": ("255::UTINYINT", 255),
        "large": ("18446744073709551615::UBIGINT", 2**64 - 1),
        "huge": ("170141183460469231731687303715884105727::HUGEINT", str(2**127 - 1)),
        "huger": ("340282366920938463463374607431768211455::UHUGEINT", str(2**128 - 1)),
        "price": ("12.340::DECIMAL(18, 3)", Decimal("12.340")),
        "long_price": ("1.5::DECIMAL(38, 2)", Decimal("1.50")),
        "share": ("0.1::DOUBLE", 0.1),
        "born": ("DATE '1980-02-29'", datetime.date(1980, 2, 29)),
        "at": ("TIME '23:59:59.123456'", datetime.time(23, 59, 59, 123456)),
        "seen": ("TIMESTAMP '2020-01-01 12:00:00.5'", datetime.datetime(2020, 1, 1, 12, 0, 0, 500000)),
        "second": ("'2020-01-01 12:00:00'::TIMESTAMP_S", datetime.datetime(2020, 1, 1, 12)),
        "zoned": ("TIMESTAMPTZ '2020-01-01 12:00:00+02'", datetime.datetime(2020, 1, 1, 10, tzinfo=datetime.UTC)),
        "truth": ("true", True),
        "id": ("'00000000-0000-0000-0000-00000000000a'::UUID", "00000000-0000-0000-0000-00000000000a"),
        "mood": ("'well'::ENUM('well', 'ill')", "well"),
        "document": ("'{\"a\": 1}'::JSON", '{"a": 1}'),
        "text": ("'it''s' || chr(0) || '🙂'", "it's\0🙂"),
        "nothing": ("NULL::VARCHAR", None),
    }
    ask(path, "CREATE TABLE t AS SELECT " + ", ".join(f"{written} AS {name}" for name, (written, _) in values.items()))

    assert rows_of(path, "t") == [{name: value for name, (_, value) in values.items()}]


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("[1, 2]", "LIST"),
        ("[1, 2]::INTEGER[2]", "ARRAY"),
        ("{'a': 'Canary'::ENUM('Canary')}", "STRUCT"),
        ("MAP {'a': 1}", "MAP"),
        ("'x'::BLOB", "BLOB"),
        ("INTERVAL 1 DAY", "INTERVAL"),
        ("'101'::BIT", "BIT"),
    ],
)
def test_types_that_nobody_knows_are_named_without_what_is_in_them(path: Path, written: str, kind: str) -> None:
    ask(path, f"CREATE OR REPLACE TABLE people AS SELECT age, ward, {written} AS note FROM people")
    error = failed(policy(path))
    assert error.message == f"the source has columns that cannot be read: note (values of type {kind})"


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_NS"])
@pytest.mark.parametrize("end", ["infinity", "-infinity"])
def test_days_that_no_calendar_has_are_refused_by_the_name_of_their_column(path: Path, kind: str, end: str) -> None:
    ask(path, f"CREATE OR REPLACE TABLE people AS SELECT age, ward, '{end}'::{kind} AS note FROM people")
    with pytest.raises(DataError) as caught:
        rows_of(path, "people")
    assert (caught.value.code, "column note" in caught.value.message) == ("database-type", True)


def test_a_time_that_no_day_has_is_refused_by_the_name_of_its_column(path: Path) -> None:
    ask(path, "CREATE OR REPLACE TABLE people AS SELECT age, ward, '24:00:00'::TIME AS note FROM people")
    with pytest.raises(DataError) as caught:
        rows_of(path, "people")
    assert (caught.value.code, "column note" in caught.value.message) == ("database-type", True)


def test_a_type_of_a_release_that_duckdb_does_not_have_is_named() -> None:
    with pytest.raises(DataError) as caught:
        called(pa.field("x", pa.duration("s")))
    assert caught.value.message == "column x is of a type that DuckDB does not have, duration[s]"


def test_an_unsigned_and_a_zoned_column_are_written_as_they_were_read(path: Path, tmp_path: Path) -> None:
    ask(
        path,
        "CREATE TABLE odd AS SELECT 18446744073709551615::UBIGINT AS a, TIMESTAMPTZ '2020-01-01 00:00:00+00' AS b, 1::TINYINT AS c FROM range(9)",
    )
    columns = {"a": {"role": "other"}, "b": {"role": "other"}, "c": {"role": "quasi_identifier"}}
    for sink in (named(path, "same"), named(tmp_path / "other.duckdb", "same")):
        sfumato.run({"source": named(path, "odd"), "sink": sink, "columns": columns, "promises": [{"k_anonymity": {"k": 2}}]})
        file = parsed(sink["sql"]["url"]).database
        assert ask(Path(file), "SELECT DISTINCT typeof(a), typeof(b), a FROM same") == [("UBIGINT", "TIMESTAMP WITH TIME ZONE", 2**64 - 1)]


@pytest.mark.parametrize("name", ["re`le\"a'se; DROP TABLE people; -- Ω", "two words", "line\nend", "🙂", "SELECT", "hospital"])
def test_names_are_only_names(path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    ask(path, f"CREATE SCHEMA hospital.{quoted}", f"CREATE TABLE hospital.{quoted}.{quoted} AS SELECT age, ward AS {quoted}, note FROM people")
    columns = {"age": COLUMNS["age"], name: {"role": "quasi_identifier"}, "note": {"role": "other"}}
    given = policy(path, source=named(path, name, schema=name), sink=named(path, f"{name} 2", schema=name), columns=columns)
    assert not_inside(make_plan(given)) is None
    for more in ({}, {"columns": {**columns, "note": {"role": "other", "mask": "shuffle"}}}):
        assert sfumato.run({**given, **more}).record.rows.out == ROWS
    assert len(rows_of(path, f"{name} 2", schema=name)) == len(rows_of(path, "people")) == ROWS


def test_names_that_differ_by_case_only_are_told_before_anything_is_written(path: Path) -> None:
    table = pa.table({"age": [1, 1], "Age": ["a", "a"]})
    columns = {"age": {"role": "quasi_identifier"}, "Age": {"role": "other"}}
    with pytest.raises(UsageError) as caught:
        sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 2}}], "sink": named(path, "release")}, table)
    assert caught.value.code == "database-name"
    assert tables_of(path) == ["people"]


def tables_of(path: Path) -> list[str]:
    return [name for (name,) in ask(path, "SELECT table_name FROM duckdb_tables() ORDER BY 1")]


def test_texts_are_told_apart_by_their_bytes_whatever_the_rules_of_their_column_are(path: Path) -> None:
    ask(path, "CREATE TABLE towns (town VARCHAR COLLATE NOCASE.NOACCENT, kept VARCHAR COLLATE NOCASE)")
    ask(path, "INSERT INTO towns SELECT t, t FROM range(5), (VALUES ('Köln'), ('koln'), ('KOLN'), (''), (NULL)) v(t)")
    columns = {"town": {"role": "quasi_identifier"}, "kept": {"role": "other"}}
    given = {"source": named(path, "towns"), "sink": named(path, "release"), "columns": columns, "promises": [{"k_anonymity": {"k": 5}}]}
    assert not_inside(make_plan(given)) is None
    inside: Any = sfumato.run(given)
    outside: Any = sfumato.run({"columns": columns, "promises": given["promises"]}, pa.Table.from_pylist(rows_of(path, "towns")))

    assert inside.record.measures["after"] == outside.record.measures["after"]
    assert inside.record.measures["after"]["average_class_size"] == 1
    shown = {(row["town"], row["kept"]) for row in rows_of(path, "release")}
    assert shown == {tuple(row.values()) for row in outside.table.to_pylist()}


@pytest.mark.parametrize(("kind", "people"), [("JSON", ["{}", "null"]), ("VARCHAR COLLATE NOACCENT", ["", "\u0301"])])
def test_people_are_known_by_their_bytes_whatever_the_type_of_their_texts_is(path: Path, kind: str, people: list[str]) -> None:
    # each note is that of two, and would be refused were these one
    rows = ", ".join(f"('{person}', 'w', 'n{number}')" for person in people for number in range(600))
    ask(path, f"CREATE TABLE visits (person {kind}, ward VARCHAR, note VARCHAR)", f"INSERT INTO visits VALUES {rows}")
    columns = {"person": {"role": "identifier"}, "ward": {"role": "quasi_identifier"}, "note": {"role": "other"}}
    given = {"source": named(path, "visits"), "subject": "person", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}]}
    sfumato.run({**given, "sink": named(path, "release")})
    outside: Any = sfumato.run(given)

    assert sorted(row["note"] for row in rows_of(path, "release")) == sorted(outside.table["note"].to_pylist())


def test_a_path_begins_at_the_policy_file(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    written = tmp_path / "policy.yaml"
    written.write_text(
        'source: {sql: {url: "duckdb:///hospital.duckdb", table: people}}\n'
        'sink: {sql: {url: "duckdb:///./hospital.duckdb", table: release, record: record.json}}\n'
        "columns: {age: {role: quasi_identifier}, ward: {role: quasi_identifier}, note: {role: other}}\n"
        "promises: [{k_anonymity: {k: 5}}]\n"
    )
    assert not_inside(make_plan(written)) is None
    sfumato.run(written)
    assert tables_of(path) == ["people", "release"]
    assert drift(written).found == []
    ask(path, "ALTER TABLE people ADD COLUMN secret VARCHAR")
    words = "the source has columns that the policy does not name: secret [columns-differ]"
    assert [(each.what, each.words) for each in drift(written).found] == [("schema", words)]


@pytest.mark.parametrize(
    "url", ["duckdb://hospital.duckdb", "duckdb:hospital.duckdb", "duckdb:///", "duckdb:///:memory:", "duckdb:///a?b=c", "duckdb:///a#b"]
)
def test_what_is_no_address_of_a_file_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"duckdb:///hospital\.duckdb"):
        parsed(url)


def test_keys_are_known(path: Path) -> None:
    ask(path, "CREATE TABLE wards (code VARCHAR, floor INTEGER, PRIMARY KEY (code, floor))")
    ask(path, "CREATE TABLE beds (id INTEGER, ward VARCHAR, floor INTEGER, FOREIGN KEY (ward, floor) REFERENCES wards (code, floor))")
    with DuckdbConnection(parsed(f"duckdb:///{path}")) as connection:
        assert connection.primary_key(TableName("wards")) == ("code", "floor")
        assert connection.primary_key(TableName("beds")) == ()
        assert connection.foreign_keys(TableName("beds")) == [ForeignKey(("ward", "floor"), TableName("wards", "main"), ("code", "floor"))]
        assert [each.table.name for each in connection.referring([TableName("wards")])] == ["beds"]


def test_a_new_table_has_the_indexes_comments_and_views_of_the_old_one(path: Path) -> None:
    sfumato.run(policy(path))
    ask(
        path,
        'CREATE INDEX "by age" ON release (age)',
        "COMMENT ON TABLE release IS 'it''s ours'",
        "COMMENT ON COLUMN release.ward IS 'where'",
        "CREATE VIEW seen AS SELECT ward, count(*) AS n FROM release GROUP BY ward",
    )
    sfumato.run(policy(path))
    assert ask(path, "SELECT index_name FROM duckdb_indexes()") == [("by age",)]
    assert ask(path, "SELECT comment FROM duckdb_tables() WHERE table_name = 'release'") == [("it's ours",)]
    assert ask(path, "SELECT comment FROM duckdb_columns() WHERE table_name = 'release' AND column_name = 'ward'") == [("where",)]
    assert ask(path, "SELECT sum(n) FROM seen") == [(ROWS,)]
    assert tables_of(path) == ["people", "release"]


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (["CREATE VIEW seen AS SELECT older FROM release"], "the view seen"),
        (["CREATE UNIQUE INDEX every ON release (older)"], "the index every"),
        (["ALTER TABLE release ADD PRIMARY KEY (older)"], "its key (PRIMARY KEY)"),
        (["ALTER TABLE release ADD PRIMARY KEY (older)", "CREATE TABLE bills (r INTEGER REFERENCES release (older))"], "a foreign key of bills"),
    ],
)
def test_what_would_be_lost_with_the_old_table_keeps_it(path: Path, statements: list[str], words: str) -> None:
    ask(path, "CREATE TABLE release AS SELECT range::INTEGER AS older FROM range(3)", *statements)
    error = failed(policy(path))
    assert (type(error), error.code) == (UnreachableError, "sink-table-used")
    assert error.message == f"{'main.' if 'foreign' in words else ''}release cannot be replaced: {words} would be lost with it"
    assert ask(path, "SELECT count(older) FROM release") == [(3,)]


def test_a_view_is_a_source_and_no_sink(path: Path) -> None:
    ask(path, "CREATE VIEW seen AS SELECT * FROM people", "CREATE VIEW taken AS SELECT 1 AS x")
    assert sfumato.run(policy(path, source=named(path, "seen"))).record.rows.out == ROWS
    assert failed(policy(path, sink=named(path, "taken"))).code == "sink-not-table"


@pytest.mark.parametrize(
    "view", ["SELECT * FROM read_csv('{other}')", "SELECT * FROM '{other}'", "SELECT age, ward, 1 / (age - 20) AS note FROM gone"]
)
def test_a_view_that_fails_or_reads_other_files_is_one_error(path: Path, tmp_path: Path, view: str) -> None:
    other = tmp_path / "other.csv"
    other.write_text("age,ward,note\n" + "30,Canary,x\n" * 9)
    ask(path, "CREATE TABLE gone AS SELECT * FROM people", f"CREATE VIEW seen AS {view.format(other=other)}", "DROP TABLE gone")
    assert failed(policy(path, source=named(path, "seen"))).code == "database-failed"


@pytest.mark.parametrize("macro", ["sum(a) AS 7", '"||"(a, b) AS a', "HASH(a, b) AS 1", "count_star() AS 9", "duckdb_tables() AS TABLE SELECT 1"])
def test_macros_that_would_change_what_a_statement_means_are_refused(path: Path, macro: str) -> None:
    ask(path, "CREATE MACRO harmless(a) AS a + 1")
    assert sfumato.run(policy(path)).record.rows.out == ROWS
    ask(path, f"CREATE MACRO {macro}")
    error = failed(policy(path))
    assert (error.code, error.status) == ("database-macros", 6)
    with DuckdbConnection(parsed(f"duckdb:///{path}")) as connection:
        for _ in range(2):
            with pytest.raises(DataError):
                connection.columns(TableName("people"))


def test_a_sink_that_is_the_source_under_another_name_is_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link.duckdb").symlink_to(path)
    os.link(path, tmp_path / "hard.duckdb")
    for other in ("link.duckdb", "hard.duckdb"):
        assert "sink-is-source" in str(failed(policy(path, sink=named(tmp_path / other, "People", schema="MAIN"))))
    assert len(rows_of(path, "people")) == ROWS


def test_source_and_sink_of_one_file_share_it_when_the_work_is_done_here(path: Path) -> None:
    given = policy(path, columns={**COLUMNS, "note": {"role": "other", "mask": "shuffle"}})
    assert not_inside(make_plan(given)) == "note is masked in a way that is done here"
    for _ in range(2):
        assert sfumato.run(given).record.rows.out == ROWS
    assert tables_of(path) == ["people", "release"]


def test_many_columns_are_read_and_written(path: Path, tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(1600)]
    ask(path, f"CREATE TABLE wide AS SELECT {', '.join(f'1 AS {name}' for name in names)} FROM range(2)")
    columns = {name: {"role": "other"} for name in names[1:]} | {names[0]: {"role": "quasi_identifier"}}
    for sink in (named(path, "wider"), named(tmp_path / "other.duckdb", "wider")):
        given = {"source": named(path, "wide"), "sink": sink, "columns": columns, "promises": [{"k_anonymity": {"k": 2}}]}
        assert sfumato.run(given).record.rows.out == 2


def test_several_views_go_into_one_new_file(path: Path, tmp_path: Path) -> None:
    new = tmp_path / "views.duckdb"
    views = {
        "research": {"sink": named(new, "research")},
        "ward": {"columns": {**COLUMNS, "note": {"role": "identifier"}}, "promises": [{"k_anonymity": {"k": 9}}], "sink": named(new, "ward")},
    }
    given = {key: value for key, value in policy(path).items() if key != "sink"} | {"views": views}
    for _ in range(2):
        releases: Any = sfumato.run(given)
        assert [release.record.rows.out for release in releases.values()] == [ROWS, ROWS]
    assert tables_of(new) == ["research", "ward"]


def test_the_drivers_of_servers_are_not_needed(path: Path) -> None:
    missing = "import sys; sys.modules.update(dict.fromkeys(['psycopg', 'pymysql', 'adbc_driver_postgresql', 'adbc_driver_manager']))"
    code = f"{missing}; import sfumato; print(sfumato.run({policy(path)!r}).record.rows.out)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.returncode) == (f"{ROWS}\n", 0), ended.stderr


def test_a_plan_says_that_the_work_is_done_in_this_process(path: Path) -> None:
    from sfumato.engine.explain import explain

    told = " ".join(explain(make_plan(policy(path))))
    assert f"Do all of this inside the database file {path}, by DuckDB in this process, with at most 512 MiB" in told


def test_a_source_is_not_written_to_and_others_may_read_it_meanwhile(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    with held(path, "reads"):
        sfumato.run(policy(path, sink=str(tmp_path / "release.csv")))
        assert failed(policy(path)).code == "database-locked"
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir() if "duckdb" in each.name] == ["hospital.duckdb"]


def test_nobody_writes_to_a_source_while_it_is_read(path: Path) -> None:
    with DuckdbConnection(parsed(f"duckdb:///{path}")) as reading, DuckdbConnection(parsed(f"duckdb:///{path}")) as writing:
        reading.one_state([])
        with pytest.raises(SfumatoError) as caught:
            writing.do("DELETE FROM people")
        assert caught.value.code == "database-locked"
        writes = f"import duckdb; duckdb.connect({str(path)!r}).execute('DELETE FROM people')"
        assert subprocess.run([sys.executable, "-c", writes], capture_output=True, check=False).returncode == 1
        assert sum(batch.num_rows for batch in reading.read(TableName("people"), reading.columns(TableName("people")))) == ROWS


def test_a_table_that_was_changed_after_the_plan_is_one_error(path: Path) -> None:
    read = source(path, "people")
    read.describe()
    ask(path, "ALTER TABLE people RENAME COLUMN note TO remark")
    with pytest.raises(SfumatoError) as caught:
        list(read.batches(["age", "note"]))
    assert caught.value.code == "database-failed"


def test_a_file_that_another_process_has_open_is_told(path: Path) -> None:
    with held(path):
        error = failed(policy(path))
    assert error.message == f"the database file {path} is in use by another process, or by another connection of this one"
    assert error.code == "database-locked"


def test_a_file_that_this_process_has_open_is_told(path: Path) -> None:
    with duckdb.connect(str(path)):
        assert failed(policy(path)).code == "database-locked"
    assert sfumato.run(policy(path)).record.rows.out == ROWS


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "database-missing"),
        (b"", "database-file"),
        (b"age,ward,note\n30,Canary,x\n" * 1000, "database-file"),
        ("cut", "database-file"),
        ("newer", "database-version"),
    ],
)
def test_what_is_no_file_of_ours_is_told(path: Path, tmp_path: Path, content: bytes | str | None, code: str) -> None:
    wrong = tmp_path / "wrong.duckdb"
    whole = path.read_bytes()
    if content == "cut":
        wrong.write_bytes(whole[: len(whole) // 2])
    elif content == "newer":
        header = whole[8:12] + (10**6).to_bytes(8, "little") + whole[20:HEADER]
        wrong.write_bytes(checksum(header).to_bytes(8, "little") + header + whole[HEADER:])
    elif isinstance(content, bytes):
        wrong.write_bytes(content)
    error = failed(policy(path, source=named(wrong, "people")))
    assert error.code == code
    assert str(wrong) in error.message
    assert wrong.exists() == (content is not None)


def checksum(block: bytes) -> int:
    """Return what a block of a file begins with, so that only its version is wrong."""
    found = 5381
    for (word,) in struct.iter_unpack("<Q", block):
        found ^= word * 0xBF58476D1CE4E5B9 % 2**64
    return found


def test_a_file_that_is_not_there_is_made_by_a_release_and_by_nothing_else(path: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.duckdb"
    failed(policy(path, sink=named(new, "release"), promises=[{"k_anonymity": {"k": ROWS + 1}}]))
    writer = find("sinks", "sql")(**named(new, "release")["sql"]).open(pa.schema([("age", pa.int64())]))
    writer.abort()
    assert [each.name for each in tmp_path.iterdir()] == ["hospital.duckdb"]
    sfumato.run(policy(path, sink=named(new, "release")))
    assert tables_of(new) == ["release"]
    assert failed(policy(path, sink=named(tmp_path / "no folder" / "new.duckdb", "release"))).status == 5


@pytest.mark.slow
def test_a_disk_that_takes_no_more_leaves_the_old_release(path: Path) -> None:
    sfumato.run(policy(path))
    ask(path, "CREATE OR REPLACE TABLE people AS SELECT age, ward, md5(range::VARCHAR) || note AS note FROM people, range(200)", "CHECKPOINT")
    size = path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + (1 << 18), hard))
    try:
        error = failed(policy(path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert error.code == "database-full"
    assert ask(path, "SELECT count(*) FROM release") == [(ROWS,)]
    assert tables_of(path) == ["people", "release"]


def test_a_file_that_may_not_be_written_is_read(path: Path, tmp_path: Path) -> None:
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        pytest.skip("may write everything; run: setpriv --bounding-set=-dac_override,-dac_read_search make test")
    sfumato.run(policy(path, sink=str(tmp_path / "release.csv")))
    assert failed(policy(path)).code == "database-rights"


@pytest.mark.slow
@pytest.mark.parametrize("mask", [None, "shuffle"])
def test_a_run_that_is_killed_leaves_the_old_release_or_the_new_one(path: Path, mask: str | None) -> None:
    given = policy(path) if mask is None else policy(path, columns={**COLUMNS, "note": {"role": "other", "mask": mask}})
    ask(path, "INSERT INTO people SELECT p.* FROM people p, range(29)")
    sfumato.run(given)
    done = 0
    for ended in endings(*[(given,)] * 6):
        done += ended == 0
        assert ask(path, "SELECT count(*) FROM release") == [(30 * ROWS,)]
        assert ask(path, "SELECT min(n) >= 5 FROM (SELECT count(*) AS n FROM release GROUP BY age, ward)") == [(True,)]
        assert tables_of(path) == ["people", "release"]
    assert done < 5


def test_the_type_of_a_release_lists_no_values_of_suppressed_rows(path: Path) -> None:
    ask(path, "CREATE TYPE mood AS ENUM ('glad', 'canary')", "CREATE TABLE moods (age integer, mood mood)")
    ask(path, "INSERT INTO moods SELECT 20, 'glad' FROM range(9)", "INSERT INTO moods VALUES (99, 'canary')")
    columns = {"age": {"role": "quasi_identifier"}, "mood": {"role": "other"}}
    given = {"source": named(path, "moods"), "sink": named(path, "of_moods"), "columns": columns, "promises": [{"k_anonymity": {"k": 3}}]}
    sfumato.run({**given, "suppression_limit": 0.2, "algorithm": {"datafly": {}}})

    assert ask(path, "SELECT data_type FROM duckdb_columns() WHERE table_name = 'of_moods' AND column_name = 'mood'") == [("VARCHAR",)]
    assert ask(path, "SELECT DISTINCT mood FROM of_moods") == [("glad",)]
