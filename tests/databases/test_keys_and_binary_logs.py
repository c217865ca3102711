"""A binary log keeps what LOAD DATA brings: a key never gets there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, urlsplit

import pyarrow as pa
import pytest

from services.mariadb import MariaDB
from services.running import start, stop
from services.server import Place, Programs, Recipe, UnavailableError
from sfumato.databases.address import parsed
from sfumato.databases.connection import connected
from sfumato.databases.mysql import MysqlConnection
from sfumato.errors import UnreachableError
from tests.servers import _do_without, ask, component


@dataclass(frozen=True)
class LoggingMariaDB(MariaDB):
    """A server that writes a binary log of statements, as older installations do."""

    # one for each process of a test run
    name: str = f"mariadb_logging_{os.getpid()}"

    def recipe(self, programs: Programs, place: Place) -> Recipe:
        """Return how to call it."""
        made = super().recipe(programs, place)
        serve = [option for option in made.serve if option != "--skip-log-bin"]
        return replace(made, serve=[*serve, f"--log-bin={place.folder}/binary", "--binlog-format=STATEMENT", "--server-id=1"])


@pytest.fixture(scope="module")
def logging() -> Iterator[tuple[str, Path]]:
    """Return the address of the server and the folder of its log."""
    try:
        running = start(LoggingMariaDB())
    except UnavailableError as missing:
        _do_without(missing)
    yield running.url, running.folder
    stop([running.name])


def opened(url: str) -> MysqlConnection:
    found = connected(parsed(component(url, "x")["url"]), urlsplit(url).password)
    assert isinstance(found, MysqlConnection)
    return found


def logged(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("binary.*"))


def row(pad: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pad], pa.binary())] * 2, names=["inner0", "outer0"])


def test_a_key_is_in_no_binary_log(logging: tuple[str, Path]) -> None:
    url, folder = logging
    pad = secrets.token_hex(32).encode()
    with opened(url) as connection:
        table = connection.hold_secret(row(pad))
        assert connection._rows(f"SELECT inner0 FROM {table}", []) == [(pad,)]
        # what is not held back is there to be found
        connection.do(f"CREATE DATABASE canary_{pad[:8].decode()}")
    assert pad[:8] in logged(folder)
    assert pad not in logged(folder)


def test_who_may_not_hold_it_back_gets_no_key_there(logging: tuple[str, Path]) -> None:
    url, folder = logging
    pad, password = secrets.token_hex(32).encode(), secrets.token_hex(8)
    ask(url, f"CREATE USER reader IDENTIFIED BY '{password}'", "GRANT ALL ON sfumato.* TO reader", "GRANT ALL ON sfumato_staging_reader.* TO reader")
    parts = urlsplit(url)
    as_reader = parts._replace(netloc=f"reader:{quote(password)}@{parts.hostname}:{parts.port}").geturl()
    with opened(as_reader) as connection, pytest.raises(UnreachableError) as refused:
        connection.hold_secret(row(pad))
    assert (refused.value.code, pad in logged(folder)) == ("key-logged", False)
