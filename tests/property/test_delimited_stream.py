"""Blocks of delimited text held against a slow reader that goes on after what it cannot read, and against the reader of whole files."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.core.delimited_stream import Dialect, decoded, header_of, whole_records

NAMES = ["a", "b", "c"]
DIALECTS = st.sampled_from([Dialect(), Dialect(quote=None), Dialect(escape="\\"), Dialect(";", "'"), Dialect("\t", None, "\\")])


def slowly(block: bytes, dialect: Dialect, width: int, header: bool, largest: int) -> tuple[list[Any], list[tuple[int, str, int, int]]]:
    """Read one byte at a time; return the rows with their places, and what is poison."""
    rows, poison, place, number = [], [], 0, -int(header)
    while place < len(block):
        if block[place : place + 1] in (b"\n", b"\r") and (width > 1 or number < 0):
            place = after_line(block, place)
            continue
        fields, end, code = record(block, place, dialect, largest)
        if code is None and len(fields) != width:
            code = "delimited-line-short" if len(fields) < width else "delimited-line-long"
        if not is_text(block[place:end]):
            code = "file-encoding"
        if number >= 0 and code is None:
            rows.append((number, [None if field is None else field.decode() for field in fields]))
        elif number >= 0:
            poison.append((number, code, place, end - place))
        number += 1
        place = after_line(block, end)
    return rows, poison


def after_line(block: bytes, place: int) -> int:
    return place + (2 if block[place : place + 2] == b"\r\n" else 1)


def is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def record(block: bytes, begin: int, dialect: Dialect, largest: int) -> tuple[list[bytes | None], int, str | None]:
    """Return the fields of a record, where it ends, and what is wrong with it."""
    delimiter, quote, escape = (None if mark is None else mark.encode() for mark in dialect.marks)
    fields, place = list[bytes | None](), begin
    line = begin
    while line < len(block) and block[line] not in b"\r\n":
        line = min(line + (2 if block[line : line + 1] == escape else 1), len(block))
    while True:
        value, quoted = b"", block[place : place + 1] == quote
        place += quoted
        while True:
            byte = block[place : place + 1]
            if not byte and quoted:
                return [], line, "delimited-quote"
            if byte == escape and byte:
                place += 1
                byte = block[place : place + 1]
                if not byte:
                    return [], line, "delimited-quote"
            elif quoted and byte == quote:
                if escape is not None or block[place + 1 : place + 2] != quote:
                    break
                place += 1
            elif not quoted and byte in (b"", delimiter, b"\n", b"\r"):
                break
            elif byte == b"\n" and quoted and place + 1 - begin > largest:
                return [], line, "delimited-quote"
            value += byte
            place += 1
        fields.append(value if value or quoted else None)
        place += quoted
        byte = block[place : place + 1]
        if byte not in (b"", delimiter, b"\n", b"\r"):
            return [], line, "delimited-quote"
        if byte != delimiter:
            return fields, place, None
        place += 1


FIELD = st.one_of(
    st.text("ab,;\t\"'\\\n\ré", max_size=6).map(str.encode),
    st.sampled_from(
        [b"", b'""', b'"', b"'", b"\\", b'"x"', b"'a;b'", b'"a\nb"', b'"a\r\n""b"', b"a word of some length", b"\xff", b'"' + b"x" * 9 + b'"']
    ),
)
LINES = st.lists(st.tuples(st.lists(FIELD, min_size=1, max_size=4), st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"])), max_size=8)


@st.composite
def blocks(draw: st.DrawFn) -> tuple[bytes, Dialect]:
    dialect = draw(DIALECTS)
    content = b"".join(dialect.delimiter.encode().join(fields) + end for fields, end in draw(LINES))
    return (content if draw(st.booleans()) else content.rstrip(b"\r\n")), dialect


@pytest.mark.slow
@settings(deadline=None, max_examples=500)
@given(blocks(), st.integers(1, 3), st.booleans(), st.sampled_from([4, 12, 1000]))
def test_any_block_is_read_as_a_slow_reader_would(block: tuple[bytes, Dialect], width: int, header: bool, largest: int) -> None:
    content, dialect = block
    rows, poison = slowly(content, dialect, width, header, largest)

    found = decoded(content, dialect, NAMES[:width], NAMES[:width], header, largest=largest)

    assert list(zip(found.places.tolist(), map(list, map(dict.values, found.rows.to_pylist())), strict=True)) == rows
    assert [(each.place, each.code, each.start, each.length) for each in found.poison] == poison
    assert found.records == len(rows) + len(poison)


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(blocks(), st.integers(1, 40), st.sampled_from([4, 12, 1000]))
@example((b'\\\n,"a\nb"', Dialect(escape="\\")), 1, 4)
def test_a_stream_in_portions_is_read_as_one_block(block: tuple[bytes, Dialect], portion: int, largest: int) -> None:
    content, dialect = block
    at_once = decoded(content, dialect, NAMES, NAMES, False, largest=largest)
    rows, poison, records, begun, place = [], [], 0, 0, 0
    while begun < len(content):
        place = min(place + portion, len(content))
        whole = whole_records(content[begun:place], place == len(content), dialect, largest)
        found = decoded(content[begun : begun + whole], dialect, NAMES, NAMES, False, largest=largest)
        rows += found.rows.to_pylist()
        poison += [(each.place + records, each.code, each.start + begun, each.length) for each in found.poison]
        records, begun = records + found.records, begun + whole

    assert (rows, records) == (at_once.rows.to_pylist(), at_once.records)
    assert poison == [(each.place, each.code, each.start, each.length) for each in at_once.poison]


def test_a_quote_that_is_never_closed_costs_one_line() -> None:
    lines = [b"1,x\n"] * 3 + [b'2,"never closed\n'] + [b"3,y\n"] * 400_000
    block = b"".join(lines)

    assert whole_records(block, False, Dialect()) == len(block)
    found = decoded(block, Dialect(), ["a", "b"], ["a"], False)
    assert [(each.place, each.code) for each in found.poison] == [(3, "delimited-quote")]
    assert found.rows.num_rows == 400_003


def test_a_quote_that_may_still_be_closed_is_waited_for() -> None:
    assert whole_records(b'1,x\n2,"a\nb\n', False, Dialect()) == 4
    assert whole_records(b'1,x\n2,"a\nb"\n3', False, Dialect()) == 12
    # it could be the first of two
    assert whole_records(b'1,x\n2,"a"', False, Dialect()) == 4
    assert whole_records(b"1,x\r", False, Dialect()) == 0


def test_some_columns_are_read_in_the_order_in_which_they_are_asked_for() -> None:
    found = decoded(b"c,a\nx,1,2\ny,3,4\n", Dialect(), NAMES, ["c", "a"], True)

    assert (found.rows.schema.names, found.rows.to_pylist()) == (["c", "a"], [{"c": "2", "a": "x"}, {"c": "4", "a": "y"}])


def test_where_no_column_is_wanted_the_rows_are_counted() -> None:
    found = decoded(b"1,2,3\n4\n5,6,7\n", Dialect(), NAMES, [], False)

    assert (found.rows.num_rows, found.rows.num_columns, found.records) == (2, 0, 3)


@pytest.mark.parametrize("block", [b"", b"\n\r\n", b"a,b,c\n"])
def test_a_block_without_records_has_no_rows(block: bytes) -> None:
    found = decoded(block, Dialect(), NAMES, NAMES, True)

    assert (found.rows.num_rows, found.rows.schema.names, found.records, list(found.poison)) == (0, NAMES, 0, [])


def test_a_byte_order_mark_begins_a_file_and_nothing_else() -> None:
    block = BOM_UTF8 + b"1,2,3\n"

    assert decoded(block, Dialect(), NAMES, ["a"], False, beginning=True).rows.to_pylist() == [{"a": "1"}]
    assert decoded(block, Dialect(), NAMES, ["a"], False).rows.to_pylist() == [{"a": "\ufeff1"}]


@pytest.mark.parametrize(
    ("block", "names"), [(b"", None), (b"\n\n", None), (b'"a', None), (b"caf\xe9,b\n", None), (b"a\n1\n", ["a"]), (b'"a ""b""",\n', ['a "b"', ""])]
)
def test_the_header_is_the_first_record(block: bytes, names: list[str] | None) -> None:
    assert header_of(block, Dialect()) == names
