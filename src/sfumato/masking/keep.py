"""Keep: the column leaves as it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from sfumato.core.mask import Card, MaskContext, Operation

if TYPE_CHECKING:
    import ibis


class Keep(Operation):
    """Changes nothing. Written down, so that a reader of the policy sees that it is meant."""

    card: ClassVar[Card] = Card(
        deterministic=True,
        reversible=True,
        uniqueness="preserved",
        changes_type=False,
        scope="value",
        engines=("arrow", "sql"),
        reveals="Everything.",
    )

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the column."""
        return columns.column(context.column)

    def reveal(self, values: pa.Array, context: MaskContext) -> pa.Array:
        """Return the values."""
        del context
        return values

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value:
        """Return the column."""
        return columns[context.column]
