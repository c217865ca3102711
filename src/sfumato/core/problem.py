"""Problem: what a search is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy
    from sfumato.core.interfaces import Promise


@dataclass(frozen=True, eq=False)
class Problem:
    """The ladders of the quasi-identifiers, the promises to keep, how much each column matters, and how many rows may be left out.

    ``suppressible`` is the number of rows that may still be suppressed: the policy's limit less ``refused``, those that on_unknown has
    already taken.
    """

    hierarchies: Sequence[Hierarchy]
    promises: Sequence[Promise]
    weights: Sequence[float]
    suppressible: int = 0
    minimum_levels: Sequence[int] = ()
    maximum_levels: Sequence[int] = ()
    refused: int = 0

    def __post_init__(self) -> None:
        """Levels that are not given bound nothing."""
        if not self.minimum_levels:
            object.__setattr__(self, "minimum_levels", [0] * len(self.hierarchies))
        if not self.maximum_levels:
            object.__setattr__(self, "maximum_levels", [hierarchy.height for hierarchy in self.hierarchies])
