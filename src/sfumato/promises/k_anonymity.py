"""k-anonymity: every equivalence class holds at least k people.

Sweeney, "k-anonymity: a model for protecting privacy" (2002). Here people are counted, not rows, where the policy names a subject.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.classes import Classes
from sfumato.core.interfaces import Promise


class KAnonymity(Promise):
    """Every published combination of quasi-identifiers is shared by at least ``k`` people.

    Does not protect sensitive values: a class whose members share one diagnosis discloses it. Cost: one comparison a class.

    >>> KAnonymity(k=2).holds(Classes.of_sizes(3, 1)).tolist()
    [True, False]
    """

    monotone_when_merged: ClassVar[bool] = True
    monotone_when_grown: ClassVar[bool] = True

    k: Annotated[int, Field(ge=2, description="the fewest people a class may hold")]

    @property
    def asked(self) -> float:
        """At least this many people in the smallest class."""
        return float(self.k)

    def holds(self, classes: Classes) -> NDArray[np.bool_]:
        """Return for each class whether it has enough people."""
        return classes.sizes >= self.k

    def measure(self, classes: Classes) -> float:
        """Return the size of the smallest class; where there is none, nothing falls short of what was asked."""
        return float(classes.sizes.min()) if classes.number else self.asked

    def compiled(self) -> tuple[str, tuple[float, ...]]:
        """Return how the fused kernel checks it."""
        return "size", (float(self.k),)

    def nearest(self, classes: Classes) -> dict[str, Any] | None:
        """Return the largest k that everybody in one class would have."""
        people = int(classes.sizes.sum())
        return {"k": people} if people >= 2 else None
