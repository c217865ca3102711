"""An Arrow table in memory, for notebooks and programs."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sfumato.core.interfaces import Source
from sfumato.core.settings import Settings
from sfumato.registry import find


class Memory(Settings):
    """The release as an Arrow table. It is where a policy without a ``sink`` writes when it is run from Python."""

    def places(self) -> Sequence[str]:
        """Return nothing: no file is written."""
        return ()

    def nests(self, name: str) -> bool:
        """Return that lists, structures and maps have their types."""
        del name
        return True

    def open(self, schema: pa.Schema) -> MemoryWriter:
        """Begin a table."""
        return MemoryWriter(schema)


class MemoryWriter:
    """A table that nobody has been given yet."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._batches: list[pa.RecordBatch] = []
        self.table: pa.Table | None = None

    @property
    def staging(self) -> Sequence[str]:
        """Nothing: no file is written."""
        return ()

    def write(self, batch: pa.RecordBatch) -> None:
        """Take further rows."""
        self._batches.append(batch)

    def finish(self) -> Source:
        """Return the source that reads the table back."""
        plain = pa.schema([(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type) for field in self._schema])
        self.table = pa.Table.from_batches(self._batches, self._schema).cast(plain)
        self._batches = []
        source: Source = find("sources", "memory")(table=self.table)
        return source

    def publish(self) -> Sequence[str]:
        """Hand the table over."""
        return ()

    def abort(self) -> None:
        """Forget the table."""
        self.table = None
        self._batches = []
