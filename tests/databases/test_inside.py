"""Work inside a database: few statements, few rights, one state, and a verification that notices whatever is wrong with what was written."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.csv
import pytest

import sfumato
from sfumato.databases.address import parsed
from sfumato.databases.duckdb_connection import DuckdbConnection
from sfumato.databases.duckdb_inside import DuckdbInside
from sfumato.databases.mysql import MysqlConnection
from sfumato.databases.mysql_inside import MysqlInside
from sfumato.databases.postgresql import PostgresqlConnection
from sfumato.databases.postgresql_inside import PostgresqlInside
from sfumato.databases.postgresql_meanwhile import Meanwhile
from sfumato.databases.table import TableName
from sfumato.engine.inside import not_inside
from sfumato.engine.plan import make_plan
from sfumato.errors import PromiseError, SfumatoError
from sfumato.registry import find
from tests.servers import ask, component, first_schema

ROWS = 600
TABLE = pa.table(
    {
        "age": [20 + number * 7 % 60 for number in range(ROWS)],
        "ward": [f"w{number % 7}" for number in range(ROWS)],
        "illness": [f"i{number % 5}" for number in range(ROWS)],
        "note": [f"note {number % 50}" for number in range(ROWS)],
    }
)
COLUMNS = {
    "age": {"role": "quasi_identifier"},
    "ward": {"role": "quasi_identifier"},
    "illness": {"role": "sensitive"},
    "note": {"role": "other"},
}
PROMISES = [{"k_anonymity": {"k": 5}}, {"l_diversity": {"column": "illness", "l": 2}}]
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(params=["postgresql", "mariadb", "mysql", "duckdb"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def stored(url: str, table: pa.Table, name: str) -> None:
    writer = find("sinks", "sql")(**component(url, name)).open(table.schema)
    for batch in table.to_batches():
        writer.write(batch)
    writer.finish()
    writer.publish()


def policy(url: str, **more: Any) -> dict[str, Any]:
    return {
        "source": {"sql": component(url, "people")},
        "columns": COLUMNS,
        "promises": PROMISES,
        "sink": {"sql": component(url, "release")},
        **more,
    }


@pytest.fixture
def people(url: str) -> str:
    stored(url, TABLE, "people")
    ask(url, "DROP TABLE IF EXISTS release_of_others")
    return url


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that servers are asked to do with rows."""
    found: list[str] = []
    for connection in (PostgresqlConnection, MysqlConnection, DuckdbConnection):

        def watched(kind: Any = connection) -> None:
            do, select = kind.do, kind.select

            def doing(self: Any, statement: str, *values: Any, **more: Any) -> None:
                found.append(statement)
                do(self, statement, *values, **more)

            def selecting(self: Any, query: str, columns: Any, **more: Any) -> Iterator[pa.RecordBatch]:
                found.append(query)
                yield from select(self, query, columns, **more)

            monkeypatch.setattr(kind, "do", doing)
            monkeypatch.setattr(kind, "select", selecting)

        watched()
    return found


def test_adult_takes_few_statements(adult: Path, mariadb_url: str, statements: list[str]) -> None:
    path = adult / "adult.csv"
    table = pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(delimiter=";"))
    stored(mariadb_url, table, "adult")
    columns = {name: {"role": "quasi_identifier"} for name in table.column_names if name != "salary-class"}
    given = {
        "source": {"sql": component(mariadb_url, "adult")},
        "columns": {**columns, "salary-class": {"role": "sensitive"}},
        "promises": [{"k_anonymity": {"k": 10}}],
    }
    outside: Any = sfumato.run({**given, "source": {"delimited": {"path": str(path), "delimiter": ";"}}})
    # where a release is replaced, what hangs on the old one is asked for too
    ask(mariadb_url, "DROP TABLE IF EXISTS `release`")
    statements.clear()
    inside: Any = sfumato.run({**given, "sink": {"sql": component(mariadb_url, "release")}})

    settings = ("SET ", "CREATE DATABASE IF NOT EXISTS", "DROP TABLE IF EXISTS")
    decided = [each for each in statements if each.startswith("CREATE TEMPORARY TABLE") and ("class INT" in each)]
    asked = [each for each in statements if not each.startswith(settings) and each not in decided]
    assert len(asked) <= 10, asked
    assert inside.record.measures["after"] == outside.record.measures["after"]


