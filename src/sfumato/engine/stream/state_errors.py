"""What the database of a state says when it fails, as one clear error: no space, nothing that can be reached, or damage.

Its own words may hold what is stored. A state is called damaged only where its content is: whoever is told so begins anew.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import UnreachableError

_NO_SPACE = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_DIR_FSYNC", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR_SHMSIZE")
_NOT_REACHED = ("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH", "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_NOMEM")
_ROOM = 1 << 16
"""With less than this the database cannot even say beside itself who reads it."""


def state_error(folder: Path, error: Exception, doing: str = "read or written") -> UnreachableError:
    """Return what is wrong with the state in a folder."""
    name = getattr(error, "sqlite_errorname", "") if isinstance(error, sqlite3.Error) else ""
    is_elsewhere = name.startswith(_NOT_REACHED)
    if name in _NO_SPACE or (is_elsewhere and _is_full(folder)):
        hint = "free some space, then run again: the stream goes on where it was"
        return UnreachableError(f"there is no space left to write the state in {folder}", code="disk-full", hint=hint)
    if is_elsewhere:
        hint = "look at the folder's permissions and at the disk, then run again; what the state holds was not changed"
        return UnreachableError(f"the system does not let the state in {folder} be {doing}", code="file-unreachable", hint=hint)
    return UnreachableError(
        f"the state in {folder} cannot be {doing}",
        code="stream-state-damaged",
        hint="put back a copy of it; a damaged state cannot be mended: name another state and another sink, and begin anew",
    )


@contextmanager
def sound(folder: Path) -> Iterator[None]:
    """Refuse what stands in a state and is not what was written there: whoever reads it finds no form for it."""
    try:
        yield
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise state_error(folder, error, "read") from None


def _is_full(folder: Path) -> bool:
    """Return whether the disk has no room for another file, or for something in it."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _ROOM or (disk.f_files > 0 and disk.f_favail == 0)
