"""Windows: which rows of a stream are anonymised together, and when a window is over.

Whatever time is meant is that of the records. A window of time is over when a record has come that is later than its end by the lateness that the
policy allows; whatever comes for it afterwards is late. Sessions are those of people: a person's records follow each other within a gap, and a record
that begins a session splits the one that covers its time (Traub and others, "Scotty: general and efficient open-source window aggregation for
stream processing systems", 2021: the slice is cut at the record's time, unless one begins there already). Sessions that end in one stretch as long as
the gap are one window, so that a window holds many people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.stream.ahead import Doubted
from sfumato.engine.stream.rows import Rows
from sfumato.policy.windows import Window

_LONG_AGO = -(1 << 62)


@dataclass(frozen=True)
class Clock:
    """How far a stream has come: the latest time seen, before which time all windows are over, the time of the first record, and what is in doubt."""

    latest: int = _LONG_AGO
    over: int = _LONG_AGO
    began: int | None = None
    doubted: Doubted = ()

    @property
    def time(self) -> int | None:
        """The latest time seen; None where there was none."""
        return self.latest if self.latest > _LONG_AGO else None

    def later(self, times: NDArray[np.int64]) -> Clock:
        """Return the clock after further records, of which there is at least one."""
        return replace(self, latest=max(self.latest, int(times.max())), began=int(times[0]) if self.began is None else self.began)


@dataclass(frozen=True, eq=False)
class Arrived:
    """Rows that have come in time, the places of those that were late among all, and the clock after them."""

    late: NDArray[np.bool_]
    times: NDArray[np.int64]
    clock: Clock
    over: NDArray[np.int64]
    """Before which time all windows are over once each of the rows has come."""


def arrive(window: Window, clock: Clock, times: NDArray[np.int64], late_join: bool) -> Arrived:
    """Look at the times of further rows in the order in which they came.

    Late is a row that lies before the end of all windows that were over when it came; where late rows join, they are taken as if they had been at
    that end. What is over hangs on the rows alone, not on how they were cut into batches.
    """
    length = window.length
    before = np.maximum.accumulate(np.concatenate([[clock.latest], times]))
    over = np.maximum(_whole(before - window.allowed_lateness, length), clock.over)
    late = times < over[:-1]
    joined = np.where(late, over[:-1], times) if late_join else times
    return Arrived(late, joined, replace(clock.later(times), over=int(over[-1])), over[1:])


def windows_of(window: Window, rows: Rows, times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return by which time the window of each row is over: the end of its stretch of time, or of the one in which its session ends."""
    length = window.length
    if window.session is None:
        return _whole(times, length) + length
    last = session_ends(rows.people, times, rows.starts, length)
    return _whole(last + length, length) + length


def session_ends(people: NDArray[np.int64], times: NDArray[np.int64], starts: NDArray[np.bool_], gap: int) -> NDArray[np.int64]:
    """Return the time of the last row of each row's session.

    >>> session_ends(np.array([1, 1, 2, 1]), np.array([0, 5, 5, 30]), np.zeros(4, bool), 10).tolist()
    [5, 5, 5, 30]
    >>> session_ends(np.array([1, 1, 1]), np.array([0, 8, 4]), np.array([False, False, True]), 10).tolist()
    [0, 8, 8]
    """
    if not len(people):
        return np.empty(0, np.int64)
    # of rows at one time those that begin a session come first: all of that time are in it
    order = np.lexsort((~starts, times, people))
    whose, when, begins = people[order], times[order], starts[order]
    first = np.ones(len(order), bool)
    same = whose[1:] == whose[:-1]
    # a second beginning at one time cuts nothing: a session begins there already
    first[1:] = ~same | (when[1:] - when[:-1] > gap) | (begins[1:] & (when[1:] != when[:-1]))
    session = np.cumsum(first) - 1
    lasts = when[np.append(np.flatnonzero(first)[1:] - 1, len(order) - 1)]
    found = np.empty(len(order), np.int64)
    found[order] = lasts[session]
    return found


def _whole(times: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Return the ends of stretches of time: what is before is made of whole ones, counted from 1970."""
    found: NDArray[np.int64] = np.floor_divide(np.maximum(times, _LONG_AGO), length) * length
    return found
