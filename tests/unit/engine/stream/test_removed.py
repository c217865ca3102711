"""Values that masks of a stream have removed are counted, so that a release of hardly any values does not look like a full one."""

from __future__ import annotations

from typing import Any

import sfumato
from sfumato.cli.stream import _of_view
from sfumato.engine.stream.history import told_of
from sfumato.engine.stream.progress import as_numbers

MEAN = {"aggregate": {"function": "average", "by": ["zip"], "k": 5}}
POLICY: dict[str, Any] = {
    "subject": "person",
    "columns": {
        "person": {"role": "identifier"},
        "zip": {"role": "other"},
        "cost": {"role": "sensitive", "type": "decimal", "mask": MEAN, "on_invalid": "remove"},
    },
    "window": {"count": 20},
}
CODE = {"regex_replace": {"pattern": "^([a-z])-", "replacement": r"\1", "unmatched": "remove"}}


def records(number: int = 20) -> list[dict[str, Any]]:
    """Return records of which the first six live in one place, and each other in another; one has no cost."""
    return [{"person": f"p{place}", "zip": str(max(place, 5)), "cost": None if place == 19 else 10.0 + place} for place in range(number)]


def test_values_of_small_groups_that_were_removed_are_counted_and_told() -> None:
    session = sfumato.stream(POLICY)
    (release,) = session.push(records())

    assert release.batch.column("cost").null_count == 14
    assert session.measured()["removed"] == {"cost": 13}
    told = _of_view("", session.accounts.as_mapping(), as_numbers(told_of(session)), {})
    assert "          values that masks have removed: 13 of cost" in told


def test_they_are_counted_of_masks_that_work_as_records_come_and_in_a_state() -> None:
    policy = POLICY | {"columns": {"person": {"role": "identifier"}, "code": {"role": "other", "mask": CODE}}, "promises": [], "window": None}
    given = {key: value for key, value in policy.items() if value is not None}
    first, second = sfumato.stream(given, secret=bytes(32)), sfumato.stream(given, secret=bytes(32))
    first.push([{"person": str(place), "code": "a-1" if place % 2 else "12"} for place in range(10)])

    second.restore(first.snapshot())

    assert second.measured()["removed"] == {"code": 5}


def test_a_value_that_was_missing_before_was_not_removed() -> None:
    session = sfumato.stream(POLICY)
    (release,) = session.push([{"person": f"p{place}", "zip": "1", "cost": None if place < 3 else 1.0} for place in range(20)])
    assert release.removed == {}
