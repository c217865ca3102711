"""How a stream is doing, in numbers: for the line in the terminal, ``sfumato stream status``, Prometheus and the health endpoint.

Everything here is counts, rates and measures of views by name; never a value, and no number of people below the one that is promised.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.unfinished import Unfinished
from sfumato.engine.stream.health import STALLED_AFTER, Health, held_up
from sfumato.engine.stream.live_line import Told, fitted_line, told_of_view
from sfumato.engine.stream.private_files import written_errors

_RATE_OVER = 10.0
_UNFINISHED = 5.0
_LATELY, _FEW = 1_000, 100
"""Of so many of the latest records it is told whether most were set aside; of so few it is not."""


@dataclass(frozen=True)
class ViewProgress:
    """What became of the records of one view, what is measured of it now, and why records were set aside since the stream was started."""

    accounts: Mapping[str, int] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)
    set_aside: Mapping[str, int] = field(default_factory=dict)

    def as_mapping(self) -> dict[str, Any]:
        """Return everything by name."""
        return {"accounts": dict(self.accounts), "measured": dict(self.measured), "set_aside": dict(self.set_aside)}


class StreamProgress:
    """Gathers how a stream is doing."""

    def __init__(self, records: int) -> None:
        self.records = records
        self.views: dict[str, ViewProgress] = {}
        self.state = "running"
        self.error: str | None = None
        self.lost = 0
        self.awaited: str | None = None
        self.absent: Sequence[str] = ()
        self.needed: Sequence[str] = ()
        self.unfinished = Unfinished()
        self.compiles = False
        self._held_up: tuple[str, float] | None = None
        self._times: deque[tuple[float, int]] = deque([(time.monotonic(), records)])
        self._last = self._came = time.monotonic()
        # how many records had come, and how many of them each view had set aside
        self._set_aside: deque[tuple[int, Mapping[str, int]]] = deque([] if records else [(0, {})])

    def add(self, records: int, views: Mapping[str, ViewProgress]) -> None:
        """Take note of a further commit."""
        now = time.monotonic()
        self._came = now if records > self.records else self._came
        self.records = records
        self.goes_on()
        self.views.update(views)
        self._times.append((now, records))
        while len(self._times) > 2 and now - self._times[1][0] > _RATE_OVER:
            self._times.popleft()
        if self._set_aside and self._set_aside[-1][0] == records:
            self._set_aside.pop()
        self._set_aside.append((records, {name: view.accounts.get("dead", 0) for name, view in self.views.items()}))
        while len(self._set_aside) > 2 and records - self._set_aside[1][0] >= _LATELY:
            self._set_aside.popleft()

    def waiting(self) -> None:
        """Take note that nothing came: the stream is well, and waits."""
        self.goes_on()
        if self._last - self._times[-1][0] > _RATE_OVER:
            self._times = deque([(self._last, self.records)])

    def goes_on(self) -> None:
        """Take note that the stream is not held up."""
        self._last, self._held_up = time.monotonic(), None

    def held_up(self, reason: str) -> None:
        """Take note that the stream cannot go on, for a reason that may pass."""
        self._held_up = self._held_up or (reason, time.monotonic())

    @property
    def rate(self) -> float:
        """How many records a second came of late."""
        (first, before), (last, after) = self._times[0], self._times[-1]
        seconds = max(last, time.monotonic() - 1.0) - first
        return (after - before) / seconds if seconds > 0 else 0.0

    @property
    def mostly_set_aside(self) -> Sequence[str]:
        """The views of which most of the latest records are dead letters."""
        if not self._set_aside:
            return ()
        (before, were), (now, are) = self._set_aside[0], self._set_aside[-1]
        return [name for name, dead in are.items() if now - before >= _FEW and 2 * (dead - were.get(name, 0)) > now - before]

    @property
    def health(self) -> Health:
        """Whether the stream goes on, waits or is stalled; another thread may ask while this one's is held up."""
        now, stopped = time.monotonic(), self._held_up
        if self.state != "running":
            return Health("stalled", self.state)
        if self.compiles:
            return Health("waiting", "kernels are compiled for this machine, once for each kind of work")
        if stopped is not None:
            return held_up(stopped[0], now - stopped[1])
        if now - self._last >= STALLED_AFTER:
            return held_up("no record was taken or waited for", now - self._last)
        if aside := self.mostly_set_aside:
            of_views = f" of {', '.join(aside)}" if any(aside) else ""
            return Health("stalled", f"most of the latest records{of_views} are dead letters")
        if self.unfinished.seconds >= STALLED_AFTER:
            return Health("stalled", words_of_unfinished(self.unfinished.size, self.unfinished.seconds))
        if self.awaited is not None:
            return Health("waiting", "no file yet")
        return Health("waiting", "no records come") if now - self._came > _RATE_OVER else Health()

    def as_mapping(self) -> dict[str, Any]:
        """Return everything by name."""
        views = {name: view.as_mapping() for name, view in self.views.items()}
        told = {"state": self.state, "error": self.error, "process": os.getpid(), "records": self.records}
        health = {"health": self.health.as_mapping()} if self.state == "running" else {}
        lost = {"lost_files": self.lost} if self.lost else {}
        awaited = {"awaited": self.awaited} if self.awaited is not None else {}
        absent = {"absent_columns": list(self.absent)} if self.absent else {}
        needed = {"needed_files": list(self.needed)} if self.needed else {}
        rate = {"records_per_second": round(self.rate, 1)}
        return {**told, **health, **rate, "views": views, **lost, **awaited, **absent, **needed, **self._unfinished()}

    def _unfinished(self) -> dict[str, Any]:
        """Return how much waits for the end of a record, and for how long, where it is longer than somebody takes to write one, or nobody waits."""
        size, seconds = self.unfinished.size, self.unfinished.seconds
        is_told = seconds >= _UNFINISHED or (size > 0 and self.state != "running")
        return {"unfinished": {"bytes": size, "seconds": round(seconds, 1)}} if is_told else {}

    def line(self, width: int | None = None) -> str:
        """Return one line for a terminal, of so many characters at most."""
        told = [Told(f"{self.records:,} records"), Told(f"{self.rate:,.0f}/s")]
        for name, view in self.views.items():
            told += told_of_view(name, view.accounts, view.measured)
        told += [Told(words_of_unfinished(**unfinished), rank=2) for unfinished in self._unfinished().values()]
        return fitted_line(told, width)

    def write(self, path: Path) -> None:
        """Write everything to a private file, in one step."""
        beside = path.with_name(f".{path.name}")
        with written_errors(path):
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump({**self.as_mapping(), "at": time.time()}, file)
            beside.replace(path)

    def prometheus(self) -> str:
        """Return everything in the text format of Prometheus."""
        lines = ["# TYPE sfumato_stream_records_total counter", f"sfumato_stream_records_total {self.records}"]
        lines.append("# TYPE sfumato_stream_view_records gauge")
        for name, view in self.views.items():
            lines += [f"sfumato_stream_view_records{_labels(view=name, became=key)} {number}" for key, number in view.accounts.items()]
        lines.append("# TYPE sfumato_stream_view_measure gauge")
        for name, view in self.views.items():
            lines += [f"sfumato_stream_view_measure{_labels(view=name, measure=key)} {float(number)!r}" for key, number in view.measured.items()]
        for name, number in (("bytes", self.unfinished.size), ("seconds", round(self.unfinished.seconds, 1))):
            lines += [f"# TYPE sfumato_stream_unfinished_{name} gauge", f"sfumato_stream_unfinished_{name} {number}"]
        return "\n".join(lines) + "\n"


def as_numbers(told: Mapping[str, Any]) -> dict[str, float]:
    """Return what was measured, without what became of records, which is told apart.

    >>> as_numbers({"loss": 1, "silent": None, "accounts.released": 7})
    {'loss': 1.0}
    """
    return {name: float(value) for name, value in told.items() if isinstance(value, int | float) and not name.startswith("accounts.")}


def words_of_unfinished(bytes: int, seconds: float) -> str:
    """Return what is said of bytes that are no whole record.

    >>> words_of_unfinished(1200, 7.5)
    '1,200 bytes wait for the end of a record, for 8 s'
    """
    return f"{bytes:,} bytes wait for the end of a record, for {seconds:.0f} s"


def _labels(**labels: str) -> str:
    r"""Return labels as Prometheus writes them.

    >>> _labels(view='a"b')
    '{view="a\\"b"}'
    """
    escaped = {name: text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for name, text in labels.items()}
    return "{" + ",".join(f'{name}="{text}"' for name, text in escaped.items()) + "}"
