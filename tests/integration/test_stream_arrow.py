"""Streams of Arrow whose writer was started again, or whose files are damaged: everything is read once, or it is told that it cannot be."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.followed_files import Stretch
from sfumato.engine.stream.arrow_stretches import ArrowStretches
from sfumato.engine.stream.check import check_stream
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import DataError, SfumatoError


class Told:
    """What a journal is for who reads Arrow."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}

    def told(self, name: str) -> Any:
        return json.loads(self._told.get(name, "null"))

    def tell(self, name: str, value: Any) -> None:
        self._told[name] = json.dumps(value)


SCHEMA = pa.schema([("number", pa.int64()), ("name", pa.string())])


def stream(start: int, rows: int = 20, schema: pa.Schema = SCHEMA, make: Callable[..., Any] = pa.ipc.new_stream) -> bytes:
    written = io.BytesIO()
    with make(written, schema) as writer:
        for first in range(start, start + rows, 10):
            numbers = range(first, first + 10)
            writer.write_batch(pa.RecordBatch.from_pylist([{"number": each, "name": f"n{each}"} for each in numbers], schema=schema))
    return written.getvalue()


def file(start: int) -> bytes:
    return stream(start, make=pa.ipc.new_file)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    columns = {"number": {"role": "other", "type": "integer"}, "name": {"role": "identifier"}}
    told = {"source": "events.arrow", "columns": columns, "stream": {"state": "state"}, "sink": "release.jsonl"}
    (tmp_path / "policy.yaml").write_text(json.dumps(told))
    return tmp_path / "policy.yaml"


def append(policy: Path, content: bytes) -> None:
    with policy.with_name("events.arrow").open("ab") as events:
        events.write(content)


