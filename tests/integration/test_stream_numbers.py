"""Numbers in delimited text: what becomes of a record hangs on its own digits, and not on how the stream was cut into batches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato
from sfumato.engine.stream.running import Running, run_stream
from tests.stream_policy import POLICY

COLUMNS = {"pid": {"role": "identifier"}, "age": {"role": "quasi_identifier", "type": "decimal"}, "illness": {"role": "sensitive", "type": "decimal"}}


def accounts(folder: Path, ages: list[str], doses: list[str], batch: int) -> tuple[int, int]:
    told = POLICY | {"source": "events.csv", "columns": COLUMNS, "promises": [{"k_anonymity": {"k": 2}}], "window": {"count": 12}}
    (folder / "policy.yaml").write_text(json.dumps(told | {"stream": {"state": "state", "batch": batch}}))
    rows = [f"{number},{ages[number % len(ages)]},{doses[number % len(doses)]}\n" for number in range(12)]
    (folder / "events.csv").write_text("pid,age,illness\n" + "".join(rows))
    found = run_stream(folder / "policy.yaml", Running(once=True)).views[""].accounts
    return found["released"], found["dead"]


@pytest.mark.parametrize("batch", [1, 5000])
@pytest.mark.parametrize("doses", [["9007199254740993", "1e3", "2.5"], ["12345678901234567.5", "1e3"], ["9007199254740993e0", "2.5"]])
def test_an_exponent_decides_of_no_other_number(tmp_path: Path, doses: list[str], batch: int) -> None:
    is_exact = "e0" not in doses[0]

    assert accounts(tmp_path, ["30"], doses, batch) == ((12, 0) if is_exact else (6, 6))
    assert sfumato.check_stream(tmp_path / "policy.yaml").sentences() == []


@pytest.mark.parametrize("ages", [["0.1", "0.3", "0.30000000000000004"], ["1234567.1", "0.0000000001"], ["1e3", "2.5"]])
def test_the_check_finds_what_was_written_in_numbers_of_many_decimals(tmp_path: Path, ages: list[str]) -> None:
    assert accounts(tmp_path, ages, ["1"], 5000) == (12, 0)
    assert sfumato.check_stream(tmp_path / "policy.yaml").sentences() == []
