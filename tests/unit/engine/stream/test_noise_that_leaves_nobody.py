"""Noise must leave true people among those who are made up."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato
from sfumato.errors import PolicyError

POLICY: dict[str, Any] = {
    "subject": "pid",
    "columns": {"pid": {"role": "other"}, "at": {"role": "other", "type": "timestamp"}, "item": {"role": "sensitive"}},
}


@pytest.mark.parametrize(
    ("settings", "is_refused"),
    [
        ({"z": 3, "noise": {"diffmax": 5}}, True),
        ({"z": 3, "noise": {"diffmax": 3}}, True),
        ({"z": 3, "noise": {"diffmax": 2}}, False),
        ({"z": 10, "noise": {"diffmax": 0.9}}, False),
        ({"z": 10, "noise": {"diffmax": 4}, "tuning": {}}, True),
        ({"z": 10, "noise": {"diffmax": 4}, "tuning": {"z_min": 5}}, False),
        ({"z": 3, "noise": {"diffmax": 3}, "original": True}, False),
    ],
)
def test_noise_that_could_leave_nobody_true_is_refused(settings: dict[str, Any], is_refused: bool) -> None:
    policy = {**POLICY, "algorithm": {"z_anonymity": {"time": "at", "path": "item", **settings}}}
    if not is_refused:
        sfumato.stream(policy)
        return
    with pytest.raises(PolicyError) as caught:
        sfumato.stream(policy)
    assert "lets as many people be made up as must seem" in str(caught.value)
