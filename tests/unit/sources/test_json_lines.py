from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.json_records import grouped, templates
from sfumato.errors import DataError
from sfumato.sinks.json_lines import JsonLines as Sink
from sfumato.sources.json_lines import JsonLines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.jsonl"


def table(path: Path, content: str | bytes, **settings: Any) -> pa.Table:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    source = JsonLines(path=str(path), **settings)
    names = source.describe().names
    return pa.Table.from_batches(source.batches(names), pa.schema([source.describe().field(name) for name in names]))


def refused(path: Path, content: str | bytes) -> tuple[str, str]:
    with pytest.raises(DataError) as caught:
        table(path, content)
    return caught.value.code, caught.value.message.replace(str(path), "data.jsonl")


def test_nested_fields_are_columns_by_their_path(path: Path) -> None:
    assert table(path, '{"geo": {"dest": "US", "at": {"lat": 1.5}}, "n": 3}\n').to_pylist() == [{"geo.dest": "US", "geo.at.lat": 1.5, "n": 3}]
    assert table(path, '{"a": {"b": 1}}\n', separator="/").column_names == ["a/b"]


def test_a_field_has_the_type_of_its_values(path: Path) -> None:
    found = table(path, '{"i": 1, "f": 1, "b": true, "t": "x", "z": null}\n{"i": -2, "f": 2.5, "b": false, "t": "1", "z": null}\n')

    assert found.schema.types == [pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.string()]


def test_a_field_of_several_types_is_text(path: Path) -> None:
    assert table(path, '{"a": 1}\n{"a": "x"}\n{"a": true}\n{"a": 2.5}\n{"a": 99999999999999999999}\n').column("a").to_pylist() == [
        "1",
        "x",
        "true",
        "2.5",
        "99999999999999999999",
    ]


def test_lines_of_changing_shape_have_missing_fields(path: Path) -> None:
    assert table(path, '\ufeff{"a": 1}\n\n{"b": {"c": 2}}\r\n{"b": 5}\n{}').to_pylist() == [
        {"a": 1, "b.c": None, "b": None},
        {"a": None, "b.c": 2, "b": None},
        {"a": None, "b.c": None, "b": 5},
        {"a": None, "b.c": None, "b": None},
    ]


@pytest.mark.parametrize(
    "line",
    [
        "canary",
        '["canary"]',
        '{"a": 1',
        '{"a": 1} {"a": 2}',
        '{"a": 1, "a": 2}',
        '{"a.b": 1, "a": {"b": 2}}',
        '{"a": NaN}',
        '{"a": 1e999}',
        "[" * 100_000,
    ],
    ids=lambda line: line[:20],
)
def test_a_line_that_is_no_record_is_refused_with_its_number(path: Path, line: str) -> None:
    assert refused(path, f'{{"a": 1}}\n\n{line}\n') == ("json-line", "data.jsonl:3 is not one JSON object with every field once")


def test_text_in_another_encoding_is_refused_with_its_line(path: Path) -> None:
    assert refused(path, b'{"a": 1}\n{"a": "\xff"}\n') == ("file-encoding", "data.jsonl:2 is not UTF-8 text")


@pytest.mark.parametrize("content", ["", "\n\n", "{}\n"])
def test_a_file_without_fields_is_refused(path: Path, content: str) -> None:
    assert refused(path, content) == ("file-empty", "data.jsonl is empty")


def test_a_list_may_be_removed_but_not_read(path: Path) -> None:
    path.write_text('{"a": [1, 2], "b": 1}\n')
    source = JsonLines(path=str(path))

    assert source.describe().names == ["a", "b"]
    assert [batch.to_pylist() for batch in source.batches(["b"])] == [[{"b": 1}]]
    with pytest.raises(DataError) as caught:
        list(source.batches(["a"]))
    assert caught.value.code == "column-nested"


def test_paths_become_objects_again(path: Path) -> None:
    columns = {"geo.dest": ["US", None], "n": [1, 2], "geo.at.lat": [1.5, float("nan")], "ok": [True, None], "t": ['say "no"\n', "1"]}
    writer = Sink(path=str(path)).open(pa.schema([(name, pa.array(values).type) for name, values in columns.items()]))
    writer.write(pa.record_batch(columns))
    writer.finish()
    writer.publish()

    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"geo": {"dest": "US", "at": {"lat": 1.5}}, "n": 1, "ok": True, "t": 'say "no"\n'},
        {"geo": {"dest": None, "at": {"lat": "nan"}}, "n": 2, "ok": None, "t": "1"},
    ]


