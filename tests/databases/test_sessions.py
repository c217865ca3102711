"""Where sessions look for functions, operators and tables, and what settings of a server or a user change nothing of a run."""

from __future__ import annotations

import datetime
import secrets
import ssl
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.databases import mysql_session
from sfumato.databases.address import parsed
from sfumato.engine.retain import retain
from tests.servers import ask, component, connect

NOW = datetime.datetime(2026, 11, 17, tzinfo=datetime.UTC)
PASSWORD = "only_for_tests"
# each fits the types of a call better than what the server has, so that it would be called in its place
OPERATORS = (
    ("=", "character varying, character varying", "boolean"),
    ("=", "name, character varying", "boolean"),
    ("<>", "regproc, integer", "boolean"),
    ("<>", "regproc, bigint", "boolean"),
    (">=", "date, timestamp with time zone", "boolean"),
    ("||", "character varying, character varying", "text"),
)
FUNCTIONS = (
    ("left", "character varying, integer", "text"),
    ("right", "character varying, integer", "text"),
    ("strpos", "character varying, text", "integer"),
    ("char_length", "text", "integer"),
    ("repeat", "character varying, integer", "text"),
    ("hashtextextended", "character varying, bigint", "bigint"),
    ("starts_with", "name, text", "boolean"),
    ("to_char", "date, text", "text"),
    ("pg_has_role", "oid, character varying", "boolean"),
    ("lower", "character varying", "text"),
)
ANSWERS = {"boolean": "true", "integer": "1", "bigint": "1", "text": "'wrong'"}


