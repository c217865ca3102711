"""Files that grow: their bytes in whole records, each stretch named so that it can be read again after a crash.

A file is known by what it is, not by its name: a log that was renamed is read to its end, and the new file of the old name from its beginning. Files
are read in the order of their names; one that appears later, or grows after a later one was begun, is read all the same. What was read of each
is the position, which is written down with what became of it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.core.files import file_errors
from sfumato.errors import DataError

BLOCK = 4 << 20
_LARGEST_RECORD = 64 << 20
_BEGINNING = 256

Records = Callable[[bytes, bool], int]
"""Returns how many bytes of a block are whole records; all of them where nothing will follow."""


@dataclass(frozen=True)
class Begun:
    """A file of which something has been read: where it was last seen, how its beginning is known again, and how much was read."""

    path: str
    file: str
    print: str
    printed: int
    offset: int


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

    def __init__(self, names: Callable[[], Iterable[Path]], records: Records, secret: bytes, position: Mapping[str, Any] | None = None) -> None:
        self._names, self._records, self._secret = names, records, secret
        self._begun = {place: Begun(**begun) for place, begun in (position or {}).items()}
        self._waiting: set[str] = set()

    @property
    def position(self) -> dict[str, dict[str, Any]]:
        """What was read of each file."""
        return {place: asdict(begun) for place, begun in self._begun.items()}

    def stretches(self, ended: bool = False) -> Iterator[Stretch]:
        """Yield what there is to read now; where nothing will follow, ``ended``, an unfinished last record counts as one.

        A stretch that was handed out counts as read: what becomes of it is written down together with the position.
        """
        for path in self._listed():
            with file_errors(path), path.open("rb") as file:
                place = self._known(path, file)
                while (stretch := self._next(place, file, ended)) is not None:
                    self._begun[place] = replace(self._begun[place], offset=stretch.end)
                    yield stretch

    def again(self, place: str, start: int, end: int) -> bytes:
        """Return bytes that were read before."""
        begun = self._begun.get(place)
        for path in self._where(begun, sorted(self._names())) if begun is not None else ():
            with file_errors(path), path.open("rb") as file:
                if begun is None or not self._is(begun, file):
                    continue
                content = os.pread(file.fileno(), end - start, start)
                if len(content) == end - start:
                    return content
        raise _gone(begun)

    def _listed(self) -> list[Path]:
        """Return the files to look at, renamed ones of which something is unread before those that are named."""
        names = sorted(self._names())
        seen = {_file(path.stat()) for path in names if path.exists()}
        renamed = [path for begun in self._begun.values() if begun.file not in seen for path in self._where(begun, []) if path not in names]
        return [*dict.fromkeys(renamed), *(path for path in names if path.is_file())]

    def _where(self, begun: Begun, named: list[Path]) -> list[Path]:
        """Return where a file is by now: under its name, beside it under a name that begins alike, or under another one that is followed."""
        path = Path(begun.path)
        beside = sorted(path.parent.glob(f"{_escaped(path.name)}*")) if path.parent.is_dir() else []
        return [each for each in dict.fromkeys([path, *beside, *named]) if each.is_file() and _file(each.stat()) == begun.file]

    def _known(self, path: Path, file: Any) -> str:
        """Return by which name a file is known here; that of a new one where it is not."""
        identity = _file(os.fstat(file.fileno()))
        for place, begun in self._begun.items():
            if begun.file == identity and self._is(begun, file):
                if os.fstat(file.fileno()).st_size < begun.offset:
                    raise DataError(
                        f"{path} is shorter than what has been read of it",
                        code="stream-source-shortened",
                        hint="rotate files by renaming them, not by emptying them; what was written meanwhile may be lost",
                    )
                return place
        place = f"{len(self._begun)}"
        self._begun[place] = Begun(str(path), identity, self._print(b""), 0, 0)
        return place

    def _is(self, begun: Begun, file: Any) -> bool:
        """Return whether a file begins as one that is known; the number of a file that was removed may be given to another."""
        return hmac.compare_digest(self._print(os.pread(file.fileno(), begun.printed, 0)), begun.print)

    def _next(self, place: str, file: Any, ended: bool) -> Stretch | None:
        begun, size = self._begun[place], BLOCK
        while True:
            content = os.pread(file.fileno(), size, begun.offset)
            whole = self._records(content, ended and len(content) < size)
            if whole or len(content) < size:
                break
            if size >= _LARGEST_RECORD:
                raise DataError(
                    f"{begun.path} has a record of more than 64 MiB at byte {begun.offset}",
                    code="stream-record-large",
                    hint="look at the end of its lines, and at the quote of the source",
                )
            size *= 2
        if not whole:
            return None
        if begun.printed < _BEGINNING:
            beginning = os.pread(file.fileno(), min(_BEGINNING, begun.offset + whole), 0)
            self._begun[place] = replace(begun, print=self._print(beginning), printed=len(beginning))
        return Stretch(place, begun.offset, content[:whole])

    def _print(self, beginning: bytes) -> str:
        return hmac.new(self._secret, beginning, hashlib.sha256).hexdigest()[:16]


def whole_lines(block: bytes, ended: bool) -> int:
    r"""Return how many bytes of a block are whole lines.

    >>> whole_lines(b"a\nb", False), whole_lines(b"a\nb", True)
    (2, 3)
    """
    return len(block) if ended else block.rfind(b"\n") + 1


def _file(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}"


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _gone(begun: Begun | None) -> DataError:
    return DataError(
        f"{begun.path if begun is not None else 'a file'} was read before and is not there any more, or is shorter",
        code="stream-source-gone",
        hint="put it back until the stream has gone on; files may be removed once the state no longer needs them, see sfumato stream status",
    )
