"""Files that grow: their bytes in whole records, each stretch named so that it can be read again after a crash.

A file is known by what it is, not by its name: a log that was renamed within its folder is read to its end, and the new file of the old name from its
beginning. While it is followed it is also kept open, and read to its end wherever it was moved. Files are read in the order of their names, and those
of a log that is rotated by numbers from the oldest on; one that appears later, or grows after a later one was begun, is read all the same. What was
read of each is the position, which is written down with what became of it. How a file began, and how what was read of it ended, is looked at before
more is read: one that was emptied and has grown again is another file, and is read from its beginning. A file that was read to its end and has been
gone for a day is forgotten.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from sfumato.core.files import file_errors, status_of
from sfumato.core.unfinished import Unfinished
from sfumato.errors import DataError

BLOCK = 4 << 20
LARGEST_RECORD = 64 << 20
_BEGINNING = 4096
_ENDING = 4096
_KEPT_OPEN = 64

_QUIET_SECONDS = 10.0
_FORGOTTEN_SECONDS = 86_400.0

Records = Callable[[bytes, bool], int]
"""Returns how many bytes of a block are whole records; all of them where nothing will follow."""
LastRecords = Callable[[bytes, bool], int]
"""Returns how many bytes at the end of a file are whole records, though it may yet grow; it is told whether nobody has written to it for a while."""


@dataclass(frozen=True)
class Begun:
    """A file of which something has been read: where it was last seen, how its beginning is known again, how much was read, and how long it was.

    ``ending`` is how the bytes before ``offset`` are known again, the last ``ended`` of them. ``missed`` is since when the file is not there,
    in seconds since 1970; 0 where it is.
    """

    path: str
    file: str
    print: str
    printed: int
    offset: int
    size: int = 0
    ending: str = ""
    ended: int = 0
    missed: float = 0.0


@dataclass(frozen=True)
class Stretch:
    """Bytes of whole records, and where they stand."""

    place: str
    start: int
    content: bytes

    @property
    def end(self) -> int:
        """Where the next stretch of the file begins."""
        return self.start + len(self.content)


class FollowedFiles:
    """The files that a pattern names, now and later."""

    def __init__(
        self,
        names: Callable[[], Iterable[Path]],
        records: Records,
        secret: bytes,
        position: Mapping[str, Any] | None = None,
        last: LastRecords | None = None,
    ) -> None:
        self._names, self._records, self._secret = names, records, secret
        self._last: LastRecords = last or (lambda block, _: records(block, True))
        self._begun: dict[str, Begun] = {}
        self._places: dict[str, list[str]] = {}
        for place, begun in (position or {}).items():
            self._begin(place, Begun(**begun))
        self._open: dict[str, BinaryIO] = {}
        self._quiet: dict[str, tuple[int, int]] = {}
        self._lost: tuple[str, ...] = ()
        self._gone: frozenset[str] = frozenset()
        self.unfinished = Unfinished()

    @property
    def position(self) -> dict[str, dict[str, Any]]:
        """What was read of each file."""
        return {place: asdict(begun) for place, begun in self._begun.items()}

    @property
    def lost(self) -> tuple[str, ...]:
        """Where files were that have gone before they were read to the end that was known."""
        return self._lost

    @property
    def gone(self) -> frozenset[str]:
        """Of which places nothing can be read again once they are let go of: no name leads to them any more, or they were written anew."""
        return self._gone

    def stretches(self, ended: bool = False) -> Iterator[Stretch]:
        """Yield what there is to read now; where nothing is waited for, ``ended``, ``last`` says what of an unfinished last record counts.

        A stretch that was handed out counts as read: what becomes of it is written down together with the position.
        """
        named = {path: status for path in oldest_first(self._names()) if (status := _status(path)) is not None}
        moved, away = self._elsewhere({_file(status) for status in named.values()})
        for known in away:
            yield from self._read(known, self._open[known], ended)
        for path, status in [*moved.items(), *named.items()]:
            if not ended and self._quiet.get(_file(status)) == (status.st_size, status.st_mtime_ns):
                continue
            with file_errors(path):
                place = self._followed(path, path in named)
            if place is not None:
                yield from self._read(place, self._open[place], ended)
                if self._is_read_on(self._begun[place], self._open.get(place)):
                    self._quiet[_file(status)] = (status.st_size, status.st_mtime_ns)

    def again(self, place: str, start: int, end: int) -> bytes:
        """Return bytes that were read before."""
        begun = self._begun.get(place)
        if begun is not None:
            for path in self._where(begun):
                with file_errors(path):
                    content = self._content(place, path, start, end)
                if content is not None:
                    return content
        raise _gone(begun)

    def forget_gone(self) -> None:
        """Forget files that were read to their end and have been gone for a day, where nothing of them will be read again.

        One that was only away, with the folder or the disk that it is on, is none of them. The latest place is kept: by it others get their names.
        """
        now, latest = time.time(), max(map(int, self._begun), default=0)
        for place, begun in list(self._begun.items()):
            is_gone = place in self._gone and place not in self._open and begun.offset >= begun.size
            if not is_gone or not _is_on_its_disk(begun):
                missed = 0.0
            elif begun.missed and now - begun.missed > _FORGOTTEN_SECONDS and int(place) != latest:
                self._forget(place)
                continue
            else:
                missed = begun.missed or now
            if missed != begun.missed:
                self._begun[place] = replace(begun, missed=missed)

    def _forget(self, place: str) -> None:
        begun = self._begun.pop(place)
        self._places[begun.file].remove(place)
        if not self._places[begun.file]:
            del self._places[begun.file]
            self._quiet.pop(begun.file, None)

    def name(self, place: str) -> str:
        """Return where a file was last seen."""
        return self._begun[place].path

    def close(self) -> None:
        """Let go of all files."""
        for file in self._open.values():
            file.close()
        self._open.clear()

    def _where(self, begun: Begun) -> Iterator[Path]:
        """Yield where a file may be by now: under its name, beside it under another, or under one that is followed elsewhere."""
        path = Path(begun.path)
        yield path
        yield from _beside(path, {begun.file}).values()
        yield from sorted(self._names())

    def _content(self, place: str, path: Path, start: int, end: int) -> bytes | None:
        """Return bytes of a file that is kept open, or is the one at a path; None where it is not, or does not have them."""
        begun, file = self._begun[place], self._open.get(place)
        if file is not None:
            content = os.pread(file.fileno(), end - start, start)
        else:
            if not path.is_file() or _file(path.stat()) != begun.file:
                return None
            with path.open("rb") as opened:
                content = os.pread(opened.fileno(), end - start, start) if self._is_read_on(begun, opened) else b""
        return content if len(content) == end - start else None

    def _elsewhere(self, named: set[str]) -> tuple[dict[Path, os.stat_result], list[str]]:
        """Return files of which something was read and that no name stands for now: those beside their old name, and those that are only open."""
        missing = {begun.file: place for place, begun in self._begun.items() if begun.file not in named}
        found: dict[str, Path] = {}
        for folder in {Path(self._begun[place].path).parent for place in missing.values()}:
            found |= {file: path for file, path in _beside(folder / "any", set(missing)).items() if self._is_at(missing[file], path)}
        nowhere = [place for file, place in missing.items() if file not in found]
        away = [place for place in nowhere if place in self._open]
        # of files that were emptied, or removed and their number given to another, the rest has gone too
        anew = [place for places in self._places.values() for place in places[:-1]]
        gone = [self._begun[place] for place in [*nowhere, *anew] if place not in away]
        self._lost = tuple(begun.path for begun in gone if begun.offset < begun.size)
        self._gone = frozenset([*nowhere, *anew])
        self.unfinished.forget(place for place in self._gone if place not in away)
        moved = {path: status for path in sorted(found.values()) if (status := _status(path)) is not None}
        return moved, away

    def _is_at(self, place: str, path: Path) -> bool:
        """Return whether a file is the one at a path: where nobody keeps it open, its number may have been given to another since it was removed."""
        if place in self._open:
            return True
        try:
            with path.open("rb") as file:
                return self._begun[place].printed > 0 and self._is(self._begun[place], file)
        except FileNotFoundError:
            return False
        except OSError:
            # said by whoever reads it
            return True

    def _followed(self, path: Path, is_named: bool) -> str | None:
        """Return by which name the file at a path is known here, with the file kept open; None where it has just been moved.

        Beside the named files may be others, to which the number of one that was removed was given.
        """
        status = _status(path)
        if status is None:
            return None
        for known in self._places.get(_file(status), ()):
            if known in self._open:
                # as long as it is open, no other file gets its number; but it may have been emptied, and grown again
                self._look_at_size(path, self._begun[known], status)
                file = self._open.pop(known)
                if self._is_read_on(self._begun[known], file):
                    self._open[known] = file
                    return known
                file.close()
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return None
        try:
            place = self._known(path, file, is_named)
        except BaseException:
            file.close()
            raise
        if place is None:
            file.close()
            return None
        self._open[place] = file
        while len(self._open) > _KEPT_OPEN:
            self._open.pop(next(iter(self._open))).close()
        return place

    def _known(self, path: Path, file: BinaryIO, is_named: bool) -> str | None:
        """Return by which name a file is known here; where it is not, that of a new one if its name is one of those to follow."""
        status = os.fstat(file.fileno())
        for place in reversed(self._places.get(_file(status), [])):
            begun = self._begun[place]
            is_same = self._is(begun, file) and (is_named or begun.printed > 0)
            if is_same or begun.path == str(path):
                self._look_at_size(path, begun, status)
            if is_same and self._is_read_on(begun, file):
                self._begun[place] = replace(begun, path=str(path))
                return place
        if not is_named:
            return None
        place = f"{max(map(int, self._begun), default=-1) + 1}"
        self._begin(place, Begun(str(path), _file(status), self._print(b""), 0, 0))
        return place

    def _begin(self, place: str, begun: Begun) -> None:
        self._begun[place] = begun
        self._places.setdefault(begun.file, []).append(place)

    @staticmethod
    def _look_at_size(path: Path, begun: Begun, status: os.stat_result) -> None:
        if status.st_size < begun.offset:
            raise DataError(
                f"{path} is shorter than what has been read of it",
                code="stream-source-shortened",
                hint="rotate files by renaming them, not by emptying them; what was written meanwhile may be lost",
            )

    def _read(self, place: str, file: BinaryIO, ended: bool) -> Iterator[Stretch]:
        while (stretch := self._next(place, file, ended)) is not None:
            self._begun[place] = replace(self._begun[place], offset=stretch.end)
            yield stretch
        size = os.fstat(file.fileno()).st_size
        if size != self._begun[place].size:
            self._begun[place] = replace(self._begun[place], size=size)
        self.unfinished.look(place, self._begun[place].offset, size - self._begun[place].offset)

    def _is(self, begun: Begun, file: BinaryIO) -> bool:
        """Return whether a file begins as one that is known; the number of a file that was removed may be given to another."""
        return hmac.compare_digest(self._print(os.pread(file.fileno(), begun.printed, 0)), begun.print)

    def _is_read_on(self, begun: Begun, file: BinaryIO | None) -> bool:
        """Return whether a file still is as it was as far as it was read: it begins so, and so ended what was read."""
        return file is not None and self._is(begun, file) and self._ends(begun, os.pread(file.fileno(), begun.ended, begun.offset - begun.ended))

    def _ends(self, begun: Begun, ending: bytes) -> bool:
        return begun.ended == 0 or hmac.compare_digest(self._print(ending), begun.ending)

    def _next(self, place: str, file: BinaryIO, ended: bool) -> Stretch | None:
        begun, size = self._begun[place], BLOCK
        while True:
            # together with what comes before: a file may be emptied and grow again at any moment
            found = os.pread(file.fileno(), begun.ended + size, begun.offset - begun.ended)
            if not self._ends(begun, found[: begun.ended]):
                return None
            content = found[begun.ended :]
            is_last = ended and len(content) < size
            whole = self._last(content, _is_quiet(file)) if is_last else self._records(content, False)
            if whole or len(content) < size:
                break
            if size >= LARGEST_RECORD:
                raise too_large(begun.path, begun.offset)
            size *= 2
        if not whole:
            return None
        if begun.printed < _BEGINNING:
            beginning = os.pread(file.fileno(), min(_BEGINNING, begun.offset + whole), 0)
            begun = replace(begun, print=self._print(beginning), printed=len(beginning))
        ending = found[max(0, begun.ended + whole - _ENDING) : begun.ended + whole]
        self._begun[place] = replace(begun, ending=self._print(ending), ended=len(ending))
        return Stretch(place, begun.offset, content[:whole])

    def _print(self, beginning: bytes) -> str:
        return hmac.new(self._secret, beginning, hashlib.sha256).hexdigest()[:16]


def too_large(name: str, offset: int) -> DataError:
    """Return the error for a record that has no end."""
    return DataError(
        f"{name} has a record of more than 64 MiB at byte {offset}",
        code="stream-record-large",
        hint="look at the end of its lines, and at the quote of the source",
    )


def oldest_first(paths: Iterable[Path]) -> list[Path]:
    """Return files in the order of their names; beside a log those with a number behind its name come before it, the largest number first.

    >>> [path.name for path in oldest_first(map(Path, ["app.log", "app.log.1", "app.log.10", "app.log.2", "b.1", "b.2"]))]
    ['app.log.10', 'app.log.2', 'app.log.1', 'app.log', 'b.1', 'b.2']
    """
    found = set(paths)

    def place(path: Path) -> tuple[str, int, str]:
        log, number = path.with_suffix(""), path.suffix[1:]
        is_rotated = number.isascii() and number.isdigit() and log in found
        return (str(log), -int(number) - 1, str(path)) if is_rotated else (str(path), 0, str(path))

    return sorted(found, key=place)


def whole_lines(block: bytes, ended: bool) -> int:
    r"""Return how many bytes of a block are whole lines.

    >>> whole_lines(b"a\nb", False), whole_lines(b"a\nb", True)
    (2, 3)
    """
    return len(block) if ended else block.rfind(b"\n") + 1


def _is_quiet(file: BinaryIO) -> bool:
    return time.time() - os.fstat(file.fileno()).st_mtime >= _QUIET_SECONDS


def _file(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}"


def _is_on_its_disk(begun: Begun) -> bool:
    """Return whether the folder of a file is there, on the disk that the file was on."""
    try:
        return begun.file.startswith(f"{Path(begun.path).parent.stat().st_dev}:")
    except OSError:
        return False


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a file, None where there is none by now."""
    status = status_of(path)
    return status if status is not None and stat.S_ISREG(status.st_mode) else None


def _beside(path: Path, wanted: set[str]) -> dict[str, Path]:
    """Return where in the folder of a path some files are, whatever their names."""
    folder = path.parent
    if not wanted or not folder.is_dir():
        return {}
    with file_errors(folder), os.scandir(folder) as entries:
        device = folder.stat().st_dev
        return {file: folder / entry.name for entry in entries if (file := f"{device}:{entry.inode()}") in wanted and entry.is_file()}


def _gone(begun: Begun | None) -> DataError:
    return DataError(
        f"{begun.path if begun is not None else 'a file'} was read before and is not there any more, or is shorter",
        code="stream-source-gone",
        hint="put it back until the stream has gone on; files may be removed once the state no longer needs them, see sfumato stream status",
    )
