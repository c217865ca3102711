"""How a view of a stream is doing: how long records waited, and how much of their detail was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Measures:
    """Sums over all that was released so far; a delay is how many records came after one until that with which it was decided."""

    releases: int = 0
    rows: int = 0
    delays: int = 0
    longest_delay: int = 0
    losses: float = 0.0
    weighed: int = 0
    carried: int = 0
    removed: Mapping[str, int] = field(default_factory=dict)
    """How many values of released rows masks have removed, by column."""

    def released(
        self, rows: int, waited: NDArray[np.int64], spans: Sequence[NDArray[np.float64]], removed: Mapping[str, int] | None = None
    ) -> Measures:
        """Take a further release; ``waited`` has how many records came after each of its own before it was decided, where they had to wait."""
        gone = removed or {}
        return replace(
            self,
            releases=self.releases + 1,
            rows=self.rows + rows,
            delays=self.delays + int(waited.sum()),
            longest_delay=max(self.longest_delay, int(waited.max(initial=0))),
            losses=self.losses + float(sum(span.sum() for span in spans)),
            weighed=self.weighed + sum(len(span) for span in spans),
            removed={name: self.removed.get(name, 0) + gone.get(name, 0) for name in {**self.removed, **gone}},
        )

    def as_mapping(self) -> dict[str, Any]:
        """Return the measures by name: the delay in records, and the loss as the part of its column's range that a published value covers."""
        return {
            "releases": self.releases,
            "rows": self.rows,
            "delay": {"mean": self.delays / self.rows if self.rows else 0.0, "longest": self.longest_delay},
            "loss": self.losses / self.weighed if self.weighed else None,
            "windows_carried": self.carried,
        }

    def removed_of(self, fewest: int) -> dict[str, int]:
        """Return how many values were removed, by column; nothing of columns of which so few were."""
        return {name: number for name, number in self.removed.items() if number >= fewest}

    def as_state(self) -> dict[str, Any]:
        """Return the sums."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def of_state(cls, told: Mapping[str, Any]) -> Measures:
        """Return measures of their sums."""
        return cls(**told)
