"""Instants of typed sources in files of text: one form, whether they are kept, masked or generalised, and the same instant as before."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato

BERLIN = datetime.timezone(datetime.timedelta(hours=1))
INSTANTS = [datetime.datetime(2020, 1, 31, 13, 30, tzinfo=BERLIN), datetime.datetime(1969, 12, 31, 23, 59, 59, 120000, tzinfo=datetime.UTC), None]
WRITTEN = ["2020-01-31T12:30:00Z", "1969-12-31T23:59:59.12Z", None]
TYPES = {
    "in UTC": pa.timestamp("us", tz="UTC"),
    "in a zone": pa.timestamp("ms", tz="Europe/Berlin"),
    "without a zone": pa.timestamp("ns"),
}


def source(tmp_path: Path, kind: pa.DataType, copies: int = 3) -> pa.Array:
    values = pa.array(INSTANTS * copies, pa.timestamp("us", tz="UTC")).cast(kind, safe=False)
    pq.write_table(
        pa.table({"kept": values, "masked": values, "some": values, "row": [str(row) for row in range(len(values))]}), tmp_path / "in.parquet"
    )
    return values


def released(tmp_path: Path, sink: Any) -> None:
    columns = {
        "kept": {"role": "other"},
        "masked": {"role": "other", "mask": {"shorten": {"length": 40}}},
        "some": {"role": "other", "mask": {"shorten": {"length": 40}}, "when": {"column": "row", "one_of": ["0", "1"]}},
        "row": {"role": "other"},
    }
    (tmp_path / "policy.yaml").write_text(json.dumps({"source": "in.parquet", "columns": columns, "accept": "singling_out", "sink": sink}))
    sfumato.run(tmp_path / "policy.yaml")


@pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("name", ["out.csv", "out.jsonl"])
def test_kept_and_masked_instants_have_one_form_in_files_of_text(tmp_path: Path, kind: pa.DataType, name: str) -> None:
    source(tmp_path, kind)
    released(tmp_path, name)
    with (tmp_path / name).open(newline="") as file:
        rows = [json.loads(line) for line in file] if name.endswith("jsonl") else list(csv.DictReader(file))

    for row in rows:
        wanted = WRITTEN[int(row["row"]) % 3]
        assert [row[column] or None for column in ("kept", "masked", "some")] == [wanted] * 3


@pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES)
def test_kept_instants_keep_their_type_where_a_file_has_types(tmp_path: Path, kind: pa.DataType) -> None:
    values = source(tmp_path, kind)
    released(tmp_path, "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    order = [int(row) for row in table.column("row").to_pylist()]

    assert table.schema.field("kept").type == kind
    assert table.column("kept").to_pylist() == [values[row].as_py() for row in order]


def test_kept_and_generalised_instants_have_one_form(tmp_path: Path) -> None:
    source(tmp_path, TYPES["in UTC"], copies=4)
    columns = {"kept": {"role": "quasi_identifier"}, "masked": {"role": "sensitive"}, "some": {"role": "identifier"}, "row": {"role": "identifier"}}
    policy = {"source": "in.parquet", "columns": columns, "promises": [{"k_anonymity": {"k": 4}}], "sink": "out.csv"}
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    sfumato.run(tmp_path / "policy.yaml")
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert all(row["kept"] == row["masked"] for row in rows)
