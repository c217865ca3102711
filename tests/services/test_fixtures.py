"""The fixtures of the tests: one server for all workers, one database a module, nothing left, and no server no silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.state import read
from tests.servers import RUN, ask

PROJECT = Path(__file__).parent.parent.parent
MODULE = """
from pathlib import Path
from services.state import STATE, read
from tests.servers import ask


def test_first(SERVER_url):
    ask(SERVER_url, "CREATE TABLE mine (x INTEGER)")
    Path(__file__).with_suffix(".url").write_text(SERVER_url)


def test_second(SERVER_url):
    assert ask(SERVER_url, "SELECT * FROM mine") == []
    Path(__file__).with_suffix(".process").write_text(str(read(STATE)["SERVER"].process))
"""


def run_tests(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder as a test run of its own, with servers of its own."""
    inherited = {name: value for name, value in os.environ.items() if name not in {RUN, "CI", "SFUMATO_REQUIRE_SERVERS"} and "PYTEST" not in name}
    mine = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(PROJECT), "SFUMATO_SERVICES": str(folder / "state")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.servers", "-p", "xdist", "-p", "no:cacheprovider", "-rs", *options, str(folder)],
        cwd=folder,
        env={**inherited, **mine, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_workers_share_a_server_and_modules_have_their_own_databases(server: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(f"{server}_server")  # skipped where it cannot be had
    for name in ("test_one", "test_two"):
        (tmp_path / f"{name}.py").write_text(MODULE.replace("SERVER", server), encoding="utf-8")

    ended = run_tests(tmp_path, "-n", "2", "--dist", "loadfile")

    assert ended.returncode == 0, ended.stdout
    urls = {path.read_text(encoding="utf-8") for path in tmp_path.glob("*.url")}
    assert len(urls) == 2
    assert len({url.rpartition("/")[0] for url in urls}) == 1
    assert len({path.read_text(encoding="utf-8") for path in tmp_path.glob("*.process")}) == 1
    assert read(tmp_path / "state") == {}


def test_without_the_server_a_test_is_skipped_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(MODULE.replace("SERVER", "postgresql18"), encoding="utf-8")

    ended = run_tests(tmp_path, PATH="", XDG_CACHE_HOME=str(tmp_path))

    assert "2 skipped" in ended.stdout
    assert "PostgreSQL 18 cannot be had: there is no mvn on this machine; this would provide it: sudo apt-get install maven" in ended.stdout


@pytest.mark.parametrize("variable", ["CI", "SFUMATO_REQUIRE_SERVERS"])
def test_where_servers_are_required_the_test_fails(tmp_path: Path, variable: str) -> None:
    (tmp_path / "test_one.py").write_text(MODULE.replace("SERVER", "postgresql18"), encoding="utf-8")

    ended = run_tests(tmp_path, PATH="", XDG_CACHE_HOME=str(tmp_path), **{variable: "1"})

    assert "2 errors" in ended.stdout
    assert "PostgreSQL 18 cannot be had: there is no mvn on this machine; this would provide it: sudo apt-get install maven" in ended.stdout


@pytest.mark.slow
def test_a_server_that_is_there_already_is_used(tmp_path: Path, mariadb_server: str) -> None:
    module = MODULE.replace('read(STATE)["SERVER"].process', "read(STATE)").replace("SERVER", "mariadb")
    (tmp_path / "test_one.py").write_text(module, encoding="utf-8")

    ended = run_tests(tmp_path, SFUMATO_MARIADB_URL=mariadb_server)

    assert ended.returncode == 0, ended.stdout
    assert (tmp_path / "test_one.process").read_text(encoding="utf-8") == "{}"


def test_mysql_is_skipped_with_both_ways_to_have_it_tested(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(MODULE.replace("SERVER", "mysql"), encoding="utf-8")

    ended = run_tests(tmp_path, SFUMATO_TEST_MYSQL="", SFUMATO_MYSQL_URL="")

    assert "run: SFUMATO_TEST_MYSQL=1 make test, or name a server in SFUMATO_MYSQL_URL" in ended.stdout


@pytest.mark.slow
def test_a_bulk_driver_reads_the_database_of_the_module(postgresql_url: str, postgresql18_url: str) -> None:
    from adbc_driver_postgresql import dbapi

    for url in (postgresql_url, postgresql18_url):
        ask(url, "CREATE TABLE people (age INTEGER)", "INSERT INTO people VALUES (41), (42)")
        with dbapi.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT sum(age)::bigint AS years FROM people")

            assert json.loads(cursor.fetch_arrow_table().to_pandas().to_json(orient="records")) == [{"years": 83}]