def test_nothing_of_the_data_and_no_secret_stands_in_a_statement(people: str, statements: list[str]) -> None:
    statements.clear()
    sfumato.run(policy(people))

    told = "\n".join(statements)
    secret = urlsplit(people).password or "?"
    assert not any(word in told for word in ("note 1", "'i1'", "w3", secret))


def changed(url: str, *statements: str) -> None:
    """Change a database while a run works on it; nobody but this process could do so with a file."""
    if not url.startswith("duckdb"):
        ask(url, *statements)
        return
    with DuckdbConnection(parsed(url)) as connection:
        for statement in statements:
            connection.do(statement)
        connection.commit()


def test_the_source_is_seen_in_one_state(people: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (PostgresqlInside, MysqlInside, DuckdbInside):

        def watched(kind: Any = kind) -> None:
            take = kind.take

            def taking(self: Any) -> None:
                take(self)
                changed(people, "INSERT INTO people VALUES (99, 'w99', 'i99', 'late')", "UPDATE people SET ward = 'w98' WHERE age = 20")

            monkeypatch.setattr(kind, "take", taking)

        watched()
    release: Any = sfumato.run(policy(people))

    assert release.record.rows.out == ROWS
    assert "late" not in release.table["note"].to_pylist()
    assert Counter(release.table["note"].to_pylist()) == Counter(TABLE["note"].to_pylist())
    assert not any("w9" in str(ward) for ward in release.table["ward"].to_pylist())


TAMPERED = {
    "a kept value": ("UPDATE {staged} SET note = 'note 51' WHERE note = 'note 7'", "verify-kept"),
    "kept values that change places": (
        "UPDATE {staged} SET note = CASE note WHEN 'note 7' THEN 'note 8' ELSE 'note 7' END WHERE note IN ('note 7', 'note 8')",
        "verify-kept",
    ),
    "a sensitive value": ("UPDATE {staged} SET illness = 'i4' WHERE illness = 'i3'", "verify-rows"),
    "a missing row": ("DELETE FROM {staged} WHERE note = 'note 7'", "verify-rows"),
    "a row twice": ("INSERT INTO {staged} SELECT * FROM {staged} WHERE note = 'note 7'", "verify-rows"),
    "a label": ("UPDATE {staged} SET ward = 'w1' WHERE note = 'note 7'", "verify-"),
    "a wider label": ("UPDATE {staged} SET age = '*'", "verify-width"),
    "an empty label": ("UPDATE {staged} SET age = NULL WHERE note = 'note 7'", "verify-"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_whatever_is_wrong_with_what_was_written_is_found(people: str, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    statement, code = TAMPERED[what]
    for kind in (PostgresqlInside, MysqlInside, DuckdbInside):

        def watched(kind: Any = kind) -> None:
            stage = kind.stage

            def staging(self: Any, target: TableName, columns: Any) -> TableName:
                staged = stage(self, target, columns)
                self._connection.do(statement.format(staged=self._connection.quoted(staged)))
                return staged

            monkeypatch.setattr(kind, "stage", staging)

        watched()
    before = ask(people, "SELECT 1") and _there(people)
    with pytest.raises(PromiseError) as caught:
        sfumato.run(policy(people, sink={"sql": component(people, "release_of_others")}))

    assert caught.value.code.startswith(code)
    assert "note" not in str(caught.value)
    assert _there(people) == before


def _there(url: str) -> list[tuple[Any, ...]]:
    return ask(url, f"SELECT table_name FROM information_schema.tables WHERE table_schema = {first_schema(url)} ORDER BY 1")


def test_few_rights_are_enough(people: str) -> None:
    if people.startswith("duckdb"):
        pytest.skip("a database file has no users: no command makes this run")
    parts = urlsplit(people)
    name, database = "keeper", parts.path[1:]
    if people.startswith("postgresql"):
        ask(people, f"DROP OWNED BY {name}" if ask(people, f"SELECT 1 FROM pg_roles WHERE rolname = '{name}'") else "SELECT 1")
        ask(people, f"DROP ROLE IF EXISTS {name}", f"CREATE ROLE {name} LOGIN PASSWORD 'few'", "CREATE SCHEMA IF NOT EXISTS masked")
        ask(people, f"GRANT SELECT ON people TO {name}", f"GRANT USAGE, CREATE ON SCHEMA masked TO {name}")
        schema: dict[str, str] = {"schema": "masked"}
    else:
        ask(
            people,
            f"DROP USER IF EXISTS {name}@'%'",
            f"CREATE USER {name}@'%' IDENTIFIED BY 'few'",
            "CREATE DATABASE IF NOT EXISTS sfumato_staging_keeper",
        )
        ask(people, f"GRANT SELECT ON {database}.people TO {name}@'%'", f"GRANT CREATE, DROP, ALTER, INSERT, SELECT ON {database}.few TO {name}@'%'")
        ask(people, f"GRANT CREATE TEMPORARY TABLES, CREATE, DROP, ALTER, INSERT, SELECT ON sfumato_staging_keeper.* TO {name}@'%'")
        schema = {}
    own = parts._replace(netloc=f"{name}:few@{parts.hostname}:{parts.port}").geturl()
    given = {**policy(own), "sink": {"sql": component(own, "few") | schema}}
    assert not_inside(make_plan(given)) is None

    assert sfumato.run(given).record.rows.out == ROWS
    assert sfumato.run(given).record.rows.out == ROWS
    with pytest.raises(SfumatoError) as caught:
        sfumato.run({**given, "sink": {"sql": component(own, "elsewhere") | ({"schema": "pg_catalog"} if schema else {"schema": "mysql"})}})
    assert "few" not in str(caught.value)


def test_a_plan_says_where_the_work_is_done_and_what_the_server_is_asked(people: str, tmp_path: Path, sfumato_command: Command) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(policy(people)))
    plain, sql = sfumato_command("plan", path), sfumato_command("plan", "--sql", path)

    assert "Do all of this inside the database" in plain.stdout
    assert sql.returncode == 0
    assert "CREATE TABLE" in sql.stdout
    assert "note 1" not in sql.stdout
    assert (urlsplit(people).password or "?") not in sql.stdout + plain.stdout
    told = json.loads(sfumato_command("plan", "--sql", path, "--format", "json").stdout)
    assert len(told["statements"]) > 5

    path.write_text(json.dumps({**policy(people), "sink": "release.csv"}))
    elsewhere = sfumato_command("plan", "--sql", path)
    assert (elsewhere.returncode, "plan-not-inside" in elsewhere.stderr) == (2, True)
    assert "because source and sink are not both tables of a database" in sfumato_command("plan", path).stdout


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"columns": {**COLUMNS, "note": {"role": "other", "mask": {"shuffle": {}}}}}, "note is masked in a way that is done here"),
        (
            {"columns": {**COLUMNS, "age": {"role": "identifier"}, "ward": {"role": "other"}}, "promises": [], "subject": "age"},
            "a subject is named, and no column is generalised",
        ),
    ],
)
def test_what_is_not_done_inside_is_done_here(people: str, changes: dict[str, Any], reason: str) -> None:
    given = policy(people, **changes)

    assert not_inside(make_plan(given)) == reason
    assert sfumato.run(given).record.rows.out == ROWS


