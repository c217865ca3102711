"""Servers whose settings give expressions another meaning are not asked to compute them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from sfumato.databases.address import parsed
from sfumato.databases.connection import connected
from sfumato.databases.engines import engine_of
from sfumato.errors import UnreachableError
from tests.servers import ask, component


def engine(url: str, *settings: str) -> str | None:
    address = parsed(component(url, "x")["url"])
    with connected(address, urlsplit(url).password) as connection:
        for setting in settings:
            connection.do(setting)
        return engine_of(connection, address.kind)


@pytest.fixture
def bytewise_url(postgresql_server: str) -> Iterator[str]:
    """Return the address of a database in which a character is a byte."""
    name = f"test_{secrets.token_hex(6)}"
    ask(postgresql_server, f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    yield urlsplit(postgresql_server)._replace(path=f"/{name}").geturl()
    ask(postgresql_server, f"DROP DATABASE {name} WITH (FORCE)")


def test_servers_as_they_are_installed_compute(postgresql_url: str, postgresql18_url: str, mariadb_url: str) -> None:
    assert [engine(url) for url in (postgresql_url, postgresql18_url, mariadb_url)] == ["postgresql", "postgresql", "mysql"]


def test_a_database_in_which_characters_are_bytes_does_not(bytewise_url: str) -> None:
    with pytest.raises(UnreachableError) as refused:
        engine(bytewise_url)
    assert refused.value.code == "database-encoding"


def test_a_session_that_reads_backslashes_otherwise_does_not(postgresql_url: str, mariadb_url: str) -> None:
    assert engine(postgresql_url, "SET standard_conforming_strings = off") is None
    assert engine(mariadb_url, "SET sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')") is None


@pytest.mark.parametrize("setting", ["SET default_regex_flags = 'DOTALL'", "SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'"])
def test_a_session_that_matches_or_pads_otherwise_does_not(mariadb_url: str, setting: Any) -> None:
    assert engine(mariadb_url, setting) is None
