"""Delimited text: CSV and its relatives, read as text with an explicit dialect (RFC 4180 where nothing else is said).

Nothing is guessed. A line with too few or too many fields, or a quote that does not close, is refused with its line number. Fields are
read as text; an empty field is a missing value, a quoted empty one the empty string.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core.beginnings import seems_to_be
from sfumato.core.column_types import refuse_same_names
from sfumato.core.compression import Compression, buffered, compression_of, opened
from sfumato.core.files import file_errors, refuse_pipes, to_utf8, unchanged
from sfumato.core.marks import Mark
from sfumato.core.table_files import TableFiles, refuse_other_names
from sfumato.core.transcoding import Encoding, Transcoded, is_utf8
from sfumato.errors import DataError, number_of

_SAMPLE = 1 << 18
_ANOTHER_NAME = "rename them: a policy speaks of columns by name; if the first line is no header, say header: false"

if TYPE_CHECKING:
    from sfumato.core.delimited_text import MalformedError


class Delimited(TableFiles):
    """A delimited text file, or several of one table. Those that have a header are read by name, whatever the order of their columns.

    Cost: one pass over the file in blocks of a few megabytes.
    """

    delimiter: Annotated[Mark, Field(description="what stands between two fields")] = ","
    quote: Annotated[Mark | None, Field(description="what encloses a field; null where nothing is quoted")] = '"'
    escape: Annotated[
        Mark | None,
        Field(description="what takes a quote's meaning away; null where a quote is doubled"),
    ] = None
    header: Annotated[bool, Field(description="whether the first line names the columns")] = True
    columns: Annotated[list[str] | None, Field(description="the names of the columns where there is no header")] = None
    encoding: Annotated[Encoding, Field(description="the encoding of the text, such as utf-8, latin-1, cp1252, utf-16")] = "utf-8"

    compression: Annotated[Compression, Field(description="how the file is compressed; by the ending of its name where nothing is said")] = "infer"

    @model_validator(mode="after")
    def _consistent(self) -> Delimited:
        marks = [mark for mark in (self.delimiter, self.quote, self.escape) if mark is not None]
        if len(set(marks)) < len(marks):
            raise ValueError("needs a delimiter, a quote and an escape that differ")
        if self.header and self.columns is not None:
            raise ValueError("takes columns only with header: false")
        return self

    def _in_utf8(self, file: Any) -> Any:
        return file if is_utf8(self.encoding) else Transcoded(file, self.encoding)

    @property
    def _compression(self) -> Compression:
        return compression_of(self.path, self.compression)

    def file_schema(self) -> pa.Schema:
        """Return the columns of one file, all of them text."""
        return pa.schema([(name, pa.string()) for name in self._names()])

    def refuse_other_columns(self, first: Delimited, expected: pa.Schema, found: pa.Schema) -> None:
        """Refuse a file that has other columns than the first one; their order is its own."""
        refuse_other_names(self.path, first.path, expected, found)

    def file_about(self) -> int | None:
        """Return how many rows one file has if all are as long as the first ones; nobody knows of a compressed one."""
        if self._compression != "none":
            return None
        with file_errors(self.path), Path(self.path).open("rb") as file:
            beginning = file.read(_SAMPLE)
            size = os.fstat(file.fileno()).st_size
        lines = beginning.count(b"\n") or beginning.count(b"\r")
        return size * lines // len(beginning) if lines else None

    def file_batches(self, columns: Sequence[str], coded: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns of one file as text, those of ``coded`` as dictionaries of text."""
        from sfumato.core.delimited_text import DelimitedText, MalformedError

        names = self._names()
        dictionaries, places = set(coded), {name: place for place, name in enumerate(names)}
        plain = [name for name in columns if name not in dictionaries]
        order = [*(name for name in columns if name in dictionaries), *plain]
        marks = (self.delimiter, self.quote, self.escape)
        fields = [places[name] for name in order]
        text = DelimitedText(marks, len(names), self.header, fields[: len(order) - len(plain)], fields[len(order) - len(plain) :])
        with unchanged(self.path), opened(self.path, self._compression) as file:
            try:
                for rows, arrays in text.batches(self._in_utf8(file)):
                    # a batch of no columns has its number of rows all the same
                    table = pa.record_batch(arrays, names=order) if order else pa.record_batch([pa.nulls(rows)], names=[""])
                    yield table.select(list(columns))
            except MalformedError as malformed:
                raise self._fault(malformed, len(names)) from None
            except (pa.ArrowInvalid, UnicodeError):
                raise self._not_encoded() from None

    def _names(self) -> list[str]:
        first, _ = self._first_record()
        if not first and (self.header or not self.columns):
            raise DataError(f"{self.path} is empty", code="file-empty", hint="a file with a header and rows is needed")
        if not self.header:
            names = self.columns or [f"column_{place}" for place in range(1, len(first) + 1)]
            if first and len(names) != len(first):
                raise DataError(
                    f"{self.path} has {number_of(len(first), 'column')}; {number_of(len(names), 'name')} given",
                    code="delimited-columns",
                    hint="give one name a column",
                )
        else:
            names = first
        refuse_same_names(names, self.path, _ANOTHER_NAME if self.header else "give every column a name of its own")
        return names

    def _first_record(self) -> tuple[list[str], int]:
        """Return the first line that is not blank, and how many are before it; nothing where all are."""
        refuse_pipes(self.path)
        with opened(self.path, self._compression) as file:
            text = io.TextIOWrapper(buffered(self._in_utf8(file)), encoding="utf-8-sig", newline="")
            try:
                return next(((record, blank) for blank, record in enumerate(csv.reader(text, **self._dialect())) if record), ([], 0))
            except UnicodeError:
                raise self._not_encoded() from None
            except csv.Error:
                raise DataError(
                    f"{self.path}:1 the first line cannot be read",
                    code="delimited-header",
                    hint="look at delimiter and quote of the source",
                ) from None

    def _dialect(self) -> dict[str, Any]:
        csv.field_size_limit(1 << 30)
        quoting = csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE
        return {
            "delimiter": self.delimiter,
            "quotechar": self.quote or None,
            "escapechar": self.escape,
            "doublequote": self.escape is None,
            "quoting": quoting,
            "strict": True,
        }

    def _fault(self, malformed: MalformedError, width: int) -> DataError:
        from sfumato.core.delimited_text import TOO_LARGE
        from sfumato.core.kernels import delimited_parse as kernel

        place, fault = f"{self.path}:{malformed.line}", malformed.fault
        if fault in (kernel.SHORT, kernel.LONG):
            return DataError(
                f"{place} has {number_of(malformed.fields, 'field')}, the file has {number_of(width, 'column')}",
                code="delimited-line-short" if fault == kernel.SHORT else "delimited-line-long",
                hint="mend the line, or look at delimiter and quote of the source",
            )
        wrong = {
            kernel.AFTER_QUOTE: "a quoted field goes on after its closing quote",
            kernel.OPEN_QUOTE: "a quoted field begins here and never ends",
            kernel.OPEN_ESCAPE: "the file ends with an escape character that takes nothing's meaning away",
            TOO_LARGE: "a record begins here that is larger than 256 MiB: perhaps a quote that never closes",
        }
        return DataError(f"{place} {wrong[fault]}", code="delimited-quote", hint="mend the line, or look at quote and escape of the source")

    def _not_encoded(self) -> DataError:
        seen = seems_to_be(self.path)
        if seen is not None and self._compression == "none":
            return DataError(f"{self.path} is {seen[0]}", code="file-encoding", hint=seen[1])
        if not is_utf8(self.encoding):
            hint = "look at the encoding of the source; utf-8 is the default"
            return DataError(f"{self.path} is not {self.encoding} text", code="file-encoding", hint=hint)
        hint = f"say encoding: latin-1 in the source (--encoding latin-1 of assess), or whatever it is, or convert it first: {to_utf8(self.path)}"
        return DataError(f"{self.path} is not UTF-8 text", code="file-encoding", hint=hint)