def test_one_person_in_several_writings_is_one_in_databases_too(url: str) -> None:
    table = pa.table({"who": ["5", "5.0", "5.00", "+5", "6"], "age": [30, 31, 32, 33, 34]})
    stored(url, table, "people")
    columns = {"who": {"role": "identifier", "type": "decimal"}, "age": {"role": "quasi_identifier"}}
    given = policy(url, subject="who", columns=columns, promises=[{"k_anonymity": {"k": 3}}])

    assert str(not_inside(make_plan(given))).startswith("who says whose rows are in texts of a declared type")
    with pytest.raises(PromiseError) as refused:
        sfumato.run(given)
    assert refused.value.code == "promise-impossible"
    assert sfumato.run({**given, "promises": [{"k_anonymity": {"k": 2}}]}).record.promises[0].measured == 2


@pytest.mark.parametrize(
    "called",
    [
        ["c1", "c0", "k1", "class"],
        ["sfumato_rows", "sfumato_print", "sfumato_key", "sfumato_published"],
        ["sfumato_key", "sfumato_number", "sfumato_rows", "sfumato_print"],
        ["sfumato_place", "first_row", "sfumato_print", "sfumato_rows"],
    ],
)
@pytest.mark.parametrize("mask", [None, {"shorten": {"length": 3}}])
def test_columns_may_be_called_as_ours_are(url: str, called: list[str], mask: Any) -> None:
    names = dict(zip(TABLE.column_names, called, strict=True))
    table = TABLE.rename_columns(list(names.values()))
    stored(url, table, "named")
    given: dict[str, Any] = {
        "columns": {names[name]: column for name, column in COLUMNS.items()},
        "promises": [{"k_anonymity": {"k": 5}}, {"l_diversity": {"column": names["illness"], "l": 2}}],
    }
    if mask is not None:
        given["columns"][names["note"]] = {"role": "other", "mask": mask}
    inside: Any = sfumato.run({**given, "source": {"sql": component(url, "named")}, "sink": {"sql": component(url, "named_release")}})
    outside: Any = sfumato.run(given, table)

    assert Counter(tuple(row.values()) for row in inside.table.to_pylist()) == Counter(tuple(row.values()) for row in outside.table.to_pylist())


