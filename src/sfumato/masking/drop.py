"""Drop: the column does not leave at all."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from sfumato.core.mask import Card, MaskContext, Operation


class Drop(Operation):
    """Removes the column, as the role ``identifier`` does where there is no mask."""

    card: ClassVar[Card] = Card(
        deterministic=True,
        reversible=False,
        uniqueness="lossy",
        changes_type=False,
        nulls="kept",
        scope="value",
        engines=("arrow", "sql"),
        empties=True,
        reveals="Nothing.",
    )

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return nothing for every row, where somebody asks nonetheless."""
        kind = columns.schema.field(context.column).type
        return pa.nulls(columns.num_rows, kind.value_type if pa.types.is_dictionary(kind) else kind)
