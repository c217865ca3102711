from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from sfumato.errors import DataError, PolicyError
from sfumato.sinks.delimited import Delimited


def test_only_what_needs_quotes_gets_them(tmp_path: Path) -> None:
    batch = pa.record_batch({"a": ["x", "x;y", "", None], "b;c": ['"', "1,5", "\n", " "]})
    writer = Delimited(path=str(tmp_path / "release.csv"), delimiter=";").open(batch.schema)
    writer.write(batch)
    writer.finish()
    writer.publish()

    assert (tmp_path / "release.csv").read_bytes() == b'a;"b;c"\nx;""""\n"x;y";1,5\n"";"\n"\n; \n'


def test_numbers_are_written_in_their_canonical_form(tmp_path: Path) -> None:
    batch = pa.record_batch({"n": [1, None], "f": [2.0, -0.0]})
    writer = Delimited(path=str(tmp_path / "release.csv")).open(batch.schema)
    writer.write(batch)
    writer.finish()
    writer.publish()

    assert (tmp_path / "release.csv").read_text() == "n,f\n1,2\n,0\n"


@pytest.mark.parametrize("values", [[None, None], []])
def test_a_file_without_a_header_is_read_back_even_if_nothing_is_in_it(tmp_path: Path, values: list[None]) -> None:
    batch = pa.record_batch({"a": pa.array(values, pa.string())})
    writer = Delimited(path=str(tmp_path / "release.csv"), header=False).open(batch.schema)
    writer.write(batch)
    source = writer.finish()

    assert [row["a"] for found in source.batches(["a"]) for row in found.to_pylist()] == values
    writer.abort()


def test_without_quotes_a_value_that_needs_them_is_refused(tmp_path: Path) -> None:
    batch = pa.record_batch({"a": ["x,y"]})
    writer = Delimited(path=str(tmp_path / "release.csv"), quote=None).open(batch.schema)

    with pytest.raises(DataError) as caught:
        writer.write(batch)

    assert caught.value.message == "a value cannot be written without quotes"
    writer.abort()


def test_without_quotes_a_name_that_needs_them_is_refused_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        Delimited(path=str(tmp_path / "release.csv"), quote=None).open(pa.schema([("a,b", pa.string())]))

    assert list(tmp_path.iterdir()) == []


def test_a_delimiter_that_is_the_quote_is_refused() -> None:
    with pytest.raises(PolicyError):
        Delimited(path="release.csv", delimiter='"')
