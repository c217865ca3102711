"""Columns that leave as they came have the types of their server again, also where this process writes the table."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from tests.servers import ask, component

POSTGRESQL = {
    "v": ("varchar(40)", "'O''Brien 🙂'"),
    "c": ("char(5)", "'ab'"),
    "u": ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
    "i": ("inet", "'10.0.0.1/8'"),
    "a": ("cidr", "'10.1.0.0/16'"),
    "j": ("jsonb", """'{"a": 1.5}'"""),
    "t": ("json", """'{"a":  1}'"""),
    "n": ("numeric", "12.5"),
    "r": ("int4range", "'[1,5)'"),
    "m": ("own_mood", "'glad'"),
    "d": ("own_number", "7"),
    "w": ("own_word", "'word'"),
    "p": ("timestamp(3)", "'2020-01-01 10:00:00.123'"),
}
MADE = ("m", "d", "w")
MYSQL = {
    "v": ("varchar(40)", "'O''Brien 🙂'"),
    "c": ("char(5)", "'ab'"),
    "x": ("text", "'long'"),
    "t": ("time", "'-101:30:00'"),
    "d": ("datetime", "'2020-01-01 10:00:00'"),
    "p": ("timestamp", "'2020-01-01 10:00:00'"),
    "y": ("year", "1999"),
    "b": ("boolean", "1"),
    "m": ("mediumint", "-5"),
}


def made(url: str, columns: dict[str, tuple[str, str]], rows: int = 6) -> None:
    ask(url, "DROP TABLE IF EXISTS own_a", "DROP TABLE IF EXISTS own_b", "DROP TABLE IF EXISTS own_c", "DROP TABLE IF EXISTS own_d")
    listed = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    values = ", ".join(value for _, value in columns.values())
    missing = ", ".join("NULL" for _ in columns)
    for table in ("own_a", "own_b"):
        # a timestamp of which nothing is said is never missing on older servers
        ask(url, f"CREATE TABLE {table} (id int, {listed.replace('timestamp,', 'timestamp NULL,')})")
        for number in range(rows):
            ask(url, f"INSERT INTO {table} VALUES ({number}, {values if number % 2 else missing})")


def policy(url: str, columns: dict[str, tuple[str, str]], sink: dict[str, Any] | None = None) -> dict[str, Any]:
    place = {key: value for key, value in component(url, "").items() if key != "table"}
    kept = {name: {"role": "other"} for name in columns}
    entry = {"columns": {"id": {"role": "other", "mask": {"hash": {"unkeyed": "sha256"}}}, **kept}, "accept": "singling_out"}
    tables = {"own_a": {**entry, "into": "own_c"}, "own_b": {**entry, "into": "own_d"}}
    return {"source": {"sql": place}, "sink": {"sql": sink or place}, "tables": tables}


def types_of(url: str, table: str) -> dict[str, str]:
    if url.startswith("postgresql"):
        there = f"attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped"
        query = f"SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE {there}"
    else:
        query = f"SELECT column_name, column_type FROM information_schema.columns WHERE table_name = '{table}' AND table_schema = database()"
    return {str(name): kind.decode() if isinstance(kind, bytes) else str(kind) for name, kind in ask(url, query)}


def own_types(url: str) -> None:
    ask(
        url,
        "DROP TABLE IF EXISTS own_a, own_b, own_c, own_d",
        "DROP TYPE IF EXISTS own_mood",
        "DROP DOMAIN IF EXISTS own_number, own_word",
        "CREATE TYPE own_mood AS ENUM ('glad', 'sad')",
        "CREATE DOMAIN own_number AS int CHECK (VALUE > 0)",
        "CREATE DOMAIN own_word AS text CHECK (VALUE <> '')",
    )


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def test_tables_of_one_policy_have_the_types_that_they_had(url: str) -> None:
    columns = POSTGRESQL if url.startswith("postgresql") else MYSQL
    if url.startswith("postgresql"):
        own_types(url)
    made(url, columns)

    sfumato.run(policy(url, columns))

    before, after = types_of(url, "own_a"), types_of(url, "own_c")
    assert {name: after[name] for name in columns} == {name: before[name] for name in columns}
    chosen = ", ".join(f"CAST({name} AS {'text' if url.startswith('postgresql') else 'char'})" for name in columns)
    assert sorted(ask(url, f"SELECT {chosen} FROM own_c"), key=str) == sorted(ask(url, f"SELECT {chosen} FROM own_a"), key=str)


def test_texts_that_masks_have_made_short_can_be_indexed(mariadb_url: str) -> None:
    made(mariadb_url, {"v": MYSQL["v"]})
    sfumato.run(policy(mariadb_url, {"v": MYSQL["v"]}))

    assert types_of(mariadb_url, "own_c")["id"] == "varchar(255)"
    ask(mariadb_url, "CREATE INDEX own_index ON own_c (id)")
    assert len(ask(mariadb_url, "SELECT DISTINCT id FROM own_c")) == 6


def test_texts_that_are_long_stay_as_they_are(mariadb_url: str) -> None:
    made(mariadb_url, {"v": ("varchar(400)", f"'{'long ' * 60}'")})
    given = policy(mariadb_url, {"v": MYSQL["v"]})
    for entry in given["tables"].values():
        entry["columns"]["v"]["mask"] = {"character_mask": {"keep_first": 290}}
    sfumato.run(given)

    assert types_of(mariadb_url, "own_c")["v"] == "longtext"
    assert ask(mariadb_url, "SELECT max(char_length(v)) FROM own_c") == [(300,)]


def test_a_row_that_would_be_too_long_in_other_characters_has_texts_without_a_length(mariadb_url: str) -> None:
    columns = {f"v{number}": ("varchar(600) CHARACTER SET latin1", "'x'") for number in range(90)}
    made(mariadb_url, columns)
    sfumato.run(policy(mariadb_url, columns))

    # as many as there is room for get a length again
    assert set(types_of(mariadb_url, "own_c").values()) == {"longtext", "varchar(255)"}
    assert ask(mariadb_url, "SELECT count(v7) FROM own_c") == [(3,)]


def test_types_that_somebody_has_made_stay_in_their_database(postgresql_url: str) -> None:
    own_types(postgresql_url)
    made(postgresql_url, POSTGRESQL)
    name = f"{urlsplit(postgresql_url).path[1:]}_other"
    other = urlsplit(postgresql_url)._replace(path=f"/{name}").geturl()
    ask(postgresql_url, f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}")
    try:
        place = {key: value for key, value in component(other, "").items() if key != "table"}
        sfumato.run(policy(postgresql_url, POSTGRESQL, place))

        before, after = types_of(postgresql_url, "own_a"), types_of(other, "own_c")
        assert {key: after[key] for key in POSTGRESQL} == {
            key: {"m": "text", "d": "integer", "w": "text"}[key] if key in MADE else before[key] for key in POSTGRESQL
        }
    finally:
        ask(postgresql_url, f"DROP DATABASE {name} WITH (FORCE)")


def test_a_type_that_its_user_may_not_use_is_written_as_what_it_is_of(postgresql_url: str) -> None:
    own_types(postgresql_url)
    made(postgresql_url, {name: POSTGRESQL[name] for name in ("m", "w")})
    parts = urlsplit(postgresql_url)
    role = f"{parts.path[1:]}_writer"
    writer = parts._replace(netloc=f"{role}:{parts.password}@{parts.hostname}:{parts.port}").geturl()
    ask(
        postgresql_url,
        f"DROP ROLE IF EXISTS {role}",
        f"CREATE ROLE {role} LOGIN PASSWORD '{parts.password}'",
        f"GRANT CREATE, USAGE ON SCHEMA public TO {role}",
        "REVOKE USAGE ON TYPE own_mood FROM PUBLIC",
    )
    try:
        place = {key: value for key, value in component(writer, "").items() if key != "table"}
        sfumato.run(policy(postgresql_url, {"m": POSTGRESQL["m"], "w": POSTGRESQL["w"]}, place))
        found = types_of(postgresql_url, "own_c")
        assert (found["m"], found["w"]) == ("text", "own_word")
    finally:
        ask(postgresql_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@pytest.mark.parametrize("server", ["mariadb", "mysql"])
def test_the_type_of_a_release_lists_no_values_of_suppressed_rows(request: pytest.FixtureRequest, server: str) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    ask(url, "DROP TABLE IF EXISTS own_a", "DROP TABLE IF EXISTS own_c")
    ask(url, "CREATE TABLE own_a (age int, mood enum('glad', 'canary') CHARACTER SET latin1, ills set('flu', 'ü''s', 'canary'), note text)")
    rows = [*["(20, 'glad', 'flu,ü''s', 'a')"] * 6, *["(30, NULL, '', NULL)"] * 6, "(99, 'canary', 'canary', 'b')"]
    ask(url, f"INSERT INTO own_a VALUES {', '.join(rows)}")
    columns = {
        "age": {"role": "quasi_identifier"},
        "mood": {"role": "sensitive"},
        "ills": {"role": "other"},
        "note": {"role": "other", "mask": {"hash": {"unkeyed": "sha256"}}},
    }
    given = {"source": {"sql": component(url, "own_a")}, "sink": {"sql": component(url, "own_c")}, "columns": columns}
    sfumato.run({**given, "promises": [{"k_anonymity": {"k": 3}}], "suppression_limit": 0.2, "algorithm": {"datafly": {}}})

    assert {name: kind for name, kind in types_of(url, "own_c").items() if name != "age"} == dict.fromkeys(("mood", "ills", "note"), "varchar(255)")
    published = ask(url, "SELECT mood, ills, char_length(note), count(*) FROM own_c GROUP BY 1, 2, 3 ORDER BY 1")
    assert published == [(None, "", None, 6), ("glad", "flu,ü's", 64, 6)]
