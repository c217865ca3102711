"""Standard input and output: a run reads its source twice and verifies what it writes, which streams allow only by way of private files."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path

from sfumato.core.files import file_errors
from sfumato.core.workplace import Workplace
from sfumato.errors import DataError, UnreachableError

INPUT = "/dev/stdin"
OUTPUT = "/dev/stdout"
_NAMES = {INPUT: "standard input", OUTPUT: "standard output"}
_PIECE = 1 << 20
_SPOOL = "input"
_SPOOLED: list[Workplace] = []
_FROM_A_FILE = "give it rows: sfumato run policy.yaml < data.csv, or zcat data.csv.gz | sfumato run policy.yaml"


def in_words(place: str) -> str:
    """Return a place as it is told to people.

    >>> in_words("/dev/stdin"), in_words("data.csv")
    ('standard input', 'data.csv')
    """
    return _NAMES.get(place, place)


def spooled_input() -> Path:
    """Return the private file that holds all of standard input, which is read at the first call and removed when the program ends."""
    if sys.stdin is None:
        raise UnreachableError("standard input is closed", code="input-closed", hint=_FROM_A_FILE)
    if not _SPOOLED:
        _SPOOLED.append(_spool())
    return _SPOOLED[0].folder / _SPOOL


def forget_input() -> None:
    """Remove the private file; what comes in next is read anew."""
    while _SPOOLED:
        _SPOOLED.pop().close()


def send(path: Path) -> None:
    """Write a file to standard output. A reader who has gone has seen what it wanted."""
    sys.stdout.flush()
    with path.open("rb") as file:
        try:
            while piece := file.read(_PIECE):
                _write(piece)
        except BrokenPipeError:
            return
        except OSError as error:
            raise UnreachableError(
                f"standard output took only part of the release: {os.strerror(error.errno or 0).lower()}",
                code="output-cut",
                hint="throw away what was written, then run again",
            ) from None


def refuse_closed_output() -> None:
    """Refuse a standard output that nothing can be written to, before anything is."""
    if sys.stdout is None:
        raise UnreachableError(
            "standard output is closed", code="output-closed", hint="sfumato run policy.yaml > release.csv, or name a file as sink"
        )


def _spool() -> Workplace:
    """Write standard input into a workplace of its own, which the next start clears away should this one die."""
    if os.isatty(0):
        raise UnreachableError("standard input is a terminal", code="input-terminal", hint=_FROM_A_FILE)
    workplace = Workplace()
    path = workplace.folder / _SPOOL
    try:
        with file_errors(path, "written"), os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=0) as file:
            size = sum(file.write(piece) or 0 for piece in iter(_read, b""))
        if not size:
            raise DataError("standard input is empty", code="file-empty", hint=_FROM_A_FILE)
    except BaseException:
        workplace.close()
        raise
    atexit.register(forget_input)
    return workplace


def _read() -> bytes:
    with file_errors(_NAMES[INPUT]):
        return os.read(0, _PIECE)


def _write(piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(1, rest) :]
