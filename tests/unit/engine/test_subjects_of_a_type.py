"""Subjects that are not of their declared type: nobody's rows, and the record says so."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato


def notes(subjects: list[str | None], kind: str | None) -> list[str]:
    columns: dict[str, Any] = {"id": {"role": "identifier", **({"type": kind} if kind else {})}, "age": {"role": "quasi_identifier"}}
    policy = {"subject": "id", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}]}
    data = pa.table({"id": pa.array(subjects, pa.string()), "age": [30] * len(subjects)})
    return [note for note in sfumato.run(policy, data=data).record.notes if "subject" in note]


@pytest.mark.parametrize("stranger", ["07", "7.0", "seven"])
def test_subjects_that_are_not_of_their_type_are_told(stranger: str) -> None:
    [note] = notes(["7", "8", stranger], "integer")
    assert note == (
        "some rows have a subject that is not of type integer: they count as one person, whom nobody knows and who may be one of the others; "
        "mend them, or declare type: text"
    )


@pytest.mark.parametrize("kind", ["integer", "text", None])
def test_missing_subjects_and_those_of_their_type_are_not(kind: str | None) -> None:
    assert notes(["7", "8", "-9", None, ""], kind) == []
