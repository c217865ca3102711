"""Starting servers, finding them again, and ending them without a trace."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from services.account import Account
from services.ports import free_port
from services.processes import Process, Surroundings
from services.server import Place, Programs, Recipe, Server, UnavailableError
from services.state import STATE, Running, locked, read, write

PATIENCE = 90.0
PORT_TAKEN = "Address already in use"
# a table is made and dropped five times as fast there as on a disk that nothing else uses
MEMORY = Path("/dev/shm")  # noqa: S108 - what is made there has a random name and is closed
ROOM = 8 << 30


class StartError(Exception):
    """A server that was there but did not start; the message ends with what its log says."""


def start(server: Server, state: Path = STATE, *, user: Process | None = None, ports: Callable[[], int] = free_port) -> Running:
    """Return the server, started if it does not run. Without a user it is kept until it is stopped."""
    with locked(state):
        servers = read(state)
        known = servers.get(server.name)
        if known is None or not known.alive:
            if known is not None:
                _end(known)
            known = _begin_on_a_free_port(server, ports)
        servers[server.name] = known.used_by(user)
        try:
            write(state, servers)
        except BaseException:
            _end(known)
            raise
        return servers[server.name]


def stop(names: Iterable[str] | None = None, state: Path = STATE) -> list[Running]:
    """End those servers, or all, whoever uses them, and return them."""
    with locked(state):
        servers, wanted = read(state), None if names is None else set(names)
        ended = [servers.pop(name) for name in list(servers) if wanted is None or name in wanted]
        for server in ended:
            _end(server)
        write(state, servers)
    return ended


def leave(user: Process, state: Path = STATE) -> list[Running]:
    """Say that a user is done. Servers that nobody wants any more are ended, and returned."""
    with locked(state):
        servers = {name: server.left_by(user) for name, server in read(state).items()}
        ended = [server for server in servers.values() if not server.users and not server.kept]
        for server in ended:
            _end(server)
            del servers[server.name]
        write(state, servers)
    return ended


def place_of_data() -> Path:
    """Return where data are kept: in memory, where the machine has room there and programs may run from it, unless another folder is asked for."""
    chosen = Path(tempfile.gettempdir())
    if chosen != Path("/tmp") or not os.access(MEMORY, os.W_OK | os.X_OK):  # noqa: S108 - what is made there has a random name and is closed
        return chosen
    found = os.statvfs(MEMORY)
    return MEMORY if found.f_bavail * found.f_frsize >= ROOM and not found.f_flag & os.ST_NOEXEC else chosen


def _begin_on_a_free_port(server: Server, ports: Callable[[], int]) -> Running:
    """Start it; another program may take the port between the look and the start."""
    for _ in range(4):
        try:
            return _begin(server, ports())
        except StartError as failed:
            if PORT_TAKEN not in str(failed):
                raise
    return _begin(server, ports())


def _begin(server: Server, port: int) -> Running:
    if Process.of(os.getpid()) is None:
        raise UnavailableError(server.title, "servers are started on Linux only", f"docker compose up {server.name}")
    found = server.programs()
    account = Account.unprivileged()
    temporary = place_of_data()
    if not account.reaches(temporary):
        raise StartError(f"{server.title} runs under an account that cannot enter {temporary}; try: TMPDIR=/tmp")
    folder = Path(tempfile.mkdtemp(prefix=f"sfumato-{server.name}-", dir=temporary))
    try:
        account.give(folder)
        programs = _reachable(found, folder, account)
        recipe = server.recipe(programs, Place(folder, port, secrets.token_urlsafe(18)))
        return _serve(server, recipe, Surroundings(folder, account, recipe.environment))
    except BaseException:
        _remove(folder)
        raise


def _reachable(programs: Programs, folder: Path, account: Account) -> Programs:
    """Return the programs, copied where the cache is closed to the account of the servers, as that of root is."""
    if programs.tree is None or account.reaches(programs.tree):
        return programs
    shutil.copytree(programs.tree, folder / "programs", symlinks=True)
    return programs.moved(folder / "programs")


def _serve(server: Server, recipe: Recipe, surroundings: Surroundings) -> Running:
    folder = surroundings.folder
    for name, text in recipe.files.items():
        path = folder / name
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
        surroundings.account.give(path)
    for command in recipe.prepare:
        try:
            made = surroundings.run(command, PATIENCE)
        except subprocess.TimeoutExpired as late:
            raise StartError(f"{server.title} had not made its data after {PATIENCE:.0f} seconds") from late
        if made.returncode:
            raise StartError(f"{server.title} could not make its data: {_end_of(made.stdout + made.stderr)}")
    log = folder / "log"
    process = surroundings.launch(recipe.serve, log)
    try:
        _wait_until_ready(server, process, log)
    except BaseException:
        if process is not None:
            process.end(signal.SIGKILL)
        raise
    for name in recipe.files:
        (folder / name).unlink()
    assert process is not None  # noqa: S101
    return Running(server.name, recipe.url, process, server.ending, folder, log)


def _wait_until_ready(server: Server, process: Process | None, log: Path) -> None:
    limit = time.monotonic() + PATIENCE
    while True:
        # asked first: what a process wrote before it ended is then in the log
        alive = process is not None and process.alive
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        if alive and server.ready in text:
            return
        if not alive:
            raise StartError(f"{server.title} ended while it started: {_end_of(text)}")
        if time.monotonic() > limit:
            raise StartError(f"{server.title} was not ready after {PATIENCE:.0f} seconds: {_end_of(text)}")
        time.sleep(0.02)


def _end_of(text: str) -> str:
    return "\n  " + "\n  ".join(text.strip().splitlines()[-12:])


def _end(server: Running) -> None:
    server.process.end(server.ending)
    _remove(server.folder)


def _remove(folder: Path, seconds: float = 10) -> None:
    """Remove a folder in which the last processes of a server that was killed may still write."""
    limit = time.monotonic() + seconds
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=time.monotonic() < limit)
        if folder.exists():
            time.sleep(0.05)