def test_columns_of_several_character_sets_are_counted_as_they_are(mariadb_url: str) -> None:
    kinds = ("latin1 COLLATE latin1_german1_ci", "cp1251 COLLATE cp1251_general_ci", "utf8mb4 COLLATE utf8mb4_general_ci")
    columns = ", ".join(f"c{place} varchar(20) CHARACTER SET {kind}" for place, kind in enumerate(kinds))
    rows = [("Müller", "Иван", "a"), ("muller", "иван", "A"), ("Muller", "Иван ", "á"), (None, "", "a ")]
    values = ", ".join(str(row).replace("None", "NULL") for row in rows for _ in range(6))
    ask(mariadb_url, "DROP TABLE IF EXISTS mixed", f"CREATE TABLE mixed ({columns})", f"INSERT INTO mixed VALUES {values}")
    given: dict[str, Any] = {
        "source": {"sql": component(mariadb_url, "mixed")},
        "columns": {f"c{place}": {"role": "quasi_identifier"} for place in range(3)},
        "promises": [{"k_anonymity": {"k": 6}}],
    }
    inside: Any = sfumato.run({**given, "sink": {"sql": component(mariadb_url, "mixed_release")}})

    assert Counter(tuple(row.values()) for row in inside.table.to_pylist()) == dict.fromkeys(rows, 6)


