"""Live views: what roles see of a table is its current rows, masked, and nothing of what was refused, masked or taken away."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli.app import app
from sfumato.databases import expressions
from sfumato.databases.mysql_live_view import MysqlLiveView
from sfumato.databases.postgresql_live_view import PostgresqlLiveView
from sfumato.engine.drift import drift
from sfumato.engine.live_view import begun
from sfumato.engine.plan import make_plans
from sfumato.engine.preview import preview
from sfumato.errors import DataError, PolicyError, PromiseError, SfumatoError, UsageError
from tests.databases.test_inside import stored
from tests.servers import ask, component, left_over, staging

NAMES = ["Ann", "ann ", "Änne", "", None, "O'Brien\\", "🙂 emoji", "tab\tline\n"]
ROWS = 40
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "name": pa.array([NAMES[number % len(NAMES)] for number in range(ROWS)]),
        "mail": pa.array([f"user{number}@example.org" for number in range(ROWS)]),
        "phone": pa.array([f"0{number}2345" for number in range(ROWS)]),
        "ward": pa.array([f"w{number % 3}" for number in range(ROWS)]),
    }
)
COLUMNS: dict[str, Any] = {
    "id": {"role": "identifier"},
    "name": {"role": "identifier", "mask": {"character_mask": {"keep_first": 1}}},
    "mail": {"role": "identifier", "mask": {"hash": {"unkeyed": "sha256"}}, "accept": "warnings"},
    "phone": {"role": "identifier", "mask": {"shorten": {"length": 2, "ellipsis": "…"}}},
    "ward": {"role": "other"},
}


class Audience:
    """A role that may read what it is let to, and somebody who has it."""

    def __init__(self, url: str) -> None:
        self.url, self.role = url, f"nurse_{secrets.token_hex(4)}"
        self.is_postgresql = url.startswith("postgresql")
        if self.is_postgresql:
            ask(url, f"CREATE ROLE {self.role} LOGIN PASSWORD 'x'", f"GRANT USAGE ON SCHEMA public TO {self.role}")
        else:
            ask(url, f"CREATE USER {self.role}@'%' IDENTIFIED BY 'x'")

    @property
    def own_url(self) -> str:
        parts = urlsplit(self.url)
        return parts._replace(netloc=f"{self.role}:x@{parts.hostname}:{parts.port}").geturl()

    def sees(self, *statements: str) -> list[tuple[Any, ...]]:
        return ask(self.own_url, *statements)

    def is_refused(self, statement: str) -> bool:
        import psycopg
        import pymysql

        try:
            self.sees(statement)
        except (psycopg.errors.InsufficientPrivilege, pymysql.err.OperationalError):
            return True
        return False

    def leave(self) -> None:
        if self.is_postgresql:
            ask(self.url, f"DROP OWNED BY {self.role}", f"DROP ROLE {self.role}")
        else:
            ask(self.url, f"DROP USER {self.role}@'%'")


@pytest.fixture(params=["postgresql", "postgresql18", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    found = str(request.getfixturevalue(f"{request.param}_url"))
    prepared(found)
    yield found
    cleared(found)


@pytest.fixture
def postgresql(postgresql_url: str) -> Iterator[str]:
    prepared(postgresql_url)
    yield postgresql_url
    cleared(postgresql_url)


@pytest.fixture
def mariadb(mariadb_url: str) -> Iterator[str]:
    prepared(mariadb_url)
    yield mariadb_url
    cleared(mariadb_url)


@pytest.fixture(params=["mariadb", "mysql"])
def mysql_or_mariadb(request: pytest.FixtureRequest) -> Iterator[str]:
    found = str(request.getfixturevalue(f"{request.param}_url"))
    prepared(found)
    yield found
    cleared(found)


@pytest.fixture
def nurse(request: pytest.FixtureRequest) -> Iterator[Audience]:
    name = next(name for name in ("url", "postgresql", "mariadb", "mysql_or_mariadb") if name in request.fixturenames)
    audience = Audience(str(request.getfixturevalue(name)))
    yield audience
    audience.leave()


def prepared(url: str, table: pa.Table = TABLE) -> None:
    """Store a table, with texts of the lengths and rules that people give them."""
    stored(url, table, "people")
    if not url.startswith("postgresql"):
        texts = [name for name in table.column_names if pa.types.is_string(table.schema.field(name).type)]
        ask(url, f"ALTER TABLE people {', '.join(f'MODIFY {name} varchar(100) COLLATE utf8mb4_general_ci' for name in texts)}")


def cleared(url: str) -> None:
    for statement in ("DROP VIEW IF EXISTS nurse_view", "DROP TABLE IF EXISTS nurse_view"):
        try:
            ask(url, statement)
        except Exception:  # noqa: BLE001 - the other of both
            continue


def policy(url: str, role: str, columns: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "name": "test",
        "source": {"sql": component(url, "people")},
        "columns": COLUMNS if columns is None else columns,
        "sink": {"live_view": {**component(url, "nurse_view"), "roles": [role]}},
        **more,
    }


def one(url: str, role: str, column: str, given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return policy(url, role, {column: {"role": "other", **given}}, unnamed="remove", **more)


def here(columns: dict[str, Any], table: pa.Table = TABLE) -> list[tuple[Any, ...]]:
    released: Any = sfumato.run({"columns": columns, "name": "test", "unnamed": "remove"}, table)
    return sorted((tuple(row.values()) for row in released.table.to_pylist()), key=repr)


def refused(url: str, given: dict[str, Any]) -> SfumatoError:
    """Return the error of a run, which has left nothing behind."""
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(given)
    assert left_over(url) == []
    return caught.value


def test_a_role_sees_current_rows_masked_and_not_the_table(url: str, nurse: Audience) -> None:
    released: Any = sfumato.run(policy(url, nurse.role))

    assert sorted(nurse.sees("SELECT * FROM nurse_view"), key=repr) == here(COLUMNS)
    assert nurse.is_refused("SELECT * FROM people")
    ask(url, "INSERT INTO people VALUES (100, 'Zoë', 'new@example.org', '0999', 'w9')")
    assert nurse.sees("SELECT * FROM nurse_view WHERE ward = 'w9'") == [("Z**", *here(COLUMNS, TABLE.slice(0, 0).from_pylist(
        [{"id": 1, "name": "Zoë", "mail": "new@example.org", "phone": "0999", "ward": "w9"}], TABLE.schema))[0][1:])]  # fmt: skip
    assert released.record.rows.in_ == released.record.rows.out == ROWS
    assert released.record.recoding.kind == "live_view"
    assert any("no anonymisation" in note for note in released.record.notes)
    assert released.table.num_rows == ROWS + 1


def test_a_second_run_replaces_the_view_and_its_readers(url: str, nurse: Audience) -> None:
    sfumato.run(policy(url, nurse.role))
    other = Audience(url)
    try:
        sfumato.run(policy(url, other.role, {**COLUMNS, "mail": {"role": "identifier"}}))

        assert len(other.sees("SELECT * FROM nurse_view")[0]) == len(COLUMNS) - 2
        assert nurse.is_refused("SELECT * FROM nurse_view")
    finally:
        other.leave()


MAPPED = {"map_values": {"mapping": {f"w{number}": f"ward {number}" for number in range(3)}}}


@pytest.mark.parametrize("on_invalid", ["error", "remove"])
def test_a_value_that_comes_later_and_cannot_be_masked_is_shown_as_nothing(url: str, nurse: Audience, on_invalid: str) -> None:
    sfumato.run(one(url, nurse.role, "ward", {"mask": MAPPED, "on_invalid": on_invalid}))
    ask(url, "DELETE FROM people", "INSERT INTO people VALUES (1, 'x', 'x', '1', 'w0 '), (2, 'x', 'x', '1', NULL), (3, 'x', 'x', '1', 'W0')")

    assert nurse.sees("SELECT ward FROM nurse_view") == [(None,)] * 3


def test_an_address_that_comes_later_and_is_none_is_shown_as_nothing(postgresql: str, nurse: Audience) -> None:
    sfumato.run(one(postgresql, nurse.role, "mail", {"mask": {"email_mask": {}}}))
    ask(postgresql, "DELETE FROM people", "INSERT INTO people VALUES (1, 'x', 'no address of mail', '1', 'w')")

    assert nurse.sees("SELECT mail FROM nurse_view") == [(None,)]


def test_values_that_a_mask_cannot_take_today_stop_the_run(url: str, nurse: Audience) -> None:
    ask(url, "INSERT INTO people VALUES (100, 'x', 'x', '1', 'a ward of its own')")
    error = refused(url, one(url, nurse.role, "ward", {"mask": MAPPED}))

    assert isinstance(error, DataError)
    assert error.code == "mask-invalid"
    assert "of its own" not in str(error)
    assert not there(url)


def test_values_that_nobody_can_read_and_that_come_later_are_shown_as_nothing(postgresql: str, nurse: Audience) -> None:
    ask(postgresql, "DROP TABLE IF EXISTS people", "CREATE TABLE people (born date, pay numeric(10, 2), at timestamptz)")
    ask(postgresql, "INSERT INTO people VALUES ('1980-02-03', 12.5, '2020-02-02 10:00+00')")
    masks = {
        "born": {"role": "other", "mask": {"generalise": {"keep": "month"}}},
        "pay": {"role": "other", "mask": {"round_number": {"base": 5}}},
        "at": {"role": "other", "mask": {"generalise": {"keep": "month"}}},
    }
    sfumato.run(policy(postgresql, nurse.role, masks))
    before = nurse.sees("SELECT * FROM nurse_view")
    ask(postgresql, "DELETE FROM people", "INSERT INTO people VALUES ('infinity', 'NaN', '-infinity'), ('0044-03-15 BC', NULL, NULL)")

    assert len(before) == 1
    assert None not in before[0]
    assert nurse.sees("SELECT * FROM nurse_view") == [(None, None, None)] * 2


def test_values_that_nobody_can_read_are_told_by_the_name_of_their_column(url: str, nurse: Audience) -> None:
    day, modes = ("infinity", []) if url.startswith("postgresql") else ("0000-00-00", ["SET sql_mode = ''"])
    ask(url, "DROP TABLE IF EXISTS people", "CREATE TABLE people (born date)")
    ask(url, *modes, f"INSERT INTO people VALUES ('{day}')")
    error = refused(url, policy(url, nurse.role, {"born": {"role": "other", "mask": {"shorten": {"length": 4}}}}))

    assert error.code == "database-type"
    assert "column born holds values" in str(error)


def test_days_of_zeros_that_come_later_are_shown_as_nothing(mariadb: str, nurse: Audience) -> None:
    ask(mariadb, "DROP TABLE IF EXISTS people", "CREATE TABLE people (born date)", "INSERT INTO people VALUES ('1980-02-03')")
    sfumato.run(policy(mariadb, nurse.role, {"born": {"role": "other", "mask": {"shorten": {"length": 4}}}}))
    ask(mariadb, "SET sql_mode = ''", "INSERT INTO people VALUES ('0000-00-00'), ('2020-00-00')")

    assert sorted(nurse.sees("SELECT born FROM nurse_view"), key=str) == [("1980",), (None,), (None,)]
    assert nurse.sees("SELECT born FROM nurse_view", "SHOW WARNINGS") == []


def test_a_condition_on_a_later_day_that_nobody_can_read_shows_nothing(postgresql: str, nurse: Audience) -> None:
    ask(postgresql, "DROP TABLE IF EXISTS people", "CREATE TABLE people (name text, born date)", "INSERT INTO people VALUES ('Ann', '1980-01-01')")
    when = {"column": "born", "above": "1970-01-01"}
    given = {"name": {"role": "other", "mask": {"constant": {"value": "young"}}, "when": when}, "born": {"role": "identifier"}}
    sfumato.run(policy(postgresql, nurse.role, given))
    ask(postgresql, "INSERT INTO people VALUES ('Cy', 'infinity'), ('Di', '-infinity')")

    assert sorted(nurse.sees("SELECT name FROM nurse_view"), key=str) == [("young",), (None,), (None,)]


def test_what_a_reader_sets_in_the_session_changes_nothing(url: str, nurse: Audience) -> None:
    sfumato.run(policy(url, nurse.role))
    if url.startswith("postgresql"):
        settings = [
            "SET DateStyle = 'German'",
            "SET TimeZone = 'Asia/Tokyo'",
            "SET standard_conforming_strings = off",
            "SET search_path = pg_temp, public",
        ]
    else:
        settings = ["SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'", "SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci"]

    for setting in settings:
        assert sorted(nurse.sees(setting, "SELECT * FROM nurse_view"), key=repr) == here(COLUMNS)


TEXTS_OF_INSTANTS: list[dict[str, Any]] = [
    {"shorten": {"length": 4}},
    {"character_mask": {"keep_first": 2}},
    {"hash": {"unkeyed": "sha256"}},
    {"map_values": {"mapping": {"2020-01-02T03:04:05.5Z": "then"}}},
]


@pytest.mark.parametrize("mask", TEXTS_OF_INSTANTS, ids=str)
def test_the_collation_of_a_reader_changes_no_text_of_an_instant(mysql_or_mariadb: str, nurse: Audience, mask: dict[str, Any]) -> None:
    url = mysql_or_mariadb
    ask(url, "DROP TABLE IF EXISTS people", "CREATE TABLE people (at datetime(6))", "INSERT INTO people VALUES ('2020-01-02 03:04:05.5')")
    sfumato.run(one(url, nurse.role, "at", {"mask": mask, "accept": "warnings"}))
    names = ["utf8mb4", "utf8mb4 COLLATE utf8mb4_unicode_ci", "utf8mb4 COLLATE utf8mb4_bin", "latin1", "cp1251"]

    assert len({str(nurse.sees(f"SET NAMES {name}", "SELECT * FROM nurse_view")) for name in names}) == 1


def test_a_view_that_hangs_on_the_collation_of_a_session_is_found_out(mariadb: str, nurse: Audience, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(mariadb, "DROP TABLE IF EXISTS people", "CREATE TABLE people (at datetime(6))", "INSERT INTO people VALUES ('2020-01-02 03:04:05.5')")
    written = "CONCAT(TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT({0}, '%Y-%m-%dT%H:%i:%s.%f'))), 'Z')"
    monkeypatch.setitem(expressions.FUNCTIONS["mysql"], "instant_text", written)
    error = refused(mariadb, one(mariadb, nurse.role, "at", {"mask": {"shorten": {"length": 4}}}))

    assert error.code == "verify-live-view"
    assert "other settings" in str(error)
    assert not there(mariadb)


def test_masks_whose_meaning_a_reader_could_change_are_refused(mariadb: str, nurse: Audience) -> None:
    error = refused(mariadb, one(mariadb, nurse.role, "mail", {"mask": {"email_mask": {}}}))
    assert error.code == "policy-live-view"
    assert "regular expression" in str(error)
    ask(mariadb, "ALTER TABLE people MODIFY ward CHAR(9)")
    given = {"mask": {"constant": {"value": "hidden"}}, "when": {"column": "ward", "equals": "w1"}}
    error = refused(mariadb, one(mariadb, nurse.role, "ward", given))

    assert "of type char(9)" in str(error)


def test_functions_that_others_have_called_alike_are_not_used(postgresql: str, nurse: Audience) -> None:
    ask(postgresql, "CREATE FUNCTION public.left(varchar, integer) RETURNS text LANGUAGE sql AS 'SELECT $1::text'")
    ask(postgresql, "ALTER TABLE people ALTER phone TYPE varchar(20)")
    try:
        sfumato.run(one(postgresql, nurse.role, "phone", {"mask": {"shorten": {"length": 1}}}))
    finally:
        ask(postgresql, "DROP FUNCTION public.left(varchar, integer)")

    assert set(nurse.sees("SELECT phone FROM nurse_view")) == {("0",)}


def test_conditions_of_readers_are_looked_at_after_the_masks(postgresql: str, nurse: Audience) -> None:
    sfumato.run(policy(postgresql, nurse.role))

    query = "SELECT reloptions, relacl::text FROM pg_class WHERE relname = 'nurse_view'"
    ((options, rights),) = ask(postgresql, query)
    assert options == ["security_barrier=true"]
    assert rights.count("=r/") == 1


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_a_view_that_asks_its_readers_for_rights_is_refused(postgresql: str, nurse: Audience, kind: str) -> None:
    ask(postgresql, "CREATE VIEW asking WITH (security_invoker) AS SELECT * FROM people", f"CREATE {kind} over_it AS SELECT * FROM asking")
    given = policy(postgresql, nurse.role, {"name": {"role": "other"}}, unnamed="remove")
    try:
        for table in ["asking", "over_it"]:
            given["source"]["sql"]["table"] = table
            if table == "over_it" and kind == "MATERIALIZED VIEW":
                sfumato.run(given)
                assert len(nurse.sees("SELECT * FROM nurse_view")) == ROWS
                continue
            error = refused(postgresql, given)
            assert error.code == "policy-live-view"
            assert "public.asking has the option security_invoker" in str(error)
            assert not there(postgresql)
        ask(postgresql, "ALTER VIEW asking SET (security_invoker = off)")
        sfumato.run(given)
        assert len(nurse.sees("SELECT * FROM nurse_view")) == ROWS
    finally:
        ask(postgresql, "DROP VIEW asking CASCADE")


def test_what_a_view_reads_as_its_reader_is_read_as_the_maker_of_the_live_view(mysql_or_mariadb: str, nurse: Audience) -> None:
    ask(mysql_or_mariadb, "CREATE SQL SECURITY INVOKER VIEW asking AS SELECT * FROM people")
    given = policy(mysql_or_mariadb, nurse.role)
    given["source"]["sql"]["table"] = "asking"
    try:
        sfumato.run(given)
        assert len(nurse.sees("SELECT * FROM nurse_view")) == ROWS
        assert nurse.is_refused("SELECT * FROM asking")
    finally:
        ask(mysql_or_mariadb, "DROP VIEW asking")


def test_rights_that_new_tables_get_by_default_are_taken_away(postgresql: str, nurse: Audience) -> None:
    other = Audience(postgresql)
    ask(postgresql, f"ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {other.role}")
    try:
        sfumato.run(policy(postgresql, nurse.role))

        assert other.is_refused("SELECT * FROM nurse_view")
        assert len(nurse.sees("SELECT * FROM nurse_view")) == ROWS
    finally:
        ask(postgresql, f"ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM {other.role}")
        other.leave()


def test_roles_that_do_not_exist_are_refused_before_anything_is_made(url: str) -> None:
    error = refused(url, policy(url, "nobody_is_called_so"))

    assert isinstance(error, UsageError)
    assert error.code == "live-view-role"
    assert not there(url)


def test_roles_that_can_read_the_table_itself_are_refused(url: str, nurse: Audience) -> None:
    ask(url, f"GRANT SELECT ON people TO {nurse.role}")
    error = refused(url, policy(url, nurse.role))

    assert error.code == "live-view-role"
    assert "would hide nothing" in str(error)
    assert not there(url)


@pytest.mark.parametrize("made", ["TABLE nurse_view (a INTEGER)", "VIEW nurse_view AS SELECT 1 AS a"])
def test_what_no_run_has_made_is_never_replaced(url: str, nurse: Audience, made: str) -> None:
    ask(url, f"CREATE {made}")
    error = refused(url, policy(url, nurse.role))

    assert error.code == "live-view-name"
    assert len(ask(url, "SELECT 1 FROM information_schema.columns WHERE table_name = 'nurse_view' AND column_name = 'a'")) == 1


def test_the_source_itself_is_refused_as_a_view(url: str, nurse: Audience) -> None:
    given = policy(url, nurse.role)
    given["sink"]["live_view"]["table"] = "people"
    assert refused(url, given).code in ("sink-is-source", "live-view-name")


def test_a_view_on_which_another_hangs_is_not_replaced(postgresql: str, nurse: Audience) -> None:
    sfumato.run(policy(postgresql, nurse.role))
    ask(postgresql, "CREATE VIEW hanging AS SELECT ward FROM nurse_view")
    try:
        assert refused(postgresql, policy(postgresql, nurse.role)).code == "sink-table-used"
    finally:
        ask(postgresql, "DROP VIEW hanging")


def test_a_server_that_computes_something_else_is_found_out(url: str, nurse: Audience, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(expressions.FUNCTIONS["postgresql"], "first", "LEFT({0}, CAST({1} AS INTEGER) + 1)")
    monkeypatch.setitem(expressions.FUNCTIONS["mysql"], "first", "LEFT({0}, {1} + 1)")
    error = refused(url, policy(url, nurse.role))

    assert isinstance(error, PromiseError)
    assert error.code == "verify-mask"
    assert not there(url)


def test_a_view_that_is_not_what_the_expressions_make_is_found_out(url: str, nurse: Audience, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(self: Any, name: Any, made: Any) -> str:
        return made(self, name) + (" LIMIT 5" if url.startswith("postgresql") else " AND id < 5")

    for kind in (PostgresqlLiveView, MysqlLiveView):
        made = kind._made
        monkeypatch.setattr(kind, "_made", lambda self, name, made=made: half(self, name, made))
    error = refused(url, policy(url, nurse.role))

    assert error.code == "verify-live-view"
    assert not there(url)


def test_a_view_that_hangs_on_the_session_is_found_out(postgresql: str, nurse: Audience, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(postgresql, "DROP TABLE IF EXISTS people", "CREATE TABLE people (born date)", "INSERT INTO people VALUES ('1980-02-03')")
    monkeypatch.setitem(expressions.FUNCTIONS["postgresql"], "month_label", "LEFT(CAST({0} AS TEXT), 7)")
    error = refused(postgresql, policy(postgresql, nurse.role, {"born": {"role": "other", "mask": {"generalise": {"keep": "month"}}}}))

    assert error.code == "verify-live-view"
    assert "other settings" in str(error)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "promises": ({"promises": [{"k_anonymity": {"k": 2}}], "columns": {"ward": {"role": "quasi_identifier"}}}, "promise"),
    "promises of nobody": ({"promises": [{"k_anonymity": {"k": 2}}], "columns": {"ward": {"role": "other"}}}, "promise is kept by the rows"),
    "quasi-identifiers": ({"promises": [{"k_anonymity": {"k": 2}}], "columns": {"ward": {"role": "quasi_identifier"}}}, "quasi_identifier"),
    "keys": ({"columns": {"mail": {"role": "other", "mask": {"hash": {"key": "main"}}}}}, "needs a key"),
    "chance": ({"columns": {"mail": {"role": "other", "mask": {"random_text": {"length": 8}}}}}, "every time"),
    "wide masks": ({"columns": {"mail": {"role": "other", "mask": "shuffle"}}}, "every time"),
    "masks of this process": (
        {"columns": {"mail": {"role": "other", "mask": {"regex_replace": {"pattern": "(a|b)+?", "replacement": "x"}}}}},
        "mail",
    ),
    "unique": ({"columns": {"ward": {"role": "other", "mask": {"map_values": {"mapping": {"w0": "a", "w1": "b"}}}, "unique": True}}}, "all rows"),
    "totals": (
        {"columns": {"id": {"role": "other", "mask": {"aggregate": {"function": "sum", "by": ["ward"]}}}, "ward": {"role": "other"}}},
        "other rows",
    ),
    "subject": ({"columns": {"id": {"role": "identifier"}, "ward": {"role": "other"}}, "subject": "id"}, "subject"),
    "retention": ({"columns": {"ward": {"role": "other"}}, "retention": {"column": "ward", "older_than": "1d", "period": "day"}}, "retention"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_view_cannot_keep_is_refused_with_the_copy_as_advice(
    postgresql: str, nurse: Audience, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", "k1:" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=")
    parts = urlsplit(postgresql)
    server = f"{parts.scheme}://{parts.hostname}:{parts.port}{parts.path}"
    more, words = REFUSED[name]
    keys = {"main": {"environment": "SFUMATO_TEST_KEY", "servers": [server]}} if name == "keys" else {}
    given = {**policy(postgresql, nurse.role), "unnamed": "remove", **({"keys": keys} if keys else {}), **more}
    error = refused(postgresql, given)

    assert isinstance(error, PolicyError)
    assert any(mistake.code == "policy-live-view" and words in str(mistake) for mistake in error.mistakes), str(error)
    assert any("publish a copy" in (mistake.hint or "") for mistake in error.mistakes)


def test_other_sources_and_databases_are_refused(postgresql: str, duckdb_url: str, tmp_path: Path) -> None:
    given = policy(postgresql, "anybody")
    elsewhere = {
        **given,
        "sink": {"live_view": {**component(postgresql[: postgresql.rindex("/")] + "/postgres", "nurse_view"), "roles": ["anybody"]}},
    }
    assert "the two are not the same" in str(refused(postgresql, elsewhere))
    (tmp_path / "people.csv").write_text("id,name,mail,phone,ward\n1,a,b,c,d\n")
    assert "the source is none" in str(refused(postgresql, {**given, "source": str(tmp_path / "people.csv")}))
    views = {"one": {"sink": given["sink"]}, "two": {"sink": str(tmp_path / "two.csv")}}
    several = {key: value for key, value in given.items() if key != "sink"} | {"views": views}
    assert "has several" in str(refused(postgresql, several))
    stored(duckdb_url, TABLE, "people")
    file = {"url": duckdb_url, "table": "people"}
    of_a_file = {**given, "source": {"sql": file}, "sink": {"live_view": {**file, "table": "nurse_view", "roles": ["anybody"]}}}
    assert "the source is none" in str(refused(postgresql, of_a_file))


def test_plans_and_commands_say_what_is_done(url: str, nurse: Audience, tmp_path: Path) -> None:
    given = policy(url, nurse.role)
    given["sink"]["live_view"]["record"] = str(tmp_path / "record.json")
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(given))
    words = CliRunner().invoke(app, ["plan", str(path)])
    sql = CliRunner().invoke(app, ["plan", "--sql", str(path)])

    assert "access control and no anonymisation" in words.output
    assert "Nothing has been written" in words.output
    assert ("security_barrier" if url.startswith("postgresql") else "SQL SECURITY DEFINER") in sql.output
    assert not there(url)
    done = CliRunner().invoke(app, ["run", str(path)])
    assert done.exit_code == 0, done.output
    assert "live view nurse_view" in done.output
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["columns"]["name"]["mask"] == "character_mask"
    assert record["rows"] == {"in": ROWS, "out": ROWS, "suppressed": 0}
    resumed = CliRunner().invoke(app, ["run", "--resume", str(path)]).exception
    assert isinstance(resumed, UsageError)
    assert resumed.code == "resume-nothing"


def test_a_live_view_does_not_drift_with_its_rows(url: str, nurse: Audience) -> None:
    given = policy(url, nurse.role)
    sfumato.run(given)
    ask(url, "DELETE FROM people WHERE id > 20")

    assert drift(given).found == []
    assert preview(given).looked_at == 21


def test_runs_wait_for_each_other(url: str, nurse: Audience) -> None:
    given = policy(url, nurse.role)
    with begun(make_plans(given)) as run:
        assert run is not None
        assert refused(url, given).code == "database-busy"


def test_names_and_constants_are_quoted(url: str, nurse: Audience) -> None:
    odd = "a\"b`c %s 'd"
    stored(url, TABLE.select(["ward"]).rename_columns([odd]), "people")
    if not url.startswith("postgresql"):
        ask(url, "ALTER TABLE people MODIFY `a\"b``c %s 'd` varchar(20)")
    given = policy(url, nurse.role, {odd: {"role": "other", "mask": {"constant": {"value": "it's \\ %s {0} \" `"}}}})
    given["sink"]["live_view"]["table"] = "it's \"a` view"
    released: Any = sfumato.run(given)

    assert set(released.table[odd].to_pylist()) == {"it's \\ %s {0} \" `"}
    ask(url, 'DROP VIEW "it\'s ""a` view"' if url.startswith("postgresql") else "DROP VIEW `it's \"a`` view`")


def test_a_table_without_rows_has_a_view(url: str, nurse: Audience) -> None:
    ask(url, "DELETE FROM people")
    sfumato.run(policy(url, nurse.role))
    ask(url, "INSERT INTO people VALUES (1, 'Ann', 'a@b.de', '0123', 'w1')")

    ((name, _, phone, ward),) = nurse.sees("SELECT * FROM nurse_view")
    assert (name, phone, ward) == ("A**", "01…", "w1")


def test_a_user_without_further_rights_can_make_a_view(mariadb: str, nurse: Audience) -> None:
    database, keeper = urlsplit(mariadb).path[1:], Audience(mariadb)
    ask(mariadb, f"GRANT SELECT ON people TO {keeper.role}", f"CREATE DATABASE {database}_views", f"CREATE DATABASE {staging(keeper.own_url)}")
    try:
        ask(mariadb, f"GRANT CREATE VIEW, SHOW VIEW, DROP, SELECT ON {database}_views.* TO {keeper.role} WITH GRANT OPTION")
        ask(mariadb, f"GRANT CREATE, CREATE VIEW, SHOW VIEW, DROP, SELECT ON {staging(keeper.own_url)}.* TO {keeper.role}")
        given = policy(keeper.own_url, nurse.role)
        given["sink"]["live_view"]["schema"] = f"{database}_views"
        for _ in range(2):
            released: Any = sfumato.run(given)

        assert any("could not be looked up" in note for note in released.record.notes)
        assert len(nurse_of(nurse, f"{database}_views").sees("SELECT * FROM nurse_view")) == ROWS
        assert nurse_of(nurse, f"{database}_views").is_refused(f"SELECT * FROM {database}.people")
        assert refused(mariadb, {**given, "sink": {"live_view": {**given["sink"]["live_view"], "roles": ["nobody_is_so"]}}}).code == "live-view-role"
    finally:
        ask(mariadb, f"DROP DATABASE {database}_views")
        keeper.leave()


def test_a_user_who_may_read_the_table_and_create_in_a_schema_can_make_a_view(postgresql: str, nurse: Audience) -> None:
    keeper = Audience(postgresql)
    ask(postgresql, f"GRANT SELECT ON people TO {keeper.role}", f"CREATE SCHEMA views AUTHORIZATION {keeper.role}")
    try:
        ask(postgresql, f"GRANT USAGE ON SCHEMA views TO {nurse.role}")
        given = policy(keeper.own_url, nurse.role)
        given["sink"]["live_view"]["schema"] = "views"
        for _ in range(2):
            sfumato.run(given)

        assert len(nurse.sees("SELECT * FROM views.nurse_view")) == ROWS
        assert nurse.is_refused("SELECT * FROM people")
    finally:
        ask(postgresql, "DROP SCHEMA views CASCADE")
        keeper.leave()


def nurse_of(nurse: Audience, database: str) -> Audience:
    """Return the same reader in another database."""
    other = object.__new__(Audience)
    other.url, other.role = urlsplit(nurse.url)._replace(path=f"/{database}").geturl(), nurse.role
    return other


def there(url: str) -> bool:
    schema = "'public'" if url.startswith("postgresql") else "DATABASE()"
    return bool(ask(url, f"SELECT 1 FROM information_schema.tables WHERE table_name = 'nurse_view' AND table_schema = {schema}"))
