"""Constant: every value becomes one and the same text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import pyarrow as pa
from pydantic import Field

from sfumato.core.interfaces import Card, MaskContext
from sfumato.core.settings import Settings

if TYPE_CHECKING:
    import ibis


class Constant(Settings):
    """Replaces every value, missing ones too: not even who has none is seen."""

    card: ClassVar[Card] = Card(deterministic=True, reversible=False, uniqueness="lossy", changes_type=True, nulls="masked", scope="value")

    value: Annotated[str, Field(description="what every row shows")] = "*"

    @property
    def reads(self) -> Sequence[str]:
        """No further column."""
        return ()

    def output_type(self, original: pa.DataType) -> pa.DataType:
        """Return text."""
        del original
        return pa.string()

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the text for every row."""
        del context
        return pa.repeat(pa.scalar(self.value, pa.string()), columns.num_rows)

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value:
        """Return the text as a literal: it comes from the policy, not from the data."""
        del columns, context
        import ibis

        return ibis.literal(self.value)
