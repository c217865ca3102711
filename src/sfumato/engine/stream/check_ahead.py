"""The check of records that were set aside for being ahead of the stream's time: those, and no others, by the clock counted anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sfumato.engine.stream.check_windows import UNITS
from sfumato.engine.stream.findings import Findings
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.read_again import Came, RecordsAgain
from sfumato.measures.clock_replay import ClockReplay
from sfumato.measures.covering import microseconds_of

CODE = "time-ahead"
_WHICH = "which records were ahead of the stream's time"


class AheadCheck:
    """Looks at records as they pass; ``letters`` are the code and the column of those that were set aside."""

    def __init__(self, plan: StreamPlan, findings: Findings, letters: Mapping[int, tuple[str, str | None]], again: RecordsAgain) -> None:
        self._plan, self._findings, self._letters, self._again = plan, findings, letters, again
        jump, name = plan.settings.longest_jump, plan.time_column
        self._clock = None if jump is None or name is None else ClockReplay(jump)
        declared = None if name is None else plan.resolved.policy.columns[name].type
        self._is_number = None if declared is None else declared in ("integer", "decimal")

    def passed(self, came: Iterator[Came]) -> Iterator[Came]:
        """Yield the records as they are."""
        if self._clock is None:
            for number in (number for number, (code, _) in self._letters.items() if code == CODE):
                self._findings.breaks("dead letters", "a record was set aside as ahead of its time, and the policy asks for none", f"record {number}")
        for batch in came:
            if self._clock is not None:
                self._follow(batch)
            yield batch

    def _follow(self, batch: Came) -> None:
        if not self._again.is_whole:
            self._gives_up(f"{_WHICH}: some records are no longer in the source")
            return
        times = batch.columns.get(self._plan.time_column or "", [])
        for number, person, text in zip(batch.numbers, batch.people, times, strict=False):
            code, column = self._letters.get(number, (None, None))
            time = microseconds_of(text, UNITS[self._plan.time_unit], self._is_number)
            if time is None or not self._has_moved_it(code):
                continue
            if code is not None and code != CODE and self._may_be_a_start(column):
                self._gives_up(f"{_WHICH}: whether some dead letters were set aside before or in their window")
                return
            if self._clock is None or self._clock.is_ahead(time, person) == (code == CODE):
                continue
            what = "a record was set aside as ahead of its time, and is not" if code == CODE else "a record ahead of the stream's time was taken"
            self._findings.breaks("dead letters", what, f"record {number}")
            self._clock = None
            return

    def _has_moved_it(self, code: str | None) -> bool:
        """Return whether a record may have moved the clock: of those that were set aside only what was so in a window, or as ahead of it."""
        return code in (None, CODE) or (self._plan.way == "windows" and code not in ("time-missing", "time-outside"))

    def _may_be_a_start(self, column: str | None) -> bool:
        window = self._plan.window
        return window is not None and window.starts is not None and column in window.starts.reads

    def _gives_up(self, what: str) -> None:
        self._findings.cannot(what)
        self._clock = None
