"""The rows of a release as they stand in its files, read by the standard library and Arrow alone: every value as text, null as None."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.core import canonical
from sfumato.core.files import file_errors
from sfumato.engine.stream.run_journal import Segment

Row = dict[str, str | None]


class NotAsWrittenError(Exception):
    """A stretch that does not hold what was written to it; the message has no value."""


class ReleasedRows:
    """Reads the segments of a release, one after the other."""

    def __init__(self, sink: Any, names: Sequence[str]) -> None:
        self._sink, self._names = sink, list(names)
        self.path, self._format = Path(sink.path), sink.component_name()
        self._header: list[str] | None = None if getattr(sink, "header", False) else self._names

    @property
    def is_folder(self) -> bool:
        """Whether each segment is a file of its own."""
        return self._format in ("arrow", "parquet")

    @property
    def manifest(self) -> Path:
        """Where the list of segments stands."""
        return self.path / "manifest.jsonl" if self.is_folder else self.path.with_name(f"{self.path.name}.manifest.jsonl")

    def rows(self, segment: Segment) -> list[Row]:
        """Return the rows of a segment; raise where they cannot be what was written there."""
        try:
            found = self._read(segment)
        except (ValueError, csv.Error, pa.ArrowException, RecursionError):
            # what a library says of it may quote a value
            raise NotAsWrittenError("cannot be read") from None
        if len(found) != segment.rows:
            raise NotAsWrittenError(f"has {len(found)} rows, and {segment.rows} were released")
        return found

    def _read(self, segment: Segment) -> list[Row]:
        if self.is_folder:
            return self._of_file(self.path / segment.file)
        with file_errors(self.path), self.path.open("rb") as file:
            file.seek(segment.start)
            content = file.read(segment.finish - segment.start)
        if len(content) < segment.finish - segment.start or not content.endswith(b"\n"):
            raise NotAsWrittenError("is shorter than what was released, or does not end with a row")
        text = content.decode("utf-8")
        return list(self._delimited(text) if self._format == "delimited" else self._objects(text))

    def _delimited(self, text: str) -> Iterator[Row]:
        quote = self._sink.quote
        quoting: Any = {"quoting": csv.QUOTE_NONE} if quote is None else {"quotechar": quote}
        csv.field_size_limit(1 << 30)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self._sink.delimiter, strict=True, **quoting)
        for fields in reader:
            if self._header is None:
                self._header = fields
                if fields != self._names:
                    raise NotAsWrittenError("has another header than the release")
                continue
            if not fields and len(self._header) == 1:
                # an empty line is a missing value there
                fields.append("")
            if len(fields) != len(self._header):
                raise NotAsWrittenError("has a row with more or fewer fields than the release has columns")
            yield {name: value or None for name, value in zip(self._header, fields, strict=True)}

    def _objects(self, text: str) -> Iterator[Row]:
        for line in text.split("\n"):
            if not line:
                continue
            # numbers stay as they are written
            told = json.loads(line, parse_float=Bare, parse_int=Bare, object_pairs_hook=_Object)
            if not isinstance(told, _Object):
                raise NotAsWrittenError("has a line that is no object")
            found = list(_fields(told, frozenset(self._names), self._sink.separator))
            if sorted(name for name, _ in found) != sorted(self._names):
                raise NotAsWrittenError("has a line with other fields than the release has columns, or with one of them twice")
            yield {name: _text(value) for name, value in found}

    def _of_file(self, path: Path) -> list[Row]:
        with file_errors(path):
            table = pq.read_table(path) if self._format == "parquet" else pa.ipc.open_file(pa.OSFile(str(path))).read_all()
        if table.column_names != self._names:
            raise NotAsWrittenError("has other columns than the release")
        columns = [canonical.as_text(column.combine_chunks()).to_pylist() for column in table.columns]
        return [dict(zip(self._names, values, strict=True)) for values in zip(*columns, strict=True)]


class Bare(str):
    """A number or a truth value of JSON as it is written: without quotes."""

    __slots__ = ()


class _Object(dict[str, Any]):
    """An object of JSON with all its fields, also those whose name is given twice, of which a mapping has one."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _fields(told: _Object, names: frozenset[str], separator: str, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every field with its name; those of nested objects with their path, where that is no field itself."""
    for step, value in told.pairs:
        name = above + step
        if isinstance(value, _Object) and value and name not in names:
            yield from _fields(value, names, separator, name + separator)
        else:
            yield name, value


def _text(value: Any) -> str | None:
    """Return a value as text.

    >>> _text(None), _text(True), _text("a"), _text(["b", Bare("1.50"), True])
    (None, 'true', 'a', '["b",1.50,true]')
    """
    if isinstance(value, bool):
        return Bare(_document(value))
    return value if value is None or isinstance(value, str) else _document(value)


def _document(value: Any) -> str:
    if isinstance(value, Bare):
        return str(value)
    if isinstance(value, list):
        return f"[{','.join(map(_document, value))}]"
    if isinstance(value, _Object):
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{_document(inner)}" for name, inner in value.pairs) + "}"
    return json.dumps(value, ensure_ascii=False)
