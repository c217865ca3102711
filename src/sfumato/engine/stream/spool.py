"""Spool: what comes by a pipe is first written to private files, from which it can be read again after a crash.

Whatever was synced here survives; what had been read from the pipe and not yet been synced is lost with the process: at most one block of 256 KiB.
The files together are one line of bytes, and are named after where on it they begin. Each pipe begins a place of its own, so that half a record
that an earlier one ended with does not run into the next. Of a pipe that its writer has closed the last record counts though nothing ends it; of one
that was cut off, because the process died or was stopped, it does not: half a value looks like a whole one. It has a place of its own.
Of a stream that was refused before it took anything nothing stays: it will be sent again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import IO, Any

from sfumato.core.files import file_errors, is_regular
from sfumato.core.followed_files import BLOCK, LARGEST_RECORD, LastRecords, Records, Stretch, too_large
from sfumato.core.unfinished import Unfinished
from sfumato.engine.stream.private_files import written_errors
from sfumato.errors import DataError

READ = 1 << 18
FILE = 64 << 20
MOST_AHEAD = 256 << 20
_PIPE, _CLOSED = "pipe-", "closed-"
_CUT = "~"
"""What the place of half a record ends with."""


class Spool:
    """Copies a pipe into files, in a thread of its own, and waits where it is too far ahead of who reads them."""

    def __init__(
        self, folder: Path, pipe: IO[bytes], records: Records, position: Mapping[str, Any] | None = None, last: LastRecords | None = None
    ) -> None:
        self._folder, self._pipe, self._records = folder, pipe, records
        self._last: LastRecords = last or (lambda block, _: records(block, False))
        with written_errors(folder, "made"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # one that was there before may be open to others
            folder.chmod(0o700)
        if is_regular(self._refused):
            self._remove()
        written = self._written()
        # where pipes begin, of which something may be unread: also one that a crash has ended before anything of it was committed
        begun = {0, *self._marked(), *(int(begin) for begin in (position or {}).get("pipes", []))}
        self._pipes = [*sorted(begin for begin in begun if begin < written), written]
        with written_errors(folder):
            # one that brought nothing began at the same place, and may have been closed
            self._mark(written, _CLOSED).unlink(missing_ok=True)
            self._mark(written).touch(mode=0o600)
        self._read = int((position or {}).get("read", 0))
        self._end = self._looked_at = written
        self._changed = threading.Condition()
        self._stopped = self._closed = False
        self._failed: BaseException | None = None
        self.unfinished = Unfinished()
        threading.Thread(target=self._copy, daemon=True).start()

    @property
    def position(self) -> dict[str, Any]:
        """How far it was read, and where the pipes begin that matter for what is left."""
        last = max(begin for begin in self._pipes if begin <= self._read)
        return {"read": self._read, "pipes": [begin for begin in self._pipes if begin >= last]}

    @property
    def closed(self) -> bool:
        """Whether nothing more will come, because the writer has closed the pipe: where it could not be copied, half a record is none."""
        return self._closed and self._failed is None

    def stretches(self, ended: bool = False) -> Iterator[Stretch]:
        """Yield what there is to read now; where nothing will follow, ``ended``, an unfinished last record counts as one."""
        self._looked_at = self._end
        while (found := self._next(ended)) is not None:
            with self._changed:
                self._read = _begin_of(found.place) + found.end
                self._changed.notify()
            yield found
        if self._failed is not None:
            raise self._failed

    def again(self, place: str, start: int, end: int) -> bytes:
        """Return bytes that were read before."""
        content = self._bytes(_begin_of(place) + start, end - start)
        if len(content) < end - start:
            raise DataError(
                "what came by the pipe is no longer in the stream's state, which needs it to go on",
                code="stream-source-gone",
                hint="name another state and another sink, and begin anew",
            )
        return content

    def name(self, place: str) -> str:  # noqa: ARG002 - there is one pipe at a time
        """Return what people call a pipe."""
        return "standard input"

    def forget(self, place: str, start: int) -> None:
        """Remove files that lie before a place, which nobody will read again; the first of its pipe has the header, or the schema."""
        begins, first = self._begins(), _begin_of(place)
        for begin, following in pairwise(begins):
            if following <= first + start and begin != first:
                self._file(begin).unlink(missing_ok=True)
        for mark in (_PIPE, _CLOSED):
            for begin in self._marked(mark):
                if begin < first:
                    self._mark(begin, mark).unlink(missing_ok=True)

    def discard(self) -> None:
        """Keep nothing of what has come."""
        self.close()
        # whatever is copied before this is heard goes with the next start
        with written_errors(self._folder):
            self._refused.touch(mode=0o600)
            for path in self._kept():
                path.unlink(missing_ok=True)

    @property
    def lost(self) -> tuple[str, ...]:
        """Nothing goes that nobody has read."""
        return ()

    @property
    def gone(self) -> frozenset[str]:
        """What was spooled stays as long as somebody may read it again."""
        return frozenset()

    def close(self) -> None:
        """Take nothing more from the pipe."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def wait(self, seconds: float) -> None:
        """Wait until something came, or so long."""
        with self._changed:
            # half a record is no reason to look again before more of it has come
            if self._looked_at == self._end and not self._closed:
                self._changed.wait(seconds)

    def _next(self, ended: bool) -> Stretch | None:
        begin = max(begin for begin in self._pipes if begin <= self._read)
        following = min((other for other in self._pipes if other > begin), default=None)
        limit, over = (following, True) if following is not None else (self._end, ended)
        is_cut = following is not None and not is_regular(self._mark(begin, _CLOSED))
        size = BLOCK
        while True:
            content = self._bytes(self._read, min(size, limit - self._read))
            is_last = over and self._read + len(content) == limit
            whole = self._last(content, False) if is_last and is_cut else self._records(content, is_last)
            if is_last and is_cut and content and not whole:
                return Stretch(f"{begin}{_CUT}", self._read - begin, content)
            if whole or len(content) < size:
                break
            # of a pipe that has ended what is left is a record, however long; of this one its end may never come
            if size >= LARGEST_RECORD and following is None:
                raise too_large(self.name(str(begin)), self._read - begin)
            size *= 2
        self.unfinished.look("", self._read, 0 if whole else len(content))
        return Stretch(str(begin), self._read - begin, content[:whole]) if whole else None

    def _copy(self) -> None:
        try:
            while self._fill():
                pass
        except BaseException as error:  # noqa: BLE001 - told by the thread that reads
            self._failed = error
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _fill(self) -> bool:
        """Fill one file; return whether there may be more to come."""
        path = self._file(self._end)
        with written_errors(path):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                begin = self._end
                while self._end - begin < FILE:
                    content = os.read(self._pipe.fileno(), READ)
                    if not content:
                        if not self._stopped:
                            self._mark(self._pipes[-1], _CLOSED).touch(mode=0o600)
                        return False
                    left = memoryview(content)
                    while left:
                        left = left[os.write(file, left) :]
                    os.fsync(file)
                    if not self._add(len(content)):
                        return False
                return True
            finally:
                os.close(file)

    def _add(self, written: int) -> bool:
        """Say how far it has come, and wait while too much lies unread; return False where nothing more is wanted."""
        with self._changed:
            self._end += written
            self._changed.notify()
            while self._end - self._read > MOST_AHEAD and not self._stopped:
                self._changed.wait()
            return not self._stopped

    def _bytes(self, start: int, number: int) -> bytes:
        """Return bytes of the line, from as many files as they lie in."""
        parts, begins = [], self._begins()
        for begin, following in zip_longest(begins, begins[1:]):
            if number <= 0 or begin > start or (following is not None and following <= start):
                continue
            with file_errors(self._file(begin)), self._file(begin).open("rb") as file:
                part = os.pread(file.fileno(), number if following is None else min(number, following - start), start - begin)
            parts.append(part)
            start, number = start + len(part), number - len(part)
        return b"".join(parts)

    def _remove(self) -> None:
        with written_errors(self._folder):
            for path in (*self._kept(), self._refused):
                path.unlink(missing_ok=True)

    def _kept(self) -> list[Path]:
        return [path for path in self._folder.iterdir() if path != self._refused]

    @property
    def _refused(self) -> Path:
        """The empty file that says that what was copied is to be thrown away."""
        return self._folder / "refused"

    def _begins(self) -> list[int]:
        return sorted(int(path.name) for path in self._folder.iterdir() if path.name.isdigit())

    def _written(self) -> int:
        begins = self._begins()
        return begins[-1] + self._file(begins[-1]).stat().st_size if begins else 0

    def _marked(self, mark: str = _PIPE) -> list[int]:
        return [int(path.name.removeprefix(mark)) for path in self._folder.glob(f"{mark}*")]

    def _mark(self, begin: int, mark: str = _PIPE) -> Path:
        """Return the empty file that says that a pipe begins there, or that the one that does was closed by its writer."""
        return self._folder / f"{mark}{begin:020}"

    def _file(self, begin: int) -> Path:
        return self._folder / f"{begin:020}"


class SpoolAgain(Spool):
    """What is left of a spool, for those who only read it again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder


def is_cut(stretch: Stretch) -> bool:
    """Return whether a stretch is half a record, with which a pipe was cut off."""
    return stretch.place.endswith(_CUT)


def _begin_of(place: str) -> int:
    return int(place.removesuffix(_CUT))