def released(policy: Path) -> list[int]:
    run_stream(policy, Running(once=True))
    assert check_stream(policy).holds
    return [json.loads(line)["number"] for line in policy.with_name("release.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("source", ["events.arrows", "*.arrows"])
def test_a_stream_is_known_by_its_ending(policy: Path, source: str) -> None:
    policy.write_text(policy.read_text().replace("events.arrow", source))
    policy.with_name("events.arrows").write_bytes(stream(0))
    assert sorted(released(policy)) == list(range(20))


@pytest.mark.parametrize("written", [stream, file])
def test_a_further_stream_in_the_file_is_read_on(policy: Path, written: Callable[[int], bytes]) -> None:
    append(policy, written(0) + written(20))
    assert sorted(released(policy)) == list(range(40))
    append(policy, written(40))
    assert sorted(released(policy)) == list(range(60))


def test_a_further_stream_behind_one_that_has_no_end_is_read_on(policy: Path) -> None:
    append(policy, stream(0)[:-8] + stream(20))
    assert sorted(released(policy)) == list(range(40))


@pytest.mark.parametrize("written", [stream, file])
def test_a_further_stream_is_read_as_far_as_it_is_whole_wherever_it_was_cut(written: Callable[[int], bytes]) -> None:
    content = written(0) + written(20)
    for cut in range(0, len(content), 7):
        stretches = ArrowStretches(lambda place, start, end: content[start:end], Told())
        read, numbers = 0, list[int]()
        for end in (cut, len(content)):
            while whole := stretches.whole(content[read:end], False):
                numbers += stretches.decode(_stretch(read, content[read : read + whole])).rows.to_pydict().get("number", [])
                read += whole
        assert read == len(content)
        assert numbers == list(range(40))


def _stretch(start: int, content: bytes) -> Stretch:
    return Stretch("0", start, content)


CODED = pa.schema([("number", pa.int64()), ("name", pa.dictionary(pa.int32(), pa.string()))])


def coded(start: int, names: list[list[str]], make: Callable[..., Any] = pa.ipc.new_stream, deltas: bool = False) -> bytes:
    """Return batches of ten rows, each with a dictionary."""
    written = io.BytesIO()
    with make(written, CODED, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)) as writer:
        for place, words in enumerate(names):
            codes = pa.DictionaryArray.from_arrays(pa.array([row % len(words) for row in range(10)], pa.int32()), pa.array(words))
            writer.write_batch(pa.record_batch([pa.array(range(start + 10 * place, start + 10 * place + 10)), codes], schema=CODED))
    return written.getvalue()


WORDS = {
    "one": coded(0, [["a", "b"]] * 4),
    "file": coded(0, [["a", "b"]] * 4, pa.ipc.new_file),
    "two streams": coded(0, [["a", "b"]] * 2) + coded(20, [["b", "c", "a"]] * 2),
    "replaced": coded(0, [["a", "b"], ["b", "a"], ["c"], ["c"]]),
    "added to": coded(0, [["a", "b"], ["a", "b", "c"], ["d"], ["d", "e"]], deltas=True),
}


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("content", WORDS.values(), ids=WORDS)
def test_dictionaries_count_for_all_rows_behind_them_wherever_a_stream_was_cut(content: bytes, forgets: bool) -> None:
    def fresh() -> ArrowStretches:
        return ArrowStretches(lambda place, start, end: content[start:end], Told())

    one = fresh()
    whole = one.decode(_stretch(0, content)).rows.to_pylist()
    assert [row["number"] for row in whole] == list(range(40))
    for cut in range(0, len(content), 64):
        stretches, read, rows = fresh(), 0, list[dict[str, Any]]()
        for end in (cut, len(content)):
            while length := stretches.whole(content[read:end], False):
                rows += stretches.decode(_stretch(read, content[read : read + length])).rows.to_pylist()
                read += length
                stretches = fresh() if forgets else stretches
        assert rows == whole


def test_a_stream_with_dictionaries_is_read_on_as_it_grows(policy: Path) -> None:
    content = WORDS["two streams"]
    for start in range(0, len(content), 500):
        append(policy, content[start : start + 500])
        found = released(policy)
    assert sorted(found) == list(range(40))


def test_a_further_stream_of_other_types_is_read_on(policy: Path) -> None:
    append(policy, stream(0))
    assert len(released(policy)) == 20
    append(policy, stream(20, schema=pa.schema([("name", pa.large_string()), ("number", pa.int32())])))
    assert sorted(released(policy)) == list(range(40))
    append(policy, stream(40) + stream(60, schema=pa.schema([("number", pa.float64()), ("name", pa.string())])) + stream(80))
    assert sorted(released(policy)) == list(range(100))


@pytest.mark.parametrize("is_pipe", [False, True])
def test_records_of_another_schema_are_set_aside_and_no_others(policy: Path, tmp_path: Path, is_pipe: bool) -> None:
    other = pa.schema([*SCHEMA, ("more", pa.int64())])
    content = stream(0) + stream(20, schema=other) + stream(40)
    if is_pipe:
        policy.write_text(json.dumps(json.loads(policy.read_text()) | {"source": {"standard_input": {"format": "arrow"}}}))
        (tmp_path / "pipe").write_bytes(content)
        with (tmp_path / "pipe").open("rb", buffering=0) as pipe:
            ended = run_stream(policy, Running(once=True), pipe=pipe)
    else:
        append(policy, content)
        ended = run_stream(policy, Running(once=True))
    assert {name: number for name, number in ended.views[""].accounts.items() if number} == {"released": 40, "dead": 20}
    assert ended.views[""].set_aside == {"columns-differ": 20}
    assert check_stream(policy).sentences() == []
    letters = [json.loads(line) for line in (tmp_path / "state" / "dead_letters.jsonl").read_text().splitlines()]
    assert letters[0]["content"] == {"number": 20, "name": "n20", "more": None}


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("make", [pa.ipc.new_stream, pa.ipc.new_file])
def test_schemas_that_change_count_for_all_rows_behind_them_wherever_a_stream_was_cut(make: Callable[..., Any], forgets: bool) -> None:
    words = pa.schema([("number", pa.int64()), ("name", pa.dictionary(pa.int32(), pa.string()))])
    schemas = [SCHEMA, words, pa.schema([("number", pa.int32()), ("name", pa.string())]), SCHEMA]
    content = b"".join(stream(10 * place, 10, schema, make) for place, schema in enumerate(schemas))
    for cut in range(0, len(content), 40):
        told = Told()
        stretches = ArrowStretches(lambda place, start, end: content[start:end], told)
        read, numbers, kinds = 0, list[int](), list[str]()
        for end in (cut, len(content)):
            while whole := stretches.whole(content[read:end], False):
                rows = stretches.decode(_stretch(read, content[read : read + whole])).rows
                numbers += rows.to_pydict().get("number", [])
                kinds += [f"{rows.schema.types}"] * rows.num_rows
                read += whole
                stretches = ArrowStretches(lambda place, start, end: content[start:end], told) if forgets else stretches
        assert numbers == list(range(40))
        assert [kinds.count(kind) for kind in dict.fromkeys(kinds)] == [20, 10, 10]


@pytest.mark.parametrize("written", [stream, file])
def test_what_is_no_arrow_behind_the_end_is_refused(policy: Path, written: Callable[[int], bytes]) -> None:
    append(policy, written(0))
    assert len(released(policy)) == 20
    append(policy, b"garbage!" * 10)
    with pytest.raises(DataError) as refused:
        released(policy)
    assert refused.value.code == "arrow-damaged"


def test_whatever_bits_are_flipped_the_error_is_ours() -> None:
    content, chance = stream(0, 40), random.Random(7)
    codes = set()
    for _ in range(400):
        damaged = bytearray(content)
        for place in chance.sample(range(len(content)), 3):
            damaged[place] ^= 1 << chance.randrange(8)
        stretches = ArrowStretches(lambda place, start, end: b"", Told())
        try:
            whole = stretches.whole(bytes(damaged), False)
            stretches.decode(_stretch(0, bytes(damaged[:whole])))
        except SfumatoError as error:
            codes.add(error.code)
    # a bit may also make a batch into a schema
    assert "arrow-damaged" in codes
    assert codes <= {"arrow-damaged", "arrow-schema-changed"}


def test_half_a_message_at_the_end_of_a_pipe_is_set_aside(policy: Path, tmp_path: Path) -> None:
    told = json.loads(policy.read_text()) | {"source": {"standard_input": {"format": "arrow"}}}
    policy.write_text(json.dumps(told))
    (tmp_path / "half").write_bytes(stream(0)[:-30])
    with (tmp_path / "half").open("rb", buffering=0) as pipe:
        ended = run_stream(policy, Running(once=True), pipe=pipe)
    assert {name: number for name, number in ended.views[""].accounts.items() if number} == {"released": 10, "dead": 1}
    assert ended.views[""].set_aside == {"arrow-damaged": 1}


PEOPLE: dict[str, Any] = {"pid": [f"p{number}" for number in range(12)], "age": list(range(12)), "illness": ["flu", "gout"] * 6}
FAR = pa.concat_arrays([pa.array(range(11), pa.timestamp("us")), pa.array([-(2**62)], pa.int64()).cast(pa.timestamp("us"))])


@pytest.mark.parametrize(
    ("column", "values", "dead"),
    [
        ("illness", pa.array([b"canary\xff"] * 5 + [b"flu"] * 7), 5),
        ("age", pa.array([(1, 2, number) for number in range(12)], pa.month_day_nano_interval()), 12),
        ("age", FAR, 12),
    ],
)
def test_a_column_that_is_of_another_type_later_is_set_aside_where_it_has_to(tmp_path: Path, column: str, values: pa.Array, dead: int) -> None:
    columns = {"pid": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}
    told = {"source": {"arrow": {"path": "in"}}, "subject": "pid", "columns": columns, "promises": [{"k_anonymity": {"k": 3}}]}
    (tmp_path / "policy.yaml").write_text(json.dumps(told | {"window": {"count": 6}, "stream": {"state": "state"}, "sink": "release.jsonl"}))
    (tmp_path / "in").mkdir()
    for name, table in (("1", pa.table(PEOPLE)), ("2", pa.table(PEOPLE | {column: values}))):
        with pa.ipc.new_stream(tmp_path / "in" / f"{name}.arrow", table.schema) as writer:
            writer.write_table(table)
    accounts = run_stream(tmp_path / "policy.yaml", Running(once=True)).views[""].accounts
    assert (sum(accounts.values()), accounts["dead"]) == (24, dead)
    assert check_stream(tmp_path / "policy.yaml").holds


def test_a_time_beyond_all_years_alone_is_set_aside(tmp_path: Path) -> None:
    columns = {"pid": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}
    told = {"source": "events.arrow", "subject": "pid", "columns": columns, "promises": [{"k_anonymity": {"k": 3}}]}
    (tmp_path / "policy.yaml").write_text(json.dumps(told | {"window": {"count": 6}, "stream": {"state": "state"}, "sink": "release.jsonl"}))
    table = pa.table(PEOPLE | {"age": FAR})
    with pa.ipc.new_stream(tmp_path / "events.arrow", table.schema) as writer:
        writer.write_table(table)
    assert run_stream(tmp_path / "policy.yaml", Running(once=True)).views[""].accounts["dead"] == 1
    (letter,) = map(json.loads, (tmp_path / "state" / "dead_letters.jsonl").read_text().splitlines())
    assert (letter["record"], letter["column"], letter["content"]["pid"]) == (11, "age", "p11")


def test_damaged_arrow_that_is_pushed_is_refused() -> None:
    offsets, content = pa.py_buffer(bytes([0, 0, 0, 0, 2, 0, 0, 0])), pa.py_buffer(b"\xff\xfe")
    broken = pa.Array.from_buffers(pa.string(), 1, [None, offsets, content])
    policy = {"columns": {"name": {"role": "other", "accept": "singling_out"}}}
    with pytest.raises(SfumatoError) as refused:
        sfumato.stream(policy).push(pa.record_batch({"name": broken}))
    assert refused.value.code == "data-kind"


@pytest.mark.parametrize(("declared", "values"), [("text", ["flu"]), ("integer", [5]), (None, ["flu"]), ("timestamp", ["2020-01-31T12:30:00Z"])])
def test_a_column_without_a_value_in_the_first_batch_is_of_its_declared_type(declared: str | None, values: list[Any]) -> None:
    column = {"role": "other"} | ({"type": declared} if declared else {})
    session = sfumato.stream({"columns": {"pid": {"role": "identifier"}, "seen": column}})
    released = [*session.push(pa.table({"pid": [1], "seen": pa.nulls(1)}))]
    released += session.push(pa.table({"pid": [2], "seen": values}))
    assert [row["seen"] for release in released for row in release.batch.to_pylist()][1:] == values
    assert session.accounts.dead == 0
