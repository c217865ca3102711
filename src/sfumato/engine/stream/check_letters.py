"""The check of dead letters: each is held against its record in the source, where that is still there.

Only the stretches of the source that have dead letters are read for it. Why a record that can be read did not fit is not asked again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.files import file_errors
from sfumato.engine.stream.dead_letters import contents_of
from sfumato.engine.stream.findings import Findings
from sfumato.engine.stream.kept_state import KeptState
from sfumato.engine.stream.letters import NAME
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.private_files import mapping_of
from sfumato.engine.stream.read_again import GONE, Again, OtherRecordsError, RecordsAgain
from sfumato.engine.stream.run_journal import Piece
from sfumato.engine.stream.taken_log import NAME as TAKEN
from sfumato.engine.stream.taken_log import taken
from sfumato.errors import SfumatoError

_Letter = dict[str, Any]


class LetterCheck:
    """Holds the dead letters of a view against the records that they are of."""

    def __init__(self, view: str, plan: StreamPlan, kept: KeptState, findings: Findings, again: RecordsAgain) -> None:
        self._view, self._plan, self._kept, self._findings, self._again = view, plan, kept, findings, again
        self._path = kept.folder / NAME

    def check(self) -> None:
        """Go through all of them."""
        places = self._places()
        with file_errors(self._path), self._path.open("rb") as file:
            for piece in taken(self._kept.folder, self._kept.length(TAKEN), self._kept.records) if len(places) else ():
                first, last = np.searchsorted(places[:, 0], [piece.first, piece.first + piece.records]).tolist()
                lines = []
                for place in places[first:last, 1].tolist():
                    file.seek(place)
                    lines.append(file.readline())
                if lines:
                    self._piece(piece, lines)

    def _places(self) -> NDArray[np.int64]:
        """Return the record of each letter and where it stands in the file, in the order of records."""
        found, length = [], self._kept.length(NAME)
        with file_errors(self._path), self._path.open("rb") as file:
            while (place := file.tell()) < length:
                letter = mapping_of(file.readline(), self._path, record=int)
                if letter.get("view", self._view) == self._view:
                    found.append((letter["record"], place))
        return np.array(sorted(found), np.int64).reshape(-1, 2)

    def _piece(self, piece: Piece, lines: Sequence[bytes]) -> None:
        try:
            came = self._again.piece(piece)
        except (SfumatoError, OtherRecordsError) as error:
            if isinstance(error, SfumatoError) and error.code not in GONE:
                raise
            self._findings.cannot("dead letters whose records are no longer in the source")
            return
        letters = [mapping_of(line, self._path, record=int) for line in lines]
        unread, rows = self._unread(came), self._rows(came, [letter["record"] for letter in letters])
        for line, letter in zip(lines, letters, strict=True):
            if "view" not in letter:
                self._compare(letter["record"], line, [unread.get(letter["record"])])
            elif letter.get("content") is None and self._plan.way == "clusters":
                self._findings.cannot("dead letters that were set aside when nothing was known of their records any more")
            else:
                contents = rows.get(letter["record"], [])
                self._compare(letter["record"], line, [self._of_view(letter, content) for content in contents])

    def _compare(self, number: int, line: bytes, possible: Sequence[_Letter | None]) -> None:
        written = [json.dumps(each, ensure_ascii=False, default=str) + "\n" for each in possible if each is not None]
        if line not in [text.encode() for text in written]:
            self._findings.breaks("dead letters", "a dead letter is not what was read of its record", f"record {number}")

    def _unread(self, came: Again) -> Mapping[int, _Letter]:
        """Return the letters of records that could not be read."""
        found = {}
        for each in came.decoded.poison:
            content = came.content[each.start : each.start + each.length].decode("utf-8", "backslashreplace")
            found[came.first + each.place] = {"record": came.first + each.place, "code": each.code, "column": each.column, "content": content}
        return found

    def _of_view(self, letter: _Letter, content: Mapping[str, Any]) -> _Letter | None:
        """Return the letter of a record that did not fit the view; why it did not is taken from the letter, if it can be a reason at all."""
        column = letter.get("column")
        if column is not None and (not isinstance(column, str) or column not in self._plan.resolved.policy.columns):
            return None
        return {"record": letter["record"], "view": self._view, "code": letter.get("code"), "column": column, "content": content}

    def _rows(self, came: Again, numbers: Sequence[int]) -> Mapping[int, Sequence[Mapping[str, Any]]]:
        """Return what may be written down of each record that could be read: as it came and, in windows, also as it is held while it waits."""
        known = {came.first + place: row for row, place in enumerate(came.decoded.places.tolist())}
        wanted = [number for number in numbers if number in known]
        rows = came.decoded.rows.take(pa.array([known[number] for number in wanted], pa.int64()))
        forms = [_contents(rows)]
        if self._plan.way == "windows" and wanted:
            forms.append(_contents(self._again.held(rows)))
        return {number: contents for number, *contents in zip(wanted, *forms, strict=True)}


def _contents(rows: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return rows as they are written down, each by itself: what one of them holds may decide how others beside it are written."""
    return [contents_of(rows.slice(place, 1))[0] for place in range(rows.num_rows)]
