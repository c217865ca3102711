"""Compressed files, in and out."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import DataError
from sfumato.sources.delimited import Delimited

TEXT = ('name,note\nAnn,"two\nlines"\n' + "".join(f"Zoë {number},x\n" for number in range(30_000))).encode()


def zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


def names(path: Path, **settings: Any) -> list[str]:
    source = Delimited(path=str(path), **settings)
    assert source.describe().names == ["name", "note"]
    return [name for batch in source.batches(["name"], coded=["name"]) for name in batch.column(0).to_pylist()]


@pytest.mark.parametrize("ending", PACKERS)
def test_a_compressed_file_is_read_like_a_plain_one(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"data.csv{ending}"
    path.write_bytes(PACKERS[ending](TEXT))

    found = names(path)

    assert (len(found), found[0], found[-1]) == (30_001, "Ann", "Zoë 29999")


def test_several_members_of_one_gzip_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(TEXT[:1000]) + gzip.compress(TEXT[1000:]))

    assert len(names(path)) == 30_001


def test_the_policy_may_say_what_the_name_does_not(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(gzip.compress(TEXT))

    assert len(names(path, compression="gzip")) == 30_001


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize(
    "damage", [lambda data: data[:-10], lambda data: data[: len(data) // 2], lambda data: b"name,note\n1,2\n"], ids=["end", "half", "plain"]
)
def test_a_damaged_file_is_refused_in_one_sentence(ending: str, damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / f"data.csv{ending}"
    path.write_bytes(damage(PACKERS[ending](TEXT)))

    with pytest.raises(DataError) as caught:
        names(path)

    assert caught.value.code == "file-compression"


@pytest.mark.parametrize("ending", PACKERS)
def test_a_release_is_compressed_as_its_name_says_and_verified_as_it_was_written(
    ending: str, tmp_path: Path, write_policy: Callable[..., Path]
) -> None:
    columns = {"age": {"role": "quasi_identifier"}, "note": {"role": "other", "accept": "singling_out"}}
    rows = "age,note\n" + "".join(f"{20 + number % 9},n{number}\n" for number in range(500))
    policy = {"source": f"in.csv{ending}", "columns": columns, "promises": [{"k_anonymity": {"k": 5}}], "sink": f"out.csv{ending}"}
    (tmp_path / f"in.csv{ending}").write_bytes(PACKERS[ending](rows.encode()))

    release = sfumato.run(write_policy(policy))

    source = Delimited(path=str(tmp_path / f"out.csv{ending}"))
    written = [row for batch in source.batches(["age", "note"]) for row in batch.to_pylist()]
    assert sorted(row["note"] for row in written) == sorted(f"n{number}" for number in range(500))
    assert release.table.num_rows == 500


def test_the_same_release_is_the_same_file(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    policy = {"source": "data.csv", "columns": {"age": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}], "sink": "out.csv.gz"}
    path = write_policy(policy, "age\n1\n1\n2\n2\n")

    sfumato.run(path)
    first = (tmp_path / "out.csv.gz").read_bytes()
    sfumato.run(path)

    assert (tmp_path / "out.csv.gz").read_bytes() == first


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("behind", [b"garbage", None], ids=["garbage", "damaged member"])
def test_what_is_wrong_behind_the_first_member_loses_no_row(ending: str, behind: bytes | None, tmp_path: Path) -> None:
    first, second = PACKERS[ending](TEXT[:1000]), PACKERS[ending](TEXT[1000:])
    path = tmp_path / f"data.csv{ending}"
    path.write_bytes(first + second)
    assert len(names(path)) == 30_001

    path.write_bytes(first + (behind if behind is not None else bytes([second[0] ^ 1]) + second[1:]))
    with pytest.raises(DataError) as caught:
        names(path)
    assert caught.value.code == "file-compression"
