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
# so many times as long as it takes to measure passes until the next time
_SHARE = 20.0


@dataclass
class History:
    """Gathers points until they are committed."""

    points: list[Point] = field(default_factory=list)
    # how many records had come when, by the views that look at times
    _came: list[tuple[int, int]] = field(default_factory=list)
    _time: dict[str, int] = field(default_factory=dict)
    _again: dict[str, float] = field(default_factory=dict)

    def look(self, view: str, session: Session) -> None:
        """Measure a view, the first time and whenever ten minutes of the stream have gone by.

        A view that looks at no time takes that of the others, which are to be looked at before it.
        """
        now = session.time
        if now is not None:
            self._came.append((session.next_number, now))
        else:
            now = max((time for number, time in self._came if number <= session.next_number), default=None)
        if now is None or now - self._time.get(view, now - _EVERY) < _EVERY or time.monotonic() < self._again.get(view, 0.0):
            return
        began = time.monotonic()
        self.points.append(Point(view, session.next_number, told_of(session, now)))
        self._time[view], self._again[view] = now, time.monotonic() + _SHARE * (time.monotonic() - began)

    def taken(self) -> list[Point]:
        """Return what has been gathered, and begin anew."""
        found, self.points, self._came = self.points, [], self._came[-1:]
        return found


def told_of(session: Session, stream_time: int | None = None) -> dict[str, Any]:
    """Return what is kept of a session's measures, with the time of the stream in seconds since 1970, where there is one."""
    told, now = _flat(session.measured()), session.time if session.time is not None else stream_time
    z, silent = told.get("z"), told.get("silent")
    if z and silent and silent < z:
        # of so few people nobody is told, also not that they are there
        told["silent"] = None
    return told if now is None else told | {"time": now / 1e6}


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