@pytest.mark.parametrize("made", ["CREATE VIEW shown AS SELECT * FROM people", "CREATE TABLE shown (LIKE people) PARTITION BY LIST (ward)"])
def test_views_and_partitions_come_in_an_order_by_chance_too(postgresql_url: str, made: str) -> None:
    stored(postgresql_url, TABLE, "people")
    ask(postgresql_url, "DROP VIEW IF EXISTS shown" if "VIEW" in made else "DROP TABLE IF EXISTS shown", made)
    if "PARTITION" in made:
        parts = [f"CREATE TABLE shown_{part} PARTITION OF shown FOR VALUES IN ('w{part}')" for part in range(7)]
        ask(postgresql_url, *parts, "INSERT INTO shown SELECT * FROM people")
    given = policy(postgresql_url, source={"sql": component(postgresql_url, "shown")})
    orders = [sfumato.run(given).table["note"].to_pylist() for _ in range(2)]  # type: ignore[union-attr]
    ask(postgresql_url, "DROP VIEW shown" if "VIEW" in made else "DROP TABLE shown")

    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(TABLE["note"].to_pylist())


ONE_CLASS = {"columns": {**COLUMNS, "note": {"role": "other", "accept": "singling_out"}}, "promises": [{"k_anonymity": {"k": ROWS}}]}
MASKED_ALONE = {
    "columns": {"age": {"role": "identifier"}, "ward": {"role": "other", "mask": "empty"}, "illness": {"role": "other"}, "note": {"role": "other"}},
    "promises": [],
}


def _one_class(url: str, given: dict[str, Any] = ONE_CLASS) -> tuple[list[int], list[str]]:
    """Return the notes of a release, which number the rows of the source, in the order of the release, and the ward that each has there."""
    numbered = TABLE.set_column(3, "note", pa.array(range(ROWS), pa.int32()))
    stored(url, numbered, "people")
    release: Any = sfumato.run(policy(url, **given))
    order = release.table["note"].to_pylist()
    return order, [TABLE["ward"][number].as_py() for number in order]


def _is_by_chance(order: list[int], wards: list[str]) -> bool:
    """Say whether neither the order of the source is left, nor rows of one ward are together; chance is further off in one of a million trials."""
    middle = (ROWS - 1) / 2
    likeness = sum((place - middle) * (number - middle) for place, number in enumerate(order)) / sum((place - middle) ** 2 for place in range(ROWS))
    together = sum(one == other for one, other in pairwise(wards)) / (ROWS - 1)
    return abs(likeness) < 0.2 and together < 0.22


@pytest.mark.parametrize("given", [ONE_CLASS, MASKED_ALONE], ids=["generalised", "masked alone"])
def test_a_release_has_nothing_of_the_order_of_the_source_or_of_cells(url: str, given: dict[str, Any]) -> None:
    order, wards = _one_class(url, given)

    assert sorted(order) == list(range(ROWS))
    assert _is_by_chance(order, wards)


