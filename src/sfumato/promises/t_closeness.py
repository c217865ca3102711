"""t-closeness: in every equivalence class a sensitive column is distributed much as in the whole table.

Li, Li, Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity" (2007), with its three distances. The whole table is the
one that was read, suppressed rows included. Here people are counted, not rows, where the policy names a subject: each once for each value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.classes import Classes
from sfumato.core.interfaces import Promise, Scale
from sfumato.promises._distances import equal_distances, hierarchical_distances, ordered_distances

# a sum of shares may be off in its last digits
_GUARD = 1e-9
_STEPS = 10_000


class TCloseness(Promise):
    """No class differs by more than ``t`` from the whole table in its shares of a sensitive column's values.

    The equal distance is half the sum of |p - q| over all values, p being the shares in the class and q those in the table: the part of the
    class that would have to change its value. It is 0 where they agree and 1 where they have no value in common. With ``ordered`` a change
    counts by how many of the table's values lie between, with ``hierarchical`` by how high the lowest node is that holds both: it asks less
    of a class whose values differ from the table's but are near to them.

    Does not protect against being singled out: promise k-anonymity too. With the equal distance values that are near to each other count as
    different as any. A merger of classes that share no person keeps it; of those that do it need not. Cost: one sort of the (class, value)
    pairs; ``hierarchical`` one line of all leaves a class.

    >>> classes = Classes.of_histograms("illness", [2, 2], [1, 3], reference=[4, 4])
    >>> TCloseness(column="illness", t=0.2).holds(classes).tolist()
    [True, False]
    """

    monotone_when_merged: ClassVar[bool] = True
    monotone_when_grown: ClassVar[bool] = False
    smaller_is_stricter: ClassVar[bool] = True

    column: Annotated[str, Field(description="the sensitive column")]
    t: Annotated[float, Field(gt=0, le=1, description="the largest distance of a class from the whole table")]
    distance: Annotated[
        Literal["equal", "ordered", "hierarchical"],
        Field(description="equal: any two values are equally far apart; ordered: by their rank; hierarchical: by their hierarchy"),
    ] = "equal"

    @property
    def reads(self) -> tuple[str, ...]:
        """The sensitive column."""
        return (self.column,)

    @property
    def scales(self) -> Mapping[str, Scale]:
        """How far apart its values are."""
        return {} if self.distance == "equal" else {self.column: self.distance}

    @property
    def asked(self) -> float:
        """At most this distance."""
        return self.t

    def holds(self, classes: Classes) -> NDArray[np.bool_]:
        """Return for each class whether it is close enough to the whole table."""
        return self._distances(classes) <= self.t + _GUARD

    def measure(self, classes: Classes) -> float:
        """Return the distance of the class farthest from the whole table, 0 where there is none."""
        return float(self._distances(classes).max(initial=0.0))

    def compiled(self) -> tuple[str, tuple[float, ...]] | None:
        """Return how the fused kernel checks it; it knows the equal distance only."""
        return ("equal_distance", (self.t,)) if self.distance == "equal" else None

    def compiled_on_points(self) -> tuple[str, tuple[float, ...]]:
        """Return how the kernels over records check it; they know all three distances."""
        return f"{self.distance}_distance", (self.t,)

    def nearest(self, classes: Classes) -> dict[str, Any] | None:
        """Return the smallest t, to four decimals, that everybody in one class would keep."""
        steps = math.ceil(round(self.measure(classes) * _STEPS, 6))
        return {"t": max(1, steps) / _STEPS}

    def _distances(self, classes: Classes) -> NDArray[np.float64]:
        histogram, reference = classes.histogram(self.column), classes.reference(self.column)
        if self.distance == "ordered":
            return ordered_distances(histogram, reference)
        if self.distance == "hierarchical":
            return hierarchical_distances(histogram, reference, classes.ladders[self.column])
        return equal_distances(histogram, reference)
