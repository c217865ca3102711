"""The compiled reader of JSON lines held against the slow one, line by line: values, places, and what is refused."""

from __future__ import annotations

import json
import math
from codecs import BOM_UTF8
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.core.decoded import Decoded
from sfumato.core.json_records import Kind, NotARecordError, arrow_type, column, record
from sfumato.core.json_stream import Unnamed, decoded

KINDS: dict[str, Kind | None] = {
    "t": "text",
    "i": "integer",
    "n": "number",
    "b": "boolean",
    "l": "list",
    "o.t": "text",
    "o.i": "long",
    "o.p.n": "number",
    "o.p": "text",
    "é": "text",
    "": "text",
    "gone": None,
    "a long name of several words": "integer",
}
WANTED = {name: kind for name, kind in KINDS.items() if kind is not None}


def expected(block: bytes, separator: str, unnamed: Unnamed) -> tuple[list[dict[str, Any]], list[int], int, list[tuple[int, str, int, int]]]:
    """Read one line at a time with the slow reader."""
    good, places, poison, records, start = [], [], [], 0, 0
    for line in block.split(b"\n"):
        if line.strip():
            fields = fields_or_code(line, separator, unnamed)
            if isinstance(fields, str):
                poison.append((records, fields, start, len(line)))
            else:
                good.append(fields)
                places.append(records)
            records += 1
        start += len(line) + 1
    columns = {name: column([fields.get(name) for fields in good], kind).to_pylist() for name, kind in WANTED.items()}
    return [{name: columns[name][row] for name in columns} for row in range(len(good))], places, records, poison


def fields_or_code(line: bytes, separator: str, unnamed: Unnamed) -> dict[str, Any] | str:
    try:
        fields = record(line, separator)
    except UnicodeDecodeError:
        return "file-encoding"
    except NotARecordError:
        return "json-line"
    for name, value in fields.items():
        within = any(known.startswith(name + separator) for known in KINDS)
        if name not in KINDS and unnamed == "refuse" and not (value is None and within):
            return "json-field-unnamed"
    for name, kind in WANTED.items():
        value = fields.get(name)
        allowed: dict[Kind, tuple[type, ...]] = {
            "text": (str, bool, int, float),
            "integer": (int,),
            "long": (int,),
            "number": (int, float),
            "boolean": (bool,),
            "list": (str, bool, int, float, list),
        }
        if value is not None and (type(value) not in allowed[kind] or is_too_large(value, kind)):
            return "json-type"
    return fields


def is_too_large(value: Any, kind: Kind) -> bool:
    if type(value) is not int:
        return False
    return not -(2**63) <= value < 2**63 if kind in ("integer", "long") else kind == "number" and abs(value) > 10**308


def same(found: Any, wanted: Any) -> bool:
    """Return whether values are the same, which minus zero and zero are not."""
    if isinstance(found, dict):
        return found.keys() == wanted.keys() and all(same(found[key], wanted[key]) for key in found)
    if isinstance(found, float) and isinstance(wanted, float):
        return found == wanted and math.copysign(1, found) == math.copysign(1, wanted)
    return type(found) is type(wanted) and found == wanted


def hold_against_each_other(block: bytes, separator: str = ".", unnamed: Unnamed = "refuse") -> Decoded:
    found = decoded(block, KINDS, separator, unnamed)
    rows, places, records, poison = expected(block, separator, unnamed)

    found.rows.validate(full=True)
    assert found.rows.schema == pa.schema([(name, arrow_type(kind)) for name, kind in WANTED.items()])
    assert (found.places.tolist(), found.records) == (places, records)
    assert [(each.place, each.code, each.start, each.length) for each in found.poison] == poison
    for one, other in zip(found.rows.to_pylist(), rows, strict=True):
        assert same(one, other), (one, other)
    return found


ODD_NUMBERS = ["-0", "-0.0", "0.000", "1e308", "1e309", "9" * 310, "0." + "0" * 310 + "1", "1" * 4301, "1e-400", "0e999", "0.0001", "0.00001", "1E5"]
ODD_NUMBERS += ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551616"]
ODD_NUMBERS += ["9007199254740993", "9007199254740993.0", "100000000000000000000000.5", "5.", ".5", "01", "+1", "-", "1e", "1e+", "0x1", "1_0", "NaN"]
ODD_NUMBERS += ["-Infinity", "١"]
NUMBERS = st.one_of(
    st.integers(-(2**65), 2**65).map(str),
    st.integers(-20, 20).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"-?(0|[1-9][0-9]{0,4})\.[0-9]{0,5}0{0,3}", fullmatch=True),
    st.sampled_from(ODD_NUMBERS),
)
ESCAPES = ["\\n", "\\/", '\\"', "\\\\", "\\u0041", "\\u00e9", "\\ud83d\\ude00", "\\b\\f\\r\\t", "\\u0000", "\\ud800", "\\udc00", "\\ud800\\ud800"]
ESCAPES += ["\\ud83dx", "\\x", "\\u12", "\\U0041", "\x7f", "\x1f", "\x00", "\u2028", "'", "{", "]", "a", "ö", "😀", "12345678"]
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.text(max_size=6).map(json.dumps),
    st.lists(
        st.sampled_from(ESCAPES),
        max_size=5,
    ).map(lambda parts: '"' + "".join(parts) + '"'),
)
SCALARS = st.one_of(NUMBERS, TEXTS, st.sampled_from(["null", "true", "false", "nul", "True", "truex", "None", ""]))
SPACES = st.sampled_from(["", "", "", "", " ", "\t", "\r", "  ", "\x0b"])
KEYS = st.one_of(
    st.sampled_from([json.dumps(step, ensure_ascii=False) for name in KINDS for step in {*name.split("."), name}]),
    st.sampled_from(
        ['"t"', '"i"', '"n"', '"l"', '"o"', '"p"', '"x"', '"x.y"', '"o.x"', '"\\u0074"', '"o.p"', '"tt"', "t", "'t'", '"unknown to all"']
    ),
)


