"""Constant: every value becomes one and the same text. Also called suppression, with a token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import pyarrow as pa
from pydantic import Field

from sfumato.core import canonical
from sfumato.core.canonical import ValueType
from sfumato.core.mask import NOTHING, Card, MaskContext, Operation

if TYPE_CHECKING:
    import ibis


class Constant(Operation):
    """Replaces every value, missing ones too unless the policy keeps them: not even who has none is seen."""

    card: ClassVar[Card] = Card(
        deterministic=True,
        uniqueness="lossy",
        changes_type=True,
        nulls="masked",
        scope="value",
        engines=("arrow", "sql"),
        generates=True,
        reveals=NOTHING,
    )

    value: Annotated[str, Field(description="what every row shows")] = "*"

    @property
    def makes(self) -> ValueType | None:
        """Text, unless it looks like a number or a date: that an operation after it may take."""
        return "text" if canonical.infer(pa.array([self.value], pa.string())) == "text" else None

    @property
    def outcomes(self) -> Sequence[str]:
        """The one text."""
        return (self.value,)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the text for every row."""
        del context
        return pa.repeat(pa.scalar(self.value, pa.string()), columns.num_rows)

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value:
        """Return the text as a literal: it comes from the policy, not from the data."""
        del columns, context
        import ibis

        return ibis.literal(self.value)
