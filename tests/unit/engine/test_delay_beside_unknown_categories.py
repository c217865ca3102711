"""With ``castle`` a record waits for ``delta`` others; one that is left out as it comes is none of them."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato

POLICY: dict[str, Any] = {
    "subject": "pid",
    "columns": {"pid": {"role": "identifier", "type": "text"}, "town": {"role": "quasi_identifier", "type": "text"}},
    "promises": [{"k_anonymity": {"k": 2}}],
    "algorithm": {"castle": {"delta": 20}},
    "stream": {"learn": 40},
}


@pytest.mark.parametrize(("town", "wait_on"), [("late", True), ("town 1", False)])
def test_records_left_out_as_they_come_do_not_count_towards_delta(town: str, wait_on: bool) -> None:
    session = sfumato.stream(POLICY, secret=bytes(32))
    session.push([{"pid": f"p{number}", "town": f"town {number % 30}"} for number in range(60)])
    held = session.accounts.held
    pushed = session.push([{"pid": f"q{number}", "town": town} for number in range(60)])

    left = [number for release in pushed for number in release.numbers.tolist() if number < 60]
    assert held > 0
    assert (not left) is wait_on
