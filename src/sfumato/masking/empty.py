"""Empty: the column is there, and none of its values is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from sfumato.core.mask import NOTHING, Card, MaskContext, Operation

if TYPE_CHECKING:
    import ibis


class Empty(Operation):
    """Makes every value a missing one; the column keeps its type."""

    card: ClassVar[Card] = Card(
        deterministic=True,
        uniqueness="lossy",
        changes_type=False,
        scope="value",
        engines=("arrow", "sql"),
        empties=True,
        reveals=NOTHING,
    )

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return nothing for every row."""
        kind = columns.schema.field(context.column).type
        return pa.nulls(columns.num_rows, kind.value_type if pa.types.is_dictionary(kind) else kind)

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value:
        """Return nothing, in the type of the column."""
        from sfumato.databases.server_functions import nothing

        return nothing(columns[context.column])
