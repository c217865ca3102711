"""Columns by which alone somebody is found: people are counted, not rows, where one has several."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PromiseError

PEOPLE = 40


def run(column: dict[str, Any], rows_of_one: int = 2) -> Any:
    pids = [number for number in range(PEOPLE) for _ in range(rows_of_one)]
    table = pa.table({"pid": pids, "age": [30 + pid % 4 for pid in pids], "phone": [f"0421 {pid}" for pid in pids]})
    columns = {"pid": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "phone": column}
    return sfumato.run({"columns": columns, "subject": "pid", "promises": [{"k_anonymity": {"k": 5}}]}, table)


@pytest.mark.parametrize("rows_of_one", [1, 2, 7])
@pytest.mark.parametrize("column", [{"role": "other"}, {"role": "other", "mask": {"regex_replace": {"pattern": "0", "replacement": "9"}}}], ids=str)
def test_a_value_of_one_person_alone_singles_out_however_many_rows_there_are(column: dict[str, Any], rows_of_one: int) -> None:
    with pytest.raises(PromiseError) as caught:
        run(column, rows_of_one)
    assert caught.value.code == "singling-out"


def test_of_a_sensitive_column_it_is_told() -> None:
    assert any("phone" in note and "occur once" in note for note in run({"role": "sensitive"}).record.notes)


def test_an_anonymiser_counts_people_too() -> None:
    pids = [number for number in range(PEOPLE) for _ in range(2)]
    columns = {"pid": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "phone": {"role": "other"}}
    policy = {"columns": columns, "subject": "pid", "promises": [{"k_anonymity": {"k": 2}}]}
    shared = pa.table({"pid": pids, "age": [30] * len(pids), "phone": ["0421"] * len(pids)})
    told = sfumato.Anonymiser(policy).fit(shared)

    with pytest.raises(PromiseError, match="singling-out"):
        told.transform(shared.set_column(2, "phone", pa.array([f"0421 {pid}" for pid in pids])))
