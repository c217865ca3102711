"""What a record says beside its measures: when it was made, as what columns were read, and what a reader should know."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.cli.run import summary
from sfumato.core.record import RunRecord

ROWS = 12
AGES = {"age": [str(30 + i % 3) for i in range(ROWS)]}


def run(data: dict[str, list[str]], promises: bool = True, **columns: Any) -> RunRecord:
    asked = {"columns": {"age": {"role": "quasi_identifier"}, **columns}, "promises": [{"k_anonymity": {"k": 2}}]}
    if not promises:
        asked = {"columns": {**columns, "age": {"role": "other"}}}
    return sfumato.run(asked, data=pa.table(data)).record


def singling_notes(record: RunRecord) -> list[str]:
    return [note for note in record.notes if "single people out" in note]


def test_a_record_says_when_it_was_made_in_utc() -> None:
    before = datetime.now(UTC)
    made = run(AGES).made

    told = datetime.strptime(made, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert before - timedelta(seconds=1) <= told <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["30", "31"], "integer"), (["30", "31.5"], "decimal"), (["2020-01-31", "2020-02-01"], "date"), (["030", "31"], "text")],
)
def test_a_record_and_its_summary_say_as_what_a_column_was_read(values: list[str], kind: str) -> None:
    record = run({"age": values * 2})

    assert record.columns["age"]["type"] == kind
    assert f"\nread as   age {kind}\n" in summary(record, "x")


def test_a_sensitive_column_of_values_that_occur_once_is_named_without_them() -> None:
    record = run({**AGES, "code": [f"secret {i}" for i in range(ROWS)]}, code={"role": "sensitive"})

    note = "most values of these columns occur once, and they are published as they are, so that each alone may single people out: code"
    assert singling_notes(record) == [note]
    assert f"\nnote      {note}\n" in summary(record, "x")
    assert "secret" not in str(record.as_mapping())


def test_a_column_that_the_policy_accepts_is_named_too() -> None:
    data = {**AGES, "code": [f"secret {i}" for i in range(ROWS)], "badge": [f"badge {i}" for i in range(ROWS)]}
    record = run(data, code={"role": "sensitive"}, badge={"role": "other", "accept": "singling_out"})

    assert [note.rsplit(": ", 1)[1] for note in singling_notes(record)] == ["code, badge"]


def test_a_sensitive_column_of_frequent_values_needs_no_note() -> None:
    assert singling_notes(run({**AGES, "illness": ["flu", "cold"] * (ROWS // 2)}, illness={"role": "sensitive"})) == []


def test_without_a_promise_the_record_says_that_and_no_more() -> None:
    record = run({**AGES, "code": [f"secret {i}" for i in range(ROWS)]}, promises=False, code={"role": "sensitive"})

    assert record.notes == ["nothing was promised: columns are removed, masked or kept, and nobody is protected beyond that"]


def test_the_record_tells_how_well_people_are_told_apart_before_and_after() -> None:
    import pyarrow as pa

    import sfumato

    table = pa.table({"age": [30, 31, 40, 41]})
    measures = sfumato.run({"columns": {"age": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]}, data=table).record.measures

    assert (measures["before"]["risk"]["separation"], measures["before"]["risk"]["distinction"]) == (1.0, 1.0)
    # two classes of two: four of the six pairs are told apart
    assert (round(measures["after"]["risk"]["separation"], 4), measures["after"]["risk"]["distinction"]) == (0.6667, 0.5)
