"""Arrow IPC files: the types of the columns are kept, generalised columns are text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import pyarrow as pa
from pydantic import Field

from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Source
from sfumato.core.settings import Settings
from sfumato.core.staging import StagedFile
from sfumato.registry import find


class Arrow(Settings):
    """An Arrow IPC file."""

    path: Annotated[PolicyPath, Field(description="the file, relative to the policy")]

    def places(self) -> Sequence[str]:
        """Return the file."""
        return (self.path,)

    def open(self, schema: pa.Schema) -> ArrowWriter:
        """Begin a file under a private name."""
        return ArrowWriter(self, schema)


class ArrowWriter:
    """An Arrow IPC file that nobody can see yet."""

    def __init__(self, sink: Arrow, schema: pa.Schema) -> None:
        self._sink = sink
        # a schema's metadata could tell about the source: only names and types go into the file
        types = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
        self._schema = pa.schema(list(zip(schema.names, types, strict=True)))
        self._file = StagedFile(sink.path)
        self._writer: Any = None
        with self._file.errors(self.abort):
            self._writer = pa.ipc.new_file(self._file.file, self._schema)

    @property
    def staging(self) -> Sequence[str]:
        """The private file."""
        return (str(self._file.path),)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write further rows."""
        with self._file.errors(self.abort):
            self._writer.write_table(pa.Table.from_batches([batch]).cast(self._schema))

    def finish(self) -> Source:
        """Write the end of the file, sync it and return the source that reads it back."""
        with self._file.errors(self.abort):
            self._writer.close()
        self._file.sync()
        source: Source = find("sources", "arrow")(path=str(self._file.path))
        return source

    def publish(self) -> Sequence[str]:
        """Rename the file to its final name."""
        self._file.publish()
        return (self._sink.path,)

    def abort(self) -> None:
        """Remove the file."""
        if self._writer is not None:
            # its end is thrown away with the file
            with suppress(OSError, ValueError):
                self._writer.close()
        self._file.abort()
