"""An Arrow table in memory, for notebooks and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import pyarrow as pa
from pydantic import ConfigDict, Field

from sfumato.core.settings import Settings


class Memory(Settings):
    """The rows of an Arrow table. It cannot be written in a policy file: it is what ``sfumato.run(policy, data=...)`` is given."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    table: Annotated[Any, Field(description="a pyarrow.Table", exclude=True)]

    def describe(self) -> pa.Schema:
        """Return the schema of the table."""
        schema: pa.Schema = self.table.schema
        return schema

    def state(self) -> str:
        """Return a constant: an Arrow table never changes."""
        return "memory"

    def scan(self) -> None:
        """Return None: the rows are here already."""
        return

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns in order."""
        del coded
        yield from self.table.select(list(columns)).to_batches(max_chunksize=1 << 18)
