from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from sfumato.core import delimited_text
from sfumato.errors import DataError, PolicyError
from sfumato.sources.delimited import Delimited


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.csv"


def source(path: Path, content: str | bytes, **dialect: Any) -> Delimited:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Delimited(path=str(path), **dialect)


def rows(path: Path, content: str | bytes, **dialect: Any) -> list[list[str | None]]:
    delimited = source(path, content, **dialect)
    names = delimited.describe().names
    return [list(row.values()) for batch in delimited.batches(names, coded=names[:1]) for row in batch.to_pylist()]


def refused(path: Path, content: str | bytes, **dialect: Any) -> tuple[str, str]:
    with pytest.raises(DataError) as caught:
        rows(path, content, **dialect)
    return caught.value.code, caught.value.message.replace(str(path), "data.csv")


@pytest.mark.parametrize(
    ("content", "dialect"),
    [
        ("a;b\n1,5;2\n", {"delimiter": ";"}),
        ("a\tb\n1,5\t2\n", {"delimiter": "\t"}),
        ("a|b\n1,5|2\n", {"delimiter": "|"}),
        ('a,b\n"1,5",2\n', {}),
        ("a,b\n'1,5',2\n", {"quote": "'"}),
        ("a,b\n1\\,5,2\n", {"escape": "\\"}),
        ("a,b\n1\\,5,2\n", {"escape": "\\", "quote": None}),
        ('a,b\n"1\\,5",2\n', {"escape": "\\"}),
    ],
    ids=str,
)
def test_a_dialect_is_read_as_it_is_declared(path: Path, content: str, dialect: dict[str, Any]) -> None:
    assert rows(path, content, **dialect) == [["1,5", "2"]]


def test_without_a_quote_a_quotation_mark_is_text(path: Path) -> None:
    assert rows(path, 'a,b\n"x,y"\n', quote=None) == [['"x', 'y"']]


def test_a_quotation_mark_within_plain_text_is_text(path: Path) -> None:
    assert rows(path, "a,b\n6\" pipe,5'\n") == [['6" pipe', "5'"]]


def test_a_doubled_quote_is_one(path: Path) -> None:
    assert rows(path, 'a,b\n"say ""no""",""""\n') == [['say "no"', '"']]


def test_an_escaped_quote_is_one_and_an_escaped_escape_too(path: Path) -> None:
    assert rows(path, 'a,b\n"say \\"no\\"","\\\\"\n', escape="\\") == [['say "no"', "\\"]]


def test_where_there_is_an_escape_a_doubled_quote_is_refused(path: Path) -> None:
    assert refused(path, 'a,b\n"x""y",1\n', escape="\\") == ("delimited-quote", "data.csv:2 a quoted field goes on after its closing quote")


@pytest.mark.parametrize("field", ['"x\\\ny"', "x\\\ny"], ids=["quoted", "plain"])
def test_an_escaped_line_end_belongs_to_the_value_and_counts_as_a_line(path: Path, field: str) -> None:
    assert rows(path, f"a,b\n{field},1\n", escape="\\") == [["x\ny", "1"]]
    assert refused(path, f"a,b\n{field},1\n2\n", escape="\\")[1] == "data.csv:4 has 1 field, the file has 2 columns"


def test_an_escape_at_the_very_end_is_refused(path: Path) -> None:
    wanted = "data.csv:2 the file ends with an escape character that takes nothing's meaning away"
    assert refused(path, "a,b\n1,2\\", escape="\\") == ("delimited-quote", wanted)


