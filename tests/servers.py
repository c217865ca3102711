"""Databases for tests: a server started when the first test asks for it, a database of its own for every test module.

A test run ends those servers that nobody else wants when it ends. ``SFUMATO_POSTGRESQL_URL`` and the like name servers that are there already.
"""

from __future__ import annotations

import os
import secrets
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

import pytest

from services import spark
from services.catalogue import SERVERS
from services.processes import Process
from services.running import leave, start
from services.server import UnavailableError
from services.state import STATE
from sfumato.databases.mysql_session import connections
from sfumato.databases.private_names import staging_of
from sfumato.registry import find

# the process that all workers, and all test runs within tests, belong to
RUN = "SFUMATO_TEST_RUN"
PASSWORD = "SFUMATO_TEST_PASSWORD"


def pytest_configure() -> None:
    """Note which test run this is, unless it is part of another."""
    ourselves = Process.of(os.getpid())
    if ourselves is not None:
        os.environ.setdefault(RUN, f"{ourselves.pid}:{ourselves.began}")


def pytest_unconfigure() -> None:
    """End the servers that were started for this test run, after its last worker."""
    if _test_run() == Process.of(os.getpid()):
        del os.environ[RUN]
        if (STATE / "state.json").exists():
            leave(Process.of(os.getpid()) or Process(0, 0))


def connect(url: str) -> Any:
    """Return a connection that commits every statement."""
    if url.startswith("postgresql:"):
        import psycopg

        return psycopg.connect(url, autocommit=True, connect_timeout=20)
    if url.startswith("duckdb:"):
        import duckdb

        return duckdb.connect(url.removeprefix("duckdb:///"))
    parts = urlsplit(url)
    return connections()(
        host=parts.hostname,
        port=parts.port or 3306,
        user=parts.username,
        password=parts.password or "",
        database=parts.path[1:] or None,
        autocommit=True,
        local_infile=True,
    )


