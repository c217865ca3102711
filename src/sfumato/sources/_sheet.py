"""One sheet of an Excel workbook, opened by openpyxl and read row by row. A private part of the source ``excel``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from sfumato.core.files import file_errors
from sfumato.core.workbook import ROWS_NAME, cell_text, column_letters
from sfumato.errors import DataError, SfumatoError, UnreachableError, suggestion

_OLD = bytes.fromhex("d0cf11e0a1b11ae1")
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_PIECE = 1 << 20
_MOST_HELD = 2 << 30
_PLACES = re.compile(rb'<(?:\w+:)?(row|c)\b[^>]*?\sr="([A-Z]*)([0-9]+)"')
_ROWS = 1 << 12

Row = list[str | None]


class Sheet:
    """The rows of one sheet as text, the last one that holds a value, or that a range says to be one, being the last."""

    def __init__(self, path: str, file: IO[bytes], name: str | None) -> None:
        self._path = path
        _refuse_bombs(path, file)
        self._book = _opened(file, data_only=True)
        self._sheet = self._chosen(self._book, name)
        self._refuse_disorder()
        # beside the values the formulas, to tell a cell that was never calculated from an empty one
        self._formulas = self._chosen(_opened(file, data_only=False), name) if self._has_formulas() else None

    def rows(self) -> Iterator[Row]:
        """Yield the rows; one without any value is a list of nothing else."""
        empty = 0
        last = self._named_rows()
        number = 0
        for number, row in enumerate(self._cells(), start=1):  # noqa: B007 - needed after the loop
            if not row:
                empty += 1
                continue
            yield from ([] for _ in range(empty))
            empty = 0
            yield row
        yield from ([] for _ in range(last - (number - empty)))

    def _cells(self) -> Iterator[Row]:
        values = self._sheet.iter_rows(min_row=1, min_col=1)
        formulas = self._formulas.iter_rows(min_row=1, min_col=1) if self._formulas is not None else None
        number = 0
        while True:
            with warnings.catch_warnings():
                # the library warns of decorations that it does not know
                warnings.simplefilter("ignore")
                rows = list(islice(values, _ROWS))
                beside = list(islice(formulas, _ROWS)) if formulas is not None else []
            if not rows:
                return
            for cells, written in zip_longest(rows, beside, fillvalue=()):
                number += 1
                row = [cell.value if cell.value is None else cell_text(cell.value, _format(cell)) for cell in cells]
                self._refuse_uncalculated(number, row, written)
                while row and row[-1] is None:
                    row.pop()
                yield row

    def _refuse_uncalculated(self, number: int, row: Row, written: Any) -> None:
        for place, cell in enumerate(written):
            if cell.data_type == "f" and (place >= len(row) or row[place] is None):
                raise DataError(
                    f"{self._path} holds a formula in {column_letters(place + 1)}{number} that was never calculated",
                    code="excel-formula",
                    hint="open it in a spreadsheet program and save it",
                )

    def _chosen(self, book: Any, name: str | None) -> Any:
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        if name is not None and name not in sheets:
            raise DataError(f"{self._path} has no sheet called {name}", code="excel-sheet", hint=suggestion(name, sheets))
        if not sheets:
            raise DataError(f"{self._path} has no sheet", code="excel-sheet", hint="a workbook with a table is needed")
        shown = [sheet for sheet in sheets.values() if sheet.sheet_state == "visible"]
        sheet = sheets[name] if name is not None else (shown or list(sheets.values()))[0]
        # what the file says of its size is often wrong
        sheet.reset_dimensions()
        return sheet

    def _refuse_disorder(self) -> None:
        """Refuse rows and cells that are not in order or occur twice: the library would leave some of them out without a word."""
        row, column, before = 0, (0, ""), b""
        with self._book._archive.open(self._sheet._worksheet_path) as content:
            while piece := content.read(_PIECE):
                text = before + piece
                cut = text.rfind(b"<")
                before, text = (text[cut:], text[:cut]) if cut >= 0 else (b"", text)
                for kind, letters, digits in _PLACES.findall(text):
                    if kind == b"row":
                        if int(digits) <= row:
                            raise _damaged(self._path)
                        row, column = int(digits), (0, "")
                    else:
                        here = (len(letters), letters.decode())
                        if int(digits) != row or here <= column:
                            raise _damaged(self._path)
                        column = here

    def _has_formulas(self) -> bool:
        before = b""
        with self._book._archive.open(self._sheet._worksheet_path) as content:
            while piece := content.read(_PIECE):
                if re.search(rb"<(\w+:)?f[ >/]", before + piece):
                    return True
                before = piece[-8:]
        return False

    def _named_rows(self) -> int:
        """Return the last row of the range that a release covers; 0 where there is none."""
        name = self._book.defined_names.get(ROWS_NAME)
        found = re.fullmatch(r"'?(.*?)'?!\$A\$1:\$[A-Z]+\$([0-9]+)", name.attr_text or "") if name is not None else None
        return int(found[2]) if found is not None and found[1].replace("''", "'") == self._sheet.title else 0


@contextmanager
def open_sheet(path: str, name: str | None) -> Iterator[Sheet]:
    """Open a sheet; what is no workbook, or is damaged, is said in one sentence: the library's own words may quote it."""
    refuse_missing_library()
    with file_errors(path), Path(path).open("rb") as file:
        _refuse_old(path, file)
        try:
            yield Sheet(path, file, name)
        except (SfumatoError, GeneratorExit):
            raise
        except OSError as error:
            if error.errno is not None:
                raise
            raise _damaged(path) from None
        except Exception:  # noqa: BLE001 - the library raises whatever it stumbles over
            raise _damaged(path) from None


def refuse_missing_library() -> None:
    """Refuse to go on without the library that reads workbooks."""
    try:
        import openpyxl  # noqa: F401 - only whether it is there
    except ImportError:
        raise UnreachableError("Excel workbooks need the library openpyxl", code="excel-missing", hint="pip install 'sfumato[excel]'") from None


def _opened(file: IO[bytes], data_only: bool) -> Any:
    from openpyxl import load_workbook

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_workbook(file, read_only=True, data_only=data_only, keep_links=False)


def _format(cell: Any) -> str:
    # looked up only where it matters: it takes longer than all else
    return str(cell.number_format) if isinstance(cell.value, datetime) else ""


def _refuse_old(path: str, file: IO[bytes]) -> None:
    """Refuse what is in Microsoft's older container: a workbook with a password, or one of before 2007."""
    if file.read(len(_OLD)) == _OLD:
        before = b""
        while piece := file.read(_PIECE):
            if _ENCRYPTED in before + piece:
                raise DataError(f"{path} is protected by a password", code="excel-password", hint="save it without one, in a private folder")
            before = piece[-len(_ENCRYPTED) :]
        raise DataError(f"{path} is a workbook of the older format .xls", code="excel-damaged", hint="save it as .xlsx")
    file.seek(0)


def _refuse_bombs(path: str, file: IO[bytes]) -> None:
    """Refuse a workbook whose parts that are held in memory as a whole would unpack to more than it could reasonably say."""
    with ZipFile(file) as archive:
        held = sum(part.file_size for part in archive.infolist() if not part.filename.startswith("xl/worksheets/"))
    if held > _MOST_HELD:
        raise DataError(
            f"{path} would unpack to more than {_MOST_HELD >> 30} GiB beside its sheets",
            code="excel-damaged",
            hint="write it as CSV or Parquet",
        )
    file.seek(0)


def _damaged(path: str) -> DataError:
    return DataError(f"{path} is damaged or no Excel workbook", code="excel-damaged", hint="save it again as .xlsx")
