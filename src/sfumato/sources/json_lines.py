"""JSON lines: one object a line. Nested fields are columns by their path; a field that a line does not have is missing there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from sfumato.core.beginnings import seems_to_be
from sfumato.core.compression import Compression, buffered, compression_of, opened
from sfumato.core.files import source_changed, to_utf8, unchanged
from sfumato.core.json_blocks import blocks, columns_of, shape_of
from sfumato.core.json_records import Kind, NotARecordError, Shape, column, field_of, objects_of, record
from sfumato.core.nested_types import READ_LISTS
from sfumato.core.table_files import TableFiles
from sfumato.errors import DataError

_SETTLED = 2_000_000_000
_MOST_REMEMBERED = 16


@dataclass(frozen=True)
class _Shape:
    """The fields of a file and their kinds, and whether Arrow's parser could read all of it."""

    kinds: dict[str, Kind]
    plain: bool


_SHAPES: dict[tuple[str, str], _Shape] = {}


def _remember(token: tuple[str, str], shape: _Shape) -> None:
    _SHAPES[token] = shape
    while len(_SHAPES) > _MOST_REMEMBERED:
        del _SHAPES[next(iter(_SHAPES))]


class JsonLines(TableFiles):
    """A file of JSON lines in UTF-8, or several of one table. A field whose values are of several types is read as text.

    Cost: one pass to know all fields, which is remembered as long as the file does not change, and one to read them.
    """

    separator: Annotated[str, Field(min_length=1, max_length=1, description="what stands between the steps of a path")] = "."
    lists: Annotated[
        Literal["refuse", "text"],
        Field(description="what becomes of fields whose values are lists, if they are not removed: the run stops, or they are read as text in JSON"),
    ] = "refuse"
    fields: Annotated[
        dict[str, Literal["integer", "number", "boolean", "text", "list"]],
        Field(description="fields that are columns even where no line has them, and their types"),
    ] = {}
    compression: Annotated[Compression, Field(description="how the file is compressed; by the ending of its name where nothing is said")] = "infer"

    def describe(self) -> pa.Schema:
        """Return all fields of all lines, in the order in which they appear."""
        return pa.schema([field_of(name, kind) for name, kind in self._shape().kinds.items()])

    def file_schema(self) -> pa.Schema:
        """Return the fields of one file."""
        return self.describe()

    def file_batches(self, columns: Sequence[str], coded: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some fields of one file."""
        return self.batches(columns, coded)

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some fields."""
        del coded
        shape = self._shape()
        kinds = shape.kinds
        nested = [name for name in columns if kinds[name] == "list"]
        if nested and self.lists == "refuse":
            raise DataError(
                f"{self.path} has fields whose values are lists: {', '.join(nested)}",
                code="column-nested",
                hint=READ_LISTS,
            )
        schema = pa.schema([field_of(name, kinds[name]) for name in columns])
        before = self.state()
        for part in self.parts():
            with unchanged(part.path):
                for arrays, rows in part._columns({name: kinds[name] for name in columns}, shape.plain and not nested):
                    # a batch of no columns has its number of rows all the same
                    yield pa.record_batch(arrays, schema=schema) if arrays else pa.record_batch([pa.nulls(rows)], names=[""]).select([])
        if self.state() != before:
            raise source_changed(self.path)

    def remember(self, kinds: Mapping[str, Kind]) -> None:
        """Take the fields of a file that was just written from who wrote it: no pass is needed to know them."""
        _remember((self.state(), self.model_dump_json()), _Shape(dict(kinds), plain=True))

    def _shape(self) -> _Shape:
        token = (self.state(), self.model_dump_json())
        if token in _SHAPES:
            return _SHAPES[token]
        found, plain = Shape(self.fields), True
        parts = self.parts()
        for part in parts:
            for number, block in part._blocks():
                kinds = shape_of(block, self.separator)
                if kinds is not None:
                    found.add_kinds(kinds)
                    continue
                plain = False
                for fields in part._records(number, block):
                    found.add(fields)
        every = found.kinds(self.separator)
        # a name that is a value here and an object there is no column of Arrow's
        shape = _Shape(every, plain and not objects_of(every, self.separator) & set(every))
        if not shape.kinds:
            raise DataError(f"{self.path} is empty", code="file-empty", hint="a file with objects that have fields is needed")
        # a file that was written a moment ago could change again within the same tick of the file system's clock
        if time.time_ns() - max(Path(part.path).stat().st_mtime_ns for part in parts) > _SETTLED:
            _remember(token, shape)
        return shape

    def _columns(self, kinds: Mapping[str, Kind], plain: bool) -> Iterator[tuple[list[pa.Array], int]]:
        """Yield some fields of one file as columns, a block at a time; where all blocks are plain none is read line by line."""
        for number, block in self._blocks():
            arrays = columns_of(block, kinds, self.separator) if plain and kinds else None
            if arrays is None:
                records = list(self._records(number, block))
                if records:
                    yield [column([fields.get(name) for fields in records], kind) for name, kind in kinds.items()], len(records)
            elif len(arrays[0]):
                yield arrays, len(arrays[0])

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        with opened(self.path, compression_of(self.path, self.compression)) as file:
            yield from blocks(buffered(file))

    def _records(self, number: int, block: bytes) -> Iterator[dict[str, Any]]:
        """Yield the records of a block, whose first line has a number, line by line."""
        for place, line in enumerate(block.split(b"\n"), start=number):
            if line.strip():
                yield self._record(line, place)

    def _record(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            return record(line, self.separator)
        except UnicodeDecodeError:
            seen = seems_to_be(self.path, encodings=False)
            if number == 1 and seen is not None and compression_of(self.path, self.compression) == "none":
                raise DataError(f"{self.path} is {seen[0]}", code="file-encoding", hint=seen[1]) from None
            raise DataError(f"{self.path}:{number} is not UTF-8 text", code="file-encoding", hint=f"convert it first: {to_utf8(self.path)}") from None
        except NotARecordError:
            raise DataError(
                f"{self.path}:{number} is not one JSON object with every field once",
                code="json-line",
                hint="mend the line; each line is one object, with finite numbers, and no field is named like the path of another",
            ) from None
