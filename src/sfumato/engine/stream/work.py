"""The work of one push: records are fitted, masked, put into windows or given to a search, and what can leave does.

It starts from a state and ends with another; the one it started from is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.canonical import ValueType
from sfumato.core.stream import Accounts
from sfumato.engine.stream.closing import Closed, Learnt, close_window, release_of
from sfumato.engine.stream.dead_letters import DeadLetter, Unfit
from sfumato.engine.stream.forming import Clock, arrive, windows_of
from sfumato.engine.stream.incoming import Taken, fitted
from sfumato.engine.stream.masking import mask_as_they_come
from sfumato.engine.stream.measures import Measures
from sfumato.engine.stream.people import People
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.release import Pushed, StreamRelease
from sfumato.engine.stream.rows import Rows
from sfumato.engine.stream.sensitive import Known
from sfumato.engine.stream.times import kind_of_times, times_of
from sfumato.engine.stream.translating import in_canonical_form
from sfumato.engine.stream.verify import Promised
from sfumato.errors import DataError
from sfumato.policy.windows import Window


@dataclass(frozen=True, eq=False)
class State:
    """Everything that a session remembers but for what a search of its own does; nothing of it is ever changed, only replaced."""

    next_number: int = 0
    accounts: Accounts = field(default_factory=Accounts)
    clock: Clock = field(default_factory=Clock)
    waiting: Rows | None = None
    carried: Rows | None = None
    learnt: Learnt = field(default_factory=Learnt)
    known: Known = field(default_factory=Known)
    time_kind: ValueType | None = None
    next_cluster: int = 0
    measures: Measures = field(default_factory=Measures)


class Work:
    """One push, or the flush of a session."""

    def __init__(self, plan: StreamPlan, state: State, search: Any, people: People) -> None:
        self._plan, self.state, self.search, self._people = plan, state, search, people
        self._releases: list[StreamRelease] = []
        self._dead: list[DeadLetter] = []
        self._late: list[NDArray[np.int64]] = []
        self._suppressed: list[NDArray[np.int64]] = []

    def push(self, taken: Taken) -> Pushed:
        """Take records."""
        before = self.state.accounts
        rows = self._arrived(taken)
        if self._plan.way == "windows":
            self._into_windows(rows)
        elif self._plan.way == "rows":
            self._at_once(rows)
        return self._pushed(taken.rows, before)

    def flush(self) -> Pushed:
        """End what waits."""
        before = self.state.accounts
        if self._plan.way == "windows":
            self._close_all()
        return self._pushed(0, before)

    def started(self) -> Any:
        """Return a session of the search, as yet without records."""
        raise AssertionError("windows have no session of their own")

    def _arrived(self, taken: Taken) -> Rows:
        """Return records that fit and came in time as rows."""
        plan, first = self._plan, self.state.next_number
        numbers, unfit = np.arange(first, first + taken.rows, dtype=np.int64), Unfit(taken.rows)
        columns = in_canonical_form(plan, fitted(taken, plan.plan.schema, plan.resolved.policy, unfit), unfit)
        times = self._times(columns, unfit)
        starts = self._starts(columns, unfit)
        # a record that is set aside teaches nothing and moves no clock
        columns, numbers_left, times, starts = self._without(unfit, numbers, columns, times, starts)
        again = Unfit(len(numbers_left))
        made = mask_as_they_come(plan, columns, again)
        self._dead += again.letters(numbers_left)
        subject = plan.subject
        people = numbers_left if subject is None else self._people.numbers(columns[subject])
        rows = Rows.of(numbers_left, times, people, starts, {name: columns[name] for name in plan.needed}, made).where(again.fits)
        self.state = replace(self.state, next_number=first + taken.rows)
        return self._in_time(rows)

    def _without(
        self, unfit: Unfit, numbers: NDArray[np.int64], columns: Mapping[str, pa.Array], times: NDArray[np.int64], starts: NDArray[np.bool_]
    ) -> tuple[dict[str, pa.Array], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        self._dead += unfit.letters(numbers)
        fits = unfit.fits
        if fits.all():
            return dict(columns), numbers, times, starts
        kept = pa.array(fits)
        return {name: column.filter(kept) for name, column in columns.items()}, numbers[fits], times[fits], starts[fits]

    def _times(self, columns: Mapping[str, pa.Array], unfit: Unfit) -> NDArray[np.int64]:
        """Return when records were; set those aside that do not say it."""
        name = self._plan.time_column
        if name is None:
            return np.zeros(len(unfit.fits), np.int64)
        values = columns[name]
        kind = self.state.time_kind
        if kind is None:
            kind = kind_of_times(values.filter(pa.array(unfit.fits)), self._plan.resolved.policy.columns[name].type, self._plan.resolved)
            self.state = replace(self.state, time_kind=kind)
        unit = self._plan.window.unit if self._plan.window is not None else "s"
        times, known = times_of(values, kind, unit)
        unfit.add(~known, "time-missing", name)
        return times

    def _starts(self, columns: Mapping[str, pa.Array], unfit: Unfit) -> NDArray[np.bool_]:
        """Return which records begin a session, whatever came before."""
        window = self._plan.window
        if window is None or window.starts is None:
            return np.zeros(len(unfit.fits), bool)
        batch = pa.RecordBatch.from_pydict({name: columns[name] for name in window.starts.reads})
        try:
            return window.starts.holds(batch)
        except DataError:
            found = np.zeros(batch.num_rows, bool)
            for place in range(batch.num_rows):
                try:
                    found[place] = window.starts.holds(batch.slice(place, 1))[0]
                except DataError as error:
                    unfit.add(np.arange(batch.num_rows) == place, error.code, window.starts.reads[0])
            return found

    def _in_time(self, rows: Rows) -> Rows:
        """Return the rows that are not late, and move the clock."""
        window = self._plan.window
        if window is None or window.count is not None or not len(rows):
            return rows
        joins = self._plan.settings.on_late == "next"
        arrived = arrive(window, self.state.clock, rows.times, joins)
        self.state = replace(self.state, clock=arrived.clock)
        if joins:
            return rows.at(arrived.times)
        self._late.append(rows.numbers[arrived.late])
        return rows.where(~arrived.late)

    def _at_once(self, rows: Rows) -> None:
        """Publish rows that wait for nobody."""
        if len(rows):
            found = release_of(self._plan, rows, None, [], {}, Promised({}, {}, {}), self.state.learnt)
            if found is None:
                raise AssertionError("rows about which nothing is promised break no promise")
            self._hand_out(found[0], [])

    def _into_windows(self, rows: Rows) -> None:
        window = self._window
        if window.count is not None:
            self._counted(rows, window.count, window.most)
            return
        waiting = _joined(self.state.waiting, rows)
        self.state = replace(self.state, waiting=waiting)
        if waiting is not None and len(waiting):
            self._close_over(waiting, self.state.clock.over)
        self._not_too_many()

    def _counted(self, rows: Rows, count: int, most: int) -> None:
        """Fill windows with rows as they came; one that holds too many ends early."""
        place = 0
        while place < len(rows):
            waiting, carried = _number(self.state.waiting), _number(self.state.carried)
            room = max(1, min(count - waiting, most - waiting - carried))
            part = rows.part(place, min(len(rows), place + room))
            place += len(part)
            self.state = replace(self.state, waiting=_joined(self.state.waiting, part))
            waiting += len(part)
            if waiting >= count or waiting + carried >= most:
                self._close(self.state.waiting)
                self.state = replace(self.state, waiting=None)
                self._not_too_many()

    def _close_over(self, waiting: Rows, over: int) -> None:
        """Close the windows that are over, one after the other."""
        ends = windows_of(self._window, waiting, waiting.times)
        for end in np.unique(ends[ends <= over]).tolist():
            self._close(waiting.where(ends == end))
        self.state = replace(self.state, waiting=waiting.where(ends > over))

    def _not_too_many(self) -> None:
        """End the oldest window early where more is held than may be; what even then cannot be published is left out."""
        while _number(self.state.waiting) + _number(self.state.carried) > self._window.most or (
            not _number(self.state.waiting) and _number(self.state.carried) >= self._window.most
        ):
            waiting = self.state.waiting
            if waiting is None or not len(waiting):
                self._leave_out_carried()
                return
            ends = windows_of(self._window, waiting, waiting.times) if self._window.count is None else np.zeros(len(waiting), np.int64)
            oldest = ends == ends.min()
            self.state = replace(self.state, waiting=waiting.where(~oldest))
            self._close(waiting.where(oldest))

    def _close_all(self) -> None:
        """Close all windows in their order, and leave out what still cannot be published."""
        waiting = self.state.waiting
        if waiting is not None and len(waiting):
            if self._window.count is not None:
                self._close(waiting)
            else:
                ends = windows_of(self._window, waiting, waiting.times)
                for end in np.unique(ends).tolist():
                    self._close(waiting.where(ends == end))
                clock = self.state.clock
                self.state = replace(self.state, clock=replace(clock, over=max(clock.over, int(ends.max()))))
            self.state = replace(self.state, waiting=None)
        elif self.state.carried is not None:
            self._close(None)
        self._leave_out_carried()

    def _close(self, rows: Rows | None) -> None:
        """Publish a window together with what waits from earlier ones, or let it wait."""
        together = _joined(self.state.carried, rows)
        if together is None or not len(together):
            return
        closed: Closed = close_window(self._plan, together, self.state.learnt)
        measures = self.state.measures
        self.state = replace(self.state, learnt=closed.learnt, carried=closed.carried)
        if closed.carried is not None:
            self.state = replace(self.state, measures=replace(measures, carried=measures.carried + 1))
        self._dead += closed.dead
        self._suppressed.append(closed.suppressed)
        if closed.release is not None:
            first = self.state.next_cluster
            numbered = replace(closed.release, clusters=np.where(closed.release.clusters < 0, -1, closed.release.clusters + first))
            self.state = replace(self.state, next_cluster=int(numbered.clusters.max(initial=first - 1)) + 1)
            self._hand_out(numbered, closed.spans)

    def _leave_out_carried(self) -> None:
        if self.state.carried is not None:
            self._suppressed.append(self.state.carried.numbers)
            self.state = replace(self.state, carried=None)

    def _hand_out(self, release: StreamRelease, spans: Any) -> None:
        self._releases.append(release)
        measures = self.state.measures.released(release.numbers, self.state.next_number - 1, spans)
        self.state = replace(self.state, measures=measures)

    @property
    def _window(self) -> Window:
        window = self._plan.window
        if window is None:
            raise AssertionError("a view whose records wait for a window has one")
        return window

    def _pushed(self, came: int, before: Accounts) -> Pushed:
        """Return what happened, with every record accounted for once."""
        late, suppressed = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (self._late, self._suppressed))
        rows = sum(int((release.numbers >= 0).sum()) for release in self._releases)
        dead = sorted(self._dead)
        if dead and self._plan.settings.on_unfit == "error":
            raise _unfit(dead)
        aggregated = any(_aggregates(self._plan, name) for name in self._plan.wide)
        released = {"aggregated" if aggregated else "released": rows}
        gone = Accounts(**released, suppressed=len(suppressed), late=len(late), dead=len(dead))
        held = came - gone.records
        added = gone + Accounts(held=held)
        accounts = before + added
        if accounts.held != self._held or accounts.records != self.state.next_number:
            raise AssertionError("a record is accounted for twice, or not at all")
        self.state = replace(self.state, accounts=accounts)
        return Pushed(self._releases, dead, late, suppressed, added)

    @property
    def _held(self) -> int:
        return _number(self.state.waiting) + _number(self.state.carried)


def _joined(first: Rows | None, second: Rows | None) -> Rows | None:
    if first is None or second is None:
        return second if first is None else first
    return first.before(second)


def _number(rows: Rows | None) -> int:
    return 0 if rows is None else len(rows)


def _aggregates(plan: StreamPlan, name: str) -> bool:
    """Return whether a mask shows what a group of rows has in place of a row's own value."""
    mask = plan.masks[name]
    return any(step.card.of_groups for step in (*mask.steps, *mask.otherwise))


def _unfit(dead: list[DeadLetter]) -> DataError:
    first = dead[0]
    where = f" in column {first.column}" if first.column else ""
    return DataError(
        f"{len(dead)} of the records do not fit, the first is record {first.number}: {first.code}{where}",
        code="stream-unfit",
        hint="stream: {on_unfit: set_aside} sets such records aside as dead letters",
    )
