"""Arrow's parser of JSON and ours, held against each other: what the fast one reads, the strict one reads the same."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.json_blocks import columns_of, shape_of
from sfumato.core.json_records import NotARecordError, Shape, column, record

NAMES = st.sampled_from(["a", "b", "c", "a.b", "é", "", " "])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=4)
)
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(NAMES, inner, max_size=3)), max_leaves=6)
RECORDS = st.dictionaries(NAMES, VALUES, max_size=4)
# lines as nobody should write them
BROKEN = ['{"a":1}{"a":2}', '{"a":1,"a":2}', '{"a":NaN}', '{"a":-Infinity}', "[1]", '{"a":1', '{"a":1e999}', '{"a":01}', "true"]
ALONE = ["null", "{}null", '{"a":1} null {"a":2}']
ODD = st.sampled_from([*BROKEN, *ALONE, "", "  ", '{"a":"2024-01-01"}'])
LINES = st.lists(st.one_of(RECORDS.map(lambda fields: json.dumps(fields, ensure_ascii=False)), ODD), min_size=1, max_size=6)


def slowly(block: bytes) -> list[dict[str, Any]]:
    return [record(line, ".") for line in block.split(b"\n") if line.strip()]


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(lines=LINES)
def test_what_arrow_reads_is_what_is_read_line_by_line(lines: list[str]) -> None:
    block = "\n".join(lines).encode("utf-8", "surrogatepass")
    found = shape_of(block, ".")
    if found is None:
        return
    records = slowly(block)
    shape, fast = Shape({}), Shape({})
    for fields in records:
        shape.add(fields)
    fast.add_kinds(found)
    kinds = shape.kinds(".")
    assert fast.kinds(".") == {path: kinds[path] for path in fast.kinds(".")}
    assert set(kinds) == set(fast.kinds("."))
    wanted = {path: kind for path, kind in kinds.items() if kind != "list"}
    columns = columns_of(block, wanted, ".") if wanted else None
    if columns is not None:
        assert [part.to_pylist() for part in columns] == [
            column([fields.get(path) for fields in records], kind).to_pylist() for path, kind in wanted.items()
        ]


@pytest.mark.parametrize("line", [*BROKEN, *ALONE, '{"a":"\\ud800"}', '{"a":12345678901234567890}'])
def test_what_would_be_read_wrongly_is_left_to_the_slow_reader(line: str) -> None:
    assert shape_of(f'{{"a":1}}\n{line}\n'.encode(), ".") is None


def test_a_refused_line_is_no_block_for_arrow() -> None:
    with pytest.raises(NotARecordError):
        slowly(b'{"a":1,"a":2}')
    assert shape_of(b'{"a": "x"}\n\n{"b": {"c": null}}', ".") == {"a": "text", "b.c": None}
    assert columns_of(b'{"a": "2024-01-01"}', {"a": "text"}, ".") == [pa.array(["2024-01-01"])]
