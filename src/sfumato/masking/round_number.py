"""Round number: each number becomes the nearest multiple of a base, or the next below or above."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core.canonical import ValueType
from sfumato.core.mask import Card, MaskContext, Operation
from sfumato.core.typed_column import DIGITS, Numbers, Rounding, decimals_of, exact

if TYPE_CHECKING:
    import ibis


class RoundNumber(Operation):
    """Rounds numbers to multiples of ``base``, or to a number of ``decimals``; halves go away from zero.

    Text is written with the decimals of the base. A base of 10 makes 10 values one; who can add up rounded numbers and knows the true sum learns a
    little more. Exact for whole numbers, decimals and text. Cost: 10 nanoseconds a value, a microsecond in text columns.

    >>> from sfumato.core.mask import MaskContext
    >>> incomes = pa.RecordBatch.from_pydict({"income": ["2649.90", "-15", "3000"]})
    >>> RoundNumber(base=10).apply(incomes, MaskContext("income")).to_pylist()
    ['2650', '-20', '3000']
    """

    card: ClassVar[Card] = Card(
        deterministic=True,
        uniqueness="lossy",
        changes_type=False,
        scope="value",
        engines=("arrow", "sql"),
        types=("integer", "decimal"),
        reveals="The value up to the base, and how often each multiple occurs.",
    )

    base: Annotated[float | int | None, Field(gt=0, le=1e15, allow_inf_nan=False, description="10 rounds to tens, 0.05 to twentieths")] = None
    decimals: Annotated[int | None, Field(ge=0, le=12, description="the decimals that are left, in place of a base")] = None
    mode: Annotated[Rounding, Field(description="nearest, down or up")] = "nearest"

    @model_validator(mode="after")
    def _one(self) -> RoundNumber:
        if (self.base is None) == (self.decimals is None):
            raise ValueError("needs a base or a number of decimals, one of them")
        if self.base is not None and decimals_of(self.base) > 12:
            raise ValueError("has a base of more than 12 decimals")
        return self

    @property
    def _digits(self) -> int:
        """The decimals of every multiple of the base."""
        return self.decimals if self.decimals is not None else decimals_of(self.base or 1)

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Return what is wrong with a column of this type: it must be able to hold multiples of the base."""
        held = 0 if pa.types.is_integer(kind) else kind.scale if pa.types.is_decimal(kind) else None
        if self.base is not None and held is not None and self._digits > held:
            return f"rounds to a base with {self._digits} decimals, and the column's type {kind} has {held}"
        return super().misfit(kind, declared)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return each number rounded; null for what is no number, or where the column's type does not hold the result."""
        numbers = Numbers.of(columns.column(context.column))
        if pa.types.is_integer(numbers.kind) and self.base is None:
            return numbers.put(numbers.words, 0, numbers.valid)
        step = int(exact(self.base) * 10**self._digits) if self.base is not None else 1
        found, fits = numbers.steps(step, self._digits, self.mode)
        if numbers.floats is not None:
            rounded = np.round(found * (step / 10.0**self._digits), self._digits)
            # what is so large that it has no digits left to lose stays
            return numbers.put_floats(np.where(fits, rounded, numbers.floats))
        small = np.abs(found) <= 10**DIGITS // step
        return numbers.put(np.where(small, found, 0) * step, self._digits, fits & small)

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return each number rounded, by whole numbers of its last digit; None for text and binary fractions."""
        import ibis

        from sfumato.databases.server_functions import number_of
        from sfumato.masking._number_expressions import largest, multiple, whole_within

        value = columns[context.column]
        found = whole_within(value)
        step = int(exact(self.base) * 10**self._digits) if self.base is not None else 1
        if found is None or (self.base is None and found.kind.is_integer()):
            return None if found is None else found.fits.ifelse(value, ibis.null())
        more = found.scale - self._digits
        if more < 0 or step * 10**more > 10**DIGITS:
            return None
        rounded = multiple(found.number, step * 10**more, self.mode)
        low, high = largest(found.kind)
        most = min(10**DIGITS // step * step * 10**more, (10**DIGITS - 1) // 10**more * 10**more)
        fits = found.fits & (rounded >= max(low, -most)) & (rounded <= min(high, most))
        return fits.ifelse(number_of(rounded, found.kind), ibis.null())
