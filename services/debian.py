"""Packages of Debian, unpacked into a folder of their own.

apt-get fetches a package and what it needs with lists and a cache that are ours: no root is needed, nothing is installed, no service is started.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Sequence
from pathlib import Path

from services.cache import FetchError, cached, run


def tree(packages: Sequence[str], suite: str | None = None) -> Path:
    """Return a folder with the packages and all they need that is not installed; of another suite, with everything they need."""
    name = f"{packages[0]}-{suite or _release()}"
    return cached(name, lambda folder: _fill(folder, packages, suite))


def _release() -> str:
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        return "unknown"
    return f"{system['ID']}-{system.get('VERSION_ID', 'rolling')}"


def _fill(folder: Path, packages: Sequence[str], suite: str | None) -> None:
    work = folder / "apt"
    for name in ("lists/partial", "archives/partial", "parts"):
        (work / name).mkdir(parents=True)
    # nothing is locked, because no folder of the system is written
    options = [f"Dir::State::Lists={work}/lists", f"Dir::Cache={work}", f"Dir::Cache::archives={work}/archives", "Debug::NoLocking=1"]
    options += ["APT::Sandbox::User=root", "Acquire::http::Timeout=30", "Acquire::https::Timeout=30"]
    if suite is not None:
        options += _of_suite(work, suite)
    apt = ["apt-get", "-qq", *(part for option in options for part in ("-o", option))]
    run([*apt, "update"])
    run([*apt, "--yes", "--no-install-recommends", "--download-only", "install", *packages])
    _unpack(work / "archives", folder)
    shutil.rmtree(work)


def _of_suite(work: Path, suite: str) -> list[str]:
    """Return the options that see only that suite of Debian, and a machine on which nothing is installed."""
    (work / "sources.list").write_text(f"deb {_mirror()} {suite} main\n", encoding="utf-8")
    (work / "status").touch()
    return [f"Dir::Etc::SourceList={work}/sources.list", f"Dir::Etc::SourceParts={work}/parts", f"Dir::State::status={work}/status"]


def _mirror() -> str:
    """Return where this machine gets Debian from."""
    places = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]).split()
    mirrors = [place for place in places if place.rstrip("/").endswith("/debian")]
    if not mirrors:
        raise FetchError("apt-get knows no mirror of Debian")
    return mirrors[0]


def _unpack(archives: Path, folder: Path) -> None:
    found = sorted(archives.glob("*.deb"))
    if not found:
        raise FetchError("apt-get fetched nothing")
    for archive in found:
        run(["dpkg-deb", "--extract", str(archive), str(folder)])
