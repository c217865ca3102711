"""Jumps of the clock: a record far ahead of the stream's own time is set aside, unless another person's record says that time has come.

One wrong clock would make all later records late. So a record that is ahead by more than the policy's ``jump`` is not believed alone. It is
remembered, and as soon as a further record, of another person, lies within ``jump`` of it, that one is taken and the clock goes there: after a quiet
night one record is set aside, and the stream goes on with the next. What is remembered is forgotten when the stream's own time goes on without it, so
that two wrong clocks that agree must come one after the other, with nothing between them that moves the clock.

All of it hangs on the records alone, in their order, and not on how they were cut into batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Doubted = tuple[tuple[int, int], ...]
"""The records that were set aside and may yet be confirmed, the latest last: when and whose each was."""

MOST = 16
"""So many are remembered: wrong clocks that keep sending must not push out the one that is right."""


def ahead_of(
    latest: int | None, doubted: Doubted, jump: int, times: NDArray[np.int64], people: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], Doubted]:
    """Return which of further records are ahead of the stream's time ``latest``, None at its beginning, and which are in doubt afterwards.

    >>> times, people = np.array([0, 900, 5, 901, 905, 7]), np.array([1, 2, 3, 2, 4, 1])
    >>> ahead_of(None, (), 10, times[:4], people[:4])[0].tolist(), ahead_of(None, (), 10, times, people)[0].tolist()
    ([False, True, False, True], [False, True, False, True, False, False])
    """
    found = np.zeros(len(times), bool)
    if not len(times):
        return found, doubted
    if latest is None:
        latest = int(times[0])
    before = np.maximum.accumulate(np.concatenate([[latest], times]))
    far = np.flatnonzero(times > before[:-1] + jump)
    first = int(far[0]) if len(far) else len(times)
    if before[first] > latest:
        doubted = ()
    latest = int(before[first])
    # one by one from the first that is in doubt
    for place, (time, person) in enumerate(zip(times[first:].tolist(), people[first:].tolist(), strict=True), start=first):
        if time <= latest + jump or _is_confirmed(time, person, doubted, jump):
            doubted = () if time > latest else doubted
            latest = max(latest, time)
        else:
            found[place] = True
            doubted = (*(each for each in doubted if each[1] != person), (time, person))[-MOST:]
    return found, doubted


def _is_confirmed(time: int, person: int, doubted: Sequence[tuple[int, int]], jump: int) -> bool:
    return any(whose != person and abs(time - when) <= jump for when, whose in doubted)
