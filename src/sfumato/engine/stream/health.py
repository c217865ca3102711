"""Whether a stream goes on: it does, it waits for something that is not its own fault, or it is stalled, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

STALLED_AFTER = 60.0
"""So many seconds without progress, though there is something to do, are no pause any more."""


@dataclass(frozen=True)
class Health:
    """How a stream is, and why where that is worth telling."""

    state: Literal["ok", "waiting", "stalled"] = "ok"
    reason: str = ""

    @property
    def is_stalled(self) -> bool:
        """Whether somebody has to look after it."""
        return self.state == "stalled"

    def words(self) -> str:
        """Return it in words.

        >>> Health().words(), Health("waiting", "no file yet").words()
        ('ok', 'waiting: no file yet')
        """
        return f"{self.state}: {self.reason}" if self.reason else self.state

    def as_mapping(self) -> dict[str, str]:
        """Return it by name."""
        return asdict(self)


def held_up(reason: str, seconds: float) -> Health:
    """Return how a stream is that something holds up for so long.

    >>> held_up("nobody reads standard output", 7.2).words()
    'waiting: nobody reads standard output, for 7 s'
    """
    return Health("stalled" if seconds >= STALLED_AFTER else "waiting", f"{reason}, for {seconds:.0f} s")