def test_an_empty_field_is_missing_and_a_quoted_one_the_empty_string(path: Path) -> None:
    assert rows(path, 'a,b\n,""\n"",\n') == [[None, ""], ["", None]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["Unix", "Windows", "old Macintosh"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_end_as_they_do_anywhere(path: Path, end: str, last: bool) -> None:
    assert rows(path, end.join(["a,b", "1,2", "3,4"]) + end * last) == [["1", "2"], ["3", "4"]]


def test_lines_of_one_file_may_end_in_several_ways(path: Path) -> None:
    assert rows(path, "a,b\r\n1,2\n3,4\r5,6\r\n") == [["1", "2"], ["3", "4"], ["5", "6"]]


def test_blank_lines_are_no_rows(path: Path) -> None:
    assert rows(path, "\n\r\na,b\n\n1,2\n\r\n\n3,4\n\n") == [["1", "2"], ["3", "4"]]


def test_a_line_end_within_quotes_belongs_to_the_value(path: Path) -> None:
    assert rows(path, 'a,b\n"x\ny","z\r\nw"\n1,2\n') == [["x\ny", "z\r\nw"], ["1", "2"]]


def test_other_separators_of_unicode_end_no_line(path: Path) -> None:
    assert rows(path, "a,b\n1\x0c,2\x0b\n\x85,\u2028\n") == [["1\x0c", "2\x0b"], ["\x85", "\u2028"]]


def test_a_byte_order_mark_is_not_part_of_the_first_name(path: Path) -> None:
    assert source(path, b"\xef\xbb\xbfa,b\n1,2\n").describe().names == ["a", "b"]
    assert rows(path, b'\xef\xbb\xbf"a",b\n1,2\n') == [["1", "2"]]


def test_names_are_neither_trimmed_nor_changed(path: Path) -> None:
    assert source(path, ' A ,"b\nc",,😀\n').describe().names == [" A ", "b\nc", "", "😀"]


def test_values_are_neither_trimmed_nor_changed(path: Path) -> None:
    assert rows(path, "a,b\n 007 ,NULL\nNA,nan\n") == [[" 007 ", "NULL"], ["NA", "nan"]]


def test_without_a_header_columns_are_numbered_or_named(path: Path) -> None:
    assert source(path, "1,2\n", header=False).describe().names == ["column_1", "column_2"]
    assert source(path, "1,2\n", header=False, columns=["x", "y"]).describe().names == ["x", "y"]
    assert rows(path, "\n1,2\n3,4\n", header=False) == [["1", "2"], ["3", "4"]]


def test_too_few_names_are_refused(path: Path) -> None:
    assert refused(path, "1,2\n", header=False, columns=["x"]) == ("delimited-columns", "data.csv has 2 columns; 1 name given")


def test_a_single_column_may_have_missing_values(path: Path) -> None:
    assert rows(path, 'a\nx\n\n""\ny\n\n') == [["x"], [None], [""], ["y"], [None]]
    assert rows(path, "\n\na\r\nx\r\n\r\n") == [["x"], [None]]
    assert rows(path, "\nx\n", header=False) == [[None], ["x"]]
    assert rows(path, "\n\n", header=False, columns=["a"]) == [[None], [None]]


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n\r\n"])
def test_a_header_alone_has_columns_and_no_rows(path: Path, content: str) -> None:
    assert source(path, content).describe().names == ["a", "b"]
    assert rows(path, content) == []


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(path: Path, content: bytes) -> None:
    assert refused(path, content) == ("file-empty", "data.csv is empty")


def test_a_short_line_is_refused_with_its_number(path: Path) -> None:
    assert refused(path, 'a,b\n"1\n2\n3",2\n\n3\n') == ("delimited-line-short", "data.csv:6 has 1 field, the file has 2 columns")


def test_a_long_line_is_refused_with_its_number(path: Path) -> None:
    assert refused(path, "a,b\r\n1,2\r\n3,4,5\r\n") == ("delimited-line-long", "data.csv:3 has 3 fields, the file has 2 columns")


def test_a_line_of_blanks_is_a_short_line(path: Path) -> None:
    assert refused(path, "a,b\n \n")[0] == "delimited-line-short"


def test_a_bad_line_is_found_far_behind_the_first_block(path: Path) -> None:
    line = '"x, y",' + "z" * 92 + "\n"
    assert refused(path, "a,b\n" + line * 100_000 + "1\n")[1] == "data.csv:100002 has 1 field, the file has 2 columns"


def test_a_quote_that_never_closes_is_refused_with_the_line_where_it_opens(path: Path) -> None:
    assert refused(path, 'a,b\n1,2\n"x,y\n3,4\n') == ("delimited-quote", "data.csv:3 a quoted field begins here and never ends")


def test_a_quote_that_never_closes_in_the_header_is_refused(path: Path) -> None:
    assert refused(path, '"a,b\n1,2\n') == ("delimited-header", "data.csv:1 the first line cannot be read")


@pytest.mark.parametrize("field", ['"x"y', '"x" ', '"x"\x00'])
def test_text_after_a_closing_quote_is_refused(path: Path, field: str) -> None:
    assert refused(path, f"a,b\n{field},1\n") == ("delimited-quote", "data.csv:2 a quoted field goes on after its closing quote")


def test_a_zero_byte_is_text_like_any_other(path: Path) -> None:
    assert rows(path, b"a,b\nx\0y,\0\n") == [["x\0y", "\0"]]


@pytest.mark.parametrize("content", [b"a,b\n\xff\xfe,2\n", b"\xff,b\n1,2\n", b"a,b\n" + b"1,2\n" * 9000 + b"\xc3,2\n"])
def test_text_in_another_encoding_is_refused(path: Path, content: bytes) -> None:
    assert refused(path, content) == ("file-encoding", "data.csv is not UTF-8 text")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "cp037", "shift_jis", "ascii", "UTF8"])
def test_other_encodings_are_read_like_utf8(path: Path, encoding: str) -> None:
    value = {"shift_jis": "日本", "ascii": "Zurich", "cp037": "Zürich"}.get(encoding, "Zürich")
    text = "a,b\n" + f'"{value}, ""x""",1\n' * 40_000

    found = rows(path, text.encode(encoding), encoding=encoding)

    assert (len(found), found[0], found[-1]) == (40_000, [f'{value}, "x"', "1"], [f'{value}, "x"', "1"])


