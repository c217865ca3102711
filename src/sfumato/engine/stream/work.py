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

from sfumato.core import canonical
from sfumato.core.canonical import ValueType
from sfumato.core.encoding import is_missing
from sfumato.core.stream import Accounts
from sfumato.engine.stream.ahead import ahead_of
from sfumato.engine.stream.closing import Learnt, release_of
from sfumato.engine.stream.cluster_ledger import Ledger
from sfumato.engine.stream.dead_letters import DeadLetter, Unfit
from sfumato.engine.stream.forming import Clock
from sfumato.engine.stream.incoming import Taken, fitted
from sfumato.engine.stream.lately import Lately
from sfumato.engine.stream.masking import mask_as_they_come
from sfumato.engine.stream.measures import Measures
from sfumato.engine.stream.names import Names
from sfumato.engine.stream.opted_out import OptedOut
from sfumato.engine.stream.people import People
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.release import Pushed, StreamRelease
from sfumato.engine.stream.retracing import Retraced
from sfumato.engine.stream.rows import Rows
from sfumato.engine.stream.sensitive import Known
from sfumato.engine.stream.times import in_calendar, kind_of_times, times_of
from sfumato.engine.stream.translating import in_canonical_form
from sfumato.engine.stream.verify import Promised
from sfumato.errors import DataError


@dataclass(frozen=True, eq=False)
class State:
    """Everything that a session remembers but for what a search of its own does; nothing of it is ever changed, only replaced."""

    next_number: int = 0
    accounts: Accounts = field(default_factory=Accounts)
    clock: Clock = field(default_factory=Clock)
    lately: Lately = field(default_factory=Lately)
    waiting: Rows | None = None
    carried: Rows | None = None
    learnt: Learnt = field(default_factory=Learnt)
    known: Known = field(default_factory=Known)
    time_kind: ValueType | None = None
    next_cluster: int = 0
    names: Names = field(default_factory=Names)
    ledger: Ledger = field(default_factory=Ledger)
    measures: Measures = field(default_factory=Measures)
    heeded: int = -1
    """Up to which record the search knows who was listed as having opted out."""


