"""Lately: how many of the latest records were late, and how far ahead of them the stream's clock stands.

One record with a wrong time makes all later ones late, and nothing else tells it: the stream goes on, and releases nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

MOST = 1_000
"""Of so many records it is told."""

_IN_TIME = -(1 << 62)
_UNITS = (("year", 31_556_952), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


@dataclass(frozen=True, eq=False)
class Lately:
    """The latest records that had a time: when each was where it was late, long ago where it was not."""

    times: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def later(self, times: NDArray[np.int64], late: NDArray[np.bool_]) -> Lately:
        """Take further records."""
        return Lately(np.concatenate([self.times, np.where(late, times, _IN_TIME)])[-MOST:])

    def told(self, clock: int | None) -> dict[str, float]:
        """Return the share of them that was late, and by how many seconds the clock is ahead of those, rounded: a time is data.

        >>> Lately().later(np.array([1, 2, 3, 4]) * 1_000_000, np.array([False, True, True, True])).told(7_203_000_000)
        {'late_lately': 0.75, 'clock_ahead': 7200.0}
        """
        if not len(self.times):
            return {}
        late = self.times[self.times > _IN_TIME]
        ahead = 0 if clock is None or not len(late) else (clock - int(np.median(late))) // 1_000_000
        number, _, size = _rounded(ahead)
        return {"late_lately": len(late) / len(self.times), "clock_ahead": float(number * size)}

    def as_bytes(self) -> bytes:
        """Return them as bytes."""
        return self.times.astype("<i8").tobytes()

    @classmethod
    def of_bytes(cls, data: bytes) -> Lately:
        """Return what was made bytes of."""
        return cls(np.frombuffer(data, "<i8").astype(np.int64))


def is_mostly_late(measured: Mapping[str, float]) -> bool:
    """Return whether most of the latest records were late."""
    return measured.get("late_lately", 0.0) > 0.5


def words_of_ahead(seconds: float) -> str:
    """Return a length of time in words.

    >>> words_of_ahead(5 * 31_556_952), words_of_ahead(5_400), words_of_ahead(0)
    ('5 years', '90 minutes', '0 seconds')
    """
    number, unit, _ = _rounded(int(seconds))
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def _rounded(seconds: int) -> tuple[int, str, int]:
    """Return a length in the largest unit of which there are two."""
    unit, size = next(((name, size) for name, size in _UNITS if seconds >= 2 * size), _UNITS[-1])
    return round(seconds / size), unit, size
