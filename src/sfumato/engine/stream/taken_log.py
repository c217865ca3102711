"""Which bytes of the source were which records, for good and privately: by it a stream can be read again in the order in which it came."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from sfumato.engine.stream.growing import log_of
from sfumato.engine.stream.private_files import damaged, private_lines
from sfumato.engine.stream.run_journal import Journal, Piece

NAME = "links/taken.jsonl"
_LONGEST = 1 << 63


class TakenLog:
    """A line for each piece of the source that was taken."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self._file = log_of(folder / NAME, journal.length(NAME))

    def write(self, piece: Piece) -> None:
        """Write down a further piece."""
        self._file.append((json.dumps(asdict(piece)) + "\n").encode())

    def sync(self) -> dict[str, int]:
        """Bring everything to the disk and return how long the file is."""
        self._file.sync()
        return {NAME: self._file.length}

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def taken(folder: Path, length: int, records: int) -> Iterator[Piece]:
    """Yield the pieces that were taken, each behind the one before; ``length`` is how much of the file counts, ``records`` the most there are."""
    number = 0
    for told in private_lines(folder / NAME, length, first=int, records=int, place=str, start=int, finish=int):
        piece = Piece(told["first"], told["records"], told["place"], told["start"], told["finish"])
        if piece.first != number or piece.first + piece.records > records or not piece.start <= piece.finish < _LONGEST:
            raise damaged(folder / NAME)
        number += piece.records
        yield piece