def ask(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Return the rows of the last statement, if it has any."""
    with closing(connect(url)) as connection, closing(connection.cursor()) as cursor:
        for statement in statements:
            cursor.execute(statement)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []


def staging(url: str) -> str:
    """Return the database of MySQL or MariaDB in which the user of an address stages."""
    return staging_of(str(urlsplit(url).username))


def forget_lists(url: str) -> None:
    """Remove the lists of keys that runs have left of tables of a database of MySQL or MariaDB, before these go: others may have the same keys."""
    of_these = f"table_schema = '{staging(url)}' AND table_comment LIKE CONCAT(LOWER(HEX('{urlsplit(url).path[1:]}')), '.%')"
    lists = ask(url, f"SELECT table_name FROM information_schema.tables WHERE {of_these}")
    ask(url, *(f"DROP TABLE `{staging(url)}`.`{name}`" for (name,) in lists))


def left_over(url: str) -> list[str]:
    """Return what is staged though nobody works on it, and stays: on MariaDB and MySQL tests of other processes stage in the same place."""
    free = "" if url.startswith(("postgresql:", "duckdb:")) else " AND IS_FREE_LOCK(CONCAT('sfumato:', REPLACE(table_name, '_old', '')))"
    query = f"SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'sfumato%' AND table_name <> 'sfumato_ledger'{free}"
    found = {str(name) for (name,) in ask(url, query)}
    deadline = time.monotonic() + 20
    while found and time.monotonic() < deadline:
        time.sleep(0.2)
        found &= {str(name) for (name,) in ask(url, query)}
    return sorted(found)


def first_schema(url: str) -> str:
    """Return what a statement calls the schema in which tables are made where none is named."""
    return "'public'" if url.startswith("postgresql:") else "'main'" if url.startswith("duckdb:") else "DATABASE()"


@pytest.fixture(scope="session")
def postgresql_server() -> str:
    """Return the address of a PostgreSQL 15 whose user may do everything."""
    return address("postgresql")


@pytest.fixture(scope="session")
def postgresql18_server() -> str:
    """Return the address of a PostgreSQL 18 whose user may do everything."""
    return address("postgresql18")


@pytest.fixture(scope="session")
def mariadb_server() -> str:
    """Return the address of a MariaDB whose user may do everything."""
    return address("mariadb")


@pytest.fixture(scope="module")
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """Return the address of a database of this test module in PostgreSQL 15."""
    with _database(postgresql_server, " WITH (FORCE)") as url:
        yield url


@pytest.fixture(scope="module")
def postgresql18_url(postgresql18_server: str) -> Iterator[str]:
    """Return the address of a database of this test module in PostgreSQL 18."""
    with _database(postgresql18_server, " WITH (FORCE)") as url:
        yield url


@pytest.fixture(scope="module")
def mariadb_url(mariadb_server: str) -> Iterator[str]:
    """Return the address of a database of this test module in MariaDB."""
    with _database(mariadb_server) as url:
        yield url


@pytest.fixture(scope="module")
def mysql_url() -> Iterator[str]:
    """Return the address of a database of this test module in MySQL, where that is asked for."""
    if not (os.environ.get("SFUMATO_TEST_MYSQL") or os.environ.get("SFUMATO_MYSQL_URL")):
        pytest.skip("MySQL takes 60 MB of packages; run: SFUMATO_TEST_MYSQL=1 make test, or name a server in SFUMATO_MYSQL_URL")
    with _database(address("mysql")) as url:
        yield url


@pytest.fixture(scope="session")
def spark_session() -> Any:
    """Return the session of Spark of this process."""
    return spark_running()


@pytest.fixture(scope="module")
def spark_url(spark_session: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder of this test module that Spark sees."""
    return f"file:{tmp_path_factory.mktemp('spark')}"


@pytest.fixture(scope="module")
def duckdb_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a database file of this test module, which is made by the first who writes to it."""
    return f"duckdb:///{tmp_path_factory.mktemp('duckdb')}/test.duckdb"


def spark_running() -> Any:
    """Return a session of Spark, which ends with the process; without one a test is skipped, or fails where all servers are required."""
    try:
        spark.found()
    except UnavailableError as missing:
        _do_without(missing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").appName("tests")
        for key, value in SPARK_SETTINGS.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()


# Java's second compiler takes twice the time of a test and pays off after minutes only; every Spark that a test starts is told so
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
SPARK_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
}
SERVER_FIXTURES = {
    "postgresql": "postgresql_url",
    "postgresql18": "postgresql18_url",
    "mariadb": "mariadb_url",
    "mysql": "mysql_url",
    "spark": "spark_url",
    "duckdb": "duckdb_url",
}


def named(url: str, table: str) -> dict[str, Any]:
    """Return what a policy names a table of a server by."""
    return {"spark": {"path": f"{url}/{table}"}} if url.startswith("file:") else {"sql": component(url, table)}


def made(kind: str, component: dict[str, Any]) -> Any:
    """Return the source or the sink that a policy names."""
    ((name, settings),) = component.items()
    return find(kind, name)(**settings)


def component(url: str, table: str) -> dict[str, Any]:
    """Return the settings of a source or a sink for a table; the password of the address goes into the environment."""
    if url.startswith("duckdb:"):
        return {"url": url, "table": table}
    parts = urlsplit(url)
    os.environ[PASSWORD] = unquote(parts.password or "")
    plain = parts._replace(netloc=f"{parts.username}@{parts.hostname}:{parts.port}").geturl()
    return {"url": plain, "table": table, "password": {"environment": PASSWORD}}


def _test_run() -> Process | None:
    known = os.environ.get(RUN, "")
    return Process(*map(int, known.split(":"))) if known else None


def address(name: str) -> str:
    """Return the address of a server; without one a test is skipped, or fails where all servers are required."""
    given = os.environ.get(f"SFUMATO_{name.upper()}_URL")
    if given:
        return given
    try:
        return start(SERVERS[name], user=_test_run()).url
    except UnavailableError as missing:
        _do_without(missing)


def _do_without(missing: UnavailableError) -> NoReturn:
    if os.environ.get("CI") or os.environ.get("SFUMATO_REQUIRE_SERVERS"):
        pytest.fail(str(missing), pytrace=False)
    pytest.skip(str(missing))


@contextmanager
def _database(server: str, even_if_used: str = "") -> Iterator[str]:
    name = f"test_{secrets.token_hex(6)}"
    ask(server, f"CREATE DATABASE {name}")
    url = urlsplit(server)._replace(path=f"/{name}").geturl()
    try:
        yield url
    finally:
        if not server.startswith("postgresql:"):
            forget_lists(url)
        ask(server, f"DROP DATABASE {name}{even_if_used}")
