from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import DataError
from sfumato.sources.arrow import Arrow

TABLE = pa.table(
    {"age": [1, 2, None], "name": pa.array(["Ann", "Zoë", ""]).dictionary_encode(), "wide": pa.array(["a", "b", "c"], pa.large_string())}
)


def written(path: Path, stream: bool) -> Path:
    with pa.OSFile(str(path), "wb") as file, (pa.ipc.new_stream if stream else pa.ipc.new_file)(file, TABLE.schema) as writer:
        for part in TABLE.to_batches(max_chunksize=2):
            writer.write_batch(part)
    return path


@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
def test_files_and_streams_are_read_alike(stream: bool, tmp_path: Path) -> None:
    source = Arrow(path=str(written(tmp_path / "data.arrow", stream)))

    assert source.describe().types == [pa.int64(), pa.string(), pa.large_string()]
    assert pa.Table.from_batches(source.batches(["name", "age"])).to_pylist() == TABLE.select(["name", "age"]).to_pylist()


def test_a_policy_knows_a_stream_by_its_ending(tmp_path: Path) -> None:
    written(tmp_path / "data.arrows", stream=True)
    columns = {name: {"role": "other", "accept": "singling_out"} for name in ("age", "name", "wide")}
    (tmp_path / "policy.yaml").write_text(json.dumps({"source": "data.arrows", "columns": columns, "sink": "release.arrow"}))

    sfumato.run(tmp_path / "policy.yaml")

    assert sorted(pa.ipc.open_file(tmp_path / "release.arrow").read_all()["wide"].to_pylist()) == ["a", "b", "c"]


@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
@pytest.mark.parametrize("times", [2, 3])
def test_files_and_streams_that_follow_each_other_are_read_to_the_end(stream: bool, times: int, tmp_path: Path) -> None:
    path = written(tmp_path / "data.arrow", stream)
    path.write_bytes(path.read_bytes() * times)

    assert pa.Table.from_batches(Arrow(path=str(path)).batches(["age", "name"])).to_pylist() == TABLE.select(["age", "name"]).to_pylist() * times


@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
def test_a_further_file_of_another_schema_is_refused(stream: bool, tmp_path: Path) -> None:
    path, other = written(tmp_path / "data.arrow", stream), tmp_path / "other.arrow"
    with pa.OSFile(str(other), "wb") as file, (pa.ipc.new_stream if stream else pa.ipc.new_file)(file, pa.schema([("age", pa.int64())])):
        pass
    path.write_bytes(path.read_bytes() + other.read_bytes())

    with pytest.raises(DataError) as caught:
        list(Arrow(path=str(path)).batches(["age"]))

    assert caught.value.code == "arrow-schema-changed"


@pytest.mark.parametrize("cut", [1, 10, 100, 300])
def test_half_a_file_behind_a_whole_one_is_refused(cut: int, tmp_path: Path) -> None:
    path = written(tmp_path / "data.arrow", stream=False)
    path.write_bytes(path.read_bytes() + path.read_bytes()[:-cut])

    with pytest.raises(DataError) as caught:
        list(Arrow(path=str(path)).batches(["age"]))

    assert caught.value.code == "arrow-damaged"


@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
@pytest.mark.parametrize("kept", [0, 3, 100, 0.5, 0.9])
def test_a_file_that_was_cut_off_is_refused(stream: bool, kept: float, tmp_path: Path) -> None:
    path = written(tmp_path / "data.arrow", stream)
    data = path.read_bytes()
    path.write_bytes(data[: int(kept if kept >= 1 or not kept else kept * len(data))])

    with pytest.raises(DataError) as caught:
        list(Arrow(path=str(path)).batches(Arrow(path=str(path)).describe().names))

    assert caught.value.code in ("arrow-damaged", "file-encoding")


def test_no_damage_is_read_as_something_else_without_an_error_of_ours(tmp_path: Path) -> None:
    path = written(tmp_path / "data.arrow", stream=False)
    data, chance = path.read_bytes(), random.Random(1)
    for _ in range(150):
        broken = bytearray(data)
        broken[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(broken))
        try:
            rows = sum(batch.num_rows for batch in Arrow(path=str(path)).batches(["age", "name"]))
        except (DataError, KeyError):
            continue
        assert rows <= TABLE.num_rows


def test_a_day_that_is_no_whole_one_is_refused_without_saying_it() -> None:
    bent = pa.Array.from_buffers(pa.date64(), 1, [None, pa.py_buffer((86_400_000 + 3_600_000).to_bytes(8, "little"))])

    with pytest.raises(DataError) as caught:
        sfumato.assess(pa.table({"day": bent}), ["day"])
    assert str(caught.value) == (
        "the table holds values in the column day that its type date64[ms] does not allow [column-type]\n"
        "  try: write it anew in its type, or as text; days as date32"
    )


def test_a_stream_that_was_appended_to_another_is_read_on(tmp_path: Path) -> None:
    path = written(tmp_path / "data.arrow", stream=True)
    path.write_bytes(path.read_bytes() * 3)

    assert pa.Table.from_batches(Arrow(path=str(path)).batches(["age"])).column("age").to_pylist() == [1, 2, None] * 3


def test_a_stream_of_another_schema_behind_the_first_is_refused(tmp_path: Path) -> None:
    path, other = written(tmp_path / "data.arrow", stream=True), pa.BufferOutputStream()
    with pa.ipc.new_stream(other, pa.schema([("age", pa.string())])):
        pass
    path.write_bytes(path.read_bytes() + other.getvalue().to_pybytes())

    with pytest.raises(DataError) as caught:
        list(Arrow(path=str(path)).batches(["age"]))
    assert caught.value.code == "arrow-schema-changed"


def test_what_is_no_arrow_behind_a_stream_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "data.arrow", stream=True)
    path.write_bytes(path.read_bytes() + b"more")

    with pytest.raises(DataError) as caught:
        list(Arrow(path=str(path)).batches(["age"]))
    assert caught.value.code == "arrow-damaged"
