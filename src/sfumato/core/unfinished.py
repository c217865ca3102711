"""Bytes at the end of what there is to read that are no whole record yet: how many, and for how long nothing has come of them.

Half a line that somebody is writing is whole soon. A stray quote holds back all that follows, without any error: only this tells.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class _Waiting:
    offset: int
    size: int
    since: float


class Unfinished:
    """What waits for the end of its record, by place; another thread may ask while it changes.

    >>> unfinished = Unfinished()
    >>> unfinished.look("log", 10, 5)
    >>> unfinished.size, unfinished.seconds < 1
    (5, True)
    >>> unfinished.look("log", 15, 0)
    >>> unfinished.size, unfinished.seconds
    (0, 0.0)
    """

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}

    def look(self, place: str, offset: int, size: int) -> None:
        """Take note that so many bytes behind an offset are no whole record; that none are where there are none."""
        known = self._waiting.pop(place, None)
        if size > 0:
            is_same = known is not None and known.offset == offset
            self._waiting[place] = _Waiting(offset, size, known.since if known is not None and is_same else time.monotonic())

    def forget(self, places: Iterable[str]) -> None:
        """Let go of places from which nothing more will come."""
        for place in places:
            self._waiting.pop(place, None)

    @property
    def size(self) -> int:
        """How many bytes wait."""
        return sum(each.size for each in list(self._waiting.values()))

    @property
    def seconds(self) -> float:
        """How long the first of them have waited."""
        return max((time.monotonic() - each.since for each in list(self._waiting.values())), default=0.0)
