"""Parquet files: the types of the columns are kept, generalised columns are text; in one file, or in folders called after values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
from pydantic import Field

from sfumato.core.file_writer import TableWriter
from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Source, Writer
from sfumato.core.settings import Settings
from sfumato.registry import find
from sfumato.sinks._partitioned import PartitionedWriter


class Parquet(Settings):
    """A Parquet file, or with ``partition_by`` a folder of them."""

    path: Annotated[PolicyPath, Field(description="the file, relative to the policy; with partition_by the folder")]
    compression: Annotated[Literal["zstd", "snappy", "none"], Field(description="how the pages of the file are packed")] = "zstd"
    partition_by: Annotated[
        list[Annotated[str, Field(min_length=1)]],
        Field(description="columns whose values become folders called column=value; within those their values are text"),
    ] = []

    def places(self) -> Sequence[str]:
        """Return the file, or the folder."""
        return (str(Path(self.path)) if self.partition_by else self.path,)

    def refuse_columns(self, names: Sequence[str]) -> str | None:
        """Return what is wrong with a release of some columns; None where nothing is."""
        unknown = [name for name in self.partition_by if name not in names]
        if unknown:
            return f"partition_by names columns that are not published: {', '.join(unknown)}"
        if len(set(self.partition_by)) < len(self.partition_by):
            return "partition_by names a column twice"
        return "partition_by leaves no column for the files" if set(self.partition_by) == set(names) else None

    def nests(self, name: str) -> bool:
        """Return whether a column is not one whose values are folders: these are text."""
        return name not in self.partition_by

    def reader(self, path: str, names: Sequence[str] | None) -> Source:
        """Return the source that reads a file or a folder as it is written here."""
        del names
        source: Source = find("sources", "parquet")(path=path)
        return source

    def open(self, schema: pa.Schema) -> Writer:
        """Begin a file or a folder under a private name."""
        if self.partition_by:
            return PartitionedWriter(self.places()[0], self.compression, self.partition_by, schema)
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
