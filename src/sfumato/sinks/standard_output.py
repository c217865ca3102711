"""Standard output: the release as a stream for the next program, which gets the first byte when all of it is verified."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core.compression import Compression
from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Source, Writer
from sfumato.core.marks import Mark
from sfumato.core.settings import Settings
from sfumato.core.standard_streams import OUTPUT, refuse_closed_output, send
from sfumato.core.workplace import Workplace
from sfumato.registry import find


class StandardOutput(Settings):
    """The release on standard output. Words, and the record with ``--format json``, then go to standard error."""

    format: Annotated[Literal["delimited", "json_lines"], Field(description="the format of the stream")] = "delimited"
    delimiter: Annotated[Mark, Field(description="delimited: what stands between two fields")] = ","
    quote: Annotated[Mark | None, Field(description="delimited: what encloses a field that needs it; null to refuse such fields")] = '"'
    header: Annotated[bool, Field(description="delimited: whether the first line names the columns")] = True
    separator: Annotated[str, Field(min_length=1, max_length=1, description="json_lines: what stands between the steps of a path")] = "."
    compression: Annotated[Compression, Field(description="how the stream is compressed")] = "none"
    record: Annotated[PolicyPath | None, Field(description="the file for the record; null to keep it in the private folder only")] = None

    @model_validator(mode="after")
    def _consistent(self) -> StandardOutput:
        foreign = sorted(set(self._given()) - set(find("sinks", self.format).model_fields))
        if foreign:
            raise ValueError(f"has settings that the format {self.format} does not know: {', '.join(foreign)}")
        self._sink("")
        return self

    def places(self) -> Sequence[str]:
        """Return the stream: it may be led into a file that the run reads."""
        return (OUTPUT,)

    def reader(self, path: str, names: Sequence[str] | None) -> Source:
        """Return the source that reads a file into which the stream was led."""
        source: Source = self._sink("").reader(path, names)
        return source

    def encoded(self, batch: pa.RecordBatch, beginning: bool) -> bytes:
        """Return rows as they are written by the format."""
        content: bytes = self._sink("").encoded(batch, beginning)
        return content

    def open(self, schema: pa.Schema) -> Writer:
        """Begin a private file."""
        refuse_closed_output()
        workplace = Workplace()
        try:
            return StandardOutputWriter(self._sink(str(workplace.folder / "release")).open(schema), workplace)
        except BaseException:
            workplace.close()
            raise

    def _given(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.model_fields_set - {"format", "record"}}

    def _sink(self, path: str) -> Any:
        return find("sinks", self.format).model_validate({"path": path, **self._given()})


class StandardOutputWriter:
    """A release in a private file, of which nothing has been sent yet."""

    def __init__(self, writer: Writer, workplace: Workplace) -> None:
        self._writer = writer
        self._workplace = workplace

    @property
    def staging(self) -> Sequence[str]:
        """The private file."""
        return self._writer.staging

    def write(self, batch: pa.RecordBatch) -> None:
        """Write further rows."""
        self._writer.write(batch)

    def finish(self) -> Source:
        """Sync the file and return the source that reads it back."""
        return self._writer.finish()

    def publish(self) -> Sequence[str]:
        """Send the release, and leave nothing behind."""
        (staged,) = map(Path, self.staging)
        send(staged)
        self.abort()
        return ()

    def abort(self) -> None:
        """Remove the file."""
        self._writer.abort()
        self._workplace.close()
