"""The history of a stream: what is measured of its views as its own time goes, for the report.

A stream that is replayed goes through days in seconds, so that its own time says when to look again, not the clock; and what is measured costs time
itself, of which it may take a small part.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.engine.stream.run_journal import Point
from sfumato.engine.stream.session import Session

_EVERY = 600 * 1_000_000
# so that points of a long stream stay few
_FURTHER = 1.01
# so many times as long as it takes to measure this process works on other things until the next time
_SHARE = 4.0


@dataclass
class History:
    """Gathers points until they are committed."""

    points: list[Point] = field(default_factory=list)
    # how many records had come when, by the views that look at times
    _came: list[tuple[int, int]] = field(default_factory=list)
    _began: int | None = None
    _time: dict[str, int] = field(default_factory=dict)
    _number: dict[str, int] = field(default_factory=dict)
    _again: dict[str, float] = field(default_factory=dict)

    def look(self, view: str, session: Session, is_timed: bool) -> None:
        """Measure a view, the first time and whenever ten minutes of the stream have gone by; a hundredth more of it where it is not ``is_timed``.

        A view that looks at no time takes that of the others, which are to be looked at before it.
        """
        now = session.time
        self._began = session.began if self._began is None else self._began
        if now is not None:
            self._came.append((session.next_number, now))
        else:
            now = max((time for number, time in self._came if number <= session.next_number), default=None)
        if now is not None:
            is_soon = now - self._time.get(view, now - _EVERY) < _EVERY
        else:
            is_soon = is_timed or session.next_number < _FURTHER * self._number.get(view, 0)
        if is_soon or time.process_time() < self._again.get(view, 0.0):
            return
        began = time.process_time()
        self.points.append(Point(view, session.next_number, told_of(session, now, self._began)))
        self._number[view] = session.next_number
        self._again[view] = time.process_time() + _SHARE * (time.process_time() - began)
        if now is not None:
            self._time[view] = now

    def taken(self) -> list[Point]:
        """Return what has been gathered, and begin anew."""
        found, self.points, self._came = self.points, [], self._came[-1:]
        return found


def told_of(session: Session, stream_time: int | None = None, stream_began: int | None = None) -> dict[str, Any]:
    """Return what is kept of a session's measures, with the time of the stream and of its first record, where there is one: seconds since 1970."""
    told = _flat(session.measured())
    now, began = (own if own is not None else others for own, others in ((session.time, stream_time), (session.began, stream_began)))
    z, silent = told.get("z"), told.get("silent")
    if z and silent and silent < z:
        # of so few people nobody is told, also not that they are there
        told["silent"] = None
    return told | {name: time / 1e6 for name, time in (("began", began), ("time", now)) if time is not None}


def _flat(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return measures in one mapping: what a search measures without its name before it, what is not a number as nothing."""
    found: dict[str, Any] = {}
    for name, value in measured.items():
        if isinstance(value, Mapping):
            inner = _flat(value)
            found |= inner if name == "search" else {f"{name}.{key}": each for key, each in inner.items()}
        else:
            found[str(name)] = None if isinstance(value, float) and not math.isfinite(value) else value
    return found
