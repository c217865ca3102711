"""Folders that Spark and we both see: of this machine, or of a Hadoop file system, which alone knows how to rename in one step.

What is written meanwhile lies in a hidden folder for its owner only, beside the place that it will take.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from sfumato.core.files import file_errors
from sfumato.core.staged_folder import StagedFolder
from sfumato.core.staging import staging_name
from sfumato.databases.spark_session import spark_errors
from sfumato.errors import UnreachableError, UsageError

_ATOMIC = ("hdfs", "viewfs", "abfs", "abfss")
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
_OPEN = 0o777
_SMALL = 1 << 16
_TAKEN = "_taken"


class Private(Protocol):
    """A folder for its owner only, and for one run at a time."""

    @property
    def uri(self) -> str:
        """Where it is, as Spark calls it."""
        ...

    def close(self) -> None:
        """Remove it."""
        ...

    def leave(self) -> None:
        """Let others have it, with what is in it."""
        ...


class Files(Protocol):
    """What a file system does for us."""

    def private(self, target: str, keep: bool = False) -> Private:
        """Make the hidden folder beside a place, empty unless what a dead run has left is to be kept; refuse where another run has it."""
        ...

    def has_left(self, target: str) -> bool:
        """Return whether there may be a hidden folder beside a place that a dead run has left; nothing is made."""
        ...

    def read(self, path: str) -> str | None:
        """Return the text of a small file; None where there is none."""
        ...

    def write(self, path: str, text: str) -> None:
        """Put a small file in the place of another in one step."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return what is in a folder; nothing where there is none."""
        ...

    def is_file(self, path: str) -> bool:
        """Return whether a path is that of a file."""
        ...

    def move(self, folder: str, target: str) -> None:
        """Rename a folder to a place where nothing is, making those above, and let others read it as the system lets them."""
        ...

    def take(self, local: str, target: str) -> None:
        """Copy a file of this machine into a folder, which is made."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file or a folder."""
        ...


def files_of(session: Any, path: str) -> tuple[Files, str]:
    """Return the file system of a path, and the whole path, as Spark calls it."""
    with spark_errors(path):
        found = session._jvm.org.apache.hadoop.fs.Path(path)
        system = found.getFileSystem(session._jsc.hadoopConfiguration())
        uri = str(system.makeQualified(found).toString())
    scheme = uri.partition(":")[0]
    if scheme == "file":
        return LocalFiles(), uri
    if scheme in _ATOMIC:
        return HadoopFiles(session), uri
    raise UsageError(
        f"no release can be put on a file system that does not rename in one step, {scheme}",
        code="spark-files",
        hint=f"a path on this machine or on {', '.join(_ATOMIC)}; or a table of a catalogue",
    )


def is_uri(path: str) -> bool:
    """Return whether a path says its file system.

    >>> is_uri("hdfs://node/people"), is_uri("data/people.parquet")
    (True, False)
    """
    return _URI.match(path) is not None


def local_path(uri: str) -> Path:
    """Return the path of a place on this machine.

    >>> str(local_path("file:/data/a b"))
    '/data/a b'
    """
    return Path("/" + uri.removeprefix("file:").lstrip("/"))


