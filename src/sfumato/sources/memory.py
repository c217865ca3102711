"""An Arrow table in memory, for notebooks and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import pyarrow as pa
from pydantic import ConfigDict, Field

from sfumato.core.column_types import plain_schema, refuse_damaged_text
from sfumato.core.nested_types import refuse_unreadable
from sfumato.core.nested_values import as_described
from sfumato.core.settings import Settings

_ROWS = 1 << 18


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
        refuse_unreadable(schema, columns, "the table")
        for batch in self.table.select(list(columns)).to_batches():
            yield from as_described(refuse_damaged_text(batch, "the table"), chosen, _ROWS, coded)
