"""What is measured of a stream over time is taken by the stream's own time, and told of views that look at no time too."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sfumato.engine.stream.report import measured_over_time
from sfumato.engine.stream.running import Running, run_stream
from sfumato.policy.load import load

HOUR = 3600.0
BEGIN = 1_767_225_600.0  # 2026-01-01


def ran(folder: Path, hours: int) -> dict[str, list[dict[str, Any]]]:
    """Run a stream of a record a minute through three views, one of which looks at no time, and return what was measured."""
    columns = {"pid": {"role": "identifier"}, "at": {"role": "identifier", "type": "timestamp"}, "item": {"role": "sensitive"}}
    policy = {
        "source": "events.jsonl",
        "subject": "pid",
        "columns": columns,
        "stream": {"state": "state", "batch": 20},
        "views": {
            "plain": {"sink": "plain.csv"},
            "events": {"algorithm": {"z_anonymity": {"z": 3, "time": "at", "path": "item"}}, "sink": "events.csv"},
        },
    }
    told = [
        {"pid": number % 7, "at": f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z", "item": ("a.b", "a.c")[number % 11 == 0]}
        for number in range(60 * hours)
    ]
    (folder / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in told))
    (folder / "policy.yaml").write_text(json.dumps(policy))
    run_stream(folder / "policy.yaml", Running(once=True))
    return measured_over_time(load(folder / "policy.yaml"))


def test_a_stream_that_is_replayed_has_points_by_its_own_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # however slow the machine is: measuring may take as long as it likes
    monkeypatch.setattr("sfumato.engine.stream.history._SHARE", 0.0)
    points = ran(tmp_path, 5)["events"]
    assert len({point["records"] for point in points}) == 15
    assert [point["time"] for point in points] == sorted(BEGIN + 60 * (point["records"] - 1) for point in points)
    assert points[-1]["time"] == BEGIN + 5 * HOUR - 60
    assert {"shares.0", "by_level.0", "silent", "people", "p_kanon", "entropy_before", "entropy_after", "residual_information"} <= points[-1].keys()


def test_a_view_that_looks_at_no_time_has_that_of_the_others(tmp_path: Path) -> None:
    views = ran(tmp_path, 3)
    assert all(BEGIN <= point["time"] <= BEGIN + 3 * HOUR for point in views["plain"])
    assert views["plain"][-1]["time"] == views["events"][-1]["time"]


def test_people_of_whom_nothing_is_published_are_not_told_where_they_are_fewer_than_z(tmp_path: Path) -> None:
    silent = [point["silent"] for point in ran(tmp_path, 3)["events"]]
    assert all(number is None or number == 0 or number >= 3 for number in silent)


def test_a_stream_in_which_nobody_looks_at_a_time_has_points_by_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.engine.stream.history._SHARE", 0.0)
    columns = {"pid": {"role": "identifier"}, "age": {"role": "quasi_identifier", "type": "integer"}}
    policy = {
        "source": "people.jsonl",
        "subject": "pid",
        "columns": columns,
        "promises": [{"k_anonymity": {"k": 2}}],
        "window": {"count": 100},
        "stream": {"state": "state", "batch": 50},
        "sink": "release.csv",
    }
    (tmp_path / "people.jsonl").write_text("".join(json.dumps({"pid": number, "age": number % 90}) + "\n" for number in range(10_000)))
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    run_stream(tmp_path / "policy.yaml", Running(once=True))

    records = sorted({point["records"] for point in measured_over_time(load(tmp_path / "policy.yaml"))[""]})

    # each piece at first, and a hundredth apart then
    assert records[:3] == [50, 100, 150]
    assert all(later - earlier >= 100 for earlier, later in pairwise(records[:-1]) if earlier > 5000)
