"""A staged file: written under a hidden private name beside its final place, under a lock, then renamed over it in one step."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sfumato.core.files import file_errors, unreachable
from sfumato.errors import UnreachableError


class StagedFile:
    """One file that nobody can see before ``publish``."""

    def __init__(self, target: str) -> None:
        self.target = Path(target)
        with file_errors(self.target, "written"):
            if self.target.is_dir():
                raise UnreachableError(f"{target} is a folder", code="file-is-folder", hint="name a file")
            if self.target.exists() and not self.target.is_file():
                raise UnreachableError(f"{target} is a pipe or a device", code="file-not-regular", hint="name a file")
        self.path = staging_name(self.target)
        with file_errors(self.target.parent, "made"):
            self.target.parent.mkdir(parents=True, exist_ok=True)
        with file_errors(self.target, "written"):
            self.file = self._open()

    def write(self, data: bytes | memoryview) -> None:
        """Write further bytes."""
        with self.errors():
            self.file.write(data)

    def sync(self) -> None:
        """Bring everything to the disk."""
        with self.errors():
            self.file.flush()
            os.fsync(self.file.fileno())

    def publish(self) -> None:
        """Rename the file to its final name, in place of what was there before."""
        with self.errors():
            self.file.flush()
            os.fchmod(self.file.fileno(), self._permissions())
            os.fsync(self.file.fileno())
            self.path.replace(self.target)
            sync_folder(self.target.parent)
            self.file.close()

    def abort(self) -> None:
        """Leave nothing behind."""
        if not self.file.closed:
            self.path.unlink(missing_ok=True)
            # a full disk can make the last flush fail: what was to be written is being thrown away
            try:
                self.file.close()
            except OSError:
                os.close(os.open(os.devnull, os.O_RDONLY))

    def _open(self) -> IO[bytes]:
        while True:
            file = os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b", buffering=1 << 20)
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or status.st_uid != os.getuid():
                # somebody has put another file under the private name: that is not to be written to
                file.close()
                self.path.unlink(missing_ok=True)
                continue
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                raise UnreachableError(
                    f"another run is writing {self.target}",
                    code="sink-busy",
                    hint="wait until it has ended, or name another sink",
                ) from None
            # between opening and locking the name may have moved on to the published file: never touch that
            if self.path.exists() and os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                os.fchmod(file.fileno(), 0o600)
                file.truncate(0)
                return file
            file.close()

    def _permissions(self) -> int:
        if self.target.exists():
            return self.target.stat().st_mode & 0o777
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask

    @contextmanager
    def errors(self, abort: Callable[[], None] | None = None) -> Iterator[None]:
        """Turn a failed write into one clear error, and leave nothing behind."""
        try:
            yield
        except OSError as error:
            (abort or self.abort)()
            raise unreachable(self.target, error, "written") from None


def staging_name(target: Path) -> Path:
    """Return the hidden name under which a file is written before it is published."""
    return target.parent / f".{target.name}.sfumato"


def sync_folder(path: Path) -> None:
    """Bring a rename within a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
