"""Excel workbooks (.xlsx), written as ECMA-376 has them: one sheet, row by row into the archive, nothing held in memory.

It is written here and not by openpyxl, which would put the rows into a file of the system's temporary folder first, and cannot tell the
empty text from nothing. openpyxl reads it back.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import IO, Annotated
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa
from pydantic import Field

from sfumato.core.canonical import as_text
from sfumato.core.file_writer import FileWriter
from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Source
from sfumato.core.settings import Settings
from sfumato.core.workbook import LONGEST_TEXT, MOST_COLUMNS, MOST_ROWS, ROWS_NAME, cell_text, column_letters, spelt
from sfumato.errors import DataError
from sfumato.registry import find

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_BEGINNING_OF_TIME = (1980, 1, 1, 0, 0, 0)
_DAY_NUMBER_ZERO = date(1899, 12, 30)
_FIRST_SAFE_DAY = date(1901, 1, 1)

_CONTENT_TYPES = f"""{_HEAD}<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" \
ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" \
ContentType="{_KIND}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_KIND}.worksheet+xml"/>\
<Override PartName="/xl/styles.xml" ContentType="{_KIND}.styles+xml"/></Types>"""
_ROOT = f"""{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{_RELATIONS}/officeDocument" \
Target="xl/workbook.xml"/></Relationships>"""
_PARTS = f"""{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{_RELATIONS}/worksheet" \
Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="{_RELATIONS}/styles" Target="styles.xml"/></Relationships>"""
_STYLES = f"""{_HEAD}<styleSheet xmlns="{_MAIN}"><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/></numFmts>\
<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill>\
<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>\
<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="2">\
<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" \
applyNumberFormat="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>"""


class Excel(Settings):
    """An Excel workbook of one sheet. Text is always text, also where it begins with a sign that would make a formula of it."""

    path: Annotated[PolicyPath, Field(description="the file, relative to the policy")]
    sheet: Annotated[
        str, Field(min_length=1, max_length=31, pattern=r"^[^\[\]:*?/\\']([^\[\]:*?/\\]*[^\[\]:*?/\\'])?$", description="the name of the sheet")
    ] = "Sheet1"
    header: Annotated[bool, Field(description="whether the first row names the columns")] = True

    def places(self) -> Sequence[str]:
        """Return the file."""
        return (self.path,)

    def refuse_columns(self, names: Sequence[str]) -> str | None:
        """Return what is wrong with a release of some columns; None where nothing is."""
        return f"a sheet holds {MOST_COLUMNS:,} columns, the release has {len(names):,}" if len(names) > MOST_COLUMNS else None

    def refuse_rows(self, rows: int) -> None:
        """Refuse a release of more rows than a sheet holds."""
        if rows + self.header > MOST_ROWS:
            raise DataError(
                f"a sheet holds {MOST_ROWS:,} rows{' with its header' if self.header else ''}, the release has {rows:,}",
                code="excel-rows",
                hint="write CSV or Parquet: sink: release.csv",
            )

    def reader(self, path: str, names: Sequence[str] | None) -> Source:
        """Return the source that reads a file as it is written here."""
        columns = None if self.header or names is None else list(names)
        source: Source = find("sources", "excel")(path=path, sheet=self.sheet, header=self.header, columns=columns)
        return source

    def open(self, schema: pa.Schema) -> ExcelWriter:
        """Begin a file under a private name."""
        # it could not be read back: better to know before anything is written
        find("sources", "excel").refuse_missing_library()
        return ExcelWriter(self, schema)


class ExcelWriter(FileWriter):
    """A workbook that nobody can see yet."""

    def __init__(self, sink: Excel, schema: pa.Schema) -> None:
        super().__init__(sink.path)
        self._sink = sink
        self._names = schema.names
        self._letters = [column_letters(place) for place in range(1, len(schema.names) + 1)]
        self._row = self._last = 0
        self._sheet: IO[bytes] | None = None
        with self._file.errors(self.abort):
            self._archive = zipfile.ZipFile(self._file.file, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
            for name, text in (("[Content_Types].xml", _CONTENT_TYPES), ("_rels/.rels", _ROOT)):
                self._add(name, text)
            for name, text in (("xl/_rels/workbook.xml.rels", _PARTS), ("xl/styles.xml", _STYLES)):
                self._add(name, text)
            self._sheet = self._archive.open(_entry("xl/worksheets/sheet1.xml"), "w", force_zip64=True)
            self._sheet.write(f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
        if sink.header:
            self.write(pa.record_batch([pa.array([name], pa.string()) for name in schema.names], names=schema.names))

    def write(self, batch: pa.RecordBatch) -> None:
        """Write further rows."""
        try:
            self._sink.refuse_rows(self._row + batch.num_rows - self._sink.header)
            columns = [_cells(column, name) for column, name in zip(batch.columns, self._names, strict=True)]
        except DataError:
            self.abort()
            raise
        lines = []
        for values in zip(*columns, strict=True):
            self._row += 1
            cells = [f'<c r="{letters}{self._row}"{value}</c>' for letters, value in zip(self._letters, values, strict=True) if value is not None]
            if cells:
                self._last = self._row
                lines.append(f'<row r="{self._row}">{"".join(cells)}</row>')
        with self._file.errors(self.abort):
            if self._sheet is not None:
                self._sheet.write("".join(lines).encode())

    def finish(self) -> Source:
        """Write the end of the workbook, sync it and return the source that reads it back."""
        with self._file.errors(self.abort):
            if self._sheet is not None:
                self._sheet.write(b"</sheetData></worksheet>")
                self._sheet.close()
            self._add("xl/workbook.xml", self._workbook())
            self._archive.close()
        self._file.sync()
        return self._sink.reader(str(self._file.path), self._names)

    def abort(self) -> None:
        """Remove the file."""
        for part in (self._sheet, getattr(self, "_archive", None)):
            # their ends are thrown away with the file
            with suppress(OSError, ValueError):
                if part is not None:
                    part.close()
        super().abort()

    def _add(self, name: str, text: str) -> None:
        self._archive.writestr(_entry(name), text)

    def _workbook(self) -> str:
        title = self._sink.sheet
        rows = ""
        if self._row > self._last:
            place = f"'{title.replace(chr(39), chr(39) * 2)}'!$A$1:${self._letters[-1]}${self._row}"
            rows = f'<definedNames><definedName name="{ROWS_NAME}">{escape(place)}</definedName></definedNames>'
        sheet = f'<sheet name={quoteattr(title)} sheetId="1" r:id="rId1"/>'
        return f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}"><sheets>{sheet}</sheets>{rows}</workbook>'


def _entry(name: str) -> zipfile.ZipInfo:
    # without the time: the same release is the same file
    entry = zipfile.ZipInfo(name, _BEGINNING_OF_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _cells(column: pa.Array, name: str) -> list[str | None]:
    """Return what stands in each cell behind its place: the rest of its beginning, and its value; None where there is none."""
    if pa.types.is_dictionary(column.type):
        shown = _cells(column.dictionary, name)
        return [None if place is None else shown[place] for place in column.indices.to_pylist()]
    texts = as_text(column).to_pylist()
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return [None if text is None else f"><v>{text}</v>" if _is_exact(text) else _text(text, name) for text in texts]
    if pa.types.is_boolean(column.type):
        return [None if text is None else f' t="b"><v>{int(text == "true")}</v>' for text in texts]
    if pa.types.is_date(column.type):
        return [None if text is None else _day(text, name) for text in texts]
    return [None if text is None else _text(text, name) for text in texts]


def _text(text: str, name: str) -> str:
    written = spelt(text)
    if len(written) > LONGEST_TEXT:
        raise DataError(
            f"the column {name} has a value that is longer than the {LONGEST_TEXT:,} characters of a cell",
            code="excel-cell",
            hint="write CSV or Parquet: sink: release.csv",
        )
    # of the two ways to write a text in its place, the first is read more quickly, and only the other can be empty
    return f' t="str"><v xml:space="preserve">{escape(written)}</v>' if written else ' t="inlineStr"><is><t></t></is>'


def _is_exact(text: str) -> bool:
    """Return whether a number is read back from a cell, which holds a float, with all its digits."""
    try:
        number = float(text)
    except ValueError:
        return False
    return number - number == 0 and cell_text(number) == text


def _day(text: str, name: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return _text(text, name)
    # the calendar of spreadsheets has a day too many in 1900
    return f' s="1"><v>{(day - _DAY_NUMBER_ZERO).days}</v>' if day >= _FIRST_SAFE_DAY else _text(text, name)