@pytest.fixture
def runner(postgresql_url: str) -> Iterator[str]:
    """The address of a user of few rights, in whose sight somebody else has put functions and operators; each call of one is counted."""
    name = f"runner_{secrets.token_hex(4)}"
    schemas = ("public", name)
    ask(postgresql_url, f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'", f"CREATE SCHEMA {name}", f"GRANT ALL ON SCHEMA public, {name} TO {name}")
    ask(
        postgresql_url, "DROP SEQUENCE IF EXISTS public.calls CASCADE", "CREATE SEQUENCE public.calls", "GRANT ALL ON SEQUENCE public.calls TO PUBLIC"
    )
    made = []
    for schema in schemas:
        for place, (sign, types, kind) in enumerate((*OPERATORS, *FUNCTIONS)):
            called = f"wrong_{place}" if not sign.isidentifier() else sign
            body = f"SELECT pg_catalog.nextval('public.calls'); SELECT {ANSWERS[kind]}::{kind}"
            made.append(f'{schema}."{called}"({types})')
            ask(postgresql_url, f"CREATE FUNCTION {made[-1]} RETURNS {kind} LANGUAGE sql AS $$ {body} $$")
            if called != sign:
                left, right = types.split(", ")
                ask(postgresql_url, f"CREATE OPERATOR {schema}.{sign} (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = {schema}.{called})")
    parts = urlsplit(postgresql_url)
    yield parts._replace(netloc=f"{name}:{PASSWORD}@{parts.hostname}:{parts.port}").geturl()
    for each in made:
        ask(postgresql_url, f"DROP FUNCTION {each} CASCADE")
    ask(postgresql_url, f"DROP OWNED BY {name} CASCADE", f"DROP SCHEMA IF EXISTS {name} CASCADE", f"DROP ROLE {name}")


def calls(url: str) -> int:
    return int(ask(url, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.calls")[0][0])


def table(url: str, name: str) -> None:
    rows = ", ".join(f"('k{number}', 'name {number}', 'w{number % 4}', '2026-0{1 + number % 2}-05')" for number in range(40))
    made = f"CREATE TABLE {name} (id varchar(9) PRIMARY KEY, name varchar(20), ward varchar(9), day date)"
    ask(url, f"DROP TABLE IF EXISTS {name}", made, f"INSERT INTO {name} VALUES {rows}")


COLUMNS: dict[str, Any] = {
    "id": {"role": "identifier"},
    "name": {"role": "other", "mask": {"character_mask": {"keep_first": 1, "keep_last": 1}}, "accept": "singling_out"},
    "ward": {"role": "quasi_identifier"},
    "day": {"role": "identifier"},
}


def test_the_test_itself_would_notice(postgresql_url: str, runner: str) -> None:
    table(runner, "people")
    ask(runner, "SELECT count(*) FROM people WHERE name = ward")

    assert calls(postgresql_url) > 0


def test_functions_of_others_are_not_called_by_a_run_inside(postgresql_url: str, runner: str) -> None:
    table(runner, "people")
    given = {"source": {"sql": component(runner, "people")}, "columns": COLUMNS, "promises": [{"k_anonymity": {"k": 5}}]}
    for _ in range(2):
        sfumato.run({**given, "sink": {"sql": component(runner, "release")}})

    assert calls(postgresql_url) == 0
    assert ask(runner, "SELECT count(*), count(*) FILTER (WHERE name OPERATOR(pg_catalog.~) '^n\\**[0-9]$') FROM release") == [(40, 40)]


def test_functions_of_others_are_not_called_when_rows_are_archived(postgresql_url: str, runner: str) -> None:
    table(runner, "visits")
    given = {"source": {"sql": component(runner, "visits")}, "columns": COLUMNS, "promises": [{"k_anonymity": {"k": 5}}]}
    told = retain({**given, "sink": {"sql": component(runner, "old")}, "retention": {"column": "day", "older_than": "30d", "chunk": 7}}, NOW)

    assert calls(postgresql_url) == 0
    assert [(batch.outcome, batch.deleted) for batch in told.batches] == [("archived", 20), ("archived", 20)]


def test_functions_of_others_are_not_called_when_a_table_is_masked_in_place(postgresql_url: str, runner: str) -> None:
    table(runner, "people")
    columns = {**COLUMNS, "id": {"role": "other", "accept": "singling_out"}, "day": {"role": "other"}, "ward": {"role": "other"}}
    sfumato.run(
        {"source": {"sql": component(runner, "people")}, "columns": columns, "sink": {"sql": component(runner, "people") | {"in_place": True}}}
    )

    assert calls(postgresql_url) == 0
    assert ask(runner, "SELECT DISTINCT pg_catalog.substr(name::text, 1, 2) FROM people") == [("n*",)]


def test_functions_of_others_are_not_called_by_a_live_view(postgresql_url: str, runner: str) -> None:
    table(runner, "people")
    reader = f"reader_{secrets.token_hex(4)}"
    ask(postgresql_url, f"CREATE ROLE {reader}")
    columns = {**COLUMNS, "ward": {"role": "other"}}
    sink = {"live_view": {**component(runner, "people_view"), "roles": [reader]}}
    try:
        sfumato.run({"source": {"sql": component(runner, "people")}, "columns": columns, "sink": sink})
        shown = ask(runner, "SELECT DISTINCT pg_catalog.substr(name::text, 1, 2) FROM people_view")
    finally:
        ask(runner, "DROP VIEW IF EXISTS people_view")
        ask(postgresql_url, f"DROP OWNED BY {reader}", f"DROP ROLE {reader}")

    assert calls(postgresql_url) == 0
    assert shown == [("n*",)]


def test_a_table_without_a_schema_is_found_where_sessions_of_the_user_look(postgresql_url: str, runner: str) -> None:
    name = urlsplit(runner).username
    ask(runner, f"CREATE TABLE {name}.wards (ward text)", f"INSERT INTO {name}.wards VALUES ('own')")
    ask(postgresql_url, "DROP TABLE IF EXISTS public.wards", "CREATE TABLE public.wards (ward text)", "INSERT INTO public.wards VALUES ('other')")
    given = {"source": {"sql": component(runner, "wards")}, "columns": {"ward": {"role": "other", "accept": "singling_out"}}}
    sfumato.run({**given, "sink": {"sql": component(runner, "wards_copy")}})

    assert ask(postgresql_url, f"SELECT ward FROM {name}.wards_copy") == [("own",)]


def test_settings_of_a_user_change_nothing_of_what_is_read(postgresql_url: str, runner: str) -> None:
    name = urlsplit(runner).username
    ask(runner, f"CREATE TABLE {name}.stays (stay daterange, share real)", f"INSERT INTO {name}.stays VALUES ('[2026-01-02,2026-03-04)', 0.1)")
    for setting in ("DateStyle = 'SQL, DMY'", "extra_float_digits = -10", "standard_conforming_strings = off", "TimeZone = 'Asia/Kolkata'"):
        ask(postgresql_url, f"ALTER ROLE {name} SET {setting}")
    columns = {"stay": {"role": "other", "accept": "singling_out"}, "share": {"role": "other", "accept": "singling_out"}}
    release: Any = sfumato.run({"source": {"sql": component(runner, "stays")}, "columns": columns})

    assert release.table.to_pylist() == [{"stay": "[2026-01-02,2026-03-04)", "share": pytest.approx(0.1)}]


def test_functions_of_others_are_not_called_on_mariadb(mariadb_url: str) -> None:
    database = urlsplit(mariadb_url).path[1:]
    ask(mariadb_url, f"CREATE FUNCTION {database}.`sha2`(a text, b integer) RETURNS text DETERMINISTIC RETURN 'wrong'")
    ask(mariadb_url, f"CREATE FUNCTION {database}.`left`(a text, b integer) RETURNS text DETERMINISTIC RETURN 'wrong'")
    try:
        table(mariadb_url, "people")
        given = {"source": {"sql": component(mariadb_url, "people")}, "columns": COLUMNS, "promises": [{"k_anonymity": {"k": 5}}]}
        sfumato.run({**given, "sink": {"sql": component(mariadb_url, "release")}})
        found = ask(mariadb_url, "SELECT COUNT(*), SUM(name LIKE 'n*%') FROM `release`")
    finally:
        ask(mariadb_url, f"DROP FUNCTION {database}.`sha2`", f"DROP FUNCTION {database}.`left`")

    assert [tuple(map(int, row)) for row in found] == [(40, 40)]


def test_settings_of_a_server_change_nothing_of_a_run(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows would be missing without a word, or be written where there are no transactions."""
    plain = mysql_session.connections()

    def told_otherwise(**settings: Any) -> Any:
        return plain(
            **settings, init_command="SET sql_select_limit = 3, default_storage_engine = 'MyISAM', sql_safe_updates = 1, sql_auto_is_null = 1"
        )

    table(mariadb_url, "visits")
    monkeypatch.setattr(mysql_session, "connections", lambda: told_otherwise)
    ask(mariadb_url, "DROP TABLE IF EXISTS old", "DROP TABLE IF EXISTS sfumato_ledger")
    given = {"source": {"sql": component(mariadb_url, "visits")}, "columns": COLUMNS, "promises": [{"k_anonymity": {"k": 5}}]}
    told = retain({**given, "sink": {"sql": component(mariadb_url, "old")}, "retention": {"column": "day", "older_than": "30d"}}, NOW)
    monkeypatch.undo()
    engines = "SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ('old', 'sfumato_ledger')"

    assert [(batch.outcome, batch.rows, batch.deleted) for batch in told.batches] == [("archived", 20, 20), ("archived", 20, 20)]
    with closing(connect(mariadb_url)) as connection, connection.cursor() as cursor:
        cursor.execute(engines)
        assert cursor.fetchall() == (("InnoDB",),)


def test_sessions_of_mariadb_encrypt_as_the_driver_does_and_share_what_that_takes(mariadb_url: str) -> None:
    import pymysql

    parts = urlsplit(mariadb_url)
    address = parsed(component(mariadb_url, "x")["url"])
    with closing(mysql_session.opened(address, parts.password)) as first, closing(mysql_session.opened(address, parts.password)) as second:
        plain = pymysql.connect(host=parts.hostname, port=parts.port or 0, user=parts.username, password=parts.password or "")
        with closing(plain):
            used = [(each.ssl, each.ctx.verify_mode, each.ctx.check_hostname, encryption(each)) for each in (first, second, plain)]

    assert used[0] == used[1] == used[2]
    assert first.ctx is second.ctx


def encryption(session: Any) -> list[tuple[Any, ...]]:
    with session.cursor() as cursor:
        cursor.execute("SHOW STATUS LIKE 'Ssl_version'")
        return list(cursor.fetchall())


def test_an_address_that_names_an_authority_shares_nothing(tmp_path: Path) -> None:
    (tmp_path / "authorities.pem").write_text(CERTIFICATE, encoding="utf-8")
    shared, named = (mysql_session.connections()(defer_connect=True, **given) for given in ({}, {"ssl_ca": str(tmp_path / "authorities.pem")}))

    assert named.ctx is not shared.ctx
    assert len(named.ctx.get_ca_certs()) == 1


def test_a_server_is_held_to_the_authority_that_an_address_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "authorities.pem").write_text(CERTIFICATE, encoding="utf-8")
    plain = mysql_session.connections()
    monkeypatch.setattr(mysql_session, "connections", lambda: partial(plain, defer_connect=True))
    address = parsed(f"mysql://ada@db.example.org/hospital?ssl_ca={tmp_path}/authorities.pem")

    session = mysql_session.opened(address, "secret")
    assert (session.ctx.verify_mode, session.ctx.check_hostname) == (ssl.CERT_REQUIRED, True)


# of an authority that has signed nothing
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBeDCCAR+gAwIBAgIUIpisFdlQdg77LRNvz0ucBTnttoEwCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGbm9ib2R5MCAXDTI2MTExODEzMjgyMFoYDzIxMjYxMDI1MTMy
ODIwWjARMQ8wDQYDVQQDDAZub2JvZHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AATiLcZKDS2ukBLr3NFMGUd+JEIj5Nah5dYKLKYx7xPo36mWUUFLCPakZTt0Q9kv
N153BPgV46Bt6EaHvJq7TLCKo1MwUTAdBgNVHQ4EFgQUfjZNODfrcln2yMQff7qR
Va/5XNgwHwYDVR0jBBgwFoAUfjZNODfrcln2yMQff7qRVa/5XNgwDwYDVR0TAQH/
BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiAgy51VymXp4KPs4yzupVdZOhRztCsb
bd/jepGBizzyDAIgHlgq+k7toCK4w7T8jVkBptPgDFT2Q4Rnxr2hLvRH/Yw=
-----END CERTIFICATE-----
"""
