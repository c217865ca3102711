"""Delimited text: written with minimal quotes, null as an empty field, the empty string as a quoted one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sfumato.core.canonical import as_text
from sfumato.core.compression import Compression
from sfumato.core.file_writer import TextWriter
from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Source
from sfumato.core.kernels.pieces import MARGIN, join
from sfumato.core.marks import Mark
from sfumato.core.settings import Settings
from sfumato.errors import DataError
from sfumato.registry import find

_BYTE_ORDER_MARK = "\ufeff"


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
                self._write([pa.array([name], pa.string()) for name in schema.names])
            except DataError:
                self.abort()
                raise

    def write(self, batch: pa.RecordBatch) -> None:
        """Write further rows."""
        self._write(batch.columns)

    def finish(self) -> Source:
        """Sync the file and return the source that reads it back."""
        self._end()
        # the private name has not the ending that says how it is compressed
        return self._sink.model_copy(update={"compression": self._compression}).reader(str(self._file.path), self._names)

    def _write(self, columns: Sequence[pa.Array]) -> None:
        if not columns or not len(columns[0]):
            return
        runs = _runs(columns)
        pieces = [self._joined(run) for run in runs]
        codes = [run[0].indices if pa.types.is_dictionary(run[0].type) else None for run in runs]
        self._put(_lines(pieces, codes, len(columns[0]), self._sink.delimiter))

    def _joined(self, run: Sequence[pa.Array]) -> pa.Array:
        """Return the texts that neighbouring columns which share their codes show for each of them, or the texts of one column."""
        parts = [self._quoted(column.dictionary if pa.types.is_dictionary(column.type) else column) for column in run]
        if len(parts) == 1:
            return parts[0]
        return pc.binary_join_element_wise(*parts, self._sink.delimiter, null_handling="replace", null_replacement="")

    def _quoted(self, column: pa.Array) -> pa.Array:
        text = as_text(column)
        data = _content(text)[0].tobytes()
        marks = (self._sink.delimiter.encode(), b"\n", b"\r", _BYTE_ORDER_MARK.encode(), (self._sink.quote or "\n").encode())
        empty = pc.any(pc.equal(pc.binary_length(text), 0)).as_py()
        if not empty and not any(mark in data for mark in marks):
            return text
        return self._enclose(text)

    def _enclose(self, text: pa.Array) -> pa.Array:
        special = "".join(f"\\x{ord(mark):02x}" for mark in f"{self._sink.delimiter}\r\n{self._sink.quote or ''}")
        # at the beginning of a file, a byte order mark that is not in quotes would be taken for the file's own
        needs = pc.or_(pc.match_substring_regex(text, f"[{special}]|^{_BYTE_ORDER_MARK}"), pc.equal(pc.binary_length(text), 0))
        quote = self._sink.quote
        if quote is None:
            raise DataError(
                "a value cannot be written without quotes",
                code="sink-quote",
                hint="give the sink a quote, or another delimiter",
            )
        doubled = pc.replace_substring(text, quote, quote * 2)
        return pc.if_else(needs, pc.binary_join_element_wise(quote, doubled, quote, ""), text)


def _runs(columns: Sequence[pa.Array]) -> list[list[pa.Array]]:
    """Return the columns in runs of neighbours that share their codes; all others alone."""
    runs: list[list[pa.Array]] = []
    for column in columns:
        if runs and _share_codes(runs[-1][-1], column):
            runs[-1].append(column)
        else:
            runs.append([column])
    return runs


def _share_codes(one: pa.Array, other: pa.Array) -> bool:
    if not (pa.types.is_dictionary(one.type) and pa.types.is_dictionary(other.type)) or one.null_count or other.null_count:
        return False
    first, second = one.indices, other.indices
    return len(first) == len(second) and first.offset == second.offset and first.buffers()[1].address == second.buffers()[1].address


def _lines(pieces: Sequence[pa.Array], codes: Sequence[pa.Array | None], rows: int, delimiter: str) -> memoryview:
    """Return one line a row; each has one text of every piece, that of its code or its own, and nothing where it is null."""
    values = np.empty((len(pieces), rows), np.int64)
    starts, data = [np.zeros(1, np.int64)], []
    number = used = 0
    for place, (text, coded) in enumerate(zip(pieces, codes, strict=True)):
        content, offsets = _content(text)
        values[place] = np.arange(rows) if coded is None else coded.fill_null(len(text)).to_numpy(zero_copy_only=False)
        values[place] += number
        # behind the last text an empty one, which null picks
        starts += [offsets[1:] + used, np.array([used + len(content)])]
        data.append(content)
        number += len(text) + 1
        used += len(content)
    places = np.concatenate(starts)
    lengths = np.diff(places)
    size = sum(int(lengths[piece].sum()) for piece in values) + values.size
    text = np.empty(size + MARGIN, np.uint8)
    join(np.concatenate([*data, np.zeros(MARGIN, np.uint8)]), places, values, ord(delimiter), text)
    return text.data[:size]


def _content(text: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of a text column, one value after the other, and where each begins; null is empty."""
    kind = np.int64 if pa.types.is_large_string(text.type) else np.int32
    if text.null_count:
        text = text.fill_null("")
    _, offsets, data = text.buffers()
    places = np.frombuffer(offsets, kind)[text.offset : text.offset + len(text) + 1].astype(np.int64)
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return content[places[0] : places[-1]], places - places[0]
