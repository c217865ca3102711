"""The fast reader held against a slow one, byte by byte, and against Python's own where that is strict enough."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core import delimited_text
from sfumato.core.delimited_text import DelimitedText, MalformedError
from sfumato.core.kernels import delimited_parse as kernel


class Trickle:
    """Bytes that come in small portions, as from a pipe."""

    def __init__(self, content: bytes, portion: int) -> None:
        self._file = io.BytesIO(content)
        self._portion = portion

    def readinto(self, buffer: Any) -> int:
        part = self._file.read(min(len(buffer), self._portion))
        buffer[: len(part)] = part
        return len(part)


def slowly(content: bytes, quote: str | None, escape: str | None, width: int, header: bool) -> list[list[str | None]] | tuple[int, int]:
    """Read one character at a time; return the rows, or what is wrong and on which line."""
    text = content.decode()
    rows: list[list[str | None]] = []
    place, line = 0, 1
    while place < len(text):
        begin_line, record = line, list[str | None]()
        if text[place] in "\r\n" and (width > 1 or header):
            place += 2 if text[place : place + 2] == "\r\n" else 1
            line += 1
            continue
        ended = False
        while not ended:
            value, quoted = "", place < len(text) and text[place] == quote
            place += quoted
            while True:
                byte = text[place : place + 1]
                if not byte:
                    if quoted:
                        return kernel.OPEN_QUOTE, begin_line
                    break
                if byte == escape:
                    place += 1
                    if place == len(text):
                        return kernel.OPEN_QUOTE if quoted else kernel.OPEN_ESCAPE, begin_line
                    byte = text[place]
                elif quoted and byte == quote:
                    if escape is not None or text[place + 1 : place + 2] != quote:
                        break
                    place += 1
                elif not quoted and byte in ",\r\n":
                    break
                line += byte == "\n"
                value += byte
                place += 1
            record.append(value if value or quoted else None)
            place += quoted
            byte = text[place : place + 1]
            if byte and byte not in ",\r\n":
                return kernel.AFTER_QUOTE, line
            ended = byte != ","
            place += not ended
        if len(record) != width:
            return kernel.SHORT if len(record) < width else kernel.LONG, begin_line
        place += 2 if text[place : place + 2] == "\r\n" else 1
        line += 1
        if not header:
            rows.append(record)
        header = False
    return rows


def quickly(content: bytes, quote: str | None, escape: str | None, width: int, header: bool, coded: list[int], portion: int) -> Any:
    plain = [field for field in range(width) if field not in coded]
    text = DelimitedText((",", quote, escape), width, header, coded, plain)
    rows: list[list[str | None]] = []
    try:
        for number, columns in text.batches(Trickle(content, portion)):
            values = dict(zip([*coded, *plain], (column.to_pylist() for column in columns), strict=True))
            assert all(len(column) == number for column in values.values())
            rows += [[values[field][row] for field in range(width)] for row in range(number)]
    except MalformedError as error:
        return error.fault, error.line
    return rows


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks and batches so small that every border is crossed."""
    monkeypatch.setattr(delimited_text, "_BLOCK", 16)
    monkeypatch.setattr(delimited_text, "_FIRST_BATCH", 2)
    monkeypatch.setattr(delimited_text, "_BATCH", 3)
    monkeypatch.setattr(delimited_text, "_BATCH_BYTES", 64)


FIELD = st.one_of(
    st.text("ab,\"\\\n\ré😀 '", max_size=6),
    st.sampled_from(["", '""', '"', '""""', "seventy", "eightee8", "nine nine", "fifteen letters", "sixteen letters!", "x" * 40]),
    st.text("xy", min_size=14, max_size=18).map(lambda text: f'"{text}"'),
)
LINE_END = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(st.tuples(st.lists(FIELD, min_size=1, max_size=4), LINE_END), max_size=12))
    content = "".join(",".join(fields) + end for fields, end in lines)
    return (content if draw(st.booleans()) else content.rstrip("\r\n")).encode()


@settings(deadline=None, max_examples=300)
@given(
    contents(),
    st.sampled_from([('"', None), ('"', "\\"), (None, None), (None, "\\"), ("'", "\\")]),
    st.integers(1, 3),
    st.booleans(),
    st.integers(0, 7),
    st.sampled_from([1, 3, 7, 1000]),
)
def test_any_text_is_read_or_refused_as_a_slow_reader_would(
    content: bytes, marks: tuple[str | None, str | None], width: int, header: bool, coded: int, portion: int
) -> None:
    fields = [field for field in range(width) if coded >> field & 1]

    assert quickly(content, *marks, width, header, fields, portion) == slowly(content, *marks, width, header)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.lists(st.text(max_size=20), min_size=3, max_size=3), max_size=30), LINE_END, st.sampled_from([1, 5, 1000]))
def test_what_python_writes_is_read_back(rows: list[list[str]], end: str, portion: int) -> None:
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator=end).writerows(rows)

    assert quickly(file.getvalue().encode("utf-8", "ignore"), '"', None, 3, False, [0, 2], portion) == [
        [value.encode("utf-8", "ignore").decode() for value in row] for row in rows
    ]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=200))
def test_many_values_keep_their_codes_when_the_table_grows(numbers: list[int]) -> None:
    values = [f"{number % 7}" * number for number in numbers]
    content = "".join(f"{value},{value}\n" for value in values).encode()

    assert quickly(content, '"', None, 2, False, [0], 1000) == [[value or None, value or None] for value in values]


@pytest.mark.parametrize(("coded", "plain"), [([], [0, 1, 0]), ([0], [0]), ([], [2]), ([-1], [])])
def test_a_field_is_wanted_once_and_is_there(coded: list[int], plain: list[int]) -> None:
    with pytest.raises(ValueError, match="each field is wanted once"):
        DelimitedText((",", '"', None), 2, False, coded, plain)
