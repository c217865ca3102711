"""A staged folder: filled under a hidden private name beside its final place, under a lock, then renamed to it in one step.

No system call replaces a folder that holds something. Where the system can exchange two names, the old folder and the new one change
places at once; elsewhere there is a moment between two renames, and the next writer puts the old folder back should the first have died
in it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.core.files import file_errors, unreachable
from sfumato.core.staging import staging_name, sync_folder
from sfumato.errors import UnreachableError

_HERE = -100
_EXCHANGE = 2


class StagedFolder:
    """One folder that nobody can see before ``publish``."""

    def __init__(self, target: str, keep: bool = False) -> None:
        """Take the folder, empty, or on request with what a run that died has left in it."""
        self.target, self._keep = Path(target), keep
        self.path = staging_name(self.target)
        self._old = self.path.with_name(f"{self.path.name}-old")
        with file_errors(self.target.parent, "made"):
            self.target.parent.mkdir(parents=True, exist_ok=True)
        with file_errors(self.target, "written"):
            self._lock: int | None = self._open()
            self._settle()

    def publish(self) -> None:
        """Rename the folder to its final name, in place of what was there before."""
        with self.errors():
            self.path.chmod(self._permissions())
            sync_folder(self.path)
            if self.target.exists():
                if exchange(self.path, self.target):
                    self.path.rename(self._old)
                else:
                    self.target.rename(self._old)
                    self.path.rename(self.target)
            else:
                self.path.rename(self.target)
            sync_folder(self.target.parent)
        shutil.rmtree(self._old, ignore_errors=True)
        self._unlock()

    def abort(self) -> None:
        """Leave nothing behind."""
        if self._lock is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            self._unlock()

    def leave(self) -> None:
        """Let others have it as it is."""
        self._unlock()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn a failed write into one clear error, and leave nothing behind."""
        try:
            yield
        except OSError as error:
            self.abort()
            raise unreachable(self.target, error, "written") from None

    def _open(self) -> int:
        """Make the private folder, empty, and lock it."""
        while True:
            if self.path.is_symlink() or (self.path.exists() and (not self.path.is_dir() or self.path.stat().st_uid != os.getuid())):
                # somebody has put something else under the private name: that is not to be written to
                self.path.unlink()
            self.path.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(handle)
                raise UnreachableError(
                    f"another run is writing {self.target}",
                    code="sink-busy",
                    hint="wait until it has ended, or name another sink",
                ) from None
            # between opening and locking the name may have moved on to the published folder: never touch that
            if self.path.exists() and os.path.samestat(os.fstat(handle), self.path.stat()):
                os.fchmod(handle, 0o700)
                for child in [] if self._keep else self.path.iterdir():
                    _remove(child)
                return handle
            os.close(handle)

    def _settle(self) -> None:
        """Finish what a run that died between two renames has left."""
        if self._old.exists() and not self.target.exists():
            self._old.rename(self.target)
        shutil.rmtree(self._old, ignore_errors=True)

    def _permissions(self) -> int:
        if self.target.exists():
            return self.target.stat().st_mode & 0o777
        mask = os.umask(0)
        os.umask(mask)
        return 0o777 & ~mask

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def exchange(one: Path, other: Path) -> bool:
    """Let two names change places in one step; return False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
