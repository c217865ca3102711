"""Parquet files: the types of the columns are kept, generalised columns are text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import pyarrow as pa
from pydantic import Field

from sfumato.core.file_writer import TableWriter
from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Source
from sfumato.core.settings import Settings
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


class ParquetWriter(TableWriter):
    """A Parquet file that nobody can see yet."""

    def __init__(self, sink: Parquet, schema: pa.Schema) -> None:
        from pyarrow import parquet

        super().__init__(sink.path, schema)
        with self._file.errors(self.abort):
            self._writer = parquet.ParquetWriter(self._file.file, self._schema, compression=sink.compression)

    def finish(self) -> Source:
        """Write the end of the file, sync it and return the source that reads it back."""
        self._end()
        source: Source = find("sources", "parquet")(path=str(self._file.path))
        return source

    def abort(self) -> None:
        """Remove the file."""
        if self._writer is not None:
            # else it would write the end of the file when it is collected
            self._writer.is_open = False
        super().abort()
