"""The state file: which servers run, so that a second start finds them and stop ends exactly those."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from services.processes import Process

# beside the project's files, and not one of them; another folder is another set of servers
STATE = Path(os.environ.get("SFUMATO_SERVICES") or Path(__file__).parent.parent / ".services")


@dataclass(frozen=True)
class Running:
    """A server that was started. ``users`` are the processes that asked for it; ``kept`` ones go on when the last of them leaves."""

    name: str
    url: str
    process: Process
    ending: signal.Signals
    folder: Path
    log: Path
    kept: bool = False
    users: frozenset[Process] = frozenset()

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.alive

    @property
    def shown_url(self) -> str:
        """The address without the password."""
        return self.url.replace(f":{urlsplit(self.url).password}@", ":***@")

    def used_by(self, user: Process | None) -> Running:
        """Return it with one more user; None is a person, who wants it kept."""
        return replace(self, kept=True) if user is None else replace(self, users=self.users | {user})

    def left_by(self, user: Process) -> Running:
        """Return it without that user, and without those that have ended."""
        return replace(self, users=frozenset(other for other in self.users if other != user and other.alive))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let only one process at a time start and stop servers."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read(folder: Path) -> dict[str, Running]:
    """Return the servers that were started, by name; some may have died since."""
    try:
        entries = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {entry["name"]: _from_json(entry) for entry in entries}


def write(folder: Path, servers: Mapping[str, Running]) -> None:
    """Write them down, for our own eyes only: addresses hold passwords."""
    unfinished = folder / "state.json.unfinished"
    unfinished.unlink(missing_ok=True)
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123  a path has no such mode
        json.dump([_to_json(server) for server in servers.values()], file, indent=2)
        file.write("\n")
    unfinished.replace(folder / "state.json")


def _to_json(server: Running) -> dict[str, object]:
    return {
        "name": server.name,
        "url": server.url,
        "pid": server.process.pid,
        "began": server.process.began,
        "ending": server.ending.name,
        "folder": str(server.folder),
        "log": str(server.log),
        "kept": server.kept,
        "users": sorted(server.users),
    }


def _from_json(entry: dict[str, object]) -> Running:
    users = entry["users"]
    assert isinstance(users, list)  # noqa: S101
    return Running(
        name=str(entry["name"]),
        url=str(entry["url"]),
        process=Process(int(str(entry["pid"])), int(str(entry["began"]))),
        ending=signal.Signals[str(entry["ending"])],
        folder=Path(str(entry["folder"])),
        log=Path(str(entry["log"])),
        kept=bool(entry["kept"]),
        users=frozenset(Process(*user) for user in users),
    )
