"""Progress on a terminal: a bar with rate and time left for what takes longer than a second, nothing elsewhere."""

from __future__ import annotations

import signal
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from sfumato.core.interfaces import PUBLISHED

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_PATIENCE = 1.0


class Bars:
    """Shows one bar a stage. Names stages and counts, never values."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._progress: RichProgress | None = None
        self._task: TaskID | None = None
        self._name = ""
        self._total: int | None = None
        self._done = 0
        self._since = time.monotonic()

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage; its bar appears when it has taken a second."""
        self._end()
        if name == PUBLISHED:
            # the release is there: saying anything else would be wrong
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._name, self._total, self._done = name, total, 0
        self._since = time.monotonic()

    def advance(self, rows: int) -> None:
        """Move the bar."""
        self._done += rows
        if not self._shown or time.monotonic() - self._since < _PATIENCE:
            return
        if self._progress is None:
            self._begin()
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=self._done, told=self._told())

    def _told(self) -> str:
        """Return rows, rate and times in words; they count from the beginning of the stage, not of its bar."""
        gone = time.monotonic() - self._since
        words = f"{self._done:,} rows, {self._done / gone:,.0f} rows/s, {_clock(gone)} gone"
        if self._total and self._done < self._total:
            words += f", {_clock(gone * (self._total - self._done) / self._done)} left"
        return words

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self._progress = Progress(
            TextColumn("{task.description:<10}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[told]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._progress.start()
        self._task = self._progress.add_task(self._name, total=self._total, told="")

    def _end(self) -> None:
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
