"""A source that is a view of the table that the sink replaces: the originals would be gone, and the release be read as if it were they."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.errors import PolicyError, SfumatoError, UnreachableError
from tests.servers import ask, component, connect

pytestmark = pytest.mark.slow

ROWS = ", ".join(f"('n{number}', 't{number % 2}', 'i{number % 3}')" for number in range(30))
COLUMNS = {"name": {"role": "identifier"}, "town": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}
PROMISES = [{"k_anonymity": {"k": 3}}]
MYSQL = ["mariadb", "mysql"]


@pytest.fixture(params=["postgresql", "mariadb", "mysql", "duckdb"])
def url(request: pytest.FixtureRequest) -> str:
    return with_people(str(request.getfixturevalue(f"{request.param}_url")))


@pytest.fixture(params=MYSQL)
def mysql(request: pytest.FixtureRequest) -> str:
    return with_people(str(request.getfixturevalue(f"{request.param}_url")))


def with_people(url: str) -> str:
    ask(
        url, *(f"DROP VIEW IF EXISTS {view}" for view in ("third", "second", "first")), "DROP TABLE IF EXISTS people", "DROP TABLE IF EXISTS release_"
    )
    ask(url, "CREATE TABLE people (name varchar(20), town varchar(20), illness varchar(9))", f"INSERT INTO people VALUES {ROWS}")
    return url


def policy(url: str, source: str, sink: str) -> dict[str, Any]:
    return {"source": {"sql": component(url, source)}, "sink": {"sql": component(url, sink)}, "columns": COLUMNS, "promises": PROMISES}


def refused(given: dict[str, Any]) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(given)
    return caught.value


def codes(error: SfumatoError) -> list[str]:
    return [mistake.code for mistake in error.mistakes] if isinstance(error, PolicyError) else [error.code]


def people(url: str) -> int:
    return int(ask(url, "SELECT count(name) FROM people")[0][0])


@pytest.mark.parametrize("depth", ["first", "second"])
def test_the_table_beneath_a_view_is_not_replaced(url: str, depth: str) -> None:
    ask(url, "CREATE VIEW first AS SELECT * FROM people", "CREATE VIEW second AS SELECT name, town, illness FROM first WHERE town <> ''")
    error = refused(policy(url, depth, "people"))

    assert codes(error) == ["sink-table-used" if url.startswith("postgresql") else "sink-is-source"]
    assert people(url) == 30
    if not url.startswith("postgresql"):
        sfumato.run(policy(url, depth, "release_"))
        sfumato.run(policy(url, depth, "release_"))
        assert ask(url, "SELECT count(*) FROM release_") == [(30,)]


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE VIEW first AS SELECT o.* FROM others o WHERE NOT (0 = 1 AND EXISTS (SELECT 1 FROM people p))"],
        [
            "CREATE FUNCTION counted() RETURNS int READS SQL DATA RETURN (SELECT count(*) FROM people)",
            "CREATE VIEW first AS SELECT o.* FROM others o WHERE counted() > 0",
        ],
        [
            "ALTER TABLE people ENGINE = MyISAM",
            "CREATE TABLE parts (name varchar(20), town varchar(20), illness varchar(9)) ENGINE = MERGE UNION = (people)",
            "CREATE VIEW first AS SELECT * FROM parts",
        ],
    ],
    ids=["in a condition", "in a function", "as a part"],
)
def test_tables_that_a_view_reads_in_another_way_are_found(mysql: str, statements: list[str]) -> None:
    ask(mysql, *(f"DROP TABLE IF EXISTS {table}" for table in ("others", "parts")), "DROP FUNCTION IF EXISTS counted")
    ask(mysql, "CREATE TABLE others AS SELECT * FROM people", *statements)
    assert codes(refused(policy(mysql, "first", "people"))) == ["sink-is-source"]
    assert people(mysql) == 30


def test_one_of_several_tables_that_is_read_by_way_of_a_view_is_not_replaced(url: str) -> None:
    ask(url, "CREATE VIEW first AS SELECT * FROM people")
    place = {key: value for key, value in component(url, "any").items() if key != "table"}
    tables = {"first": {"into": "people", "columns": COLUMNS, "promises": PROMISES}}
    error = refused({"source": {"sql": place}, "sink": {"sql": place}, "tables": tables})

    assert codes(error) == ["sink-table-used" if url.startswith("postgresql") else "sink-is-source"]
    assert people(url) == 30


def test_a_table_that_others_read_all_the_time_is_not_taken_for_the_source(mysql: str) -> None:
    ask(mysql, "CREATE VIEW first AS SELECT * FROM people", "CREATE TABLE release_ (town text)")
    with closing(connect(mysql)) as other, other.cursor() as cursor:
        cursor.execute("START TRANSACTION")
        cursor.execute("SELECT * FROM release_")
        assert codes(refused(policy(mysql, "first", "release_"))) == ["database-locked"]


def test_a_view_that_could_not_be_read_any_more_keeps_its_table(mysql: str) -> None:
    ask(
        mysql,
        "CREATE TABLE release_ AS SELECT * FROM people",
        "CREATE VIEW first AS SELECT * FROM release_",
        "CREATE VIEW second AS SELECT * FROM first",
    )
    error = refused(policy(mysql, "people", "release_"))

    database = ask(mysql, "SELECT DATABASE()")[0][0]
    words = f"release_ cannot be replaced: the view {database}.first, the view {database}.second would be lost with it [sink-table-used]"
    assert (type(error), str(error).splitlines()[0]) == (UnreachableError, words)
    assert ask(mysql, "SELECT count(name) FROM second") == [(30,)]


def test_a_view_that_can_still_be_read_shows_the_new_table(mysql: str) -> None:
    ask(mysql, "CREATE TABLE release_ AS SELECT * FROM people WHERE 1 = 0", "CREATE VIEW first AS SELECT town FROM release_")
    sfumato.run(policy(mysql, "people", "release_"))
    assert ask(mysql, "SELECT count(town) FROM first") == [(30,)]


@pytest.mark.parametrize("kind", ["a view", "a frame", "a version"])
def test_spark_does_not_replace_files_that_it_reads(spark_session: Any, tmp_path: Path, kind: str) -> None:
    place = str(tmp_path / "a place")
    rows = [(f"n{number}", f"t{number % 2}", f"i{number % 3}") for number in range(30)]
    frame = spark_session.createDataFrame(rows, list(COLUMNS))
    kept = {name: {"role": "other", "accept": "singling_out"} for name in COLUMNS}
    sfumato.run({"columns": kept, "sink": {"spark": {"path": place}}}, frame)
    version = next(path for path in Path(place).iterdir() if path.name.startswith("v-"))
    read = spark_session.read.parquet(str(version))
    read.createOrReplaceTempView("seen")
    source = {"source": {"spark": {"path": str(version)} if kind == "a version" else {"table": "seen"}}} if kind != "a frame" else {}
    given = {**source, "sink": {"spark": {"path": place}}, "columns": COLUMNS, "promises": PROMISES}
    with pytest.raises(PolicyError) as caught:
        sfumato.run(given, read if kind == "a frame" else None)

    assert codes(caught.value) == ["sink-is-source"]
    assert version.exists()


def test_spark_does_not_replace_the_table_beneath_a_view(spark_session: Any) -> None:
    rows = [(f"n{number}", f"t{number % 2}", f"i{number % 3}") for number in range(30)]
    spark_session.createDataFrame(rows, list(COLUMNS)).write.mode("overwrite").saveAsTable("people_of_a_view")
    try:
        spark_session.sql("CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT * FROM people_of_a_view WHERE town <> ''")
        given = {"source": {"spark": {"table": "seen"}}, "sink": {"spark": {"table": "people_of_a_view"}}, "columns": COLUMNS, "promises": PROMISES}
        assert codes(refused(given)) == ["sink-is-source"]
        assert spark_session.table("people_of_a_view").columns == list(COLUMNS)
    finally:
        spark_session.sql("DROP TABLE people_of_a_view")
