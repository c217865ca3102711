"""MariaDB as Debian has it."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from services import debian
from services.cache import FetchError
from services.server import USER, Place, Programs, Recipe, Server, UnavailableError

# A test's data may be lost with the machine; waiting for the disk would only cost time.
UNSAFE = ("--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=256M", "--skip-log-bin")


def serving(place: Place) -> list[str]:
    """Return the options of a server at that place; those of MySQL are the same."""
    return [
        f"--socket={place.folder}/socket",
        f"--pid-file={place.folder}/pid",
        f"--port={place.port}",
        "--bind-address=127.0.0.1",
        "--skip-name-resolve",
        "--local-infile=1",
        "--character-set-server=utf8mb4",
        f"--init-file={place.folder}/users.sql",
        *UNSAFE,
    ]


def users(place: Place, forget_root: str) -> str:
    """Return the statements, one a line, after which there is one user, who may do everything and has a password."""
    return "\n".join(
        [
            forget_root,
            "FLUSH PRIVILEGES;",
            f"CREATE DATABASE {USER};",
            f"CREATE USER '{USER}'@'%' IDENTIFIED BY '{place.password}';",
            f"GRANT ALL ON *.* TO '{USER}'@'%' WITH GRANT OPTION;",
            "",
        ]
    )


@dataclass(frozen=True)
class MariaDB(Server):
    """The version of Debian: the one that is installed, or its packages."""

    name: str = "mariadb"
    title: str = "MariaDB"
    by_default: bool = True
    ready: str = "ready for connections"
    ending: signal.Signals = signal.SIGTERM
    packages: Sequence[str] = ("mariadb-server-core", "mariadb-client-core")

    def programs(self) -> Programs:
        """Return the programs that are installed, or those of the packages."""
        if shutil.which("mariadb-install-db") and Path("/usr/sbin/mariadbd").exists():
            return Programs(Path("/usr"))
        try:
            tree = debian.tree(self.packages)
        except FetchError as reason:
            raise UnavailableError(self.title, str(reason), f"sudo apt-get install {' '.join(self.packages)}") from reason
        return Programs(tree / "usr", tree)

    def recipe(self, programs: Programs, place: Place) -> Recipe:
        """Return how to call it."""
        common = ["--no-defaults", f"--basedir={programs.root}", f"--datadir={place.folder}/data", f"--tmpdir={place.folder}"]
        make = [str(programs.root / "bin" / "mariadb-install-db"), *common, "--auth-root-authentication-method=normal", "--skip-test-db"]
        return Recipe(
            files={"users.sql": users(place, "DELETE FROM mysql.global_priv WHERE User = 'root';")},
            prepare=[[*make, "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0"]],
            serve=[str(programs.root / "sbin" / "mariadbd"), *common, *serving(place)],
            url=f"mariadb://{USER}:{place.password}@127.0.0.1:{place.port}/{USER}",
            environment=programs.environment,
        )
