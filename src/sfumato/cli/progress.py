"""Progress on a terminal: a bar with rate and time left for what takes longer than a second, nothing elsewhere."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from sfumato.core.interfaces import PUBLISHED

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_PATIENCE = 1.0
_IN_ROWS = ("reading", "writing", "re-reading", "verifying", "population")


class Bars:
    """Shows one bar a stage. Names stages and counts, never values."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._lock = threading.Lock()
        self._waiting: threading.Timer | None = None
        self._progress: RichProgress | None = None
        self._name = ""
        self._total: int | None = None
        self._done = 0
        self._since = time.monotonic()

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage; its bar appears when it has taken a second, whether or not anything moves."""
        self._end()
        if name == PUBLISHED:
            # the release is there: saying anything else would be wrong
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._name, self._total, self._done = name, total, 0
        self._since = time.monotonic()
        if self._shown and name != PUBLISHED:
            self._waiting = threading.Timer(_PATIENCE, self._begin)
            self._waiting.daemon = True
            self._waiting.start()

    def advance(self, rows: int) -> None:
        """Move the bar."""
        self._done += rows

    def told(self) -> str:
        """Return rows, rate and times in words; they count from the beginning of the stage, not of its bar."""
        gone = max(time.monotonic() - self._since, 1e-9)
        words = [f"{_clock(gone)} gone"]
        # the table behind it, where there are several, does not matter
        if self._done and self._name.split(" ")[0] in _IN_ROWS:
            words = [f"{self._done:,} rows", f"{self._done / gone:,.0f} rows/s", *words]
        # what has hardly begun, and what only rounding keeps from its end, has no time left that means anything
        if self._total and 0.02 * self._total < self._done < 0.98 * self._total:
            words.append(f"{_clock(gone * (self._total - self._done) / self._done)} left")
        return ", ".join(words)

    def _begin(self) -> None:
        from rich.console import Console, RenderableType
        from rich.progress import BarColumn, Progress, TextColumn

        class Live(Progress):
            """A bar that asks how far it is whenever it is drawn, so that its clock goes on while nothing moves."""

            def get_renderables(live) -> Iterable[RenderableType]:  # noqa: N805 - the bars are self
                for task in live.tasks:
                    live.update(task.id, completed=self._done, told=self.told())
                return super().get_renderables()

        share = TextColumn("{task.percentage:>3.0f}%" if self._total else "    ")
        with self._lock:
            if self._waiting is None:
                # the stage has ended in the meantime
                return
            columns = TextColumn("{task.description:<10}"), BarColumn(), share, TextColumn("{task.fields[told]}")
            # standard output may be the release: nothing of it may pass through here
            self._progress = Live(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False)
            self._progress.add_task(self._name, total=self._total, told="")
            self._progress.start()

    def _end(self) -> None:
        with self._lock:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None
            if self._progress is not None:
                self._progress.stop()
                self._progress = None


def _clock(seconds: float) -> str:
    """Return a time as minutes and seconds, with hours where there are any.

    >>> _clock(75.4), _clock(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
