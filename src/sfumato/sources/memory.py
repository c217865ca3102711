"""An Arrow table in memory, for notebooks and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import pyarrow as pa
from pydantic import ConfigDict, Field

from sfumato.core.column_types import plain_batch, plain_schema, refuse_damaged_text
from sfumato.core.settings import Settings


class Memory(Settings):
    """The rows of an Arrow table. It cannot be written in a policy file: it is what ``sfumato.run(policy, data=...)`` is given."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    table: Annotated[Any, Field(description="a pyarrow.Table", exclude=True)]

    def describe(self) -> pa.Schema:
        """Return the columns and their types."""
        return plain_schema(self.table.schema, "the table")

    def state(self) -> str:
        """Return a constant: an Arrow table never changes."""
        return "memory"

    def about(self) -> int:
        """Return how many rows there are."""
        return int(self.table.num_rows)

    def scan(self) -> None:
        """Return None: the rows are here already."""
        return

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns in order; those of ``coded`` that are dictionaries stay so."""
        if not columns:
            yield from self.table.select([]).to_batches()
            return
        schema = self.describe()
        chosen = pa.schema([schema.field(name) for name in columns])
        for batch in self.table.select(list(columns)).to_batches(max_chunksize=1 << 18):
            yield refuse_damaged_text(plain_batch(batch, chosen, coded), "the table")