@pytest.mark.parametrize("memory", ["much", "little"])
def test_rows_are_sorted_once_more_where_the_classes_are_too_many_for_memory(
    postgresql_url: str, memory: str, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if memory == "little":
        monkeypatch.setattr("sfumato.databases.postgresql_inside._OVERHEAD", 1 << 27)
    order, wards = _one_class(postgresql_url)

    (written,) = [each for each in statements if each.startswith("CREATE TABLE") and " AS SELECT " in each]
    assert ("ORDER BY" in written) == (memory == "little")
    assert _is_by_chance(order, wards)


def test_a_plan_that_brings_rows_of_a_key_together_is_not_carried_out(
    postgresql_url: str, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    do = PostgresqlConnection.do

    def doing(self: PostgresqlConnection, statement: str, **more: Any) -> None:
        # what would be chosen without a word from us, were the tables of other sizes
        do(self, "SET enable_hashjoin = off" if statement == "SET enable_mergejoin = off" else statement, **more)

    monkeypatch.setattr(PostgresqlConnection, "do", doing)
    order, wards = _one_class(postgresql_url)

    (written,) = [each for each in statements if each.startswith("CREATE TABLE") and " AS SELECT " in each]
    assert "ORDER BY" in written
    assert _is_by_chance(order, wards)


def test_missing_values_of_types_of_the_server_are_told_from_others(mariadb_url: str) -> None:
    columns = {"address": "inet6", "number": "uuid", "day": "date", "part": "float", "hour": "time", "born": "year", "price": "decimal(6, 2)"}
    given = "('::1', '123e4567-e89b-12d3-a456-426614174000', '2020-02-03', 0.1, '25:00:00', 1999, 3.50)"
    empty = f"({', '.join(['NULL'] * len(columns))})"
    ask(mariadb_url, "DROP TABLE IF EXISTS kinds", f"CREATE TABLE kinds ({', '.join(f'{name} {kind}' for name, kind in columns.items())})")
    ask(mariadb_url, f"INSERT INTO kinds VALUES {', '.join([given] * 6 + [empty] * 5)}")
    release: Any = sfumato.run(
        {
            "source": {"sql": component(mariadb_url, "kinds")},
            "columns": {name: {"role": "quasi_identifier"} for name in columns},
            "promises": [{"k_anonymity": {"k": 5}}],
            "sink": {"sql": component(mariadb_url, "kinds_release")},
        }
    )

    assert sorted(Counter(tuple(row.values()) for row in release.table.to_pylist()).values()) == [5, 6]
    assert release.table["born"].null_count == 5


UNPUBLISHABLE = {
    "mariadb": ["date '0000-00-00'", "datetime(3) '2020-00-00'"],
    "postgresql": ["date 'infinity'", "timestamptz '4000-01-01 BC'", "numeric(10,2) 'NaN'"],
    "duckdb": ["date 'infinity'"],
}


@pytest.mark.parametrize(("server", "given"), [(server, given) for server, cases in UNPUBLISHABLE.items() for given in cases])
def test_values_that_nobody_could_publish_are_refused_where_no_promise_looks_at_them(request: pytest.FixtureRequest, server: str, given: str) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    kind, _, value = given.partition(" ")
    ask(url, "DROP TABLE IF EXISTS odd", "DROP TABLE IF EXISTS shown", f"CREATE TABLE odd (c {kind} NULL, g varchar(9))")
    several = ", ".join(f"({value if number == 7 else 'NULL'}, 'g{number % 2}')" for number in range(40))
    ask(url, *(["SET sql_mode = ''"] if server == "mariadb" else []), f"INSERT INTO odd VALUES {several}")
    sensitive = {"c": {"role": "sensitive"}, "g": {"role": "quasi_identifier"}}
    masked = {"c": {"role": "other", "mask": {"shorten": {"length": 4}}}, "g": {"role": "other"}}
    for columns, more in ((sensitive, {"promises": [{"k_anonymity": {"k": 5}}]}), (masked, {})):
        with pytest.raises(SfumatoError) as caught:
            sfumato.run({"source": {"sql": component(url, "odd")}, "sink": {"sql": component(url, "shown")}, "columns": columns, **more})
        assert (caught.value.code, "column c holds values that its type" in caught.value.message) == ("database-type", True)


def test_rows_of_tables_that_inherit_are_not_taken_for_each_other(postgresql_url: str) -> None:
    stored(postgresql_url, TABLE, "people")
    ask(postgresql_url, "DROP TABLE IF EXISTS kin CASCADE", "CREATE TABLE kin (LIKE people)", "CREATE TABLE kin_too () INHERITS (kin)")
    ask(postgresql_url, "INSERT INTO kin SELECT * FROM people WHERE age < 50", "INSERT INTO kin_too SELECT * FROM people WHERE age >= 50")
    release: Any = sfumato.run(policy(postgresql_url, source={"sql": component(postgresql_url, "kin")}))
    plain: Any = sfumato.run(policy(postgresql_url))

    assert Counter(map(str, release.table.to_pylist())) == Counter(map(str, plain.table.to_pylist()))


def test_long_numbers_and_times_that_the_server_folds_to_one_hash_are_told_apart(postgresql_url: str) -> None:
    # the halves of each, folded, are the same 32 bits
    numbers = [1, 1 << 32, -1, -(1 << 32) - 2, None]
    seen = "timestamp '2000-01-01' + make_interval(secs => n / 1000000.0)"
    rows = f"SELECT n, {seen} FROM unnest(ARRAY{[number for number in numbers if number is not None]}::bigint[]) n UNION ALL SELECT NULL, NULL"
    ask(postgresql_url, "DROP TABLE IF EXISTS folded", "CREATE TABLE folded (number bigint, seen timestamp)", *[f"INSERT INTO folded {rows}"] * 6)
    release: Any = sfumato.run(
        {
            "source": {"sql": component(postgresql_url, "folded")},
            "columns": {"number": {"role": "quasi_identifier"}, "seen": {"role": "quasi_identifier"}},
            "promises": [{"k_anonymity": {"k": 6}}],
            "sink": {"sql": component(postgresql_url, "folded_release")},
        }
    )

    assert sorted(Counter(map(str, release.table.to_pylist())).values()) == [6] * len(numbers)


def test_rows_that_differ_beside_missing_values_are_told_apart(postgresql_url: str) -> None:
    columns = "age int, born date, share float8, is_known boolean, town text"
    given = [
        "(1, NULL, 0, NULL, 'a')",
        "(2, NULL, 0, NULL, 'a')",
        "(1, NULL, 0, true, 'a')",
        "(1, NULL, 0, NULL, NULL)",
        "(NULL, NULL, 0, NULL, 'a')",
    ]
    ask(postgresql_url, "DROP TABLE IF EXISTS gaps", f"CREATE TABLE gaps ({columns})", f"INSERT INTO gaps VALUES {', '.join(given * 3)}")
    release: Any = sfumato.run(
        {
            "source": {"sql": component(postgresql_url, "gaps")},
            "columns": {name.split()[0]: {"role": "quasi_identifier"} for name in columns.split(", ")},
            "promises": [{"k_anonymity": {"k": 3}}],
            "sink": {"sql": component(postgresql_url, "gaps_release")},
        }
    )

    assert sorted(Counter(map(str, release.table.to_pylist())).values()) == [3] * len(given)


def refused(*_: Any) -> Any:
    raise ConnectionError


def broken(self: Meanwhile, *_: Any) -> list[str]:
    del self
    return ["FATAL_ERROR"]


@pytest.mark.parametrize(("what", "instead"), [("catalogue_session", refused), ("Meanwhile._ended", broken)])
def test_cells_are_counted_after_the_copy_where_no_second_session_counts_them(
    postgresql_url: str, what: str, instead: Any, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(postgresql_url, TABLE, "people")
    monkeypatch.setattr(f"sfumato.databases.postgresql_meanwhile.{what}", instead)

    assert sfumato.run(policy(postgresql_url)).record.rows.out == ROWS
    assert any(each.startswith("CREATE UNLOGGED TABLE") and '_cells" AS' in each for each in statements)


def test_cells_of_a_run_that_died_before_its_copy_lasted_are_removed_by_the_next(postgresql_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(postgresql_url, TABLE, "people")
    sfumato.run(policy(postgresql_url))
    before = _there(postgresql_url)
    commit = Meanwhile.commit

    def dying(self: Meanwhile) -> None:
        commit(self)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Meanwhile, "commit", dying)
        patched.setattr(PostgresqlInside, "close", lambda self: self._connection.__exit__(None, None, None))
        with pytest.raises(KeyboardInterrupt):
            sfumato.run(policy(postgresql_url))
    (left,) = set(_there(postgresql_url)) - set(before)
    assert left[0].endswith("_cells")
    sfumato.run(policy(postgresql_url))

    assert _there(postgresql_url) == before
