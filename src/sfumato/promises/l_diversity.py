"""l-diversity: every equivalence class holds at least l well-represented values of a sensitive column.

Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity" (2007), in its three kinds. Here people are
counted, not rows, where the policy names a subject: each once for each value. A missing value is a value like any other.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_serializer, model_validator

from sfumato.core.classes import Classes, Histogram
from sfumato.core.interfaces import Promise

# a sum of logarithms may be off in its last digits
_GUARD = 1e-9


class LDiversity(Promise):
    """In every class the sensitive column has at least ``l`` well-represented values.

    With r1 >= r2 >= ... how many people of a class have each value, and p their shares: ``distinct`` asks for l different values,
    ``entropy`` for -sum p log p >= log l, ``recursive`` for r1 < c (r_l + r_(l+1) + ...), which is never so with fewer than l values.
    With ``given`` this must be so even among those of a class who share the values of the given columns.

    Does not protect against values that differ but mean much the same, nor where a class is far from the table as a whole. The entropy and
    recursive kinds survive a merger of classes that share no person; of those that do, only the distinct kind does. Cost: one sort of the
    (class, value) pairs.

    >>> classes = Classes.of_histograms("illness", [2, 1], [0, 4])
    >>> LDiversity(column="illness", l=2).holds(classes).tolist()
    [True, False]
    >>> LDiversity(column="illness", l=2, kind="recursive", c=2).holds(classes).tolist()
    [False, False]
    """

    monotone_when_merged: ClassVar[bool] = True

    column: Annotated[str, Field(description="the sensitive column")]
    l: Annotated[float, Field(gt=1, allow_inf_nan=False, description="the fewest well-represented values that a class may have")]  # noqa: E741 - its name
    kind: Annotated[
        Literal["distinct", "entropy", "recursive"],
        Field(description="distinct: values differ; entropy: they are evenly spread; recursive: none is far more frequent than the rest"),
    ] = "distinct"
    c: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False, description="with recursive: the most frequent value has less than c times what is left"),
    ] = None
    given: Annotated[list[str], Field(description="other sensitive columns that an attacker may know")] = []

    @model_validator(mode="after")
    def _fits_its_kind(self) -> LDiversity:
        if self.kind != "entropy" and not self.l.is_integer():
            raise ValueError(f"l must be a whole number with the kind {self.kind}")
        if (self.kind == "recursive") != (self.c is not None):
            raise ValueError("needs c with the kind recursive, and only with it")
        if self.column in self.given or len(set(self.given)) < len(self.given):
            raise ValueError("needs given columns that differ from each other and from the one it protects")
        return self

    @field_serializer("l")
    def _shortest(self, value: float) -> int | float:
        return int(value) if value.is_integer() else value

    @property
    def monotone_when_grown(self) -> bool:  # type: ignore[override]  # it depends on the kind
        """Further rows take no value away, but may make one of them too frequent, or bring a new value of a given column."""
        return self.kind == "distinct" and not self.given

    @property
    def smaller_is_stricter(self) -> bool:
        """The recursive kind measures how far the most frequent value leads, the others how many values there are."""
        return self.kind == "recursive"

    @property
    def reads(self) -> tuple[str, ...]:
        """The sensitive column, and those that an attacker may know."""
        return (self.column, *self.given)

    @property
    def asked(self) -> float:
        """At least l values, or, with the recursive kind, a lead below c."""
        return self.l if self.c is None else self.c

    def holds(self, classes: Classes) -> NDArray[np.bool_]:
        """Return for each class whether its values are diverse enough."""
        if self.given:
            # whoever knows the given values looks among those who share them only
            finer, belongs = classes.joined(self.given)
            broken = np.bincount(belongs[~self._diverse(finer)], minlength=classes.number)
            return np.equal(broken, 0)
        return self._diverse(classes)

    def _diverse(self, classes: Classes) -> NDArray[np.bool_]:
        histogram = classes.histogram(self.column)
        if self.c is not None:
            most, rest = self._most_and_rest(histogram)
            return most < self.c * rest
        if self.kind == "entropy":
            return _entropies(histogram) >= math.log(self.l) - _GUARD
        return np.diff(histogram.offsets) >= self.l

    def measure(self, classes: Classes) -> float:
        """Return the fewest values of a class, for entropy their effective number e^entropy, for recursive the largest r1 / (r_l + ...).

        The lead is infinite in a class of fewer than l values. Where there is no class nothing falls short of what was asked.
        """
        if not classes.number:
            return self.asked
        histogram = (classes.joined(self.given)[0] if self.given else classes).histogram(self.column)
        if self.kind == "recursive":
            return float(_leads(*self._most_and_rest(histogram)).max())
        if self.kind == "entropy":
            return float(np.exp(_entropies(histogram).min()))
        return float(np.diff(histogram.offsets).min())

    def compiled(self) -> tuple[str, tuple[float, ...]] | None:
        """Return how the fused kernel checks it; it knows no given columns."""
        if self.given:
            return None
        return self.kind, ((self.l,) if self.c is None else (self.c, self.l))

    def nearest(self, classes: Classes) -> dict[str, Any] | None:
        """Return the largest l, with the recursive kind the smallest c, that everybody in one class would keep, to two decimals."""
        measured = self.measure(classes)
        if not math.isfinite(measured):
            return None
        # four evenly spread values may measure a little less than 4
        hundredths = math.floor(round(measured * 100, 8))
        if self.kind == "recursive":
            return {"c": (hundredths + 1) / 100}
        best = hundredths // 100 if self.kind == "distinct" else hundredths / 100
        return {"l": best} if best > 1 else None

    def _most_and_rest(self, histogram: Histogram) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for each class the largest count, and the sum of the counts from the l-th largest on."""
        order = np.lexsort((-histogram.counts, histogram.class_of))
        counts = histogram.counts[order]
        rank = np.arange(len(counts)) - histogram.offsets[histogram.class_of]
        most, rest = (histogram.sum_by_class(np.where(chosen, counts, 0)) for chosen in (rank == 0, rank >= self.l - 1))
        return most.astype(np.int64), rest.astype(np.int64)


def _entropies(histogram: Histogram) -> NDArray[np.float64]:
    return -histogram.sum_by_class(histogram.shares * np.log(histogram.shares))


def _leads(most: NDArray[np.int64], rest: NDArray[np.int64]) -> NDArray[np.float64]:
    leads = np.full(len(most), np.inf)
    np.divide(most, rest, out=leads, where=rest > 0)
    return leads
