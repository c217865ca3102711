"""Downloads are kept, so that only the first start needs a network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


class FetchError(Exception):
    """Something could not be fetched; the message is the reason, without an end."""


def cache_folder() -> Path:
    """Return the folder of downloads, ``sfumato-services`` below the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache") / "sfumato-services"


def cached(name: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder of that name in the cache, filled the first time. What was filled only half is not kept."""
    folder = cache_folder() / name
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent, prefix="unfinished-"))
    try:
        fill(unfinished)
        unfinished.chmod(0o755)
        try:
            unfinished.rename(folder)
        except OSError:
            # another project has filled it meanwhile
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def run(command: Sequence[str], *, environment: Mapping[str, str] | None = None, seconds: float = 300) -> str:
    """Run a command that fetches or unpacks, and return what it printed."""
    program = shutil.which(command[0])
    if program is None:
        raise FetchError(f"there is no {command[0]} on this machine")
    try:
        ended = subprocess.run(
            [program, *command[1:]],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
        )
    except subprocess.TimeoutExpired as late:
        raise FetchError(f"{command[0]} had not ended after {seconds:.0f} seconds") from late
    if ended.returncode:
        raise FetchError(f"{command[0]} failed{_first_error(ended.stderr + ended.stdout)}")
    return ended.stdout


def _first_error(printed: str) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E:", "[ERROR]"))] or lines[-1:]
    return f" ({errors[0][:200]})" if errors else ""
