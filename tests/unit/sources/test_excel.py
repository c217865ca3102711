"""Excel workbooks as other programs write them: every kind of cell, every kind of file that is none."""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest

import sfumato
from sfumato.core.workbook import MOST_ROWS
from sfumato.errors import DataError, PolicyError, SfumatoError, UnreachableError
from sfumato.sinks.excel import Excel as Sink
from sfumato.sources.excel import Excel


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.xlsx"


def workbook(path: Path, *rows: list[Any], sheet: str = "people") -> Excel:
    book = openpyxl.Workbook()
    book.active.title = sheet
    for row in rows:
        book.active.append(row)
    book.save(path)
    return Excel(path=str(path))


def rows(source: Excel) -> list[list[Any]]:
    names = source.describe().names
    return [[row[name] for name in names] for batch in source.batches(names) for row in batch.to_pylist()]


def refused(source: Excel) -> tuple[str, str]:
    with pytest.raises(SfumatoError) as caught:
        list(source.batches(source.describe().names))
    return caught.value.code, caught.value.message.replace(source.path, "data.xlsx")


def test_cells_of_all_kinds_are_text(path: Path) -> None:
    day, instant, midnight = date(2020, 1, 31), datetime(2020, 1, 31, 12, 30), datetime(2020, 1, 31)
    source = workbook(
        path, ["a", "b", "c", "d"], [1, 1.5, True, "x"], [5.0, 1e20, False, ""], [day, instant, midnight, time(8, 5)], [None, "é", 0, "007"]
    )

    assert rows(source) == [
        ["1", "1.5", "true", "x"],
        ["5", "1e+20", "false", None],
        ["2020-01-31", "2020-01-31 12:30:00", "2020-01-31 00:00:00", "08:05:00"],
        [None, "é", "0", "007"],
    ]


def test_rows_of_different_length_lack_what_they_do_not_have(path: Path) -> None:
    assert rows(workbook(path, ["a", "b", "c"], [1], [], [1, None, 3])) == [["1", None, None], [None, None, None], ["1", None, "3"]]


def test_empty_rows_before_the_header_and_after_the_last_row_are_none(path: Path) -> None:
    source = workbook(path, [], [None, None], ["a", "b"], [1, 2])
    book = openpyxl.load_workbook(path)
    book.active["A9"].number_format = "0.00"
    book.save(path)

    assert rows(source) == [["1", "2"]]


def test_a_value_beyond_the_named_columns_is_refused_with_its_row(path: Path) -> None:
    assert refused(workbook(path, ["a", "b"], [1, 2], [1, 2, None, "canary"])) == (
        "excel-row-long",
        "data.xlsx: row 3 has a value in column D, the table has 2 columns",
    )


def test_merged_cells_in_a_header_name_one_column_only(path: Path) -> None:
    workbook(path, ["a", "b", "c"], [1, 2, 3])
    book = openpyxl.load_workbook(path)
    book.active.merge_cells("A1:B1")
    book.save(path)

    assert refused(Excel(path=str(path))) == ("excel-header", "data.xlsx has columns without a name in its first row: B")


def test_merged_cells_below_have_their_value_in_the_first(path: Path) -> None:
    workbook(path, ["a", "b"], ["x", "1"], ["y", "2"])
    book = openpyxl.load_workbook(path)
    book.active.merge_cells("A2:A3")
    book.save(path)

    assert rows(Excel(path=str(path))) == [["x", "1"], [None, "2"]]


def test_columns_of_one_name_are_refused_by_their_places(path: Path) -> None:
    assert refused(workbook(path, ["a", "b", "a"], [1, 2, 3])) == ("column-duplicate", "data.xlsx has columns of the same name: columns A and C")


def test_without_a_header_columns_are_numbered_or_named(path: Path) -> None:
    workbook(path, ["x", 1], ["y", 2])

    assert Excel(path=str(path), header=False).describe().names == ["column_1", "column_2"]
    named = Excel(path=str(path), header=False, columns=["name", "n"])
    assert (named.describe().names, rows(named)) == (["name", "n"], [["x", "1"], ["y", "2"]])


def test_an_empty_sheet_is_refused(path: Path) -> None:
    assert refused(workbook(path)) == ("file-empty", "data.xlsx is empty")


def test_the_first_sheet_that_is_shown_is_read_unless_another_is_named(path: Path) -> None:
    book = openpyxl.Workbook()
    for place, name in enumerate(("hidden", "people", "wards")):
        sheet = book.active if place == 0 else book.create_sheet()
        sheet.title = name
        sheet.append([f"of {name}"])
    book["hidden"].sheet_state = "hidden"
    book.active = 1
    book.save(path)

    assert Excel(path=str(path)).describe().names == ["of people"]
    assert Excel(path=str(path), sheet="wards").describe().names == ["of wards"]
    with pytest.raises(DataError) as caught:
        Excel(path=str(path), sheet="poeple").describe()
    assert str(caught.value) == f"{path} has no sheet called poeple [excel-sheet]\n  try: people"


