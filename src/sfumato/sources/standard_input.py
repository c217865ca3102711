"""Standard input: rows that another program hands over, as in ``zcat data.csv.gz | sfumato run policy.yaml``.

A run reads its source twice, so the stream is first written to a private file, which is removed when the program ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Literal

import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core.compression import Compression
from sfumato.core.interfaces import Scan
from sfumato.core.marks import Mark
from sfumato.core.settings import Settings
from sfumato.core.standard_streams import INPUT, in_words, spooled_input
from sfumato.core.table_files import TableFiles
from sfumato.core.transcoding import Encoding
from sfumato.errors import DataError, UnreachableError
from sfumato.registry import find


class StandardInput(Settings):
    """What comes in by standard input, in one of the formats of files. Cost: that of the format, and one copy of the stream on the disk."""

    format: Annotated[Literal["delimited", "json_lines", "parquet", "arrow"], Field(description="the format of the stream")] = "delimited"
    delimiter: Annotated[Mark, Field(description="delimited: what stands between two fields")] = ","
    quote: Annotated[Mark | None, Field(description="delimited: what encloses a field; null where nothing is quoted")] = '"'
    escape: Annotated[Mark | None, Field(description="delimited: what takes a quote's meaning away; null where a quote is doubled")] = None
    header: Annotated[bool, Field(description="delimited: whether the first line names the columns")] = True
    columns: Annotated[list[str] | None, Field(description="delimited: the names of the columns where there is no header")] = None
    encoding: Annotated[Encoding, Field(description="delimited: the encoding of the text")] = "utf-8"
    separator: Annotated[str, Field(min_length=1, max_length=1, description="json_lines: what stands between the steps of a path")] = "."
    fields: Annotated[
        dict[str, Literal["integer", "number", "boolean", "text"]],
        Field(description="json_lines: fields that are columns even where no line has them, and their types"),
    ] = {}
    compression: Annotated[Compression, Field(description="delimited, json_lines: how the stream is compressed")] = "none"

    @model_validator(mode="after")
    def _consistent(self) -> StandardInput:
        foreign = sorted(set(self._given()) - set(find("sources", self.format).model_fields))
        if foreign:
            raise ValueError(f"has settings that the format {self.format} does not know: {', '.join(foreign)}")
        self._source("")
        return self

    def describe(self) -> pa.Schema:
        """Return the columns and their types."""
        with _as_standard_input():
            return self._spooled().describe()

    def state(self) -> str:
        """Return a token that stays: what has come in does not change."""
        with _as_standard_input():
            return self._spooled().state()

    def about(self) -> int | None:
        """Return about how many rows came in; None where nobody knows."""
        with _as_standard_input():
            return self._spooled().about()

    def scan(self) -> Scan:
        """Return the stream, of which nothing is read yet."""
        return Scan("standard_input", (INPUT,))

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some columns."""
        with _as_standard_input():
            yield from self._spooled().batches(columns, coded)

    def _given(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.model_fields_set - {"format"}}

    def _spooled(self) -> TableFiles:
        return self._source(str(spooled_input()))

    def _source(self, path: str) -> TableFiles:
        source: TableFiles = find("sources", self.format).model_validate({"path": path, **self._given()})
        return source


@contextmanager
def _as_standard_input() -> Iterator[None]:
    """Say standard input where a message would name the private file."""
    try:
        yield
    except (DataError, UnreachableError) as error:
        path, name = str(spooled_input()), in_words(INPUT)
        if path not in error.message:
            raise
        hint = error.hint
        if hint is not None and path in hint:
            hint = "convert it on the way: iconv -f latin1 -t utf-8 | sfumato run policy.yaml"
        raise type(error)(error.message.replace(path, name), code=error.code, hint=hint) from None
