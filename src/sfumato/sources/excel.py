"""Excel workbooks (.xlsx): one sheet, read row by row as text. Needs the library openpyxl, which ``sfumato[excel]`` brings along."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core.files import refuse_pipes, unchanged
from sfumato.core.table_files import TableFiles, refuse_other_names
from sfumato.core.workbook import column_letters
from sfumato.errors import DataError, number_of
from sfumato.sources._sheet import Row, open_sheet, refuse_missing_library

_ROWS = 1 << 14
_CELLS = 1 << 18


class Excel(TableFiles):
    """A sheet of an Excel workbook. Numbers, dates and truth values are read as text; of a formula the value that was last calculated.

    Cost: one pass over the sheet, row by row; the texts of the whole workbook are held in memory.
    """

    sheet: Annotated[str | None, Field(description="the name of the sheet; the first that is shown where nothing is said")] = None
    header: Annotated[bool, Field(description="whether the first row that is not empty names the columns")] = True
    columns: Annotated[list[str] | None, Field(description="the names of the columns where there is no header")] = None

    @model_validator(mode="after")
    def _consistent(self) -> Excel:
        if self.header and self.columns is not None:
            raise ValueError("takes columns only with header: false")
        return self

    def refuse_other_columns(self, first: Excel, expected: pa.Schema, found: pa.Schema) -> None:
        """Refuse a file that has other columns than the first one; their order is its own."""
        refuse_other_names(self.path, first.path, expected, found)

    @staticmethod
    def refuse_missing_library() -> None:
        """Refuse to go on without the library that reads workbooks."""
        refuse_missing_library()

    def file_schema(self) -> pa.Schema:
        """Return the columns, all of them text."""
        refuse_pipes(self.path)
        with open_sheet(self.path, self.sheet) as sheet:
            names, _ = self._names(sheet.rows())
            return pa.schema([(name, pa.string()) for name in names])

    def file_batches(self, columns: Sequence[str], coded: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns as text."""
        del coded
        with unchanged(self.path), open_sheet(self.path, self.sheet) as sheet:
            rows = sheet.rows()
            names, begun = self._names(rows)
            places = [names.index(name) for name in columns]
            size = max(1, min(_ROWS, _CELLS // max(1, len(names))))
            waiting: list[Row] = []
            for number, row in begun:
                if len(row) > len(names):
                    raise self._too_long(number, len(row), len(names))
                waiting.append(row)
                if len(waiting) >= size:
                    yield _batch(waiting, places, columns)
                    waiting = []
            if waiting:
                yield _batch(waiting, places, columns)

    def _names(self, rows: Iterator[Row]) -> tuple[list[str], Iterator[tuple[int, Row]]]:
        """Return the names of the columns, and the rows below with their numbers."""
        numbered = enumerate(rows, start=1)
        first: Row = []
        kept: list[tuple[int, Row]] = []
        if self.header:
            for _, first in numbered:
                if first:
                    break
            return self._named(first), numbered
        if self.columns is not None:
            return self._distinct(list(self.columns)), numbered
        for number, first in numbered:
            kept.append((number, first))
            if first:
                break
        if not first:
            raise self._empty()
        return [f"column_{place}" for place in range(1, len(first) + 1)], _chained(kept, numbered)

    def _named(self, first: Row) -> list[str]:
        if not first:
            raise self._empty()
        nameless = [column_letters(place) for place, name in enumerate(first, start=1) if name is None]
        if nameless:
            raise DataError(
                f"{self.path} has columns without a name in its first row: {', '.join(nameless)}",
                code="excel-header",
                hint="name every column in one row; merged cells name only their first column",
            )
        return self._distinct([name for name in first if name is not None])

    def _distinct(self, names: list[str]) -> list[str]:
        double = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if double:
            # their places and not their names: without a header, the names would be cells
            alike = (" and ".join(column_letters(place) for place, own in enumerate(names, 1) if own == name) for name in double)
            raise DataError(
                f"{self.path} has columns of the same name: {'; '.join(f'columns {places}' for places in alike)}",
                code="column-duplicate",
                hint="rename them: a policy speaks of columns by name; if the first row is no header, say header: false",
            )
        return names

    def _empty(self) -> DataError:
        return DataError(f"{self.path} is empty", code="file-empty", hint="a sheet with a header and rows is needed")

    def _too_long(self, number: int, cells: int, width: int) -> DataError:
        return DataError(
            f"{self.path}: row {number} has a value in column {column_letters(cells)}, the table has {number_of(width, 'column')}",
            code="excel-row-long",
            hint="name that column in the first row, or move what stands beside the table to another sheet",
        )


def _chained(kept: list[tuple[int, Row]], rest: Iterator[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
    yield from kept
    yield from rest


def _batch(rows: Sequence[Row], places: Sequence[int], columns: Sequence[str]) -> pa.RecordBatch:
    if not columns:
        # a batch of no columns has its number of rows all the same
        return pa.record_batch([pa.nulls(len(rows))], names=[""]).select([])
    arrays = [pa.array([row[place] if place < len(row) else None for row in rows], pa.string()) for place in places]
    return pa.record_batch(arrays, names=list(columns))