def with_formula(path: Path, cached: str) -> Excel:
    """Put a formula and what was last calculated of it into a workbook, as a spreadsheet program does."""
    workbook(path, ["a", "b"], [1, 2])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    parts["xl/worksheets/sheet1.xml"] = sheet.replace(b"<v>2</v>", f"<f>A2+1</f>{cached}".encode())
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return Excel(path=str(path))


def test_of_a_formula_the_value_that_was_last_calculated_is_read(path: Path) -> None:
    assert rows(with_formula(path, "<v>42</v>")) == [["1", "42"]]


def test_a_formula_that_was_never_calculated_is_not_taken_for_nothing(path: Path) -> None:
    assert refused(with_formula(path, "")) == ("excel-formula", "data.xlsx holds a formula in B2 that was never calculated")


def test_what_a_workbook_says_of_its_size_is_not_believed(path: Path) -> None:
    workbook(path, ["a", "b"], [1, 2], [3, 4])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(b'ref="A1:B3"', b'ref="A1:A1"')
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)

    assert rows(Excel(path=str(path))) == [["1", "2"], ["3", "4"]]


def test_what_is_no_workbook_is_refused_without_the_library_s_words(path: Path) -> None:
    workbook(path, ["a"], *([f"canary {place}"] for place in range(500)))
    whole = path.read_bytes()
    bent = whole[: len(whole) // 3] + bytes(40) + whole[len(whole) // 3 + 40 :]

    for content in (b"", b"a,b\n1,canary\n", whole[:-100], whole[:600], bent):
        path.write_bytes(content)
        assert refused(Excel(path=str(path))) == ("excel-damaged", "data.xlsx is damaged or no Excel workbook")


@pytest.mark.slow
def test_a_small_file_that_would_fill_the_memory_is_refused(path: Path) -> None:
    workbook(path, ["a"], ["b"])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/media.bin", "w", force_zip64=True) as part:
        for _ in range(129):
            part.write(bytes(1 << 24))

    assert path.stat().st_size < 1 << 22
    assert refused(Excel(path=str(path))) == ("excel-damaged", "data.xlsx would unpack to more than 2 GiB beside its sheets")


def test_a_password_and_an_old_format_are_told_apart(path: Path) -> None:
    container = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(5000)
    path.write_bytes(container + "EncryptedPackage".encode("utf-16-le") + bytes(100))
    assert refused(Excel(path=str(path))) == ("excel-password", "data.xlsx is protected by a password")

    path.write_bytes(container)
    assert refused(Excel(path=str(path))) == ("excel-damaged", "data.xlsx is a workbook of the older format .xls")


def test_without_the_library_there_is_one_error_with_the_install_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)

    for ask in (lambda: Excel(path=str(path)).file_schema(), lambda: Sink(path=str(path)).open(pa.schema([("a", pa.string())]))):
        path.touch()
        with pytest.raises(UnreachableError) as caught:
            ask()
        assert str(caught.value) == "Excel workbooks need the library openpyxl [excel-missing]\n  try: pip install 'sfumato[excel]'"


# --- the sink ---------------------------------------------------------------------------------------------------------------


def written(path: Path, table: pa.Table, **settings: Any) -> Any:
    writer = Sink(path=str(path), **settings).open(table.schema)
    for batch in table.to_batches():
        writer.write(batch)
    writer.finish()
    writer.publish()
    return openpyxl.load_workbook(path)


def test_text_that_begins_like_a_formula_is_text(path: Path) -> None:
    signs = ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "\t=1"]

    sheet = written(path, pa.table({"=name": signs}))["Sheet1"]

    assert [(cell.value, cell.data_type) for (cell,) in sheet.iter_rows()] == [(text, "s") for text in ["=name", *signs]]


def test_numbers_dates_and_truth_values_are_what_they_are(path: Path) -> None:
    table = pa.table({"n": [1, None], "f": [0.5, 2.0], "b": [True, False], "d": [date(2020, 1, 31), date(1900, 2, 1)], "t": ["1", None]})

    sheet = written(path, table, sheet="release")["release"]

    assert [[cell.value for cell in row] for row in sheet.iter_rows(min_row=2)] == [
        [1, 0.5, True, datetime(2020, 1, 31), "1"],
        [None, 2, False, "1900-02-01", None],
    ]
    assert rows(Excel(path=str(path))) == [["1", "0.5", "true", "2020-01-31", "1"], [None, "2", "false", "1900-02-01", None]]


