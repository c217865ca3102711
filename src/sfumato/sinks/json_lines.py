"""JSON lines: one object a row, fields of a path nested again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import pyarrow as pa
from pydantic import Field

from sfumato.core.compression import Compression
from sfumato.core.file_writer import TextWriter
from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Source
from sfumato.core.json_lines import json_lines
from sfumato.core.json_records import grouped, kind_of, nests
from sfumato.core.settings import Settings
from sfumato.registry import find


class JsonLines(Settings):
    """A file of JSON lines in UTF-8. Numbers and truth values stay what they are; everything else is text."""

    path: Annotated[PolicyPath, Field(description="the file, relative to the policy")]
    separator: Annotated[str, Field(min_length=1, max_length=1, description="what stands between the steps of a path")] = "."
    lists: Annotated[list[str], Field(description="columns whose texts are lists or objects in JSON, and are written as such")] = []
    compression: Annotated[Compression, Field(description="how the file is compressed; by the ending of its name where nothing is said")] = "infer"

    def places(self) -> Sequence[str]:
        """Return the file."""
        return (self.path,)

    def reader(self, path: str, names: Sequence[str] | None) -> Source:
        """Return the source that reads a file as it is written here; its lists become texts again."""
        del names
        source: Source = find("sources", "json_lines")(path=path, separator=self.separator, lists="text", compression=self.compression)
        return source

    def encoded(self, batch: pa.RecordBatch, beginning: bool) -> bytes:
        """Return rows as they are written; the beginning of a file is like any other part."""
        del beginning
        return json_lines(batch, grouped(batch.schema.names, self.separator), self.separator, self.lists)

    def open(self, schema: pa.Schema) -> JsonLinesWriter:
        """Begin a file under a private name."""
        return JsonLinesWriter(self, schema)


class JsonLinesWriter(TextWriter):
    """A file of JSON lines that nobody can see yet."""

    def __init__(self, sink: JsonLines, schema: pa.Schema) -> None:
        super().__init__(sink.path, sink.compression)
        self._sink = sink
        self._names = grouped(schema.names, sink.separator)
        self._fields = {name: "list" if name in sink.lists else kind_of(schema.field(name).type) for name in self._names}

    def write(self, batch: pa.RecordBatch) -> None:
        """Write further rows."""
        self._put(json_lines(batch, self._names, self._sink.separator, self._sink.lists))

    def finish(self) -> Source:
        """Sync the file and return the source that reads it back."""
        self._end()
        source: Any = find("sources", "json_lines")(
            path=str(self._file.path),
            separator=self._sink.separator,
            lists="text",
            fields=self._fields,
            compression=self._compression,
        )
        if all(nests(name, self._names, self._sink.separator) for name in self._names):
            source.remember(self._fields)
        written: Source = source
        return written
