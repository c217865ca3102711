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


@pytest.mark.parametrize(
    "mask", [{"hash": {"key": "main"}}, {"deterministic_encrypt": {"key": "main"}}, {"tokenise": {"namespace": "linking"}}], ids=str
)
def test_a_pseudonym_that_puts_the_rows_of_one_person_together_is_refused(mask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKING_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")
    pids = [number for number in range(PEOPLE) for _ in range(3)]
    table = pa.table({"pid": pids, "age": [30 + place % 4 for place in range(len(pids))], "mail": [f"{pid}@example.org" for pid in pids]})

    def given(**more: Any) -> dict[str, Any]:
        mail = {"role": "identifier", "mask": mask, **more}
        columns = {"pid": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "mail": mail}
        keys = {"main": {"environment": "LINKING_KEY"}}
        return {"columns": columns, "keys": keys, "subject": "pid", "promises": [{"k_anonymity": {"k": 5}}], "name": "linking"}

    with pytest.raises(PromiseError, match="are one person's alone and show which rows are theirs"):
        sfumato.run(given(), table)
    assert sfumato.run(given(accept="singling_out"), table).table.num_rows == len(pids)
    # where everybody has one row there is nothing to put together
    alone = table.take(pa.array(range(0, len(pids), 3)))
    assert sfumato.run(given(), alone).table.num_rows == PEOPLE


def test_where_nothing_is_promised_the_subject_may_have_a_pseudonym(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKING_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")
    columns = {"pid": {"role": "identifier", "mask": {"hash": {"key": "main"}}}, "drug": {"role": "other"}}
    policy = {"columns": columns, "keys": {"main": {"environment": "LINKING_KEY"}}, "subject": "pid", "name": "doctors"}
    release: Any = sfumato.run(policy, pa.table({"pid": ["a", "a", "b"], "drug": ["x", "y", "x"]}))

    assert len(set(release.table["pid"].to_pylist())) == 2
