"""Every server: it answers, it keeps strangers out, it is found again, and it leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pymysql
import pytest

from services.catalogue import SERVERS
from services.processes import Process
from services.running import StartError, leave, place_of_data, start, stop
from services.server import UnavailableError
from services.state import Running, read
from tests.servers import ask, connect

pytestmark = pytest.mark.slow

REFUSED = r"password authentication failed|no password supplied|Access denied"
VERSIONS = {"postgresql": "15.", "postgresql18": "18.", "mariadb": "", "mysql": "9."}


def server_or_skip(name: str, state: Path, user: Process | None = None) -> Running:
    if name == "mysql" and not os.environ.get("SFUMATO_TEST_MYSQL"):
        pytest.skip("MySQL takes 60 MB of packages; run: SFUMATO_TEST_MYSQL=1 make test")
    try:
        return start(SERVERS[name], state, user=user)
    except UnavailableError as missing:
        if os.environ.get("CI") or os.environ.get("SFUMATO_REQUIRE_SERVERS"):
            raise
        pytest.skip(str(missing))


@pytest.fixture(scope="module", params=list(SERVERS))
def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Path]]:
    state = tmp_path_factory.mktemp("state")
    running = server_or_skip(request.param, state)
    yield running, state
    stop(None, state)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    stop(None, tmp_path)


def test_it_answers_a_query_in_its_version(started: tuple[Running, Path]) -> None:
    running, _ = started

    ((version,),) = ask(running.url, "SHOW server_version" if "postgresql" in running.name else "SELECT version()")

    assert version.startswith(VERSIONS[running.name])
    assert ("MariaDB" in version) == (running.name == "mariadb")


@pytest.mark.parametrize("password", ["wrong", ""])
def test_it_refuses_a_wrong_password(started: tuple[Running, Path], password: str) -> None:
    url = started[0].url
    right = urlsplit(url).password

    with pytest.raises((psycopg.OperationalError, pymysql.OperationalError), match=REFUSED):
        connect(url.replace(f":{right}@", f":{password}@"))


def test_nobody_but_its_one_user_gets_in_without_a_password(started: tuple[Running, Path]) -> None:
    url = started[0].url
    user, password = urlsplit(url).username, urlsplit(url).password

    for stranger in ("root", "postgres", "mysql"):
        with pytest.raises((psycopg.OperationalError, pymysql.OperationalError)):
            connect(url.replace(f"{user}:{password}@", f"{stranger}:@"))


def test_its_user_may_make_databases_and_users(started: tuple[Running, Path]) -> None:
    url = started[0].url
    name = f"other_{os.getpid()}"

    ask(url, f"CREATE DATABASE {name}", f"DROP DATABASE {name}")
    if "postgresql" in started[0].name:
        ask(url, f"CREATE USER {name} PASSWORD 'x'", f"DROP USER {name}")
    else:
        ask(url, f"CREATE USER {name} IDENTIFIED BY 'x'", f"GRANT SELECT ON sfumato.* TO {name}", f"DROP USER {name}")


def test_texts_are_unicode_and_files_of_the_client_can_be_loaded(started: tuple[Running, Path], tmp_path: Path) -> None:
    url = started[0].url
    if "postgresql" in started[0].name:
        assert ask(url, "SHOW server_encoding") == [("UTF8",)]
        return
    (tmp_path / "rows").write_text("Zoë 🎨\n", encoding="utf-8")
    create = "CREATE TEMPORARY TABLE sfumato.loaded (name VARCHAR(20)) CHARACTER SET utf8mb4"

    loaded = f"LOAD DATA LOCAL INFILE '{tmp_path}/rows' INTO TABLE sfumato.loaded CHARACTER SET utf8mb4"

    assert ask(url, create, loaded, "SELECT name FROM sfumato.loaded") == [("Zoë 🎨",)]
    assert ask(url, "SELECT @@character_set_server, @@log_bin") == [("utf8mb4", 0)]


def test_it_listens_on_a_loopback_port_that_the_system_gives_to_nobody_else(started: tuple[Running, Path]) -> None:
    parts = urlsplit(started[0].url)

    assert parts.hostname == "127.0.0.1"
    assert parts.port is not None
    assert 20000 <= parts.port < 32768
    with closing(socket.socket()) as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.2", parts.port))


def test_it_never_runs_as_root(started: tuple[Running, Path]) -> None:
    owner = Path(f"/proc/{started[0].process.pid}").stat().st_uid

    assert owner != 0
    assert os.geteuid() in (0, owner)


def test_its_password_is_for_our_eyes_only(started: tuple[Running, Path]) -> None:
    running, state = started
    password = urlsplit(running.url).password

    assert stat.S_IMODE((state / "state.json").stat().st_mode) == 0o600
    assert password is not None
    assert len(password) >= 20
    assert password not in running.shown_url
    assert password not in Path(f"/proc/{running.process.pid}/cmdline").read_text(encoding="utf-8")
    assert not {"password", "users.sql"} & {path.name for path in running.folder.iterdir()}


def test_a_second_start_finds_the_first(started: tuple[Running, Path]) -> None:
    running, state = started

    assert start(SERVERS[running.name], state) == running
    assert read(state) == {running.name: running}


@pytest.mark.parametrize("name", SERVERS)
def test_stop_leaves_no_process_and_no_folder(name: str, state: Path) -> None:
    running = server_or_skip(name, state)
    assert running.folder.is_dir()
    assert processes_below(running.folder)

    assert stop(None, state) == [running]

    assert not running.alive
    assert processes_below(running.folder) == []
    assert not running.folder.exists()
    assert read(state) == {}


@pytest.mark.parametrize("name", SERVERS)
def test_stop_does_not_wait_for_those_who_are_connected(name: str, state: Path) -> None:
    running = server_or_skip(name, state)

    with closing(connect(running.url)):
        stop([name], state)

        assert not running.alive


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_that_was_killed_is_noticed_and_started_anew(name: str, state: Path) -> None:
    killed = server_or_skip(name, state)
    os.kill(killed.process.pid, signal.SIGKILL)
    while killed.alive:
        pass

    assert not read(state)[name].alive
    anew = start(SERVERS[name], state)

    assert anew.process != killed.process
    assert ask(anew.url, "SELECT 1") == [(1,)]
    assert not killed.folder.exists()


def test_a_server_ends_with_the_last_of_its_users(state: Path) -> None:
    first, second = Process.of(os.getpid()), Process.of(os.getppid())
    assert first is not None
    assert second is not None
    running = server_or_skip("postgresql", state, first)
    start(SERVERS["postgresql"], state, user=second)

    assert leave(first, state) == []
    assert running.alive
    assert [server.name for server in leave(second, state)] == ["postgresql"]
    assert not running.alive


def test_a_server_that_a_person_started_outlives_its_users(state: Path) -> None:
    user = Process.of(os.getpid())
    assert user is not None
    running = server_or_skip("postgresql", state)
    start(SERVERS["postgresql"], state, user=user)

    assert leave(user, state) == []
    assert running.alive


def test_users_that_ended_without_a_word_do_not_count(state: Path) -> None:
    running = server_or_skip("postgresql", state, Process(os.getpid(), 1))

    leave(Process(os.getpid(), 2), state)

    assert not running.alive


def test_a_port_that_was_taken_meanwhile_is_not_the_end(state: Path) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        free = socket.socket()
        free.bind(("127.0.0.1", 0))
        wanted = free.getsockname()[1]
        free.close()
        ports = iter([taken.getsockname()[1], wanted])
        server_or_skip("postgresql", state / "first")
        stop(None, state / "first")

        running = start(SERVERS["postgresql"], state, ports=lambda: next(ports))

    assert urlsplit(running.url).port == wanted


def test_a_server_that_cannot_start_says_what_its_log_says_and_leaves_no_folder(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server_or_skip("postgresql", state)
    stop(None, state)
    # not below the folder of the test, which is closed to the account of the servers
    temporary = Path(tempfile.mkdtemp())
    temporary.chmod(0o755)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))

    with pytest.raises(StartError, match=r"^PostgreSQL 15 ended while it started: [\s\S]* is outside the valid range"):
        start(SERVERS["postgresql"], state, ports=lambda: 99999)

    # fails where anything is left in it
    temporary.rmdir()
    assert read(state) == {}


@pytest.mark.parametrize(("asked", "room", "is_in_memory"), [("/tmp", 0, True), ("/tmp", 1 << 60, False), ("/var/tmp", 0, False)])
def test_data_are_in_memory_where_there_is_room_and_no_other_folder_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, room: int, is_in_memory: bool
) -> None:
    monkeypatch.setattr("tempfile.tempdir", asked)
    monkeypatch.setattr("services.running.MEMORY", tmp_path)
    monkeypatch.setattr("services.running.ROOM", room)

    assert place_of_data() == (tmp_path if is_in_memory else Path(asked))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts servers under another account; run: sudo make test")
def test_a_temporary_folder_that_is_closed_to_the_servers_is_named(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server_or_skip("postgresql", state)
    stop(None, state)
    tmp_path.chmod(0o700)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with pytest.raises(StartError) as raised:
        start(SERVERS["postgresql"], state)

    assert str(raised.value) == f"PostgreSQL 15 runs under an account that cannot enter {tmp_path}; try: TMPDIR=/tmp"


def processes_below(folder: Path) -> list[int]:
    """Return the processes whose working folder is below a folder, by their numbers."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = (process / "cwd").readlink()
        except OSError:
            continue
        if place.is_relative_to(folder) and Process.of(int(process.name)):
            found.append(int(process.name))
    return found
