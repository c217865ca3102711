"""A disk that is full, a table that is dropped or altered in the middle of a run: one error each, and nothing is published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.core.quiet import Quiet
from sfumato.databases.address import parsed
from sfumato.databases.connection import connected
from sfumato.databases.mysql_in_place import MysqlInPlace
from sfumato.databases.mysql_inside import MysqlInside
from sfumato.databases.mysql_retaining import MysqlRetaining
from sfumato.databases.postgresql_inside import PostgresqlInside
from sfumato.databases.table import TableName
from sfumato.engine.inside import inside
from sfumato.engine.live_view import make_live_view
from sfumato.engine.plan import Plans, make_plans
from sfumato.engine.retain import retain
from sfumato.engine.run import Timings, run_plans
from sfumato.errors import DataError, SfumatoError, UnreachableError
from sfumato.sources.sql import Sql
from tests.databases.kills import NOW, Copy, Retention, marked
from tests.servers import SERVER_FIXTURES, ask, component


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def is_postgresql(url: str) -> bool:
    return url.startswith("postgresql")


def full_from(url: str, beyond: int) -> None:
    """Make a function through which a value goes as it is, until the server says that its disk is full."""
    if is_postgresql(url):
        told = f"IF n > {beyond} THEN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END IF; RETURN n;"
        ask(url, f"CREATE OR REPLACE FUNCTION read_on(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN {told} END $$")
    else:
        ask(url, "DROP FUNCTION IF EXISTS read_on")
        told = f"IF n > {beyond} THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021; END IF; RETURN n;"
        ask(url, f"CREATE FUNCTION read_on(n INTEGER) RETURNS INTEGER NOT DETERMINISTIC NO SQL BEGIN {told} END")


@pytest.mark.parametrize("inside", [True, False])
def test_a_disk_that_is_full_in_the_middle_is_one_error_and_the_next_run_is_fine(url: str, inside: bool) -> None:
    trial = Copy(url)
    given = trial.prepare()
    full_from(url, 60)
    called = "public.read_on" if is_postgresql(url) else "read_on"
    ask(url, "DROP VIEW IF EXISTS seen", f"CREATE VIEW seen AS SELECT {called}(age) AS age, town, illness FROM people")
    given["source"] = {"sql": component(url, "seen")}
    if not inside:
        given["columns"]["illness"] = {"role": "other", "mask": {"shuffle": {}}}
    with pytest.raises(UnreachableError) as caught:
        sfumato.run(given)

    assert (caught.value.code, caught.value.status) == ("database-full", 5)
    assert trial.look(), "something was published"
    full_from(url, 1000)
    sfumato.run(given)
    trial.done()
    ask(url, "DROP VIEW seen")


def test_a_disk_that_is_full_while_rows_are_deleted_loses_nothing(url: str) -> None:
    trial = Retention(url)
    given = trial.prepare()
    if is_postgresql(url):
        full = "IF OLD.id > 100 THEN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END IF; RETURN OLD;"
        ask(url, f"CREATE OR REPLACE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {full} END $$")
        ask(url, "CREATE TRIGGER full_disk BEFORE DELETE ON visits FOR EACH ROW EXECUTE FUNCTION no_room()")
    else:
        full = "IF OLD.id > 100 THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021; END IF"
        ask(url, f"CREATE TRIGGER full_disk BEFORE DELETE ON visits FOR EACH ROW BEGIN {full}; END")
    with pytest.raises(UnreachableError) as caught, marked(trial.mark):
        retain(given, NOW)

    assert caught.value.code == "database-full"
    trial.look()
    ask(url, "DROP TRIGGER full_disk ON visits" if is_postgresql(url) else "DROP TRIGGER full_disk")
    with marked(trial.mark):
        retain(given, NOW)
    trial.done()
    assert trial.left_over() == []


@pytest.mark.parametrize(
    ("change", "undo"),
    [
        ("ALTER TABLE people RENAME TO others", "ALTER TABLE others RENAME TO people"),
        ("ALTER TABLE people RENAME COLUMN town TO place", "ALTER TABLE people RENAME COLUMN place TO town"),
    ],
    ids=["dropped", "altered"],
)
@pytest.mark.parametrize("inside", [True, False])
def test_a_table_that_is_gone_or_altered_in_the_middle_is_one_error(
    url: str, inside: bool, change: str, undo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = Copy(url)
    given = trial.prepare()
    if not inside:
        given["columns"]["illness"] = {"role": "other", "mask": {"shuffle": {}}}
    kind: Any = (PostgresqlInside if is_postgresql(url) else MysqlInside) if inside else Sql
    real = kind.take

    def meanwhile(*arguments: Any) -> Any:
        ask(url, change)
        return real(*arguments)

    monkeypatch.setattr(kind, "take", meanwhile)
    try:
        with pytest.raises(SfumatoError) as caught, marked(trial.mark):
            sfumato.run(given)
    finally:
        monkeypatch.undo()
        ask(url, undo)

    assert (type(caught.value), caught.value.status) == (DataError, 6)
    assert caught.value.code in ("database-changed", "table-missing")
    assert trial.look(), "something was published"
    with marked(trial.mark):
        sfumato.run(given)
    trial.done()
    assert trial.left_over() == []


def test_a_column_that_is_of_another_type_by_the_time_it_is_copied_is_told_as_altered(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Copy(mariadb_url)
    given, real = trial.prepare(), MysqlInside.take
    (kept,) = ask(mariadb_url, "SELECT column_type FROM information_schema.columns WHERE table_schema = DATABASE() AND column_name = 'age' LIMIT 1")

    def meanwhile(inside: MysqlInside) -> None:
        ask(mariadb_url, "ALTER TABLE people MODIFY age varchar(20)", "UPDATE people SET age = CONCAT('about ', age)")
        real(inside)

    monkeypatch.setattr(MysqlInside, "take", meanwhile)
    try:
        with pytest.raises(DataError) as caught, marked(trial.mark):
            sfumato.run(given)
    finally:
        monkeypatch.undo()
        ask(mariadb_url, "UPDATE people SET age = SUBSTRING(age, 7)", f"ALTER TABLE people MODIFY age {kept[0]}")

    assert caught.value.code == "database-changed"
    assert "has a table that somebody has altered while the run worked with it" in str(caught.value)
    assert trial.look(), "something was published"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_partition_that_comes_while_a_table_is_copied_is_one_error(postgresql_url: str, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    url = postgresql_url
    ask(url, "DROP TABLE IF EXISTS stays, late, stays_out", "CREATE TABLE stays (id integer, age integer, ward text) PARTITION BY RANGE (id)")
    ask(url, "CREATE TABLE early PARTITION OF stays FOR VALUES FROM (0) TO (100)", "CREATE TABLE late (id integer, age integer, ward text)")
    for first, table in ((0, "stays"), (100, "late")):
        ask(url, f"INSERT INTO {table} SELECT {first} + n, 20 + n % 3, 'w' || n % 3 FROM generate_series(0, 59) n")
    copy = PostgresqlInside._copy

    def copying(self: PostgresqlInside) -> None:
        if when == "after":
            copy(self)
        ask(url, "ALTER TABLE stays ATTACH PARTITION late FOR VALUES FROM (100) TO (200)")
        if when == "before":
            copy(self)

    monkeypatch.setattr(PostgresqlInside, "_copy", copying)
    columns = {"id": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "ward": {"role": "sensitive"}}
    given = {"source": {"sql": component(url, "stays")}, "sink": {"sql": component(url, "stays_out")}, "columns": columns}
    given["promises"] = [{"k_anonymity": {"k": 5}}]
    with pytest.raises(DataError) as caught:
        sfumato.run(given)
    monkeypatch.undo()

    assert caught.value.code == "database-changed"
    assert "has given the table other parts since the run began to read it" in str(caught.value)
    sfumato.run(given)
    assert ask(url, "SELECT count(*)::integer FROM stays_out") == [(120,)]


def worked_on_inside(plans: Plans) -> Callable[[], Any]:
    return partial(run_plans, replace(plans, views=inside(plans.views)), Quiet())


def asked_where_it_is_masked(plans: Plans) -> Callable[[], Any]:
    return partial(inside, plans.views)


def shown_live(plans: Plans) -> Callable[[], Any]:
    return partial(make_live_view, plans, Quiet(), Timings())


@pytest.mark.parametrize("gone", ["age", "note"])
@pytest.mark.parametrize("work", [worked_on_inside, asked_where_it_is_masked, shown_live])
def test_a_column_that_is_gone_before_the_work_begins_is_one_error(url: str, work: Callable[[Plans], Callable[[], Any]], gone: str) -> None:
    ask(url, "DROP VIEW IF EXISTS aged", "DROP TABLE IF EXISTS leaving", "CREATE TABLE leaving (id integer, age integer, note varchar(20))")
    sink = {"live_view": component(url, "aged") | {"roles": ["nurse"]}} if work is shown_live else {"sql": component(url, "release")}
    masked = {"role": "other", "mask": {"shorten": {"length": 1}}}
    columns = {"id": {"role": "identifier"}, "age": {"role": "other"} if work is shown_live else masked, "note": masked}
    begin = work(make_plans({"source": {"sql": component(url, "leaving")}, "sink": sink, "columns": columns}))
    ask(url, f"ALTER TABLE leaving DROP COLUMN {gone}")

    with pytest.raises(DataError, match="no longer has a table or a column that was there when the run began") as caught:
        begin()
    assert caught.value.code == "database-changed"


@pytest.mark.parametrize("server", ["mariadb", "mysql"])
def test_a_table_that_is_gone_before_it_is_looked_at_is_one_error(server: str, request: pytest.FixtureRequest) -> None:
    url = str(request.getfixturevalue(SERVER_FIXTURES[server]))
    with connected(parsed(component(url, "gone")["url"]), urlsplit(url).password) as connection:
        for look in (MysqlInPlace(connection).standing, MysqlRetaining(connection).without_transactions):
            with pytest.raises(DataError, match="no longer has a table or a column that was there when the run began"):
                look(TableName("gone"))
