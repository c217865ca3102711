"""What a server is: programs that can be had, and how they are called."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

USER = "sfumato"


class UnavailableError(Exception):
    """A server that cannot be had here; the message says why, and which command would provide it."""

    def __init__(self, title: str, reason: str, command: str) -> None:
        super().__init__(f"{title} cannot be had: {reason}; this would provide it: {command}")


@dataclass(frozen=True)
class Programs:
    """Where the programs of a server are: ``root`` holds its folder ``bin``, ``tree`` everything that belongs to them.

    ``tree`` is None for what the system has installed.
    """

    root: Path
    tree: Path | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The libraries that came with the programs."""
        folders = [] if self.tree is None else sorted(map(str, self.tree.glob("usr/lib/*-linux-gnu*")))
        return {"LD_LIBRARY_PATH": ":".join(folders)} if folders else {}

    def moved(self, tree: Path) -> Programs:
        """Return the same programs in another place."""
        return self if self.tree is None else Programs(tree / self.root.relative_to(self.tree), tree)


@dataclass(frozen=True)
class Place:
    """What a server is given: a folder of its own, a loopback port, and the password of its one user."""

    folder: Path
    port: int
    password: str


@dataclass(frozen=True)
class Recipe:
    """How a server is called: files to write, commands that make its data, the command that serves."""

    files: Mapping[str, str]
    prepare: Sequence[Sequence[str]]
    serve: Sequence[str]
    url: str
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Server(ABC):
    """A kind of server. ``ready`` is what its log says once it answers, ``ending`` the signal that ends it in good order."""

    name: str
    title: str
    ready: str
    ending: signal.Signals
    by_default: bool = True

    @abstractmethod
    def programs(self) -> Programs:
        """Return its programs, fetched where need be, or raise :class:`UnavailableError`."""

    @abstractmethod
    def recipe(self, programs: Programs, place: Place) -> Recipe:
        """Return how to call them."""