@st.composite
def lists(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    parts = draw(st.lists(inner, max_size=3))
    return "[" + draw(SPACES) + ("," + draw(SPACES)).join(parts) + draw(st.sampled_from(["]", "]", "]", " ]", ",]", "}", ""]))


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    members = [f"{draw(KEYS)}{draw(SPACES)}:{draw(SPACES)}{draw(inner)}" for _ in range(draw(st.integers(0, 4)))]
    return "{" + draw(SPACES) + (draw(SPACES) + ",").join(members) + draw(st.sampled_from(["}", "}", "}", "}", "} ", ",}", "]", "", "}}"]))


VALUES = st.recursive(SCALARS, lambda inner: st.one_of(lists(inner), objects(inner)), max_leaves=8)
GOOD = st.fixed_dictionaries(
    {},
    optional={
        "t": st.none() | st.text(max_size=20) | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False),
        "i": st.none() | st.integers(-(2**63), 2**63 - 1),
        "n": st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60),
        "b": st.none() | st.booleans(),
        "l": st.recursive(st.none() | st.integers(-9, 9) | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3), max_leaves=5),
        "o": st.none()
        | st.fixed_dictionaries(
            {}, optional={"t": st.text(max_size=3), "i": st.integers(0, 9), "p": st.none() | st.just({"n": 1.5}) | st.just("p"), "x": st.just(1)}
        ),
        "o.t": st.text(max_size=2),
        "é": st.text(max_size=9),
        "": st.just("nothing"),
        "gone": st.integers() | st.just([1, {"a": 2}]),
        "unknown": st.integers() | st.just({}),
    },
)
WRITTEN = st.builds(
    lambda fields, ascii_only, spaced: json.dumps(fields, ensure_ascii=ascii_only, separators=None if spaced else (",", ":")),
    GOOD,
    st.booleans(),
    st.booleans(),
)
LINES = st.one_of(
    WRITTEN.map(lambda text: text.encode("utf-8", "surrogatepass")),
    objects(VALUES).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from([b"", b"  ", b"\x0b", b"\xc2\x85", b"null", b"[1]", b'{"t":1}{"t":2}', b'{"t":1} x', BOM_UTF8 + b'{"t":"mark"}', b'{"t":"\xff"}'])
    | st.sampled_from([b'{"t":"\xed\xa0\x80"}', b'{"t":"\xc0\x80"}', b'{"x":"\xf4\x90\x80\x80"}', b'{"t":"caf\xe9"}', b'{"x":"\xe2\x82"}']),
)


@st.composite
def blocks(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(LINES, max_size=6))
    return draw(st.sampled_from([b"\n", b"\n", b"\r\n", b"\n\n"])).join(lines) + draw(st.sampled_from([b"", b"\n", b"\r\n"]))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(blocks(), st.sampled_from([".", "/", "é"]), st.sampled_from(["refuse", "remove"]))
def test_any_block_is_read_or_refused_as_the_slow_reader_would(block: bytes, separator: str, unnamed: Unnamed) -> None:
    hold_against_each_other(block, separator, unnamed)


@settings(max_examples=300, deadline=None)
@given(
    WRITTEN,
    st.lists(st.tuples(st.integers(0, 400), st.binary(min_size=1, max_size=2) | st.sampled_from([b'"', b"\\", b",", b"{", b"]", b""])), max_size=3),
)
def test_a_good_line_with_some_bytes_changed_is_read_or_refused_alike(text: str, changes: list[tuple[int, bytes]]) -> None:
    line = text.encode("utf-8", "surrogatepass")
    for place, other in changes:
        place %= len(line) + 1
        line = line[:place] + other + line[place + 1 :]

    hold_against_each_other(b'{"t":"before"}\n' + line + b'\n{"t":"after"}', unnamed="remove")


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["t", "i", "n", "l"]), NUMBERS)
def test_numbers_are_what_the_slow_reader_makes_of_them(name: str, number: str) -> None:
    hold_against_each_other(f'{{"{name}":{number}}}\n{{"x":{number},"l":[{number}]}}'.encode(), unnamed="remove")


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["t", "l", "x"]), TEXTS)
def test_texts_are_what_the_slow_reader_makes_of_them(name: str, text: str) -> None:
    hold_against_each_other(f'{{"{name}":{text}}}\n{{"l":[{text},{{"a": {text}}}]}}'.encode("utf-8", "surrogatepass"), unnamed="remove")


