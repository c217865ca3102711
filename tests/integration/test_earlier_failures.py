"""How earlier systems failed at masking: each of their failures, tried here."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato
from sfumato.errors import DataError, PolicyError

ODD = [
    "O'Brien",
    'say "hi"',
    "a,b",
    "x;y",
    "'; DROP TABLE people; --",
    "back\\slash",
    "two\nlines",
    "tab\there",
    "null",
    "NULL",
    "None",
    "0",
    "ö🙂",
    " ",
]


def run(tmp_path: Path, values: list[str | None], mask: Any, **column: Any) -> list[str | None]:
    """Mask a column of a CSV file and return what was written, in the order of a column beside it."""
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["place", "value"])
        for place, value in enumerate(values):
            file.write(f"{place},") if value is None else writer.writerow([place, value])
            file.write("\n") if value is None else None
    policy = {
        "source": str(tmp_path / "in.csv"),
        "columns": {"place": {"role": "other"}, "value": {"role": "other", "mask": mask, **column}},
        "sink": str(tmp_path / "out.parquet"),
    }
    sfumato.run(policy)
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    return [row["value"] for row in sorted(rows, key=lambda row: int(row["place"]))]


def test_quotes_and_commands_in_values_are_values(tmp_path: Path) -> None:
    found = run(tmp_path, list(ODD), {"hash": {"unkeyed": "sha256"}})

    assert found == [hashlib.sha256(value.encode()).hexdigest() for value in ODD]


@pytest.mark.parametrize(
    "mask", [{"hash": {"unkeyed": "sha256"}}, {"tokenise": {"namespace": "earlier"}}, {"character_mask": {}}, {"shorten": {"length": 2}}], ids=str
)
def test_a_missing_value_is_neither_the_text_null_nor_zero(tmp_path: Path, mask: Any) -> None:
    found = run(tmp_path, ["null", None, "0", "None"], mask)

    assert found[1] is None
    assert all(value is not None for value in (found[0], found[2], found[3]))


def test_sha_3_is_the_one_of_the_standard(tmp_path: Path) -> None:
    # one system called the digest before the standard, with other padding, by this name
    (found,) = run(tmp_path, ["abc"], {"hash": {"unkeyed": "sha3_256"}})

    assert found == "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"


def test_the_masking_character_is_the_one_that_was_asked_for(tmp_path: Path) -> None:
    assert run(tmp_path, ["abcd"], {"pattern_mask": {"pattern": "OXXO", "character": "%"}}) == ["a%%d"]


def test_no_row_is_lost_or_added_by_masks_alone(tmp_path: Path) -> None:
    values: list[str | None] = [*ODD, None, *ODD, *["same"] * 40]

    for mask in ("shuffle", "constant", "empty", {"hash": {"unkeyed": "sha256"}}, {"swap": {}}):
        assert len(run(tmp_path, values, mask)) == len(values)


def test_a_shuffled_column_has_all_its_values(tmp_path: Path) -> None:
    assert sorted(run(tmp_path, list(ODD), "shuffle"), key=str) == sorted(ODD)


def test_chance_is_not_seeded_by_the_clock_or_a_constant(tmp_path: Path) -> None:
    values: list[str | None] = [str(number) for number in range(200)]

    assert run(tmp_path, values, "shuffle") != run(tmp_path, values, "shuffle")


@pytest.mark.parametrize("kind", [pa.list_(pa.binary()), pa.binary(), pa.duration("s")], ids=str)
def test_a_type_that_is_not_known_is_refused_and_never_passed_on(tmp_path: Path, kind: pa.DataType) -> None:
    parquet.write_table(
        pa.table({"value": pa.nulls(2, kind)}) if kind != pa.duration("s") else pa.table({"value": pa.array([1, 2], kind)}), tmp_path / "in.parquet"
    )
    policy = {"source": str(tmp_path / "in.parquet"), "columns": {"value": {"role": "other", "mask": "shuffle"}}, "sink": str(tmp_path / "out.csv")}

    with pytest.raises(DataError) as raised:
        sfumato.run(policy)
    assert raised.value.code == "column-nested"
    assert not (tmp_path / "out.csv").exists()


def test_an_operation_that_does_not_fit_its_type_is_refused_before_the_first_row(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"value": pa.array(["2020-01-31"]).cast(pa.date32())}), tmp_path / "in.parquet")
    policy = {
        "source": str(tmp_path / "in.parquet"),
        "columns": {"value": {"role": "other", "mask": "microaggregate"}},
        "sink": str(tmp_path / "out.csv"),
    }

    with pytest.raises(PolicyError) as raised:
        sfumato.run(policy)
    assert [(mistake.code, mistake.message) for mistake in raised.value.mistakes] == [
        ("policy-mask-type", "microaggregate takes integer or decimal, and the column is of type date")
    ]


def test_a_column_that_must_stay_unique_is_measured(tmp_path: Path) -> None:
    values: list[str | None] = ["aaa1", "aaa2", "bbb3"]

    with pytest.raises(DataError) as raised:
        run(tmp_path, values, {"redact": {"patterns": {"number": "[0-9]"}}}, unique=True)
    assert raised.value.code == "mask-not-unique"
    assert len(set(run(tmp_path, values, {"hash": {"unkeyed": "sha256"}}, unique=True))) == 3


def test_a_column_without_a_mask_named_twice_or_not_at_all_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("name,new\nAda,secret\n")
    policy = {"source": str(tmp_path / "in.csv"), "columns": {"name": {"role": "other", "mask": "constant"}}, "sink": str(tmp_path / "out.csv")}

    with pytest.raises(DataError) as raised:
        sfumato.run(policy)
    assert raised.value.code == "columns-differ"
