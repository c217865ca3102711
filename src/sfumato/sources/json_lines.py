"""JSON lines: one object a line. Nested fields are columns by their path; a field that a line does not have is missing there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from sfumato.core.compression import Compression, buffered, compression_of, opened
from sfumato.core.files import source_changed, to_utf8, unchanged
from sfumato.core.json_records import Kind, NotARecordError, Shape, arrow_type, column, record
from sfumato.core.table_files import TableFiles
from sfumato.errors import DataError

_ROWS = 1 << 16
_BYTES = 16 << 20
_SETTLED = 2_000_000_000
_SHAPES: dict[tuple[str, str], dict[str, Kind]] = {}


class JsonLines(TableFiles):
    """A file of JSON lines in UTF-8, or several of one table. A field whose values are of several types is read as text.

    Cost: one pass to know all fields, which is remembered as long as the file does not change, and one to read them.
    """

    separator: Annotated[str, Field(min_length=1, max_length=1, description="what stands between the steps of a path")] = "."
    fields: Annotated[
        dict[str, Literal["integer", "number", "boolean", "text"]],
        Field(description="fields that are columns even where no line has them, and their types"),
    ] = {}
    compression: Annotated[Compression, Field(description="how the file is compressed; by the ending of its name where nothing is said")] = "infer"

    def describe(self) -> pa.Schema:
        """Return all fields of all lines, in the order in which they appear."""
        return pa.schema([(name, arrow_type(kind)) for name, kind in self._kinds().items()])

    def file_schema(self) -> pa.Schema:
        """Return the fields of one file."""
        return self.describe()

    def file_batches(self, columns: Sequence[str], coded: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some fields of one file."""
        return self.batches(columns, coded)

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some fields."""
        del coded
        kinds = self._kinds()
        nested = [name for name in columns if kinds[name] == "list"]
        if nested:
            raise DataError(
                f"{self.path} has fields whose values are lists: {', '.join(nested)}",
                code="column-nested",
                hint="give them the role identifier, which removes them, or flatten them into fields of their own",
            )
        schema = pa.schema([(name, arrow_type(kinds[name])) for name in columns])
        before = self.state()
        for part in self.parts():
            with unchanged(part.path):
                for records in part._portions():
                    arrays = [column([fields.get(name) for fields in records], kinds[name]) for name in columns]
                    # a batch of no columns has its number of rows all the same
                    yield pa.record_batch(arrays, schema=schema) if arrays else pa.record_batch([pa.nulls(len(records))], names=[""]).select([])
        if self.state() != before:
            raise source_changed(self.path)

    def _kinds(self) -> dict[str, Kind]:
        token = (self.state(), self.model_dump_json())
        if token in _SHAPES:
            return _SHAPES[token]
        shape = Shape(self.fields)
        parts = self.parts()
        for part in parts:
            for records in part._portions():
                for fields in records:
                    shape.add(fields)
        kinds = shape.kinds()
        if not kinds:
            raise DataError(f"{self.path} is empty", code="file-empty", hint="a file with objects that have fields is needed")
        # a file that was written a moment ago could change again within the same tick of the file system's clock
        if time.time_ns() - max(Path(part.path).stat().st_mtime_ns for part in parts) > _SETTLED:
            _SHAPES.clear()
            _SHAPES[token] = kinds
        return kinds

    def _portions(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the records of one file, some at a time."""
        records: list[dict[str, Any]] = []
        used = 0
        with opened(self.path, compression_of(self.path, self.compression)) as file:
            for number, line in enumerate(buffered(file), start=1):
                content = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if content.strip():
                    records.append(self._record(content, number))
                    used += len(line)
                if len(records) >= _ROWS or used >= _BYTES:
                    yield records
                    records, used = [], 0
        if records:
            yield records

    def _record(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            return record(line, self.separator)
        except UnicodeDecodeError:
            raise DataError(f"{self.path}:{number} is not UTF-8 text", code="file-encoding", hint=f"convert it first: {to_utf8(self.path)}") from None
        except NotARecordError:
            raise DataError(
                f"{self.path}:{number} is not one JSON object with every field once",
                code="json-line",
                hint="mend the line; each line is one object, with finite numbers, and no field is named like the path of another",
            ) from None
