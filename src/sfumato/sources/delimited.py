"""Delimited text: CSV and its relatives, read as text with an explicit dialect (RFC 4180 where nothing else is said).

Nothing is guessed. The structure is scanned strictly first: a line with too few or too many fields, or a quote that does not close, is
refused with its line number. Then the fields are read as text; an empty field is a missing value, a quoted empty one the empty string.
"""

from __future__ import annotations

import csv
import io
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import Field, field_validator, model_validator

from sfumato.core.files import PolicyPath, file_errors, state_of, unchanged
from sfumato.core.interfaces import Scan
from sfumato.core.settings import Settings
from sfumato.errors import DataError

_BLOCK = 4 << 20
_SETTLED = 2_000_000_000
_SCANNED: dict[tuple[str, str, int], _Structure] = {}


class Delimited(Settings):
    """A delimited text file in UTF-8.

    Cost: two passes over the file, one to check its structure and one to read it, each in blocks of a few megabytes.
    """

    path: Annotated[PolicyPath, Field(description="the file, relative to the policy")]
    delimiter: Annotated[str, Field(min_length=1, max_length=1, description="what stands between two fields")] = ","
    quote: Annotated[str | None, Field(min_length=1, max_length=1, description="what encloses a field; null where nothing is quoted")] = '"'
    escape: Annotated[
        str | None,
        Field(min_length=1, max_length=1, description="what takes a quote's meaning away; null where a quote is doubled"),
    ] = None
    header: Annotated[bool, Field(description="whether the first line names the columns")] = True
    columns: Annotated[list[str] | None, Field(description="the names of the columns where there is no header")] = None
    encoding: Annotated[str, Field(pattern="^(?i:utf-?8)$", description="the encoding of the text: utf-8")] = "utf-8"

    @field_validator("delimiter", "quote", "escape")
    @classmethod
    def _one_byte(cls, value: str | None) -> str | None:
        if value is not None and (not value.isascii() or value in "\r\n\0"):
            raise ValueError("must be one ASCII character that does not end a line")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Delimited:
        marks = [mark for mark in (self.delimiter, self.quote, self.escape) if mark is not None]
        if len(set(marks)) < len(marks):
            raise ValueError("needs a delimiter, a quote and an escape that differ")
        if self.header and self.columns is not None:
            raise ValueError("takes columns only with header: false")
        return self

    def describe(self) -> pa.Schema:
        """Return the columns, all of them text."""
        return pa.schema([(name, pa.string()) for name in self._names()])

    def state(self) -> str:
        """Return a token that changes when the file does."""
        return state_of(self.path)

    def scan(self) -> Scan:
        """Return the file and its dialect."""
        return Scan("delimited", (self.path,), self.model_dump(exclude={"path"}))

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some columns as text, those of ``coded`` as dictionaries of text."""
        names = self._names()
        with unchanged(self.path):
            structure = self._known_structure(len(names))
            rows = 0
            for batch in self._read(names, columns or names[:1], coded, structure) if structure.rows else ():
                rows += batch.num_rows
                yield batch.select(list(columns))
            if rows != structure.rows:
                raise DataError(
                    f"{self.path} was read as {rows} rows, but has {structure.rows} records",
                    code="delimited-miscounted",
                    hint="look at the quotes and line ends of the file, or convert it to Parquet",
                )

    def _names(self) -> list[str]:
        first, _ = self._first_record()
        if not first and (self.header or not self.columns):
            raise DataError(f"{self.path} is empty", code="file-empty", hint="a file with a header and rows is needed")
        if not self.header:
            names = self.columns or [f"column_{place}" for place in range(1, len(first) + 1)]
            if first and len(names) != len(first):
                raise DataError(
                    f"{self.path} has {len(first)} columns, but {len(names)} names are given",
                    code="delimited-columns",
                    hint="give one name a column",
                )
        else:
            names = first
        double = sorted({name for name in names if names.count(name) > 1})
        if double:
            raise DataError(
                f"{self.path} has several columns called {', '.join(double)}",
                code="column-duplicate",
                hint="rename them: a policy speaks of columns by name",
            )
        return names

    def _first_record(self) -> tuple[list[str], int]:
        """Return the first line that is not blank, and how many are before it; nothing where all are."""
        self.state()
        with file_errors(self.path), Path(self.path).open("rb") as file:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            try:
                return next(((record, blank) for blank, record in enumerate(csv.reader(text, **self._dialect())) if record), ([], 0))
            except UnicodeDecodeError:
                raise self._not_utf8() from None
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

    def _known_structure(self, width: int) -> _Structure:
        """Return the structure; a file that has not changed since it was scanned is not scanned again."""
        token = (self.state(), self.model_dump_json(), width)
        if token not in _SCANNED:
            while len(_SCANNED) > 8:
                _SCANNED.pop(next(iter(_SCANNED)))
            found = self._structure(width)
            if time.time_ns() - Path(self.path).stat().st_mtime_ns < _SETTLED:
                # written a moment ago: it could change again within the same tick of the file system's clock
                return found
            _SCANNED[token] = found
        return _SCANNED[token]

    def _structure(self, width: int) -> _Structure:
        from sfumato.core.kernels import delimited_scan as kernel

        state = kernel.fresh_state()
        marks = [ord(mark) if mark else -1 for mark in (self.delimiter, self.quote, self.escape)]
        with file_errors(self.path), Path(self.path).open("rb") as file:
            block = file.read(_BLOCK).removeprefix(b"\xef\xbb\xbf")
            while True:
                kernel.scan(np.frombuffer(block, np.uint8), *marks, width, state)
                if state[kernel.FAULT] != kernel.FINE:
                    raise self._fault(state, width)
                if not block:
                    break
                block = file.read(_BLOCK)
        above = self._first_record()[1] + 1 if self.header else 0
        # a blank line is a record where a record is one field
        rows = int(state[kernel.RECORDS]) - (above if width == 1 else int(self.header))
        return _Structure(rows, above, int(state[kernel.LONGEST]), bool(state[kernel.BREAKS]))

    def _fault(self, state: Any, width: int) -> DataError:
        from sfumato.core.kernels import delimited_scan as kernel

        line, fault = state[kernel.FAULT_LINE], state[kernel.FAULT]
        if fault in (kernel.SHORT, kernel.LONG):
            return DataError(
                f"{self.path}:{line} has {state[kernel.FAULT_FIELDS]} fields, the file has {width} columns",
                code="delimited-line-short" if fault == kernel.SHORT else "delimited-line-long",
                hint="mend the line, or look at delimiter and quote of the source",
            )
        wrong = {
            kernel.AFTER_QUOTE: "a quoted field goes on after its closing quote",
            kernel.OPEN_QUOTE: "a quoted field begins here and never ends",
            kernel.OPEN_ESCAPE: "the file ends with an escape character that takes nothing's meaning away",
        }
        return DataError(
            f"{self.path}:{line} {wrong[int(fault)]}",
            code="delimited-quote",
            hint="mend the line, or look at quote and escape of the source",
        )

    def _read(self, names: list[str], columns: Sequence[str], coded: Sequence[str], structure: _Structure) -> Iterator[pa.RecordBatch]:
        from pyarrow import csv as arrow_csv

        dictionary = pa.dictionary(pa.int32(), pa.string())
        content = None if _ends_in_a_line_break(self.path) else _WithLastBreak(self.path)
        try:
            reader = arrow_csv.open_csv(
                self.path if content is None else pa.PythonFile(content, "r"),
                read_options=arrow_csv.ReadOptions(
                    column_names=names, skip_rows_after_names=structure.above, block_size=max(_BLOCK, 2 * structure.longest)
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.delimiter,
                    quote_char=self.quote or False,
                    double_quote=self.escape is None,
                    escape_char=self.escape or False,
                    newlines_in_values=structure.breaks,
                    ignore_empty_lines=len(names) > 1,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types={name: dictionary if name in coded else pa.string() for name in columns},
                    include_columns=list(columns),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
            yield from reader
        except pa.ArrowInvalid as error:
            if "UTF8" in str(error):
                raise self._not_utf8() from None
            raise DataError(
                f"{self.path} cannot be read as delimited text",
                code="delimited-unreadable",
                hint="look at delimiter, quote and escape of the source",
            ) from None
        except OSError as error:
            with file_errors(self.path):
                raise error
        finally:
            if content is not None:
                content.close()

    def _not_utf8(self) -> DataError:
        return DataError(f"{self.path} is not UTF-8 text", code="file-encoding", hint="convert it to UTF-8 first")


@dataclass(frozen=True)
class _Structure:
    """The number of rows, how many lines stand above them, the length of the longest record and whether values hold line ends."""

    rows: int
    above: int
    longest: int
    breaks: bool


def _ends_in_a_line_break(path: str) -> bool:
    with Path(path).open("rb") as file:
        file.seek(0, os.SEEK_END)
        if file.tell() == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) in b"\r\n"


class _WithLastBreak:
    """A file with a line break after its last line: without one, Arrow reads a missing last field as the empty string."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("rb")  # noqa: SIM115 - closed by whoever reads it to its end
        self._ended = False

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._file.closed

    def read(self, size: int = -1) -> bytes:
        """Return further bytes, after the last ones the line break."""
        data = self._file.read(size)
        if data or self._ended:
            return data
        self._ended = True
        return b"\n"

    def close(self) -> None:
        """Close the file."""
        self._file.close()
