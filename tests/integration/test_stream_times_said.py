"""Times that a column does not say in the way that the policy says it, or does not say at all."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato
from sfumato.errors import PolicyError


def policy(kind: str | None, **way: Any) -> dict[str, Any]:
    declared = {"type": kind} if kind else {}
    columns = {"person": {"role": "identifier"}, "at": {"role": "identifier"}, "item": {"role": "sensitive"}}
    asked = {"subject": "person", "columns": columns, **way}
    return asked | {"columns": asked["columns"] | {"at": {"role": "identifier", **declared}}}


WINDOWS = {
    "window": {"time": "1h", "column": "at"},
    "columns": {"person": {"role": "identifier"}, "at": {"role": "identifier"}, "item": {"role": "quasi_identifier"}},
    "promises": [{"k_anonymity": {"k": 2}}],
}
EVENTS = {"algorithm": {"z_anonymity": {"z": 2, "time": "at", "path": "item"}}}


@pytest.mark.parametrize("kind", ["timestamp", "date"])
@pytest.mark.parametrize(("way", "key"), [(WINDOWS, "window.column"), (EVENTS, "algorithm")])
def test_numbers_in_a_column_that_is_said_to_be_of_instants_end_the_stream(kind: str, way: dict[str, Any], key: str) -> None:
    session = sfumato.stream(policy(kind, **way), secret=bytes(32))

    with pytest.raises(PolicyError) as caught:
        session.push([{"person": f"p{number}", "at": 1_772_409_600 + number, "item": "a"} for number in range(4)])

    (mistake,) = caught.value.mistakes
    assert (mistake.key, mistake.code) == (key, "policy-window-time")
    assert mistake.message == f"the column at is said to be of type {kind}, and numbers come, of which nobody says what they count"


def test_first_records_without_a_time_are_dead_letters_and_leave_open_what_times_are() -> None:
    session = sfumato.stream(policy(None, **EVENTS), secret=bytes(32))

    first = session.push([{"person": "a", "at": None, "item": "x"}])
    second = session.push([{"person": name, "at": 1_772_409_600 + place, "item": "x"} for place, name in enumerate("abc")])

    assert [(letter.number, letter.code) for letter in first.dead] == [(0, "time-missing")]
    assert second.dead == []
    assert session.accounts.released > 0
