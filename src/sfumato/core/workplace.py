"""Workplace: the private folder of one run, which the next start clears away should this one die.

A lock on the folder tells the living from the dead. What a run writes elsewhere under a private name (the staged release beside its
sink) is noted in the folder's journal before the first byte, so that nothing half written outlives the next start.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from sfumato.core import places
from sfumato.core.files import file_errors

_BEING_MADE = 60.0


@dataclass(frozen=True)
class _Journal:
    """Private files elsewhere; and of each release that is being published, its staged record, where that goes, and its staged rows."""

    staging: list[str]
    publishing: list[list[str]]


class Workplace:
    """A private folder for one run.

    >>> with Workplace() as workplace:
    ...     folder = workplace.folder
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """

    def __init__(self) -> None:
        base = places.folder("work")
        with file_errors(base, "written"):
            _clear_dead(base)
            self.folder = base / secrets.token_hex(8)
            self.folder.mkdir(mode=0o700)
            # locked before it has its name: another start would take what has a lock that nobody holds for dead
            self._lock = _lock(self.folder / "lock.new")
            (self.folder / "lock.new").rename(self.folder / "lock")
        self._journal = _Journal([], [])

    def __enter__(self) -> Workplace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def note(self, staging: list[str]) -> None:
        """Write down private files elsewhere, before anything is written to them."""
        self._journal.staging.extend(str(Path(path).resolve()) for path in staging)
        self._write_journal()

    def note_publishing(self, record: str, target: str, rows: list[str]) -> None:
        """Write down that a staged release, ``rows``, is about to be renamed, and after it its record to ``target``."""
        self._journal.publishing.append([str(Path(path).resolve()) for path in (record, target, *rows)])
        self._write_journal()

    def _write_journal(self) -> None:
        path = self.folder / "journal"
        with (
            file_errors(path, "written"),
            os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file,
        ):
            json.dump(asdict(self._journal), file)
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        """Remove the folder."""
        _remove(self.folder)
        if self._lock is not None:
            self._lock.close()


def _clear_dead(base: Path) -> None:
    """Remove what runs have left behind that did not end."""
    for folder in base.iterdir():
        if not (folder / "lock").exists():
            _remove_if_old(folder)
            continue
        lock = _lock(folder / "lock")
        if lock is not None:
            # another start may be clearing the same folder
            with contextlib.suppress(FileNotFoundError):
                _settle(_read_journal(folder))
                _remove(folder)
            lock.close()


def _remove(folder: Path) -> None:
    """Remove a work folder, its lock last: whoever dies within leaves what the next start can tell to be dead."""
    for path in folder.iterdir() if folder.exists() else ():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != "lock":
            path.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_if_old(folder: Path) -> None:
    """Remove a folder without a lock, unless a run may just be making it."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if time.time() - folder.stat().st_mtime > _BEING_MADE:
            shutil.rmtree(folder, ignore_errors=True)


def _settle(journal: _Journal) -> None:
    """Finish a release whose rows were published when its run died before the record was; remove all else."""
    for paths in journal.publishing:
        record, target, *rows = map(Path, paths)
        if record.exists() and not any(path.exists() for path in rows):
            record.replace(target)
    for path in journal.staging:
        remove_staging(Path(path))


def _read_journal(folder: Path) -> _Journal:
    try:
        found = json.loads((folder / "journal").read_text())
        return _Journal(list(found["staging"]), [[*paths] for paths in found["publishing"]])
    except (OSError, ValueError, KeyError, TypeError):
        return _Journal([], [])


def remove_staging(path: Path) -> None:
    """Remove a staged file or folder unless a living run is writing it."""
    if path.is_dir() and not path.is_symlink():
        _remove_staged_folder(path)
        return
    lock = _lock(path) if path.exists() else None
    if lock is not None:
        path.unlink(missing_ok=True)
        lock.close()


def _remove_staged_folder(path: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(handle)


def _lock(path: Path) -> IO[bytes] | None:
    """Return the file, locked for us alone; None where somebody else has it."""
    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b")
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
