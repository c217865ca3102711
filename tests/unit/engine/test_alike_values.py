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
