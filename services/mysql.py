"""MySQL, which answers some statements otherwise than MariaDB. Only by name: it takes 60 MB of packages and half a gigabyte of memory."""

from __future__ import annotations

import platform
import signal
from dataclasses import dataclass
from pathlib import Path

from services import debian
from services.cache import FetchError
from services.mariadb import serving, users
from services.server import USER, Place, Programs, Recipe, Server, UnavailableError


@dataclass(frozen=True)
class MySQL(Server):
    """The version of Debian's unstable suite, with libraries of its own; which one that is changes."""

    name: str = "mysql"
    title: str = "MySQL 9"
    by_default: bool = False
    ready: str = "ready for connections"
    ending: signal.Signals = signal.SIGTERM

    def programs(self) -> Programs:
        """Return the programs of the package."""
        try:
            if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
                raise FetchError("its programs are for Linux on x86-64")
            tree = debian.tree(["mysql-server-core"], suite="sid")
        except FetchError as reason:
            raise UnavailableError(self.title, str(reason), "docker compose up mysql") from reason
        return Programs(tree / "usr", tree)

    def recipe(self, programs: Programs, place: Place) -> Recipe:
        """Return how to call it. The libraries of another suite work only with the loader that came with them."""
        libraries = programs.root / "lib" / "x86_64-linux-gnu"
        load = [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries), str(programs.root / "sbin" / "mysqld")]
        common = [*load, *_folders(programs.root, place)]
        return Recipe(
            files={"users.sql": users(place, "DELETE FROM mysql.user WHERE User = 'root';")},
            prepare=[[*common, "--initialize-insecure"]],
            serve=[*common, *serving(place), "--mysqlx=OFF"],
            url=f"mysql://{USER}:{place.password}@127.0.0.1:{place.port}/{USER}",
        )


def _folders(root: Path, place: Place) -> list[str]:
    share = root / "share" / "mysql"
    return [
        "--no-defaults",
        f"--datadir={place.folder}/data",
        f"--tmpdir={place.folder}",
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share}/charsets",
        f"--plugin-dir={root}/lib/mysql/plugin",
        "--secure-file-priv=",
    ]
