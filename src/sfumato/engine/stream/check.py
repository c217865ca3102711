"""Check: the release of a stream held against its source once more, from the files alone, by code that had no part in writing it.

The private ``links`` say which record and which cluster each row is of. Rows are read back from the files that the manifest lists, records from the
source; people, values and distances are counted anew in plain dictionaries (``sfumato.measures``). What the engine shares is how a source is read,
and what a mask with a key makes of a value. Memory goes with what waits in the stream, and one bit or two for each record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.files import file_errors, is_regular
from sfumato.engine.plan import AnyPolicy
from sfumato.engine.stream.check_ahead import AheadCheck
from sfumato.engine.stream.check_events import EventCheck
from sfumato.engine.stream.check_letters import LetterCheck
from sfumato.engine.stream.check_rows import RowCheck
from sfumato.engine.stream.depended_on import refuse_changed_files
from sfumato.engine.stream.findings import Findings
from sfumato.engine.stream.growing import links_of, refuse_older_state
from sfumato.engine.stream.kept_state import KeptState, told_status
from sfumato.engine.stream.letters import NAME as LETTERS
from sfumato.engine.stream.opted_out import OptedOut
from sfumato.engine.stream.plan import way_of_view
from sfumato.engine.stream.private_files import damaged, private_lines
from sfumato.engine.stream.read_again import GONE, OtherRecordsError, RecordsAgain
from sfumato.engine.stream.released_rows import NotAsWrittenError, ReleasedRows, Row
from sfumato.engine.stream.run_journal import Segment
from sfumato.engine.stream.running import state_folder
from sfumato.engine.stream.taken_log import NAME as TAKEN
from sfumato.engine.stream.used_keys import refuse_changed_keys
from sfumato.errors import SfumatoError, UnreachableError
from sfumato.policy.load import load
from sfumato.policy.resolve import Resolved
from sfumato.policy.views import resolve_views

_FILES = ("json_lines", "delimited", "arrow", "parquet")
_LINK = 16
_MOST = 1 << 53


@dataclass(frozen=True)
class StreamCheck:
    """What was found of a stream: of each view what is broken, what could not be checked, and what was measured."""

    records: int
    state: str
    views: Mapping[str, Findings]
    accounts: Mapping[str, Mapping[str, int]]
    rows: Mapping[str, int]

    @property
    def holds(self) -> bool:
        """Whether nothing broken was found."""
        return not any(view.broken for view in self.views.values())

    @property
    def is_unchecked(self) -> bool:
        """Whether rows have been released, and not a single one of them could be checked."""
        return any(self.rows.values()) and not any(view.rows for view in self.views.values())

    def sentences(self) -> list[str]:
        """Return what is broken, a sentence each."""
        return [f"{name or 'release'}: {each.sentence()}" for name, view in self.views.items() for each in view.broken.values()]

    def as_mapping(self) -> dict[str, Any]:
        """Return everything by name."""
        views = {name: {"rows": self.rows[name], "accounts": dict(self.accounts[name]), **view.as_mapping()} for name, view in self.views.items()}
        return {"holds": self.holds, "state": self.state, "records": self.records, "views": views}


def check_stream(policy: AnyPolicy) -> StreamCheck:
    """Hold what a stream has released, up to its last commit, against its source and its promises; it may go on meanwhile."""
    loaded = load(policy)
    folder = state_folder(loaded)
    state = told_status(folder)["state"]
    kept = KeptState(folder)
    kept.refuse_other_policy(loaded, "check it with the policy that it was run with")
    every = resolve_views(loaded).views
    refuse_changed_files(kept, every)
    refuse_changed_keys(kept, every)
    views, rows = {}, {}
    for name, resolved in every.items():
        view = _View(resolved, name, kept, finished=state in ("ended", "stopped"), runs=state == "running")
        view.check()
        views[name], rows[name] = view.findings, view.rows
    return StreamCheck(kept.records, state, views, {name: kept.accounts(name).as_mapping() for name in views}, rows)


@dataclass
class _View:
    """One view that is checked."""

    resolved: Resolved
    name: str
    kept: KeptState
    finished: bool
    runs: bool
    findings: Findings = field(default_factory=Findings)
    letters: dict[int, tuple[str, str | None]] = field(default_factory=dict)
    """The code and the column of the records that could be read and did not fit."""

    @property
    def rows(self) -> int:
        """How many rows have been released."""
        return sum(segment.rows for segment in self.kept.segments(self.name))

    def check(self) -> None:
        accounts = self.kept.accounts(self.name)
        sink: Any = self.resolved.sink
        if accounts.records != self.kept.records:
            self.findings.breaks("accounts", "records are not accounted for once each", "the last commit", accounts.records, self.kept.records)
        if sink is None or sink.component_name() not in _FILES:
            self.findings.cannot("rows that left by standard output: nobody has kept them")
            return
        if not self.finished and not self.runs:
            # a run was refused because of it, and has perhaps left a state of nothing
            refuse_older_state(ReleasedRows(sink, []).manifest, len(self.kept.segments(self.name)), is_longer=False)
        links = self._links()
        dead = self._dead()
        if accounts.dead != int(dead.sum()):
            self.findings.breaks("accounts", "the dead letters are not those that were counted", LETTERS, int(dead.sum()), accounts.dead)
        if links is not None:
            self._numbers(links, dead)
        self._against_records(links, dead)

    def _against_records(self, links: NDArray[np.int64] | None, dead: NDArray[np.bool_]) -> None:
        """Go through rows beside records; without links, or without a source, as far as that goes."""
        way = way_of_view(self.resolved)
        came = RecordsAgain(self.resolved, self.name, self.kept, self._stop_at if way == "events" else self._gone)
        records = iter(came)
        first = None
        try:
            first = next(records, None) if self._is_known else None
        except SfumatoError as error:
            self._gone(error)
        except OtherRecordsError as error:
            self._differs(error)
        plan = came.plan
        names = plan.released if plan is not None else []
        released = ReleasedRows(self.resolved.sink, names)
        self._manifest(released)
        if plan is None or first is None:
            if self._is_known and self.kept.records > int(dead.sum()):
                self.findings.cannot("rows: the records that they are of cannot be read")
            elif not self._is_known and self.kept.records:
                self.findings.cannot("rows: nothing says any more which bytes of the source were which records (links/taken.jsonl)")
            if dead.any():
                self.findings.cannot("dead letters: the records that they are of cannot be read")
            return
        if dead.any():
            LetterCheck(self.name, plan, self.kept, self.findings, came).check()
        rows = self._rows(released)
        if links is None:
            for _ in rows:
                pass
            return
        records = AheadCheck(plan, self.findings, self.letters, came).passed(_with(first, records))
        checker: EventCheck | RowCheck
        if way == "events":
            late = frozenset(number for number, (code, _) in self.letters.items() if code == "late")
            checker = EventCheck(plan, self.findings, links, dead, OptedOut.of(self.kept, self.name), late)
        else:
            checker = RowCheck(plan, self.findings, links, dead, came)
        try:
            checker.check(records, rows, self._releases())
        except SfumatoError as error:
            self._gone(error)
            return
        except NotAsWrittenError:
            self.findings.cannot("rows behind those that are not as they were written")
            return
        except OtherRecordsError as error:
            self._differs(error)
            return
        if isinstance(checker, EventCheck):
            checker.accounts(self.kept.accounts(self.name))
        if came.read != self.kept.records:
            self.findings.breaks("accounts", "the source has not as many records as were read of it", "its end", came.read, self.kept.records)

    @property
    def _is_known(self) -> bool:
        """Whether it is still written down which bytes of the source were which records."""
        return self.kept.length(TAKEN) > 0 and is_regular(self.kept.folder / TAKEN)

    def _gone(self, error: SfumatoError) -> None:
        if error.code not in GONE:
            raise error
        self.findings.cannot("rows whose records are no longer in the source")

    def _differs(self, error: OtherRecordsError) -> None:
        self.findings.breaks("accounts", "the source has not as many records as were read of it", f"record {error.first}")
        self.findings.cannot("rows of the records from there on")

    @staticmethod
    def _stop_at(error: SfumatoError) -> None:
        """Check no further: what may leave of an event hangs on all before it."""
        raise error

    def _links(self) -> NDArray[np.int64] | None:
        name = links_of(self.name)[0]
        path, length = self.kept.folder / name, self.kept.length(name)
        if length and (not is_regular(path) or path.stat().st_size < length or not is_regular(self._references)):
            self.findings.cannot("rows against records: the links have been deleted")
            return None
        if length != self.rows * _LINK:
            self.findings.breaks("accounts", "the release has not as many rows as were linked to records", "its end", self.rows, length // _LINK)
        if not length:
            return np.empty((0, 2), np.int64)
        with file_errors(path):
            found: NDArray[np.int64] = np.memmap(path, "<i8", "r", shape=(length // _LINK, 2))
        return found

    @property
    def _references(self) -> Path:
        return self.kept.folder / links_of(self.name)[1]

    def _releases(self) -> Iterator[dict[str, Any]]:
        """Yield how many rows left together, and what they were tested against."""
        linked, length = (self.kept.length(name) for name in links_of(self.name))
        row = 0
        for told in private_lines(self._references, length, row=int, rows=int, references=dict):
            follows = told["row"] == row and row + told["rows"] <= linked // _LINK
            if not follows or not _are_references(told["references"], way_of_view(self.resolved) == "events"):
                raise damaged(self._references)
            row += told["rows"]
            yield told

    def _dead(self) -> NDArray[np.bool_]:
        """Return which records are dead letters of the view."""
        found, path = np.zeros(self.kept.records, np.bool_), self.kept.folder / LETTERS
        for letter in private_lines(path, self.kept.length(LETTERS), record=int):
            if letter["record"] >= len(found):
                raise damaged(path)
            if letter.get("view", self.name) == self.name:
                found[letter["record"]] = True
                if "view" in letter:
                    self.letters[letter["record"]] = (str(letter.get("code")), letter.get("column"))
        return found

    def _numbers(self, links: NDArray[np.int64], dead: NDArray[np.bool_]) -> None:
        """Look at which records were released: each once, none that was set aside, as many as were counted."""
        accounts = self.kept.accounts(self.name)
        numbers = links[:, 0][links[:, 0] >= 0]
        if len(numbers) and int(numbers.max()) >= self.kept.records:
            self.findings.breaks("accounts", "a row is of a record that was never read", "the links")
            return
        times = np.zeros(self.kept.records, np.uint8)
        np.add.at(times, numbers, 1)
        if (times > 1).any():
            self.findings.breaks("accounts", "a record was released twice", f"record {int(np.flatnonzero(times > 1)[0])}")
        if ((times > 0) & dead).any():
            self.findings.breaks("accounts", "a dead letter was released", f"record {int(np.flatnonzero((times > 0) & dead)[0])}")
        told = accounts.released + accounts.aggregated
        if int((times > 0).sum()) != told:
            self.findings.breaks("accounts", "not as many records were released as were counted", "the links", int((times > 0).sum()), told)

    def _manifest(self, released: ReleasedRows) -> None:
        """Hold the manifest against what was committed, and the files against both."""
        segments = self.kept.segments(self.name)
        listed = []
        if is_regular(released.manifest):
            with file_errors(released.manifest):
                listed = released.manifest.read_bytes().splitlines()
        numbered = zip(listed, enumerate(segments, start=1), strict=False)
        wrong = [number for line, (number, segment) in numbered if not _is_listed(line, number, segment)]
        if wrong:
            self.findings.breaks("manifest", "a segment is not listed as it was released", f"segment {wrong[0]}")
        if self.finished and len(listed) != len(segments):
            self.findings.breaks("manifest", "not as many segments are listed as were released", "its end", len(listed), len(segments))
        if self.finished and segments and is_regular(released.path) and released.path.stat().st_size != segments[-1].finish:
            size = released.path.stat().st_size
            self.findings.breaks("manifest", "the file is not as long as the segments that are listed", "its end", size, segments[-1].finish)
        if released.is_folder:
            for number, segment in enumerate(segments, start=1):
                path = released.path / segment.file
                if is_regular(path) and path.stat().st_size != segment.finish:
                    size = path.stat().st_size
                    self.findings.breaks("manifest", "a file is not as long as it was released", f"segment {number}", size, segment.finish)

    def _rows(self, released: ReleasedRows) -> Iterator[Row]:
        """Yield the rows of all segments; what cannot be read ends them."""
        for number, segment in enumerate(self.kept.segments(self.name), start=1):
            try:
                rows = released.rows(segment)
            except (NotAsWrittenError, UnreachableError) as error:
                if isinstance(error, UnreachableError) and error.code not in ("file-missing", "file-unreadable"):
                    # nothing is said of rows that we may not see
                    raise
                words = str(error) if isinstance(error, NotAsWrittenError) else "cannot be read"
                self.findings.breaks("manifest", f"a segment {words}", f"segment {number}")
                raise NotAsWrittenError(words) from None
            yield from rows


def _are_references(told: Mapping[str, Any], of_events: bool) -> bool:
    """Return whether it is what is written down: of events from which record on z was what and who was drawn, else how many had each value."""
    if of_events:
        drawn, tuned = told.get("drawn", []), [] if told.get("z") is None else told["z"]
        if not isinstance(drawn, list) or any(type(person) is not int for person in drawn) or not isinstance(tuned, list):
            return False
        return "z" in told and all(isinstance(each, list) and [type(number) for number in each] == [int, int] for each in tuned)
    return all(isinstance(counts, list) and all(type(count) is int and 0 <= count < _MOST for count in counts) for counts in told.values())


def _is_listed(line: bytes, number: int, segment: Segment) -> bool:
    """Return whether a line of a manifest says of a segment what is known of it, all of that, and nothing else."""
    known = [("segment", number), ("file", segment.file), ("from", segment.start), ("to", segment.finish), ("rows", segment.rows)]
    try:
        # true is no 1 here, and 1.0 neither
        return repr(json.loads(line, object_pairs_hook=list)) == repr(known)
    except (ValueError, RecursionError):
        return False


def _with(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest
