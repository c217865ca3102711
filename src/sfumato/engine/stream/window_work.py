"""The work of one push where records wait for windows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.engine.stream.closing import Closed, close_window
from sfumato.engine.stream.forming import arrive, windows_of
from sfumato.engine.stream.opted_out import OptedOut
from sfumato.engine.stream.people import People
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.rows import Rows
from sfumato.engine.stream.work import State, Work, joined, number_of_rows
from sfumato.policy.windows import Window


class WindowWork(Work):
    """Puts rows into windows, and publishes those that are over."""

    def __init__(self, plan: StreamPlan, state: State, search: Any, people: People, opted_out: OptedOut) -> None:
        super().__init__(plan, state, search, people, opted_out)
        self._came, self._over = np.empty(0, np.int64), np.empty(0, np.int64)

    def _in_time(self, rows: Rows) -> Rows:
        """Return the rows that are not late, and move the clock."""
        window = self._plan.window
        if window is None or window.count is not None or not len(rows):
            return rows
        joins = self._plan.settings.on_late == "next"
        arrived = arrive(window, self.state.clock, rows.times, joins)
        self.state = replace(self.state, clock=arrived.clock)
        self._came, self._over = rows.numbers, arrived.over
        self._came_late(rows, arrived.late)
        return rows.at(arrived.times) if joins else rows.where(~arrived.late)

    def _take(self, rows: Rows) -> None:
        window = self._window
        if window.count is not None:
            self._counted(rows, window.count, window.most)
            return
        place = 0
        while place < len(rows):
            # no more than there is room for, so that the record that is one too many ends the oldest window wherever batches end
            part = rows.part(place, min(len(rows), place + max(1, window.most - self._held)))
            place += len(part)
            last = int(part.numbers[-1])
            self.state = replace(self.state, waiting=joined(self.state.waiting, part))
            self._close_over(int(self._over[np.searchsorted(self._came, last)]))
            self._not_too_many(last)

    def _counted(self, rows: Rows, count: int, most: int) -> None:
        """Fill windows with rows as they came; one that holds too many ends early."""
        place = 0
        while place < len(rows):
            waiting, carried = number_of_rows(self.state.waiting), number_of_rows(self.state.carried)
            room = max(1, min(count - waiting, most - waiting - carried))
            part = rows.part(place, min(len(rows), place + room))
            place += len(part)
            self.state = replace(self.state, waiting=joined(self.state.waiting, part))
            waiting += len(part)
            if waiting >= count or waiting + carried >= most:
                last = int(part.numbers[-1])
                self._close(self.state.waiting, last)
                self.state = replace(self.state, waiting=None)
                self._not_too_many(last)

    def _close_over(self, over: int) -> None:
        """Close the windows that are over, one after the other."""
        waiting = self.state.waiting
        if waiting is None:
            return
        ends = windows_of(self._window, waiting, waiting.times)
        for end in np.unique(ends[ends <= over]).tolist():
            self._close(waiting.where(ends == end), self._ended_by(end))
        self.state = replace(self.state, waiting=waiting.where(ends > over))

    def _ended_by(self, end: int) -> int:
        """Return the record of this push with which a window was over."""
        place = int(np.searchsorted(self._over, end))
        return int(self._came[place]) if place < len(self._came) else self._latest

    def _not_too_many(self, last: int) -> None:
        """End the oldest window early where more is held than may be once a record has come; what even then cannot be published is left out."""
        while number_of_rows(self.state.waiting) + number_of_rows(self.state.carried) > self._window.most or (
            not number_of_rows(self.state.waiting) and number_of_rows(self.state.carried) >= self._window.most
        ):
            waiting = self.state.waiting
            if waiting is None or not len(waiting):
                self._leave_out_carried()
                return
            ends = windows_of(self._window, waiting, waiting.times) if self._window.count is None else np.zeros(len(waiting), np.int64)
            oldest = ends == ends.min()
            self.state = replace(self.state, waiting=waiting.where(~oldest))
            self._close(waiting.where(oldest), last)

    def _end(self) -> None:
        """Close all windows in their order, and leave out what still cannot be published."""
        waiting = self.state.waiting
        if waiting is not None and len(waiting):
            if self._window.count is not None:
                self._close(waiting, self._latest, last=True)
            else:
                ends = windows_of(self._window, waiting, waiting.times)
                for end in np.unique(ends).tolist():
                    self._close(waiting.where(ends == end), self._latest, last=end == ends.max())
                if self._window.time is not None:
                    clock = self.state.clock
                    self.state = replace(self.state, clock=replace(clock, over=max(clock.over, int(ends.max()))))
            self.state = replace(self.state, waiting=None)
        elif self.state.carried is not None:
            self._close(None, self._latest, last=True)
        self._leave_out_carried()

    def _close(self, rows: Rows | None, ended_by: int, last: bool = False) -> None:
        """Publish a window together with what waits from earlier ones, or let it wait; ``ended_by`` is the record with which it was over.

        ``last`` says that no other window follows.
        """
        together = joined(self.state.carried, rows)
        if together is None or not len(together):
            return
        closed: Closed = close_window(self._plan, together, self.state.learnt, last)
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
            # a session that a later record has split may have been over before
            ended_by = max(ended_by, int(together.numbers.max()))
            self._hand_out(numbered, closed.spans, ended_by - numbered.numbers)

    def _leave_out_carried(self) -> None:
        if self.state.carried is not None:
            self._suppressed.append(self.state.carried.numbers)
            self.state = replace(self.state, carried=None)

    @property
    def _latest(self) -> int:
        return self.state.next_number - 1

    @property
    def _window(self) -> Window:
        window = self._plan.window
        if window is None:
            raise AssertionError("a view whose records wait for a window has one")
        return window
