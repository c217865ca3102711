"""Dead letters of a stream, on disk: records that could not be read or do not fit, whole, in a private file; messages only count them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sfumato.core.decoded import Decoded
from sfumato.engine.stream.dead_letters import DeadLetter, contents_of, counted
from sfumato.engine.stream.growing import GrowingFile
from sfumato.engine.stream.run_journal import Journal

NAME = "dead_letters.jsonl"


class Letters:
    """The file of dead letters: a line a record and, where it does not fit one view alone, the view."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self._file = GrowingFile(folder / NAME, journal.length(NAME), private=True)
        self._unread: Counter[str] = Counter()
        self._unfit: dict[str, Counter[str]] = {}

    def reasons(self, view: str) -> dict[str, int]:
        """Return how many records were set aside for each reason since the file was opened, the most frequent reason first."""
        return dict((self._unread + self._unfit.get(view, Counter())).most_common())

    def poison(self, decoded: Decoded, content: bytes, first: int) -> None:
        """Write down records of a stretch that could not be read."""
        lines: list[dict[str, object]] = [
            {
                "record": first + each.place,
                "code": each.code,
                "column": each.column,
                "content": content[each.start : each.start + each.length].decode("utf-8", "backslashreplace"),
            }
            for each in decoded.poison
        ]
        self._unread.update(f"{each.code} {each.column}" if each.column else each.code for each in decoded.poison)
        self._write(lines)

    def unfit(self, view: str, dead: Sequence[DeadLetter], decoded: Decoded | None, first: int) -> None:
        """Write down records that do not fit a view: whole where they have just come, else what the view still had of them."""
        lines = []
        for letter in dead:
            content = letter.content
            if decoded is not None and letter.number >= first:
                place = int(np.searchsorted(decoded.places, letter.number - first))
                (content,) = contents_of(decoded.rows.slice(place, 1))
            lines.append({"record": letter.number, "view": view, "code": letter.code, "column": letter.column, "content": content})
        self._unfit.setdefault(view, Counter()).update(counted(dead))
        self._write(lines)

    def sync(self) -> dict[str, int]:
        """Bring everything to the disk and return how long the file is."""
        self._file.sync()
        return {NAME: self._file.length}

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, lines: Sequence[dict[str, object]]) -> None:
        if lines:
            self._file.append("".join(json.dumps(line, ensure_ascii=False, default=str) + "\n" for line in lines).encode())
