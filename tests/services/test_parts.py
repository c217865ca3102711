"""The parts that servers are started with: processes, ports, accounts, the cache."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from services.account import Account
from services.cache import FetchError, cache_folder, cached, run
from services.ports import HIGHEST, LOWEST, free_port
from services.processes import Process
from services.server import Programs


def test_a_process_with_the_number_of_an_earlier_one_is_another() -> None:
    ourselves = Process.of(os.getpid())

    assert ourselves is not None
    assert ourselves.alive
    assert not ourselves._replace(began=ourselves.began - 1).alive


def test_only_the_process_that_was_meant_is_ended() -> None:
    # commands that other tests of this process have run leave signals ignored, and children inherit that
    program = "import signal; signal.signal(signal.SIGTERM, signal.SIG_DFL); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        meant = Process.of(other.pid)
        assert meant is not None

        meant._replace(began=meant.began - 1).end(signal.SIGKILL)

        assert meant.alive
        meant.end(signal.SIGTERM)
        assert not meant.alive
    assert other.returncode == -signal.SIGTERM


def test_a_process_that_does_not_listen_is_ended_by_force() -> None:
    program = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as deaf:
        assert deaf.stdout is not None
        deaf.stdout.readline()
        process = Process.of(deaf.pid)
        assert process is not None

        process.end(signal.SIGTERM, seconds=0.1)

        assert not process.alive
    assert deaf.returncode == -signal.SIGKILL


def test_a_free_port_can_be_listened_on_and_is_below_those_of_the_system() -> None:
    port = free_port()

    assert LOWEST <= port <= HIGHEST < 32768
    with closing(socket.socket()) as server:
        server.bind(("127.0.0.1", port))


def test_an_account_reaches_only_what_is_open_to_all(tmp_path: Path) -> None:
    closed = tmp_path / "closed" / "inner"
    closed.mkdir(parents=True)
    closed.parent.chmod(0o700)

    assert not Account(65534, 65534).reaches(closed)
    assert Account(65534, 65534).reaches(Path("/usr"))
    assert Account().reaches(closed)


def test_what_was_filled_once_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = cached("things", lambda place: (place / "thing").touch())

    again = cached("things", lambda place: pytest.fail("filled twice"))

    assert again == folder == tmp_path / "sfumato-services" / "things"
    assert (folder / "thing").exists()


def test_what_was_filled_half_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def half(place: Path) -> None:
        (place / "thing").touch()
        raise FetchError("the network is gone")

    with pytest.raises(FetchError):
        cached("things", half)

    assert list(cache_folder().iterdir()) == []


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo warning >&2; echo 'E: no such package' >&2; echo more >&2; exit 1", "sh failed (E: no such package)"),
        ("printf '\\033[1m[ERROR] gone\\033[m\\n'; exit 1", "sh failed ([ERROR] gone)"),
        ("echo first; echo last; exit 3", "sh failed (last)"),
        ("exit 1", "sh failed"),
        ("sleep 5", "sh had not ended after 1 seconds"),
    ],
)
def test_a_command_that_fails_gives_one_reason(script: str, reason: str) -> None:
    with pytest.raises(FetchError) as raised:
        run(["sh", "-c", script], seconds=1 if "sleep" in script else 60)

    assert str(raised.value) == reason


def test_programs_that_are_moved_keep_their_place_in_the_tree(tmp_path: Path) -> None:
    (tmp_path / "new" / "usr" / "lib" / "x86_64-linux-gnu").mkdir(parents=True)
    programs = Programs(tmp_path / "old" / "usr", tmp_path / "old")

    moved = programs.moved(tmp_path / "new")

    assert moved.root == tmp_path / "new" / "usr"
    assert moved.environment == {"LD_LIBRARY_PATH": str(tmp_path / "new" / "usr" / "lib" / "x86_64-linux-gnu")}
    assert Programs(Path("/usr")).moved(tmp_path) == Programs(Path("/usr"))
