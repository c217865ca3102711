"""The clock of a stream once more, record by record, in plain Python: which records were too far ahead of it to be believed.

It has nothing in common with what decided it but the rule, which is that of ``docs/streams.md``.
"""

from __future__ import annotations

from collections.abc import Hashable

_REMEMBERED = 16


class ClockReplay:
    """Follows the time of a stream in which one person's record alone moves it no further than ``jump``, in microseconds.

    >>> clock = ClockReplay(10)
    >>> [clock.is_ahead(time, person) for time, person in ((0, "ada"), (900, "ben"), (5, "eve"), (900, "ben"), (905, "dan"), (7, "ada"))]
    [False, True, False, True, False, False]
    """

    def __init__(self, jump: int) -> None:
        self._jump = jump
        self._time: int | None = None
        self._doubted: dict[Hashable, int] = {}

    def is_ahead(self, time: int, person: Hashable) -> bool:
        """Take a further record and return whether it is ahead of the stream's time, and nobody else has said so."""
        if self._time is None:
            self._time = time
        if time <= self._time:
            return False
        others = (when for whose, when in self._doubted.items() if whose != person)
        if time > self._time + self._jump and not any(abs(when - time) <= self._jump for when in others):
            self._doubted.pop(person, None)
            self._doubted[person] = time
            if len(self._doubted) > _REMEMBERED:
                del self._doubted[next(iter(self._doubted))]
            return True
        self._time = time
        self._doubted.clear()
        return False