@pytest.mark.parametrize("depth", [1, 61, 62, 63, 64, 65, 200])
@pytest.mark.parametrize("name", ["l", "x"])
def test_values_however_deep_are_read_alike(depth: int, name: str) -> None:
    lists_within = f'{{"{name}":' + "[" * depth + "]" * depth + "}"
    objects_within = f'{{"{name}":' + '{"a":' * depth + "1" + "}" * depth + "}"
    hold_against_each_other(f"{lists_within}\n{objects_within}\n".encode(), unnamed="remove")


def test_what_is_deeper_than_anybody_can_read_is_poison() -> None:
    bottomless = b'{"l":' + b"[" * 200_000 + b"]" * 200_000 + b"}"

    found = decoded(b'{"t":1}\n' + bottomless + b'\n{"t":2}', KINDS, ".", "refuse")

    assert (found.places.tolist(), [each.code for each in found.poison]) == ([0, 2], ["json-line"])


@example(2000)
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 1200))
def test_a_record_with_many_unknown_fields_is_read_alike(number: int) -> None:
    fields = {f"unknown {place}": {"t": place} for place in range(number)}
    twice = json.dumps(fields)[:-1] + ',"unknown 0":1}'

    hold_against_each_other(f"{json.dumps(fields)}\n{twice}".encode(), unnamed="remove")


def test_fields_in_another_order_every_time_are_found() -> None:
    names = [f"field {place}" for place in range(50)]
    kinds: dict[str, Kind | None] = dict.fromkeys(names, "integer")
    orders = [names[place:] + names[:place] for place in range(50)] + [names[::-1], names[::3]]
    block = "\n".join(json.dumps({name: names.index(name) for name in order}) for order in orders).encode()

    found = decoded(block, kinds, ".", "refuse")

    assert found.rows.to_pylist() == [{name: names.index(name) if name in order else None for name in names} for order in orders]


def test_a_byte_order_mark_begins_a_file_and_nothing_else() -> None:
    block = BOM_UTF8 + b'{"t":"\\ud800"}\n{"t":"good"}'

    first, later = decoded(block, KINDS, ".", "refuse", beginning=True), decoded(block, KINDS, ".", "refuse")

    assert [(each.code, each.start, each.length) for each in first.poison] == [("json-line", 3, 14)]
    assert [(each.code, each.start, each.length) for each in later.poison] == [("json-line", 0, 17)]
    assert decoded(BOM_UTF8 + b'{"t":"good"}', KINDS, ".", "refuse", beginning=True).rows["t"].to_pylist() == ["good"]


@pytest.mark.parametrize("block", [b"", b"\n", b" \r\n\n", BOM_UTF8])
def test_a_block_without_records_has_no_rows(block: bytes) -> None:
    found = decoded(block, KINDS, ".", "refuse", beginning=True)

    assert (found.rows.num_rows, found.rows.schema.names, found.records, list(found.poison)) == (0, list(WANTED), 0, [])


def test_where_nothing_is_wanted_the_rows_are_counted() -> None:
    found = decoded(b'{"a":1}\n{"a":"\\u0041"}\n{"b":1}', {"a": None}, ".", "refuse")

    assert (found.rows.num_rows, found.rows.num_columns, [each.code for each in found.poison]) == (2, 0, ["json-field-unnamed"])


def test_good_lines_are_never_read_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.core.json_stream.record", lambda line, separator: pytest.fail("read slowly"))
    lines = [
        r'{"t":"\u00e9 \ud83d\ude00 \"\/\n","i":-9223372036854775808,"n":0.30000000000000004,"b":true}',
        r'{"l":[ 1, {"a": "\n"} ],"o":{"t":"x","p":{"n":1e-7}}}',
        '{"gone":[{"any":1.5e290}],"o":{"i":9223372036854775807,"p":"p"},"é":"ö","a long name of several words":7,"t":0.1234567890123456789}',
        '{"o.t":"flat","o":null,"t":12.50,"n":-0.0,"i":null,"b":false}\r',
    ]

    assert hold_rows("\n".join(lines).encode()) == [
        {"t": 'é 😀 "/\n', "i": -(2**63), "n": 0.30000000000000004, "b": True},
        {"l": '[1,{"a":"\\n"}]', "o.t": "x", "o.p.n": 1e-7},
        {"o.i": 2**63 - 1, "o.p": "p", "é": "ö", "a long name of several words": 7, "t": "0.12345678901234568"},
        {"o.t": "flat", "t": "12.5", "n": -0.0, "b": False},
    ]


def hold_rows(block: bytes) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if value is not None} for row in decoded(block, KINDS, ".", "refuse").rows.to_pylist()]
