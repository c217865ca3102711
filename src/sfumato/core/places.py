"""The private places of an installation: its key, its records, its work in progress, its compiled kernels.

``SFUMATO_HOME`` names the folder; else it is ``sfumato`` in the user's state folder; where the home cannot be written, a private folder of
the user's in the system's temporary folder. Folders are 0700, files 0600.
"""

from __future__ import annotations

import atexit
import os
import re
import secrets
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from sfumato.errors import UnreachableError


def home() -> Path:
    """Return the private folder of this installation, made if it is not there."""
    return _home(os.environ.get("SFUMATO_HOME"), os.environ.get("XDG_STATE_HOME"), os.environ.get("HOME"))


def folder(name: str) -> Path:
    """Return a private folder within the installation's."""
    return _private(home() / name)


def kernel_cache() -> Path:
    """Return where compiled kernels are kept: ``SFUMATO_KERNELS``, so that installations can share them, or a folder of this one."""
    shared = os.environ.get("SFUMATO_KERNELS")
    path = _private(Path(shared)) if shared else folder("kernels")
    # numba makes the folders of each version itself, as the user's mask says
    atexit.register(_close_folders, path)
    return path


def installation_key() -> bytes:
    """Return the key under which data are fingerprinted; it is made at the first call and never leaves the installation."""
    path = home() / "key"
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
    except FileExistsError:
        pass
    key = path.read_bytes()
    if len(key) != 32:
        raise UnreachableError(
            "the installation's key is damaged",
            code="key-damaged",
            hint=f"remove {path}; fingerprints of earlier runs are lost",
        )
    return key


def _close_folders(path: Path) -> None:
    """Let only their owner enter the folders of kernels, which are named after a hash."""
    with suppress(OSError):
        for version in path.iterdir():
            if re.fullmatch("[0-9a-f]{16}", version.name) and version.is_dir():
                version.chmod(0o700)


@cache
def _home(chosen: str | None, state: str | None, user: str | None) -> Path:
    if chosen:
        return _private(Path(chosen))
    base = Path(state) if state else Path(user or "/nonexistent") / ".local" / "state"
    for candidate in (base / "sfumato", Path(tempfile.gettempdir()) / f"sfumato-{os.getuid()}"):
        try:
            return _private(candidate)
        except UnreachableError:
            continue
    raise UnreachableError("no private folder can be made", code="home-unwritable", hint="set SFUMATO_HOME to a folder that can be written")


def _private(path: Path) -> Path:
    """Make a folder that only its owner can enter; refuse one that belongs to somebody else."""
    try:
        if not path.exists():
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.chmod(0o700)
        status = path.lstat()
        # a folder that is there already is used as it is, unless others could exchange what is in it
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise OSError
        if not os.access(path, os.W_OK | os.X_OK):
            raise OSError
    except OSError as error:
        raise UnreachableError(
            f"the private folder {path} cannot be made or written, or others may write to it",
            code="home-unwritable",
            hint="set SFUMATO_HOME to a folder of your own that can be written",
        ) from error
    return path
