from __future__ import annotations

import decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from sfumato.errors import DataError
from sfumato.sources.parquet import Parquet


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.parquet"


def source(path: Path, table: pa.Table, **options: object) -> Parquet:
    parquet.write_table(table, path, **options)
    return Parquet(path=str(path))


def refused(path: Path, content: bytes) -> tuple[str, str]:
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        list(Parquet(path=str(path)).batches(["name"], ["name"]))
    return caught.value.code, caught.value.message.replace(str(path), "data.parquet")


def test_types_are_those_of_the_file(path: Path) -> None:
    table = pa.table({"n": [1], "d": [decimal.Decimal("1.50")], "f": [0.5], "t": ["x"]})

    assert source(path, table).describe().types == [pa.int64(), pa.decimal128(3, 2), pa.float64(), pa.string()]


def test_dictionaries_are_text_and_large_text_stays_so(path: Path) -> None:
    table = pa.table({"code": pa.array(["x", None, "x"]).dictionary_encode(), "long": pa.array(["a", "b", None], pa.large_string())})
    file = source(path, table)

    assert file.describe().types == [pa.string(), pa.large_string()]
    assert [batch.to_pylist() for batch in file.batches(["long", "code"])] == [
        [{"long": "a", "code": "x"}, {"long": "b", "code": None}, {"long": None, "code": "x"}]
    ]


def test_coded_text_comes_as_dictionaries_and_coded_numbers_as_they_are(path: Path) -> None:
    (batch,) = source(path, pa.table({"t": ["x", "x"], "n": [1, 2]})).batches(["n", "t"], coded=["t", "n"])

    assert batch.schema.types == [pa.int64(), pa.dictionary(pa.int32(), pa.string())]


def test_a_column_may_have_a_point_in_its_name(path: Path) -> None:
    (batch,) = source(path, pa.table({"a.b": ["x"], "a": ["y"]})).batches(["a.b"], coded=["a.b"])

    assert batch.to_pylist() == [{"a.b": "x"}]


def test_rows_with_large_cells_come_in_small_batches(path: Path) -> None:
    file = source(path, pa.table({"t": [f"{place}" * 100_000 for place in range(1000, 1100)]}), compression="none", use_dictionary=False)

    assert max(batch.num_rows for batch in file.batches(["t"])) < 60


def test_nested_columns_are_read_as_text_in_json(path: Path) -> None:
    file = source(path, pa.table({"t": ["x"], "visits": [[1, 2]], "address": [{"zip": "10969"}]}))

    (batch,) = file.batches(["address", "visits"], coded=["visits"])
    assert batch.to_pylist() == [{"address": '{"zip":"10969"}', "visits": "[1,2]"}]


def test_bytes_are_refused_where_they_are_asked_for(path: Path) -> None:
    file = source(path, pa.table({"t": ["x"], "photo": [b"x"]}))

    assert [batch.to_pylist() for batch in file.batches(["t"])] == [[{"t": "x"}]]
    with pytest.raises(DataError) as caught:
        list(file.batches(["t", "photo"]))
    assert caught.value.code == "column-nested"
    assert caught.value.message == f"{path} has columns that cannot be read: photo (bytes)"


def test_a_flat_column_may_be_called_like_the_path_of_a_field(path: Path) -> None:
    file = source(path, pa.table({"a.b": ["flat"], "a": [{"b": "within", "c": 1}]}))

    (batch,) = file.batches(["a", "a.b"])
    assert batch.to_pylist() == [{"a": '{"b":"within","c":1}', "a.b": "flat"}]
    (batch,) = file.batches(["a.b"])
    assert batch.to_pylist() == [{"a.b": "flat"}]


def test_columns_of_one_name_are_refused(path: Path) -> None:
    file = source(path, pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], names=["a", "a"]))

    with pytest.raises(DataError) as caught:
        file.describe()

    assert caught.value.code == "column-duplicate"


def test_a_damaged_file_is_refused_without_the_library_s_words(path: Path) -> None:
    source(path, pa.table({"name": ["canary"] * 1000}))
    whole = path.read_bytes()
    bent = bytes(byte ^ 0x5A if 4 < place < 60 else byte for place, byte in enumerate(whole))

    for content in (b"", b"name\ncanary\n", whole[:-50], whole[:40] + whole[60:], bent):
        assert refused(path, content) == ("parquet-damaged", "data.parquet is damaged or no Parquet file")