class LocalFiles:
    """Files of this machine, or of a disk that all machines share."""

    def private(self, target: str, keep: bool = False) -> Private:
        """Make the hidden folder, under a lock that ends with the process."""
        return LocalPrivate(StagedFolder(str(local_path(target)), keep))

    def has_left(self, target: str) -> bool:
        """Look for it."""
        return staging_name(local_path(target)).is_dir()

    def read(self, path: str) -> str | None:
        """Return the text of a small file; None where there is none."""
        place = local_path(path)
        with file_errors(place):
            return place.read_text("utf-8", errors="replace") if place.is_file() else None

    def write(self, path: str, text: str) -> None:
        """Write it under another name, and rename that."""
        place = local_path(path)
        beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        with file_errors(place, "written"):
            try:
                with beside.open("x", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                beside.replace(place)
            finally:
                beside.unlink(missing_ok=True)
            _sync(place.parent)

    def names(self, folder: str) -> list[str]:
        """Return what is in a folder."""
        place = local_path(folder)
        with file_errors(place):
            return sorted(found.name for found in place.iterdir()) if place.is_dir() else []

    def is_file(self, path: str) -> bool:
        """Return whether a path is that of a file."""
        with file_errors(local_path(path)):
            return local_path(path).is_file()

    def move(self, folder: str, target: str) -> None:
        """Bring everything to the disk, and rename the folder."""
        old, new = local_path(folder), local_path(target)
        with file_errors(new, "written"):
            for path in old.iterdir():
                _sync(path)
            new.parent.mkdir(parents=True, exist_ok=True)
            mask = os.umask(0)
            os.umask(mask)
            for path in old.iterdir():
                path.chmod(0o666 & ~mask)
            old.chmod(_OPEN & ~mask)
            old.rename(new)
            _sync(new.parent)

    def take(self, local: str, target: str) -> None:
        """Rename the file: it is on the same machine."""
        new = local_path(target)
        with file_errors(new, "written"):
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(local, new)

    def remove(self, path: str) -> None:
        """Remove a file or a folder."""
        place = local_path(path)
        shutil.rmtree(place, ignore_errors=True)
        with suppress(OSError):
            place.unlink(missing_ok=True)


class LocalPrivate:
    """A hidden folder of this machine."""

    def __init__(self, folder: StagedFolder) -> None:
        self._folder = folder
        self.uri = f"file:{folder.path.absolute()}"

    def close(self) -> None:
        """Remove it, and let others begin."""
        self._folder.abort()

    def leave(self) -> None:
        """Let others have it, with what is in it."""
        self._folder.leave()


class HadoopFiles:
    """Files of a Hadoop file system, reached by the driver of Spark."""

    def __init__(self, session: Any) -> None:
        self._session, self._hadoop = session, session._jvm.org.apache.hadoop.fs

    def private(self, target: str, keep: bool = False) -> Private:
        """Make the hidden folder; a file in it says that somebody has it. Nothing is kept: whose it was may still write to it."""
        del keep
        above, _, name = target.rstrip("/").rpartition("/")
        return HadoopPrivate(self, f"{above}/.{name}.sfumato", target)

    def has_left(self, target: str) -> bool:
        """Say no: nothing is kept."""
        del target
        return False

    def read(self, path: str) -> str | None:
        """Return the text of a small file; None where there is none."""
        with spark_errors(path):
            system, place = self._at(path)
            if not system.exists(place):
                return None
            stream = system.open(place)
            try:
                return bytes(stream.readNBytes(_SMALL)).decode("utf-8", errors="replace")
            finally:
                stream.close()

    def write(self, path: str, text: str) -> None:
        """Write it under another name, and rename that over it."""
        above, _, name = path.rpartition("/")
        beside = f"{above}/.{name}.{secrets.token_hex(4)}"
        self.create(beside, text)
        with spark_errors(path):
            system, place = self._at(path)
            kinds = self._hadoop.Options.Rename
            options = self._session.sparkContext._gateway.new_array(kinds, 1)
            options[0] = kinds.OVERWRITE
            context = self._hadoop.FileContext.getFileContext(system.getUri(), self._session._jsc.hadoopConfiguration())
            context.rename(self._at(beside)[1], place, options)

    def create(self, path: str, text: str) -> bool:
        """Write a file, and return whether there was none."""
        with spark_errors(path):
            system, place = self._at(path)
            if system.exists(place):
                return False
            stream = system.create(place, False)
            try:
                stream.write(bytearray(text.encode()))
            finally:
                stream.close()
            return True

    def make(self, folder: str) -> None:
        """Make a folder for its owner only."""
        with spark_errors(folder):
            system, place = self._at(folder)
            system.mkdirs(place)
            system.setPermission(place, self._hadoop.permission.FsPermission("700"))

    def names(self, folder: str) -> list[str]:
        """Return what is in a folder."""
        with spark_errors(folder):
            system, place = self._at(folder)
            return sorted(str(found.getPath().getName()) for found in system.listStatus(place)) if system.exists(place) else []

    def is_file(self, path: str) -> bool:
        """Return whether a path is that of a file."""
        with spark_errors(path):
            system, place = self._at(path)
            return bool(system.exists(place) and system.getFileStatus(place).isFile())

    def move(self, folder: str, target: str) -> None:
        """Rename the folder; who may read it is what the folder above says."""
        with spark_errors(target):
            system, new = self._at(target)
            system.mkdirs(new.getParent())
            if not system.rename(self._at(folder)[1], new):
                raise UnreachableError(f"{target} cannot be written: the file system refused it", code="file-unreachable", hint="look at the path")

    def take(self, local: str, target: str) -> None:
        """Copy the file."""
        with spark_errors(target):
            system, new = self._at(target)
            system.mkdirs(new.getParent())
            system.copyFromLocalFile(False, True, self._hadoop.Path(f"file:{local}"), new)

    def remove(self, path: str) -> None:
        """Remove a file or a folder."""
        with spark_errors(path):
            system, place = self._at(path)
            system.delete(place, True)

    def _at(self, path: str) -> tuple[Any, Any]:
        place = self._hadoop.Path(path)
        return place.getFileSystem(self._session._jsc.hadoopConfiguration()), place


class HadoopPrivate:
    """A hidden folder of a Hadoop file system. Nobody there tells the living from the dead: who finds it taken is told how to free it."""

    def __init__(self, files: HadoopFiles, uri: str, target: str) -> None:
        self._files, self.uri = files, uri
        files.make(uri)
        if not files.create(f"{uri}/{_TAKEN}", ""):
            raise UnreachableError(
                f"another run is writing {target}", code="sink-busy", hint=f"wait until it has ended; if it has died, remove {uri}"
            )
        for name in files.names(uri):
            if name != _TAKEN:
                files.remove(f"{uri}/{name}")

    def close(self) -> None:
        """Remove it."""
        with suppress(UnreachableError):
            self._files.remove(self.uri)

    def leave(self) -> None:
        """Remove it: it was empty."""
        self.close()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
