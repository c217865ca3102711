"""Delimited text: written with minimal quotes, null as an empty field, the empty string as a quoted one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core.compression import Compression
from sfumato.core.delimited_lines import delimited_lines
from sfumato.core.file_writer import TextWriter
from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Source
from sfumato.core.marks import Mark
from sfumato.core.settings import Settings
from sfumato.errors import DataError
from sfumato.registry import find


class Delimited(Settings):
    """A delimited text file in UTF-8."""

    path: Annotated[PolicyPath, Field(description="the file, relative to the policy")]
    delimiter: Annotated[Mark, Field(description="what stands between two fields")] = ","
    quote: Annotated[
        Mark | None,
        Field(description="what encloses a field that needs it; null to refuse such fields"),
    ] = '"'
    header: Annotated[bool, Field(description="whether the first line names the columns")] = True

    compression: Annotated[Compression, Field(description="how the file is compressed; by the ending of its name where nothing is said")] = "infer"

    @model_validator(mode="after")
    def _consistent(self) -> Delimited:
        if self.delimiter == self.quote:
            raise ValueError("needs a delimiter and a quote that differ")
        return self

    def places(self) -> Sequence[str]:
        """Return the file."""
        return (self.path,)

    def reader(self, path: str, names: Sequence[str] | None) -> Source:
        """Return the source that reads a file as it is written here."""
        source: Source = find("sources", "delimited")(
            path=path,
            delimiter=self.delimiter,
            quote=self.quote,
            header=self.header,
            columns=None if self.header or names is None else list(names),
            compression=self.compression,
        )
        return source

    def encoded(self, batch: pa.RecordBatch, beginning: bool) -> bytes:
        """Return rows as they are written, after the header at the beginning of a file."""
        rows = bytes(delimited_lines(batch.columns, self.delimiter, self.quote))
        if not beginning or not self.header:
            return rows
        names = [pa.array([name], pa.string()) for name in batch.schema.names]
        return bytes(delimited_lines(names, self.delimiter, self.quote)) + rows

    def open(self, schema: pa.Schema) -> DelimitedWriter:
        """Begin a file under a private name."""
        return DelimitedWriter(self, schema)


class DelimitedWriter(TextWriter):
    """A delimited file that nobody can see yet."""

    def __init__(self, sink: Delimited, schema: pa.Schema) -> None:
        super().__init__(sink.path, sink.compression)
        self._sink = sink
        self._names = schema.names
        if sink.header:
            try:
                self._put(self._lines([pa.array([name], pa.string()) for name in schema.names]))
            except DataError:
                self.abort()
                raise

    def write(self, batch: pa.RecordBatch) -> None:
        """Write further rows."""
        self._put(self._lines(batch.columns))

    def finish(self) -> Source:
        """Sync the file and return the source that reads it back."""
        self._end()
        # the private name has not the ending that says how it is compressed
        return self._sink.model_copy(update={"compression": self._compression}).reader(str(self._file.path), self._names)

    def _lines(self, columns: Sequence[pa.Array]) -> memoryview:
        return delimited_lines(columns, self._sink.delimiter, self._sink.quote)
