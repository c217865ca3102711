"""A note on values that only their writing tells apart."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato


@pytest.mark.parametrize(("other", "is_told"), [("flu", True), ("FLU ", True), ("gout", False)])
def test_sensitive_values_that_differ_only_in_their_writing_are_told(other: str, is_told: bool) -> None:
    table = pa.table({"age": [30, 30, 40, 40], "illness": ["Flu", other] * 2})
    columns = {"age": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}
    release: Any = sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 2}}, {"l_diversity": {"column": "illness", "l": 2}}]}, table)
    words = "column illness: 2 of its values differ from others only in case, accents or spaces: promises tell them apart, readers may not"

    assert (words in release.record.notes) is is_told


@pytest.mark.parametrize(("other", "is_told"), [("Ann", True), (" ann ", True), ("bob", False)])
def test_people_whom_only_their_writing_tells_apart_are_told(other: str, is_told: bool) -> None:
    table = pa.table({"age": [30, 30, 40, 40], "person": ["ann", other] * 2})
    columns = {"age": {"role": "quasi_identifier"}, "person": {"role": "identifier"}}
    release: Any = sfumato.run({"columns": columns, "subject": "person", "promises": [{"k_anonymity": {"k": 2}}]}, table)
    words = (
        "subject person: 2 of its values differ from others only in case, accents or spaces, and count as several people: where they are one, "
        "bring them together first, in a database by a view (SELECT lower(trim(person)) AS person)"
    )

    assert (words in release.record.notes) is is_told
