"""A server of MySQL that wants a primary key in every table, or gives it one: a release has the columns of its policy, or the run says what to do."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.databases import mysql
from sfumato.databases.private_names import staging_of
from sfumato.engine.retain import retain
from sfumato.errors import UnreachableError
from tests.servers import ask, component

DEMANDS = ("sql_generate_invisible_primary_key", "sql_require_primary_key")
COLUMNS = {"id": {"role": "identifier"}, "town": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}, "seen": {"role": "identifier"}}


@pytest.fixture(params=DEMANDS)
def demand(request: pytest.FixtureRequest, mysql_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is on in all sessions of runs, as if it were so on the server: a procedure sets it for those too who may not."""
    name, opened = str(request.param), mysql.opened
    procedure = f"{urlsplit(mysql_url).path[1:]}.demand_{name}"
    ask(mysql_url, f"DROP PROCEDURE IF EXISTS {procedure}", f"CREATE PROCEDURE {procedure}() SQL SECURITY DEFINER SET SESSION {name} = ON")

    def demanding(*given: Any) -> Any:
        session = opened(*given)
        session.query(f"CALL {procedure}()")
        return session

    monkeypatch.setattr(mysql, "opened", demanding)
    rows = ", ".join(f"({number}, 't{number % 2}', 'i{number % 3}', '2026-01-05 10:00:00')" for number in range(30))
    for table in ("people", "release_", "archive", "sfumato_ledger"):
        ask(mysql_url, f"DROP TABLE IF EXISTS {table}")
    made = "CREATE TABLE people (id int PRIMARY KEY, town varchar(20), illness varchar(9), seen timestamp NOT NULL)"
    ask(mysql_url, made, f"INSERT INTO people VALUES {rows}")
    return name


@pytest.fixture
def few(mysql_url: str) -> Iterator[str]:
    """The address of a user who may set nothing that a server restricts."""
    user, parts = f"few_{secrets.token_hex(4)}", urlsplit(mysql_url)
    rights = "CREATE TEMPORARY TABLES, CREATE, DROP, ALTER, INDEX, INSERT, SELECT, UPDATE, DELETE, EXECUTE"
    ask(mysql_url, f"CREATE USER {user}@'%' IDENTIFIED BY 'x'")
    ask(mysql_url, *(f"GRANT {rights} ON {database}.* TO {user}@'%'" for database in (parts.path[1:], staging_of(user))))
    yield parts._replace(netloc=f"{user}:x@{parts.hostname}:{parts.port}").geturl()
    ask(mysql_url, f"DROP DATABASE IF EXISTS {staging_of(user)}", f"DROP USER {user}@'%'")


def policy(url: str, sink: str, **more: Any) -> dict[str, Any]:
    return {
        "source": {"sql": component(url, "people")},
        "sink": {"sql": component(url, sink)},
        "columns": COLUMNS,
        "promises": [{"k_anonymity": {"k": 3}}],
        **more,
    }


def columns(url: str, table: str) -> list[str]:
    return [str(row[0]) for row in ask(url, f"SHOW COLUMNS FROM {table}")]


@pytest.mark.parametrize("inside", [True, False])
def test_a_release_has_the_columns_of_its_policy(mysql_url: str, demand: str, inside: bool) -> None:
    masked = {} if inside else {"columns": {**COLUMNS, "illness": {"role": "other", "mask": {"shuffle": {}}}}}
    for _ in range(2):
        sfumato.run(policy(mysql_url, "release_", **masked))
    assert columns(mysql_url, "release_") == ["town", "illness"]


def test_rows_are_archived(mysql_url: str, demand: str) -> None:
    given = policy(mysql_url, "archive", retention={"column": "seen", "older_than": "90d"})
    retain(given, datetime(2026, 11, 1, tzinfo=UTC))
    assert columns(mysql_url, "archive")[:2] == ["town", "illness"]
    assert ask(mysql_url, "SELECT (SELECT count(*) FROM archive), (SELECT count(*) FROM people)") == [(30, 0)]


def test_a_table_is_masked_in_place(mysql_url: str, demand: str) -> None:
    kept = {"id": {"role": "other", "accept": "singling_out"}, "seen": {"role": "other"}}
    given = policy(mysql_url, "people", columns={**COLUMNS, **kept})
    given["sink"]["sql"]["in_place"] = True
    sfumato.run(given)
    assert ask(mysql_url, "SELECT count(*) FROM people") == [(30,)]


def test_a_user_who_may_not_do_without_is_told_what_to_do(few: str, demand: str, tmp_path: Any) -> None:
    with pytest.raises(UnreachableError) as caught:
        sfumato.run(policy(few, "release_"))

    words = f"wants a primary key in every table ({demand} is ON), and does not allow this user to make one without [database-primary-keys]"
    assert words in str(caught.value)
    assert f"try: GRANT SESSION_VARIABLES_ADMIN ON *.* TO the user of the run, or SET GLOBAL {demand} = OFF" in str(caught.value)
    sfumato.run({**policy(few, "release_"), "sink": str(tmp_path / "release.csv")})
