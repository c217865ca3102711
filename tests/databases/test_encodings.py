"""Texts are the same whatever encoding a database, a role or the environment has: the server makes UTF-8 of its own, or says that it cannot."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.engine.retain import retain
from sfumato.errors import SfumatoError
from tests.servers import ask, component

COLUMNS: dict[str, Any] = {"town": {"role": "quasi_identifier"}, "ill": {"role": "sensitive"}}
PROMISES = [{"k_anonymity": {"k": 3}}]
STORED = [("Köln", "é0", 4), ("Köln", "é1", 4), ("Köln", "é2", 4)]
COUNTED = "SELECT town, ill, count(*)::integer FROM {} GROUP BY 1, 2 ORDER BY 2"


@pytest.fixture
def database(postgresql_server: str) -> Iterator[Callable[[str], str]]:
    """Make databases of an encoding."""
    made = []

    def of(encoding: str) -> str:
        name = f"test_{secrets.token_hex(6)}"
        ask(postgresql_server, f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
        made.append(name)
        return urlsplit(postgresql_server)._replace(path=f"/{name}").geturl()

    yield of
    for name in made:
        ask(postgresql_server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def written(tmp_path: Path) -> str:
    """A file of towns and illnesses."""
    path = tmp_path / "towns.csv"
    path.write_text("town,ill\n" + "".join(f"Köln,é{number % 3}\n" for number in range(12)))
    return str(path)


def towns(url: str) -> None:
    made = "CREATE TABLE towns AS SELECT 'K' || chr(246) || 'ln' AS town, chr(233) || n % 3 AS ill FROM generate_series(0, 11) n"
    ask(url, "DROP TABLE IF EXISTS towns", made)


def policy(url: str, sink: str = "release", **changes: Any) -> dict[str, Any]:
    given = {"source": {"sql": component(url, "towns")}, "sink": {"sql": component(url, sink)}, "columns": COLUMNS, "promises": PROMISES}
    return {**given, **changes}


@pytest.mark.parametrize("road", ["inside", "from a file"])
def test_the_encoding_of_a_role_changes_nothing_of_a_release(postgresql_url: str, written: str, road: str) -> None:
    name = f"runner_{secrets.token_hex(4)}"
    ask(postgresql_url, "DROP TABLE IF EXISTS release", f"CREATE ROLE {name} LOGIN PASSWORD 'only_for_tests'")
    ask(postgresql_url, f"ALTER ROLE {name} SET client_encoding = 'LATIN1'", f"GRANT CREATE, USAGE ON SCHEMA public TO {name}")
    parts = urlsplit(postgresql_url)
    url = parts._replace(netloc=f"{name}:only_for_tests@{parts.hostname}:{parts.port}").geturl()
    try:
        towns(postgresql_url)
        ask(postgresql_url, f"ALTER TABLE towns OWNER TO {name}")
        sfumato.run(policy(url) if road == "inside" else policy(url, source=written))
        assert ask(postgresql_url, COUNTED.format("release")) == STORED
    finally:
        ask(postgresql_url, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


@pytest.mark.parametrize("road", ["inside", "from a file"])
def test_the_encoding_of_the_environment_changes_nothing_of_a_release(
    postgresql_url: str, written: str, road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(postgresql_url, "DROP TABLE IF EXISTS release")
    towns(postgresql_url)
    with monkeypatch.context() as patch:
        patch.setenv("PGCLIENTENCODING", "LATIN1")
        sfumato.run(policy(postgresql_url) if road == "inside" else policy(postgresql_url, source=written))

    assert ask(postgresql_url, COUNTED.format("release")) == STORED


@pytest.mark.parametrize("encoding", ["LATIN1", "WIN1252"])
@pytest.mark.parametrize("road", ["inside", "from a file"])
def test_a_database_of_one_byte_a_character_is_written_right(database: Callable[[str], str], encoding: str, road: str, written: str) -> None:
    url = database(encoding)
    towns(url)
    sfumato.run(policy(url) if road == "inside" else policy(url, source=written))

    assert ask(url, "SET client_encoding = 'UTF8'", COUNTED.format("release")) == STORED


def test_a_database_of_one_byte_a_character_is_read_right(database: Callable[[str], str]) -> None:
    url = database("LATIN1")
    towns(url)
    release: Any = sfumato.run({key: value for key, value in policy(url).items() if key != "sink"})

    assert sorted({(row["town"], row["ill"]) for row in release.table.to_pylist()}) == [row[:2] for row in STORED]


def test_digests_are_those_of_utf8_in_every_database(database: Callable[[str], str]) -> None:
    url = database("LATIN1")
    towns(url)
    columns = {"town": {"role": "identifier", "mask": {"hash": {"unkeyed": "sha256"}}, "accept": "singling_out"}, "ill": {"role": "other"}}
    sfumato.run(policy(url, columns=columns, promises=[]))

    assert ask(url, "SELECT DISTINCT town FROM release") == [(hashlib.sha256("Köln".encode()).hexdigest(),)]


def test_a_table_of_another_encoding_is_masked_in_place(database: Callable[[str], str]) -> None:
    url = database("LATIN1")
    ask(url, "CREATE TABLE towns AS SELECT n AS id, 'K' || chr(246) || 'ln' AS town, chr(233) || n % 3 AS ill FROM generate_series(0, 11) n")
    ask(url, "ALTER TABLE towns ADD PRIMARY KEY (id)")
    columns = {"id": {"role": "other", "accept": "singling_out"}, "town": {"role": "other", "mask": {"shorten": {"length": 2}}}}
    columns["ill"] = {"role": "sensitive"}
    sink = {"sql": component(url, "towns") | {"in_place": True, "chunk": 5}}
    sfumato.run(policy(url, columns=columns, promises=[]) | {"sink": sink})

    assert ask(url, "SET client_encoding = 'UTF8'", COUNTED.format("towns")) == [("Kö", *row[1:]) for row in STORED]


def test_a_table_of_another_encoding_is_archived(database: Callable[[str], str]) -> None:
    url = database("LATIN1")
    ask(url, "CREATE TABLE towns AS SELECT n AS id, 'K' || chr(246) || 'ln' AS town, date '2026-01-05' AS day FROM generate_series(0, 11) n")
    ask(url, "ALTER TABLE towns ADD PRIMARY KEY (id)")
    columns = {"id": {"role": "identifier"}, "town": {"role": "quasi_identifier"}, "day": {"role": "identifier"}}
    retain(policy(url, "old", columns=columns, retention={"column": "day", "older_than": "1d"}))

    assert ask(url, "SET client_encoding = 'UTF8'", "SELECT town, count(*)::integer FROM old GROUP BY 1") == [("Köln", 12)]


@pytest.mark.parametrize("road", ["inside", "from a file"])
def test_a_character_that_a_database_cannot_hold_is_told_without_the_text(database: Callable[[str], str], tmp_path: Path, road: str) -> None:
    url = database("LATIN1")
    towns(url)
    path = tmp_path / "towns.csv"
    path.write_text("town,ill\n" + "Canary 日,i\n" * 12)
    columns = {**COLUMNS, "ill": {"role": "other", "mask": {"constant": {"value": "Canary 日"}}}}
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy(url, columns=columns) if road == "inside" else policy(url, source=str(path)))

    words = "has a character that UTF-8 has not, or was to hold one that its own encoding has not (SQLSTATE 22P05) [database-encoding]"
    assert str(caught.value).splitlines()[0].endswith(words)
    assert "Canary" not in str(caught.value)
    assert ask(url, "SELECT count(*)::integer FROM pg_tables WHERE tablename = 'release' OR tablename LIKE 'sfumato%'") == [(0,)]


def test_a_byte_without_a_meaning_is_told(database: Callable[[str], str]) -> None:
    url = database("WIN1252")
    ask(url, "SET client_encoding = 'WIN1252'", "CREATE TABLE towns AS SELECT chr(129) AS town, 'i' || n % 3 AS ill FROM generate_series(0, 11) n")
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy(url))

    assert caught.value.code == "database-encoding"


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "EUC_JP", "MULE_INTERNAL"])
def test_a_database_whose_texts_are_not_to_be_had_as_utf8_is_refused(database: Callable[[str], str], encoding: str) -> None:
    url = database(encoding)
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy(url))

    assert caught.value.code == "database-encoding"
    assert "ENCODING 'UTF8' TEMPLATE template0" in str(caught.value)