@pytest.mark.parametrize("names", [["a", "a.b"], ["a.b", "a"], ["a..b"], [".a"], ["a."], ["x.y.z", "x.y"]], ids=str)
def test_names_that_are_no_paths_are_written_as_they_are(names: list[str], path: Path) -> None:
    order = grouped(names, ".")
    text = "".join(f"{before}1" for before in templates(order, ".")[:-1]) + templates(order, ".")[-1]
    path.write_text(text)

    assert sorted(JsonLines(path=str(path)).describe().names) == sorted(names)


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_release_keeps_types_and_is_verified(ending: str, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    lines = "".join(
        json.dumps({"who": {"age": 20 + number % 6}, "ok": number % 2 == 0, "n": number / 4, "drop": [number]}) + "\n" for number in range(60)
    )
    (tmp_path / f"in.jsonl{ending}").write_bytes(gzip.compress(lines.encode()) if ending else lines.encode())
    columns = {
        "who.age": {"role": "quasi_identifier"},
        "ok": {"role": "sensitive"},
        "n": {"role": "other", "accept": "singling_out"},
        "drop": {"role": "identifier"},
    }
    policy = {"source": f"in.jsonl{ending}", "columns": columns, "promises": [{"k_anonymity": {"k": 5}}], "sink": f"out.jsonl{ending}"}

    sfumato.run(write_policy(policy))

    data = (tmp_path / f"out.jsonl{ending}").read_bytes()
    written = [json.loads(line) for line in (gzip.decompress(data) if ending else data).decode().splitlines()]
    assert sorted(row["n"] for row in written) == [number / 4 for number in range(60)]
    assert {type(row["ok"]) for row in written} == {bool}
    assert {row["who"]["age"] for row in written} == {str(age) for age in range(20, 26)}


LONG = 9007199254740993


@pytest.mark.parametrize("lines", [['{"id": 9007199254740993}', '{"id": 0.5}'], ['{"id": 0.5, "x": 1}', '{"id": 9007199254740993}']])
def test_a_long_integer_beside_fractions_stays_what_it_is(lines: list[str], path: Path) -> None:
    path.write_text("\n".join(lines))

    source = JsonLines(path=str(path))
    found = [value for batch in source.batches(["id"]) for value in batch.column(0).to_pylist()]

    assert sorted(found) == ["0.5", str(LONG)]


def test_long_integers_alone_are_integers(path: Path) -> None:
    path.write_text(f'{{"id": {LONG}}}\n{{"id": 3}}\n')

    assert [batch.column(0).to_pylist() for batch in JsonLines(path=str(path)).batches(["id"])] == [[LONG, 3]]


@pytest.mark.parametrize(
    "line",
    ['{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", '{"a": ' * 1000 + "1" + "}" * 1000, '{"a": "x\\udc00"}', '{"a":\n{"b": 1}}\n{"a": 1}{"a": 2}'],
    ids=["deep list", "deep object", "half a character", "objects across lines"],
)
def test_a_line_that_a_parser_could_choke_on_is_refused(line: str, path: Path) -> None:
    path.write_text('{"a": "x"}\n' + line + "\n")

    with pytest.raises(DataError) as refused:
        JsonLines(path=str(path)).describe()

    assert refused.value.code == "json-line"


def test_a_field_may_be_an_object_in_one_block_and_a_value_in_another(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sfumato.core.json_blocks as blocks

    monkeypatch.setattr(blocks, "_BYTES", 16)
    path.write_text('{"a": {"b": 1}, "z": 1}\n{"z": 2}\n{"z": 3}\n{"a": true, "z": 4}\n')
    source = JsonLines(path=str(path))

    assert source.describe().names == ["a.b", "z", "a"]
    rows = [row for batch in source.batches(["a.b", "z", "a"]) for row in batch.to_pylist()]
    assert (rows[0], rows[3]) == ({"a.b": 1, "z": 1, "a": None}, {"a.b": None, "z": 4, "a": True})


def test_a_file_whose_first_bytes_say_what_it_is_is_called_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.jsonl").write_bytes('{"a": 1}\n'.encode("utf-16"))
    with pytest.raises(DataError) as caught:
        JsonLines(path="data.jsonl").describe()
    assert caught.value.message == "data.jsonl is UTF-16 text, as its byte order mark says"
    assert caught.value.hint == "convert it first: iconv -f utf-16 -t utf-8 data.jsonl > data.utf-8.jsonl"