def test_a_character_may_lie_across_two_reads(path: Path) -> None:
    assert rows(path, ("a\n" + "😀" * 100_000).encode("utf-16"), encoding="utf-16") == [["😀" * 100_000]]


@pytest.mark.parametrize(
    ("content", "encoding"), [(b"a,b\nx,\x81\n", "cp1252"), ("a,b\n1,2\n".encode("utf-16-le")[:-1], "utf-16-le"), (b"\xfe", "utf-16")]
)
def test_text_that_is_not_of_its_encoding_is_refused(path: Path, content: bytes, encoding: str) -> None:
    assert refused(path, content, encoding=encoding) == ("file-encoding", f"data.csv is not {encoding} text")


@pytest.mark.parametrize("cell", ["x" * 3_000_000, '"' + "line\n" * 600_000 + '"'], ids=["plain", "quoted"])
def test_a_cell_of_three_megabytes_is_read(path: Path, cell: str) -> None:
    first, second = rows(path, f"a,b\n{cell},1\n2,3\n")

    assert len(first[0] or "") == 3_000_000
    assert second == ["2", "3"]


@pytest.mark.slow
def test_a_coded_column_of_many_long_values_keeps_them_all(path: Path) -> None:
    values = [f"a value that is longer than a word of the machine {number % 70_001}" for number in range(150_000)]

    assert rows(path, "a\n" + "\n".join(values)) == [[value] for value in values]


def test_the_number_of_rows_is_told_before_they_are_read(path: Path) -> None:
    assert source(path, "a,b\n" + "1,2\n" * 99).about() == 100
    assert source(path, "a,b\r1,2\r").about() == 2
    assert source(path, "a,b").about() is None


def test_a_record_too_large_for_memory_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited_text, "_LARGEST_RECORD", delimited_text._BLOCK)

    wanted = "data.csv:2 a record begins here that is larger than 256 MiB: perhaps a quote that never closes"
    assert refused(path, 'a,b\n"' + "x\n" * 5_000_000) == ("delimited-quote", wanted)


def test_two_hundred_columns_are_read(path: Path) -> None:
    names = [f"c{place}" for place in range(200)]
    delimited = source(path, ",".join(names) + "\n" + ",".join(map(str, range(200))) + "\n")

    (batch,) = delimited.batches(["c199", "c0"])
    assert batch.to_pylist() == [{"c199": "199", "c0": "0"}]


def test_columns_of_one_name_are_refused(path: Path) -> None:
    assert refused(path, "a,b,a\n1,2,3\n") == ("column-duplicate", "data.csv has columns of the same name: columns 1 and 3")


def test_no_cell_appears_in_a_message(path: Path) -> None:
    for content in ("a,b\ncanary\n", "a,b\ncanary,1,2\n", 'a,b\n"canary\n', 'a,b\n"canary"x,1\n', b"a,b\ncanary\xff,1\n"):
        assert "canary" not in refused(path, content)[1]


@pytest.mark.parametrize(
    "dialect",
    [
        {"delimiter": '"'},
        {"escape": '"'},
        {"delimiter": "\\", "escape": "\\"},
        {"delimiter": "\n"},
        {"delimiter": "é"},
        {"quote": ""},
        {"encoding": "klingon"},
        {"encoding": "base64"},
        {"columns": ["a"]},
    ],
    ids=str,
)
def test_a_dialect_that_cannot_work_is_refused(dialect: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        Delimited(path="data.csv", **dialect)


@pytest.mark.parametrize(
    ("content", "dialect", "hint"),
    [
        (
            b"a,b\n\xff,2\n",
            {},
            "say encoding: latin-1 in the source (--encoding latin-1 of assess), or whatever it is, or convert it first: "
            "iconv -f latin1 -t utf-8 data.csv > data.utf-8.csv",
        ),
        ("a,b\n1,2\n".encode("utf-16"), {}, "say encoding: utf-16 in the source (--encoding utf-16 of assess)"),
        ("a,b\n1,2\n".encode("utf-32"), {}, "say encoding: utf-32 in the source (--encoding utf-32 of assess)"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), {"compression": "none"}, "say compression: gzip in the source"),
        (b"PK\x03\x04\xff", {}, "unpack it first; a workbook is read by its ending, .xlsx"),
        (b"a,b\n\x81,2\n", {"encoding": "cp1252"}, "look at the encoding of the source; utf-8 is the default"),
        ("a,a\n", {}, "rename them: a policy speaks of columns by name; if the first line is no header, say header: false"),
        ("1,2\n", {"header": False, "columns": ["a", "a"]}, "give every column a name of its own"),
    ],
)
def test_a_hint_says_what_can_be_done(content: str | bytes, dialect: dict[str, Any], hint: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    with pytest.raises(DataError) as caught:
        rows(Path("data.csv"), content, **dialect)

    assert caught.value.hint == hint
