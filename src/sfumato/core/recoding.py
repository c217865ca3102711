"""Recoding: the decision of a search. It says which class each combination goes to and what each class publishes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.core.frequencies import Frequencies


@dataclass(frozen=True, eq=False)
class Recoding:
    """Which class each combination belongs to, and the interval of leaf codes that each class publishes in each column.

    ``class_of`` has one entry a combination of the frequencies; -1 is suppressed. ``lows`` and ``highs`` have one row a class and one
    column a quasi-identifier. A search with boxes gives any interval; a full-domain search gives the nodes of ``levels``, one a column.
    """

    kind: Literal["boxes", "full_domain"]
    class_of: NDArray[np.int32]
    lows: NDArray[np.int32]
    highs: NDArray[np.int32]
    levels: tuple[int, ...] | None = None

    @property
    def number(self) -> int:
        """The number of classes."""
        return len(self.lows)


def nothing_to_recode(frequencies: Frequencies) -> Recoding:
    """Return the recoding of a table without quasi-identifiers: one class, which publishes nothing."""
    empty = np.empty((1, 0), np.int32)
    return Recoding("boxes", np.zeros(len(frequencies.combinations), np.int32), empty, empty)
