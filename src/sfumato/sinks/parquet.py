"""Parquet files: the types of the columns are kept, generalised columns are text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Source
from sfumato.core.settings import Settings
from sfumato.core.staging import StagedFile
from sfumato.registry import find


class Parquet(Settings):
    """A Parquet file."""

    path: Annotated[PolicyPath, Field(description="the file, relative to the policy")]
    compression: Annotated[Literal["zstd", "snappy", "none"], Field(description="how the pages of the file are packed")] = "zstd"

    def places(self) -> Sequence[str]:
        """Return the file."""
        return (self.path,)

    def open(self, schema: pa.Schema) -> ParquetWriter:
        """Begin a file under a private name."""
        return ParquetWriter(self, schema)


class ParquetWriter:
    """A Parquet file that nobody can see yet."""

    def __init__(self, sink: Parquet, schema: pa.Schema) -> None:
        from pyarrow import parquet

        self._sink = sink
        # a schema's metadata could tell about the source: only names and types go into the file
        self._schema = pa.schema([(field.name, _plain(field.type)) for field in schema])
        self._file = StagedFile(sink.path)
        self._writer: Any = None
        with self._file.errors(self.abort):
            self._writer = parquet.ParquetWriter(self._file.file, self._schema, compression=sink.compression)

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
        source: Source = find("sources", "parquet")(path=str(self._file.path))
        return source

    def publish(self) -> Sequence[str]:
        """Rename the file to its final name."""
        self._file.publish()
        return (self._sink.path,)

    def abort(self) -> None:
        """Remove the file."""
        if self._writer is not None:
            # else it would write the end of the file when it is collected
            self._writer.is_open = False
        self._file.abort()


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
