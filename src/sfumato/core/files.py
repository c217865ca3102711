"""Files as sources and sinks see them: paths of a policy, tokens of their state, errors without cell values."""

from __future__ import annotations

import errno
import os
import re
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

from sfumato.errors import DataError, UnreachableError

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


def _resolve(path: str, info: ValidationInfo) -> str:
    folder = (info.context or {}).get("folder") if isinstance(info.context, dict) else None
    return str(Path(folder) / path) if folder else path


PolicyPath = Annotated[str, AfterValidator(_resolve)]
"""A path as a policy writes it: relative to the policy's own folder."""


def _resolve_unless_uri(path: str, info: ValidationInfo) -> str:
    return path if _URI.match(path) else _resolve(path, info)


PlacePath = Annotated[str, AfterValidator(_resolve_unless_uri)]
"""A path as a policy writes it, which may also be one of another file system, with its scheme: ``hdfs://node/people``."""


def state_of(path: str | Path) -> str:
    """Return a token that changes when the file does."""
    status = refuse_pipes(path)
    return f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"


def status_of(path: str | Path) -> os.stat_result | None:
    """Return the status of what is at a path, None where nothing is; what the system does not let us see is an error, and not absent."""
    with file_errors(path):
        try:
            return Path(path).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None


def is_regular(path: str | Path) -> bool:
    """Return whether a file is at a path, and no folder, pipe or device."""
    status = status_of(path)
    return status is not None and stat.S_ISREG(status.st_mode)


def refuse_pipes(path: str | Path) -> os.stat_result:
    """Return the status of a file; refuse what would be waited for without end."""
    with file_errors(path):
        status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise UnreachableError(f"{path} is a pipe or a device", code="file-not-regular", hint="write its content to a file first")
    return status


def others_may(status: os.stat_result) -> str | None:
    """Return what others than its owner may do with a file, as a verb; None where they may do nothing, or the system does not say.

    >>> [others_may(os.stat_result((0o100000 | mode, *[0] * 9))) for mode in (0o600, 0o640, 0o620, 0o666, 0o601)]
    [None, 'read', 'write', 'read and write', 'run']
    """
    if os.name != "posix":
        return None
    ways = {"read": 0o044, "write": 0o022} if status.st_mode & 0o066 else {"run": 0o011}
    return " and ".join(way for way, bits in ways.items() if status.st_mode & bits) or None


@contextmanager
def unchanged(path: str | Path) -> Iterator[None]:
    """Refuse what was read from a file that somebody wrote to meanwhile."""
    before = state_of(path)
    yield
    if state_of(path) != before:
        raise source_changed(str(path))


def source_changed(name: str) -> DataError:
    """Return the error for a source that did not stay the same from the first read to the last."""
    return DataError(
        f"{name} changed while it was read; nothing has been published",
        code="source-changed",
        hint="run again when nothing writes to it, or on a copy",
    )


@contextmanager
def file_errors(path: str | Path, doing: str = "read", start: str = "the policy file") -> Iterator[None]:
    """Turn what the operating system says about a file into one clear error.

    ``doing`` is read, written or, of a folder, made; ``start`` is where a relative path begins.
    """
    try:
        yield
    except OSError as error:
        raise unreachable(path, error, doing, start) from None
    except (ValueError, UnicodeError) as error:
        if "null" not in str(error) and not isinstance(error, UnicodeEncodeError):
            raise
        raise UnreachableError("a path holds characters that no file name has", code="file-unreachable", hint="look at the path") from None


def to_utf8(path: str | Path, encoding: str = "latin1") -> str:
    """Return the command that converts a file to UTF-8.

    >>> to_utf8("data/old.csv")
    'iconv -f latin1 -t utf-8 data/old.csv > old.utf-8.csv'
    """
    ending = Path(path).suffix
    # not beside it: a folder or a pattern would then read both
    converted = f"{Path(path).stem}.utf-8{ending}"
    return f"iconv -f {encoding} -t utf-8 {shlex.quote(str(path))} > {shlex.quote(converted)}"


def unreachable(path: str | Path, error: OSError, doing: str, start: str = "the policy file") -> UnreachableError:
    """Return the error for a file that cannot be read or written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return UnreachableError(
            f"there is no space left to write {path}; nothing has been published",
            code="disk-full",
            hint="free some space or choose another place, then run again",
        )
    if isinstance(error, FileNotFoundError) and doing != "read":
        return _no_folder(Path(path), doing)
    if isinstance(error, FileNotFoundError):
        # a path of a policy file has become absolute by now
        start = start if Path(path).is_absolute() else "the current folder"
        return UnreachableError(f"{path} is not there", code="file-missing", hint=f"look at the path; it is relative to {start}")
    if isinstance(error, IsADirectoryError) or (error.errno is None and Path(path).is_dir()):
        return UnreachableError(f"{path} is a folder", code="file-is-folder", hint="name a file")
    if isinstance(error, PermissionError):
        return UnreachableError(
            f"{path} may not be {doing}",
            code="file-permission",
            hint="ask for the permission, or name another file",
        )
    reason = os.strerror(error.errno).lower() if error.errno else "the system refused it"
    return UnreachableError(
        f"{path} cannot be {doing}: {reason}",
        code="file-unreachable",
        hint="look at the path and the disk",
    )


def _no_folder(path: Path, doing: str) -> UnreachableError:
    """Return the error for a file that has no folder, or for a folder that cannot be made."""
    if doing == "made":
        what = f"the folder {path} cannot be made"
    elif path.parent.is_dir():
        what = f"no file can be made in the folder {path.parent}"
    else:
        what = f"the folder {path.parent} is not there"
    return UnreachableError(what, code="file-missing", hint="make the folder first, or name a file in another one")