@pytest.mark.parametrize("column", [[2**60 + 1], [0.1 + 0.2], [1e300], [-0.0], [float("inf")], [float("nan")]], ids=str)
def test_numbers_survive_with_all_their_digits(path: Path, column: list[Any]) -> None:
    from sfumato.core.canonical import as_text

    table = pa.table({"n": column})
    written(path, table)

    assert rows(Excel(path=str(path))) == [[as_text(table["n"])[0].as_py()]]


def test_rows_without_any_value_at_the_end_are_not_lost(path: Path) -> None:
    book = written(path, pa.table({"a": ["x", None, None], "b": [None, None, None]}), sheet="it's")

    assert book.defined_names["sfumato_rows"].attr_text == "'it''s'!$A$1:$B$4"
    assert rows(Excel(path=str(path))) == [["x", None], [None, None], [None, None]]


def test_the_same_release_is_the_same_file(tmp_path: Path) -> None:
    table = pa.table({"a": ["x", "y"], "n": [1, 2]})
    for name in ("one.xlsx", "other.xlsx"):
        written(tmp_path / name, table).close()

    assert (tmp_path / "one.xlsx").read_bytes() == (tmp_path / "other.xlsx").read_bytes()


def test_more_rows_than_a_sheet_holds_are_refused(path: Path) -> None:
    sink = Sink(path=str(path))
    sink.refuse_rows(MOST_ROWS - 1)

    with pytest.raises(DataError) as caught:
        sink.refuse_rows(MOST_ROWS)

    assert str(caught.value) == (
        "a sheet holds 1,048,576 rows with its header, the release has 1,048,576 [excel-rows]\n  try: write CSV or Parquet: sink: release.csv"
    )


def test_more_rows_than_a_sheet_holds_are_refused_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.sinks.excel.MOST_ROWS", 5)
    policy = {"columns": {"a": {"role": "other"}}, "sink": {"excel": {"path": str(tmp_path / "out" / "release.xlsx")}}}

    with pytest.raises(DataError) as caught:
        sfumato.run(policy, data=pa.table({"a": ["x"] * 5}))

    assert caught.value.code == "excel-rows"
    assert not (tmp_path / "out").exists()


def test_a_value_too_long_for_a_cell_is_refused_without_showing_it(path: Path) -> None:
    with pytest.raises(DataError) as caught:
        written(path, pa.table({"a": ["canary" * 6000]}))

    assert caught.value.message == "the column a has a value that is longer than the 32,767 characters of a cell"
    assert list(path.parent.iterdir()) == []


def test_a_sheet_s_name_is_one_that_spreadsheets_take(path: Path) -> None:
    for name in ("", "a/b", "'x", "x" * 32):
        with pytest.raises(PolicyError):
            Sink(path=str(path), sheet=name)


def test_a_policy_goes_from_workbook_to_workbook(path: Path, write_policy: Callable[..., Path]) -> None:
    workbook(path, ["age", "job"], *([30 + place % 7, "=cook" if place % 2 else "smith"] for place in range(40)))
    columns = {"age": {"role": "quasi_identifier"}, "job": {"role": "other"}}
    # as a spreadsheet program would have it that takes text for a formula: it is text here
    book = openpyxl.load_workbook(path)
    for (cell,) in book.active.iter_rows(min_col=2, max_col=2):
        cell.data_type = "s"
    book.save(path)

    release = sfumato.run(write_policy({"source": "data.xlsx", "columns": columns, "promises": [{"k_anonymity": {"k": 5}}], "sink": "out.xlsx"}))

    assert release.record.rows.out == 40
    assert sorted({row["job"] for row in release.table.to_pylist()}) == ["=cook", "smith"]


HEAD = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'


@pytest.mark.parametrize(
    "further",
    [
        '<row r="2"><c r="B2"><v>1</v></c><c r="A2"><v>2</v></c></row>',
        '<row r="2"><c r="A2"><v>1</v></c><c r="A2"><v>2</v></c></row>',
        '<row r="2"><c r="A2"><v>1</v></c></row><row r="2"><c r="A2"><v>2</v></c></row>',
    ],
    ids=["cells out of order", "a cell twice", "a row twice"],
)
def test_cells_that_the_library_would_leave_out_are_refused(further: str, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["a"])
    book.save(tmp_path / "good.xlsx")
    with zipfile.ZipFile(tmp_path / "good.xlsx") as good, zipfile.ZipFile(tmp_path / "bad.xlsx", "w") as bad:
        for name in good.namelist():
            text = good.read(name)
            if name.endswith("sheet1.xml"):
                text = re.sub(rb"<sheetData>.*</sheetData>", f"<sheetData>{HEAD}{further}</sheetData>".encode(), text, flags=re.DOTALL)
            bad.writestr(name, text)

    assert Excel(path=str(tmp_path / "good.xlsx")).describe().names == ["a"]
    with pytest.raises(DataError) as refused:
        Excel(path=str(tmp_path / "bad.xlsx")).describe()
    assert refused.value.code == "excel-damaged"
