"""Days beyond what can be told in microseconds, in a column of instants: their records are set aside, and no others with them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato

DAY = 19_723
POLICY: dict[str, Any] = {
    "subject": "person",
    "columns": {"person": {"role": "identifier"}, "since": {"role": "quasi_identifier", "type": "timestamp"}},
    "promises": [{"k_anonymity": {"k": 2}}],
    "window": {"count": 4},
}


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
@pytest.mark.parametrize("far", [2**30, -(2**31)])
def test_a_day_far_away_is_a_dead_letter(far: int, kind: pa.DataType) -> None:
    session = sfumato.stream(POLICY, secret=bytes(32))
    session.push([{"person": number, "since": f"2024-01-0{number + 1}"} for number in range(4)])
    days = pa.array([DAY, far, DAY + 1], pa.int32()).cast(pa.date32()).cast(kind)
    pushed = session.push(pa.table({"person": [5, 6, 7], "since": days}))
    assert [(letter.number, letter.code, letter.column) for letter in pushed.dead] == [(5, "value-type", "since")]
    assert session.accounts.held == 2