class Work:
    """One push, or the flush of a session, of records that wait for nobody; others begin and end in the same way."""

    def __init__(self, plan: StreamPlan, state: State, search: Retraced | None, people: People, opted_out: OptedOut) -> None:
        self._plan, self.state, self.search, self._people, self._opted_out = plan, state, search, people, opted_out
        self._first = state.next_number
        self._releases: list[StreamRelease] = []
        self._dead: list[DeadLetter] = []
        self._late: list[NDArray[np.int64]] = []
        self._suppressed: list[NDArray[np.int64]] = []
        self._unreadable = 0

    def push(self, taken: Taken, unreadable: NDArray[np.int64], remains: Taken | None = None) -> Pushed:
        """Take records; ``unreadable`` are the places of those among them that are no rows, and ``remains`` what could be read of these."""
        before, records = self.state.accounts, taken.rows + len(unreadable)
        self._unreadable = len(unreadable)
        if remains is not None:
            unfit = Unfit(remains.rows)
            unfit.add(np.ones(remains.rows, bool), "value-type")
            self._look_at_letters(self._fitted(remains, unfit), unfit)
        if taken.rows:
            places = np.arange(records)
            self._take(self._arrived(taken, np.delete(places, unreadable) if len(unreadable) else places))
        else:
            self.state = replace(self.state, next_number=self.state.next_number + records)
        return self._pushed(records, before)

    def flush(self) -> Pushed:
        """End what waits."""
        before = self.state.accounts
        self._end()
        return self._pushed(0, before)

    def started(self, state: bytes | None = None) -> Retraced:
        """Return a session of the search, as yet without records, or with those of a state."""
        return Retraced(self._start, state)

    def _start(self) -> Any:
        raise AssertionError("this search has no session of its own")

    def _arrived(self, taken: Taken, places: NDArray[np.int64]) -> Rows:
        """Return records that fit and came in time as rows; ``places`` are those of the rows among all records that came."""
        plan, first = self._plan, self.state.next_number
        numbers, unfit = first + places, Unfit(taken.rows)
        columns = self._fitted(taken, unfit)
        times = self._times(columns, unfit)
        starts = self._starts(columns, unfit)
        self._set_aside(columns, unfit)
        self._look_at_letters(columns, unfit)
        # a record that is set aside teaches nothing and moves no clock
        columns, numbers_left, times, starts = self._without(unfit, numbers, columns, times, starts)
        again = Unfit(len(numbers_left))
        made = mask_as_they_come(plan, columns, again)
        subject = plan.subject
        people = numbers_left if subject is None else self._people.numbers(columns[subject])
        self._set_aside_ahead(times, people, again)
        self._look_at_letters(columns, again)
        self._dead += again.letters(numbers_left)
        rows = Rows.of(numbers_left, times, people, starts, {name: columns[name] for name in plan.needed}, made).where(again.fits)
        self.state = replace(self.state, next_number=first + taken.rows + self._unreadable)
        return self._in_time(rows)

    def _fitted(self, taken: Taken, unfit: Unfit) -> dict[str, pa.Array]:
        """Return columns as the schema has them, in canonical form; set records aside that do not fit."""
        plan = self._plan
        return in_canonical_form(plan, fitted(taken, plan.plan.schema, plan.resolved.policy, unfit), unfit)

    def _set_aside(self, columns: Mapping[str, pa.Array], unfit: Unfit) -> None:
        """Set records aside of which the search cannot decide: here it can of all."""

    def _look_at_letters(self, columns: Mapping[str, pa.Array], unfit: Unfit) -> None:
        """Look at what can be read of records that are set aside: here nothing is."""

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
        """Return when records were; set those aside that do not say it, by what they say instead."""
        name = self._plan.time_column
        if name is None:
            return np.zeros(len(unfit.fits), np.int64)
        values = columns[name]
        kind = self.state.time_kind
        if kind is None:
            kind = kind_of_times(values.filter(pa.array(unfit.fits)), name, self._plan.resolved)
            self.state = replace(self.state, time_kind=kind)
        # where nobody has said a time yet, there is none that a type could be told by
        nobody = np.zeros(len(values), np.int64), np.zeros(len(values), bool)
        times, known = nobody if kind is None else times_of(values, kind, self._plan.time_unit)
        window = self._plan.window
        if window is not None and window.publish is not None:
            # what no calendar has cannot be published
            known = known & in_calendar(times, window.length)
        if not known.all():
            given = ~is_missing(values, self._plan.resolved.policy.columns[name].missing).to_numpy(zero_copy_only=False)
            readable = given if kind is None else canonical.parse(values, kind).is_valid().to_numpy(zero_copy_only=False)
            unfit.add(~given, "time-missing", name)
            unfit.add(~known & ~readable, "value-type", name)
            unfit.add(~known, "time-outside", name)
        return times

    def _set_aside_ahead(self, times: NDArray[np.int64], people: NDArray[np.int64], unfit: Unfit) -> None:
        """Set records aside that are further ahead of the stream's own time than the policy believes of one person alone."""
        jump, clock, fits = self._plan.settings.longest_jump, self.state.clock, unfit.fits
        if jump is None or self._plan.time_column is None:
            return
        ahead, doubted = ahead_of(clock.time, clock.doubted, jump, times[fits], people[fits])
        self.state = replace(self.state, clock=replace(clock, doubted=doubted))
        found = np.zeros(len(fits), bool)
        found[fits] = ahead
        unfit.add(found, "time-ahead", self._plan.time_column)

    def _came_late(self, rows: Rows, late: NDArray[np.bool_]) -> None:
        """Take note of which rows came late, and set those aside that are to be kept."""
        self.state = replace(self.state, lately=self.state.lately.later(rows.times, late))
        if self._plan.settings.on_late == "set_aside":
            self._dead += [DeadLetter(number, "late", self._plan.time_column) for number in rows.numbers[late].tolist()]
        elif self._plan.settings.on_late == "leave_out" or self._plan.window is None:
            # without windows there is no next one
            self._late.append(rows.numbers[late])

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
        """Return the rows that are not late: here none is."""
        return rows

    def _take(self, rows: Rows) -> None:
        """Publish rows at once."""
        if len(rows):
            found = release_of(self._plan, rows, None, [], {}, Promised({}, {}, {}), self.state.learnt)
            if found is None:
                raise AssertionError("rows about which nothing is promised break no promise")
            self._hand_out(found[0], [])

    def _end(self) -> None:
        """Nothing waits."""

    def _hand_out(self, release: StreamRelease, spans: Any, waited: NDArray[np.int64] | None = None) -> None:
        """Hand out a release; ``waited`` has how many records came after each of its own before it was decided, where they had to wait."""
        self._releases.append(release)
        came_after = np.zeros(0, np.int64) if waited is None else waited
        measures = self.state.measures.released(len(release.numbers), came_after, spans, release.removed)
        self.state = replace(self.state, measures=measures)

    def _pushed(self, came: int, before: Accounts) -> Pushed:
        """Return what happened, with every record accounted for once."""
        late, suppressed = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (self._late, self._suppressed))
        rows = sum(int((release.numbers >= 0).sum()) for release in self._releases)
        dead = sorted(self._dead)
        unfit = [letter for letter in dead if letter.code != "late"]
        if unfit and self._plan.settings.on_unfit == "error":
            raise unfit_records(len(unfit), unfit[0].number, unfit[0].code, unfit[0].column)
        aggregated = any(_aggregates(self._plan, name) for name in self._plan.wide)
        released = {"aggregated" if aggregated else "released": rows}
        gone = Accounts(**released, suppressed=len(suppressed), late=len(late), dead=len(dead) + self._unreadable)
        held = came - gone.records
        added = gone + Accounts(held=held)
        accounts = before + added
        if accounts.held != self._held or accounts.records != self.state.next_number:
            raise AssertionError("a record is accounted for twice, or not at all")
        self.state = replace(self.state, accounts=accounts)
        return Pushed(self._releases, dead, late, suppressed, added)

    @property
    def _held(self) -> int:
        return number_of_rows(self.state.waiting) + number_of_rows(self.state.carried)


def joined(first: Rows | None, second: Rows | None) -> Rows | None:
    """Return some rows with others behind them, of which there may be none."""
    if first is None or second is None:
        return second if first is None else first
    return first.before(second)


def number_of_rows(rows: Rows | None) -> int:
    """Return how many rows there are."""
    return 0 if rows is None else len(rows)


def _aggregates(plan: StreamPlan, name: str) -> bool:
    """Return whether a mask shows what a group of rows has in place of a row's own value."""
    mask = plan.masks[name]
    # a mean of those who are alike in value is a group's too
    return any(step.card.of_groups or getattr(step, "way", None) == "ordering" for step in (*mask.steps, *mask.otherwise))


def unfit_records(number: int, first: int, reason: str, column: str | None) -> DataError:
    """Return the error of records that do not fit, of which the first, and what is wrong with it, is told."""
    where = f" in column {column}" if column else ""
    return DataError(
        f"{number} of the records {'does' if number == 1 else 'do'} not fit, the first is record {first}: {reason}{where}",
        code="stream-unfit",
        hint="stream: {on_unfit: set_aside} sets such records aside as dead letters",
    )
