"""The check of the times at which windows begin and end: one stretch for all rows that left together, and each record within it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sfumato.engine.stream.findings import Findings
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.released_rows import Row
from sfumato.measures.covering import microseconds_of

_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z")
UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}


class WindowTimes:
    """Holds published times of windows against the times of records."""

    def __init__(self, plan: StreamPlan, findings: Findings) -> None:
        self._findings, self._window = findings, plan.window
        name = plan.time_column
        declared = None if name is None else plan.resolved.policy.columns[name].type
        self._is_number = None if declared is None else declared in ("integer", "decimal")
        # a record that came late is in a window that begins after it
        self._late_join = plan.settings.on_late == "next"

    def check(self, rows: Sequence[Row], records: Sequence[Mapping[str, str | None]], first: int) -> None:
        """Look at the rows of one release beside their records; ``first`` is the number of the first row."""
        window = self._window
        if window is None or window.publish is None or window.column is None or not rows:
            return
        times = [microseconds_of(record[window.column], UNITS[window.unit], self._is_number) for record in records]
        known = [time for time in times if time is not None]
        for name, is_start in ((window.publish.start, True), (window.publish.end, False)):
            if name is None:
                continue
            found = {row.get(name) for row in rows}
            text = found.pop()
            told = microseconds_of(text, 1, False)
            if found or told is None or told % window.length or not _ISO.fullmatch(text or ""):
                self._breaks(name, "is not the same in all rows that left together, or no end of a window", first)
            elif is_start and not self._late_join and min(known, default=told) < told:
                self._breaks(name, "begins after one of its records", first)
            elif not is_start and max(known, default=told - 1) >= told:
                self._breaks(name, "ends before one of its records", first)

    def _breaks(self, name: str, what: str, first: int) -> None:
        self._findings.breaks("windows", f"column {name}: a window {what}", f"the release that begins with row {first}")
