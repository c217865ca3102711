"""Files that a stream writes: they only grow, and what was written beyond the last commit is cut off by the next start.

The release of a view is what its manifest lists: stretches of one file, or whole files of a folder, in order. A stretch is listed after the
transaction that makes it part of the release; should the process die in between, the next start lists it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.files import status_of
from sfumato.engine.stream.private_files import written_errors
from sfumato.engine.stream.run_journal import Segment
from sfumato.errors import DataError, UnreachableError

_PRIVATE, _SHARED = 0o600, 0o666


class GrowingFile:
    """A file whose first ``length`` bytes count, and which grows. One that others may see is locked, by whatever name somebody else opens it.

    ``refuse_longer`` is asked before anything is cut off: it raises where that was released.
    """

    def __init__(self, path: Path, length: int, private: bool = False, refuse_longer: Callable[[], None] | None = None) -> None:
        self.path, self.length, self._private = path, length, private
        with written_errors(path):
            if private:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                # one that was there before may be open to others
                path.parent.chmod(0o700)
            if length and status_of(path) is None:
                # one that is refused is not made anew
                raise shortened(path)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE if private else _SHARED)
            if not private:
                self._lock()
            found = os.fstat(self._file).st_size
            if found < length:
                os.close(self._file)
                raise shortened(path)
            if found > length:
                if refuse_longer is not None:
                    self._ask(refuse_longer)
                os.ftruncate(self._file, length)
                os.fsync(self._file)

    def _ask(self, refuse: Callable[[], None]) -> None:
        try:
            refuse()
        except DataError:
            os.close(self._file)
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            words, hint = f"another stream is writing {self.path}", "wait until it has ended, or name another sink"
            raise UnreachableError(words, code="sink-busy", hint=hint) from None

    def append(self, content: bytes | memoryview) -> None:
        """Write further bytes, which count when they are synced and committed."""
        with written_errors(self.path):
            if os.fstat(self._file).st_size < self.length:
                # what was written behind its end would stand behind a hole
                raise shortened(self.path)
            left, at = memoryview(content), self.length
            while left:
                written = os.pwrite(self._file, left, at)
                left, at = left[written:], at + written
        self.length = at

    def sync(self) -> None:
        """Bring everything to the disk, where those who read it look for it."""
        with written_errors(self.path):
            if not self._private and not self._is_in_place():
                raise moved_away(self.path)
            os.fsync(self._file)

    def _is_in_place(self) -> bool:
        found = status_of(self.path)
        return found is not None and os.path.samestat(found, os.fstat(self._file))

    def close(self) -> None:
        """Let go of it."""
        os.close(self._file)


class ForgottenFile:
    """In place of a file that somebody has deleted so that nobody may know what stood in it: it stays away."""

    def __init__(self, length: int) -> None:
        self.length = length

    def append(self, content: bytes | memoryview) -> None:
        """Write nothing."""

    def sync(self) -> None:
        """Nothing is to be brought to the disk."""

    def close(self) -> None:
        """Nothing was opened."""


def links_of(view: str) -> tuple[str, str]:
    """Return the private files of a view, which say what its rows are made of; whatever it is called, they are in one folder.

    >>> links_of("ward"), links_of("../a")[0]
    (('links/ward.rows', 'links/ward.references.jsonl'), 'links/..%2Fa.rows')
    """
    name = (view or "release").replace("%", "%25").replace("/", "%2F")
    return f"links/{name}.rows", f"links/{name}.references.jsonl"


def log_of(path: Path, length: int) -> GrowingFile | ForgottenFile:
    """Return a private file that may be deleted: the stream goes on without it."""
    return ForgottenFile(length) if length and status_of(path) is None else GrowingFile(path, length, private=True)


def shortened(path: Path) -> DataError:
    """Return the error for a file of a stream that somebody has changed."""
    return DataError(
        f"{path} is shorter than what the stream has written to it",
        code="stream-sink-shortened",
        hint="put back what was there, or name another state and another sink, and begin anew",
    )


def moved_away(path: Path) -> DataError:
    """Return the error for a file of a release that no longer stands where readers look for it."""
    return DataError(
        f"{path} was removed, or another file put in its place, while the stream wrote to it",
        code="stream-sink-shortened",
        hint="put back what was there, or name another state and another sink, and begin anew",
    )


def refuse_older_state(manifest: Path, committed: int, is_longer: bool) -> None:
    """Refuse to cut back what a newer state has released: a manifest is never ahead of its state, and nothing else is unless it was planned.

    Where somebody has removed the manifest, the rows themselves still tell.
    """
    with written_errors(manifest):
        listed = manifest.read_bytes().count(b"\n") if manifest.exists() else 0
    if listed > committed or is_longer:
        raise DataError(
            f"more has been released than the state knows of: {manifest} lists {listed}, the state {committed}"
            + (", and there are rows beyond that" if is_longer else ""),
            code="stream-state-older",
            hint="put back the newest state; to begin anew, name another sink, or remove this one with its manifest",
        )


@dataclass(frozen=True)
class Listed:
    """A line of a manifest: what every reader may know of a segment."""

    number: int
    segment: Segment

    def line(self) -> str:
        """Return the line."""
        told = {"segment": self.number, "file": self.segment.file, "from": self.segment.start, "to": self.segment.finish, "rows": self.segment.rows}
        return json.dumps(told, ensure_ascii=False) + "\n"


class Manifest:
    """The list of what a release consists of: a line a segment."""

    def __init__(self, path: Path, committed: Sequence[Segment]) -> None:
        lines = "".join(Listed(number, segment).line() for number, segment in enumerate(committed, start=1)).encode()
        self._number = len(committed)
        with written_errors(path):
            if path.is_symlink():
                # never written through: it may lead to a file of others
                path.unlink()
            known = path.read_bytes() if path.exists() else b""
            # a crash may have left it a line behind, or half of one; what somebody has changed is replaced
            keep = len(lines) if known[: len(lines)] == lines else 0
            if 0 < len(known) < len(lines) and lines.startswith(known):
                keep = len(known)
        self._file = GrowingFile(path, keep)
        if keep < len(lines):
            self._file.append(lines[keep:])
            self._file.sync()

    def list(self, segments: Sequence[Segment]) -> None:
        """List further segments, which have been committed."""
        lines = [Listed(number, segment).line() for number, segment in enumerate(segments, start=self._number + 1)]
        self._file.append("".join(lines).encode())
        self._file.sync()
        self._number += len(segments)

    def close(self) -> None:
        """Let go of it."""
        self._file.close()


class SegmentFolder:
    """A folder of files, one a segment, for formats whose files cannot grow."""

    def __init__(self, path: Path, committed: Sequence[Segment], ending: str) -> None:
        self.path, self._ending, self._number = path, ending, len(committed)
        listed = {segment.file for segment in committed}
        with written_errors(path, "made"):
            path.mkdir(parents=True, exist_ok=True)
            for name in listed:
                if not (path / name).is_file():
                    raise shortened(path / name)
            for found in unlisted(path, committed, ending):
                found.unlink()

    def write(self, write: Callable[[Path], None], rows: int) -> Segment:
        """Let somebody write a file, bring it to the disk, and return the segment that it will be."""
        self._number += 1
        name = f"segment-{self._number:06}{self._ending}"
        with written_errors(self.path / name):
            write(self.path / name)
            for place in (self.path / name, self.path):
                handle = os.open(place, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
            return Segment(name, 0, (self.path / name).stat().st_size, rows)


def unlisted(path: Path, committed: Sequence[Segment], ending: str) -> list[Path]:
    """Return the files of a folder that were not committed."""
    listed = {segment.file for segment in committed}
    return [found for found in path.glob(f"segment-*{ending}") if found.name not in listed]
