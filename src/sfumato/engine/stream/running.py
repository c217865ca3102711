"""A stream that runs: records from its source through the sessions of all views to their releases, each exactly once.

Rows are kept until it is written down of which pieces they are; then they are written, and committed: one transaction of the journal says what was
read and how much of every file counts. After a crash the states that were last kept are restored, the pieces since are taken again, and what they
release is thrown away, for it was written before. Pieces that were planned and not committed are taken again as they were cut: whoever saw rows of
them sees the same ones, for chance hangs on the cuts.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pyarrow as pa

from sfumato.core import places
from sfumato.core.decoded import Decoded
from sfumato.core.followed_files import Stretch
from sfumato.engine.plan import AnyPolicy
from sfumato.engine.stream.depended_on import refuse_changed_files
from sfumato.engine.stream.endpoint import address_of, served
from sfumato.engine.stream.history import History, told_of
from sfumato.engine.stream.last_word import forget_word, leave_word
from sfumato.engine.stream.letters import Letters
from sfumato.engine.stream.opted_out import OptedOut
from sfumato.engine.stream.outputs import Links, written
from sfumato.engine.stream.progress import StreamProgress, ViewProgress, as_numbers
from sfumato.engine.stream.reading import Reading
from sfumato.engine.stream.release import Pushed
from sfumato.engine.stream.run_journal import Commit, Journal, Piece, Planned, Point, Segment
from sfumato.engine.stream.session import Session
from sfumato.engine.stream.taken_log import TakenLog
from sfumato.engine.stream.used_keys import refuse_changed_keys
from sfumato.engine.stream.work import unfit_records
from sfumato.engine.warm import is_stream_warm
from sfumato.errors import DataError, PolicyError, SfumatoError
from sfumato.policy.identity import identity_of, policy_hash
from sfumato.policy.load import Loaded, load
from sfumato.policy.own_files import MANIFEST
from sfumato.policy.views import resolve_views
from sfumato.policy.windows import StreamSettings

End = Literal["flush", "keep"]
_POLL = 0.1
_HEARTBEAT = 5.0
_COMMIT_BYTES = 32 << 20
_SNAPSHOT_SECONDS = 10.0
_SNAPSHOT_BYTES = 256 << 20
# a state that takes long to write down is written down less often
_SNAPSHOT_SHARE = 20.0
_SNAPSHOT_SHARE_IN_HASTE = 4.0


@dataclass(frozen=True)
class Running:
    """How a stream is to run: whether it ends where its files do, and what becomes of records that wait when it ends or is stopped."""

    once: bool = False
    at_end: End = "flush"
    on_stop: End = "keep"
    metrics: str | None = None


@dataclass
class _View:
    """One view as it runs."""

    session: Session
    output: Any
    links: Links


@dataclass
class _Since:
    """What has been done since the last commit."""

    pieces: list[Piece] = field(default_factory=list)
    released: list[tuple[str, pa.RecordBatch]] = field(default_factory=list)
    flushed: bool = False
    has_read: bool = False
    bytes: int = 0
    began: float = field(default_factory=time.monotonic)


def state_folder(loaded: Loaded) -> Path:
    """Return the private folder of a policy's stream: the one it names, or one of the installation's own."""
    settings = loaded.policy.stream
    if settings is not None and settings.state is not None:
        return (loaded.folder or Path()) / settings.state
    name = hashlib.sha256(identity_of(loaded.policy, loaded.path).encode()).hexdigest()[:16]
    return places.folder("streams") / name


def run_stream(
    policy: AnyPolicy, running: Running | None = None, stop: threading.Event | None = None, watch: Any = None, pipe: IO[bytes] | None = None
) -> StreamProgress:
    """Run a stream until its end, or until ``stop`` is set; ``watch`` is called with its progress about twice a second."""
    loaded, running = load(policy), running or Running()
    if running.metrics is not None:
        # before the status of a stream is written over that never ran
        address_of(running.metrics)
    with ExitStack() as stack:
        return _Stream(loaded, running, stop or threading.Event(), watch, pipe, stack).run()


class _Stream:
    def __init__(self, loaded: Loaded, running: Running, stop: threading.Event, watch: Any, pipe: IO[bytes] | None, stack: ExitStack) -> None:
        self._running, self._stop, self._watch, self._stack = running, stop, watch, stack
        resolved = resolve_views(loaded).views
        first = next(iter(resolved.values()))
        self._journal = stack.enter_context(Journal(state_folder(loaded), policy_hash(loaded.policy)))
        refuse_changed_files(self._journal, resolved)
        refuse_changed_keys(self._journal, resolved)
        self.progress = StreamProgress(self._journal.records)
        last = self._journal.last_measured()
        # until more is known the last commit is what there is to say
        self.progress.views = {name: ViewProgress(self._journal.accounts(name).as_mapping(), as_numbers(last.get(name, {}))) for name in resolved}
        self._loaded, self.progress.compiles = loaded, not is_stream_warm(loaded)
        self._views: dict[str, _View] = {}
        for name, each in resolved.items():
            session = Session(loaded, name or None, self._journal.secret, opted_out=OptedOut.of(self._journal, name))
            output, links = written(each, name, self._journal, stop, self._unread), Links(self._journal.folder, name, self._journal)
            stack.callback(output.close)
            stack.callback(links.close)
            self._views[name] = _View(session, output, links)
        self._letters = Letters(self._journal.folder, self._journal)
        stack.callback(self._letters.close)
        self._taken = TakenLog(self._journal.folder, self._journal)
        stack.callback(self._taken.close)
        released = [place for each in resolved.values() if each.sink is not None for place in each.sink.places()]
        self._reading = Reading(first, self._journal, pipe, released=[name for place in released for name in (place, f"{place}.{MANIFEST}")])
        stack.callback(self._reading.close)
        settings = loaded.policy.stream or StreamSettings()
        self._stops_at_unfit = settings.on_unfit == "error"
        self._batch, self._longest_wait = settings.batch, settings.longest_wait
        self._number = 0
        self._since, self._history = _Since(), History()
        self._snapshot_at, self._snapshot_cost, self._bytes_since_snapshot = time.monotonic(), 0.0, 0
        # the places of the source that the next process would have to read again
        self._needed = {piece.place for piece in self._journal.pieces()}
        self._looked = self._told_at = 0.0
        self._told_awaited: str | None = None

    def run(self) -> StreamProgress:
        """Run to the end; whatever stops the stream, its status says so."""
        try:
            self._tell()
            forget_word(self._journal.folder)
            with served(self._running.metrics, self.progress):
                self._recover()
                self._take_planned()
                self._tell(self._measured())
                return self._go_on()
        except BaseException as error:
            self.progress.state, self.progress.error = _how_it_ended(error)
            try:
                if isinstance(error, PolicyError | DataError) and not self._journal.has_begun:
                    self._reading.discard()
                self._tell()
            except SfumatoError:
                leave_word(self._journal.folder, self.progress.error)
            raise

    def _go_on(self) -> StreamProgress:
        if self._running.once:
            self._reading.refuse_missing()
        ended = False
        while not self._stop.is_set() and not ended:
            if self._take(ended=False):
                continue
            if self._reading.ended or (self._running.once and not self._reading.is_pipe):
                # once more: what came between the last look and the end; a line of a file that is not whole may yet become so
                ended = not self._take(self._reading.ended or self._running.at_end == "flush")
                continue
            self._commit_if_due(idle=True)
            self.progress.waiting()
            if time.monotonic() - self._told_at > _HEARTBEAT or self.progress.awaited != self._told_awaited:
                self.progress.compiles = self.progress.compiles and not is_stream_warm(self._loaded)
                self._tell()
            self._show()
            self._reading.wait(_POLL)
        if ended:
            self._reading.refuse_absent()
        self._end(self._running.on_stop if self._stop.is_set() and not ended else self._running.at_end)
        return self.progress

    def _unread(self) -> None:
        """Say that nobody reads what is written, while it is waited for."""
        self.progress.held_up("nobody reads standard output")
        if time.monotonic() - self._told_at > _HEARTBEAT:
            self._tell()

    def _recover(self) -> None:
        """Bring sessions to where the last commit was."""
        pieces = self._journal.pieces()
        for name, view in self._views.items():
            kept = self._journal.snapshot(name)
            if kept is not None:
                view.session.restore(kept)
        for piece in pieces:
            decoded = self._reading.decode(self._reading.again(piece.place, piece.start, piece.finish))
            for view in self._views.values():
                for records in self._batches(decoded):
                    view.session.push(*records)
            self.progress.goes_on()
        self._number = self._journal.records
        for name, view in self._views.items():
            if self._number and view.session.accounts != self._journal.accounts(name):
                raise SfumatoError(
                    f"the stream{f' of view {name}' if name else ''} came to another result when it was taken up again",
                    code="stream-replay",
                    hint="report it; the state was left as it is, and so was the release",
                )

    def _take_planned(self) -> None:
        """Release what a process that died had begun to release, in the same pieces: some of it may have been seen."""
        planned = self._journal.planned
        if planned is None:
            return
        for piece in planned.pieces:
            self._push(self._reading.again(piece.place, piece.start, piece.finish))
        if planned.flush:
            self._flush()
        # what was ended is in no piece: only a state tells of it
        self._commit(snapshot=planned.flush)

    def _take(self, ended: bool) -> bool:
        """Take what there is to read; return whether there was anything."""
        found = False
        for stretch in self._stretches(ended):
            found = True
            self._push(stretch)
            self._commit_if_due()
            self._show()
            if self._stop.is_set():
                break
        self.progress.unfinished, self.progress.absent = self._reading.unfinished, self._reading.absent
        self.progress.lost, self.progress.awaited = len(self._reading.lost), None if self._number else self._reading.awaited
        return found

    def _stretches(self, ended: bool) -> Iterator[Stretch]:
        """Yield what there is to read; should the source fail, states are kept: what they need of it may not be there the next time."""
        try:
            yield from self._reading.stretches(ended)
        except SfumatoError:
            with suppress(SfumatoError):
                if self._number:
                    self._commit(snapshot=True)
            raise

    def _push(self, stretch: Stretch) -> None:
        decoded = self._reading.decode(stretch)
        self._since.has_read = True
        if decoded.records:
            self._push_records(stretch, decoded)
        self._since.bytes += len(stretch.content)
        self._bytes_since_snapshot += len(stretch.content)

    def _push_records(self, stretch: Stretch, decoded: Decoded) -> None:
        """Take the records of a stretch. One without any, such as a header alone, is no piece: only the position tells that it was read."""
        if decoded.poison and self._stops_at_unfit:
            first = min(decoded.poison, key=lambda each: each.place)
            raise unfit_records(len(decoded.poison), self._number + first.place, first.code, first.column)
        self._letters.poison(decoded, stretch.content, self._number)
        # the time of the stream is known from the views that look at it, to the others too
        is_timed = any(view.session.looks_at_times for view in self._views.values())
        for name, view in sorted(self._views.items(), key=lambda each: not each[1].session.looks_at_times):
            for records in self._batches(decoded):
                self._write(name, view, view.session.push(*records), decoded)
                self._history.look(name, view.session, is_timed)
        piece = Piece(self._number, decoded.records, stretch.place, stretch.start, stretch.end)
        self._since.pieces.append(piece)
        self._needed.add(piece.place)
        self._taken.write(piece)
        self._number += decoded.records
        self.progress.compiles = False

    def _batches(self, decoded: Decoded) -> Iterator[tuple[pa.RecordBatch, Sequence[int], pa.RecordBatch | None]]:
        """Yield the rows of a stretch, so many at a time as the policy says, which records among them are none, and what remains of these.

        When a stretch is taken again they are the same.
        """
        poison, rows = np.array([each.place for each in decoded.poison], np.int64), decoded.rows.num_rows
        begin = 0
        for start in range(0, max(rows, 1), self._batch):
            end = int(decoded.places[start + self._batch]) if start + self._batch < rows else decoded.records
            unreadable = poison[(poison >= begin) & (poison < end)] - begin
            first, last = np.searchsorted(decoded.remains_of, [begin, end]).tolist()
            remains = decoded.remains.slice(first, last - first) if decoded.remains is not None and first < last else None
            yield decoded.rows.slice(start, self._batch), unreadable.tolist(), remains
            begin = end

    def _write(self, name: str, view: _View, pushed: Pushed, decoded: Decoded | None = None) -> None:
        for release in pushed:
            self._since.released.append((name, release.batch))
            view.links.write(release)
        if pushed.dead:
            self._letters.unfit(name, pushed.dead, decoded, self._number)

    def _commit_if_due(self, idle: bool = False) -> None:
        since = self._since
        due = since.bytes >= _COMMIT_BYTES or time.monotonic() - since.began >= self._longest_wait
        if since.has_read and (due or idle):
            self._commit(self._snapshot_due())
        elif idle and self._needed and self._snapshot_due():
            # nothing more may come for long, and the files that were read are to be let go of
            self._commit(snapshot=True)

    def _snapshot_due(self) -> bool:
        waited = time.monotonic() - self._snapshot_at
        if self._reading.is_gone(self._needed) and waited > _SNAPSHOT_SHARE_IN_HASTE * self._snapshot_cost:
            return True
        return waited > max(_SNAPSHOT_SECONDS, _SNAPSHOT_SHARE * self._snapshot_cost) or self._bytes_since_snapshot > _SNAPSHOT_BYTES

    def _commit(self, snapshot: bool) -> None:
        accounts = {name: view.session.accounts for name, view in self._views.items()}
        wrong = [name for name, each in accounts.items() if each.records != self._number]
        if wrong:
            raise SfumatoError("records are not accounted for", code="stream-accounts", hint="report it; nothing of this batch was published")
        segments = self._published()
        files = self._letters.sync() | self._taken.sync()
        for view in self._views.values():
            files |= view.links.sync()
        began = time.monotonic()
        snapshots = {name: view.session.snapshot() for name, view in self._views.items()} if snapshot else None
        measured = self._measured()
        if snapshots is not None:
            self._reading.forget_gone()
        points = [*self._history.taken(), *(Point(name, self._number, told) for name, told in measured.items())]
        self._journal.commit(Commit(self._since.pieces, self._reading.position, accounts, segments, files, points, snapshots))
        for name, view in self._views.items():
            view.output.list(segments[name])
        if snapshots is not None:
            self._snapshot_at, self._snapshot_cost, self._bytes_since_snapshot = time.monotonic(), time.monotonic() - began, 0
            self._needed.clear()
            if self._since.pieces:
                last = self._since.pieces[-1]
                self._reading.forget(last.place, last.finish)
        self._since = _Since()
        self._tell(measured)

    def _published(self) -> dict[str, list[Segment]]:
        """Write the rows since the last commit, once it is written down which pieces they are of."""
        since = self._since
        if since.released:
            self._journal.plan(Planned(since.pieces, since.flushed, self._reading.position))
        for name, rows in since.released:
            self._views[name].output.write(rows)
        return {name: list(view.output.sync()) for name, view in self._views.items()}

    def _flush(self) -> None:
        for name, view in self._views.items():
            self._write(name, view, view.session.flush())
        self._since.flushed = True

    def _end(self, end: End) -> None:
        if end == "flush":
            self._flush()
        self._commit(snapshot=True)
        self.progress.state = "ended" if end == "flush" else "stopped"
        self._tell()
        self._show(always=True)

    def _measured(self) -> dict[str, dict[str, Any]]:
        sessions = [view.session for view in self._views.values()]
        now = max((each.time for each in sessions if each.time is not None), default=None)
        began = min((each.began for each in sessions if each.began is not None), default=None)
        return {name: told_of(view.session, now, began) for name, view in self._views.items()}

    def _tell(self, measured: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Write down how the stream is doing, with what has come of it where something has."""
        self.progress.needed = self._reading.files(self._needed)
        if measured is not None:
            told = {
                name: ViewProgress(view.session.accounts.as_mapping(), as_numbers(measured[name]), self._letters.reasons(name))
                for name, view in self._views.items()
            }
            self.progress.add(self._number, told)
        self.progress.write(self._journal.folder / "status.json")
        self._told_at, self._told_awaited = time.monotonic(), self.progress.awaited

    def _show(self, always: bool = False) -> None:
        now = time.monotonic()
        if self._watch is not None and (always or now - self._looked > 0.5):
            self._looked = now
            self._watch(self.progress)


def _how_it_ended(error: BaseException) -> tuple[str, str | None]:
    """Return what the status says of a stream that an error has ended: who goes away, or interrupts it, is no fault of its own."""
    if isinstance(error, SfumatoError):
        return "failed", error.code
    if isinstance(error, BrokenPipeError):
        return "stopped", None
    return ("failed", "internal") if isinstance(error, Exception) else ("interrupted", None)
