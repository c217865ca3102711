"""A stream with a clock that is wrong: what its keeper is told, and that the check counts the stream's time anew."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.engine.stream.running import Running, run_stream
from tests.stream_policy import POLICY

Command = Callable[..., Any]
COLUMNS: dict[str, Any] = POLICY["columns"] | {"at": {"role": "identifier", "type": "timestamp"}}
WAYS: dict[str, dict[str, Any]] = {
    "windows": {"columns": COLUMNS, "promises": POLICY["promises"], "window": {"time": "10s", "column": "at"}},
    "events": {
        "columns": COLUMNS | {"age": {"role": "identifier", "type": "integer"}},
        "algorithm": {"z_anonymity": {"z": 3, "window": "20s", "time": "at", "path": "illness"}},
    },
}
VIEWS = {"one": {"sink": "one.jsonl"}, "other": {"sink": "other.jsonl"}}


def ran(folder: Path, way: str, **stream: Any) -> Path:
    """Run a stream of 55 records, in two times, of which the twentieth is of the year 2031."""
    path = folder / "policy.yaml"
    policy: dict[str, Any] = {"subject": "pid", "source": "events.jsonl", "views": VIEWS, **WAYS[way], "stream": POLICY["stream"] | stream}
    path.write_text(json.dumps(policy))
    told = [{"pid": n % 17, "age": 20 + n % 9, "illness": ("flu", "gout")[n % 2], "at": f"2026-01-01T00:00:{n:02}Z"} for n in range(55)]
    told[20]["at"] = "2031-01-01T00:00:00Z"
    for part, end in ((told[:30], "keep"), (told[30:], "flush")):
        with (folder / "events.jsonl").open("a") as file:
            file.writelines(json.dumps(record) + "\n" for record in part)
        run_stream(path, Running(once=True, at_end=end))  # type: ignore[arg-type]
    return path


def test_status_and_summary_say_that_most_records_are_late_and_why(tmp_path: Path, sfumato_command: Command) -> None:
    path = ran(tmp_path, "windows")
    told = "clock: 62% of the latest records are late; the stream's time is 5 years ahead of the records that come"
    assert sfumato_command("stream", "status", str(path)).stdout.count(told) == 2
    assert sfumato_command("stream", "run", str(path), "--once").stdout.count(told) == 2


@pytest.mark.parametrize("way", WAYS)
def test_a_record_ahead_of_its_time_is_kept_whole_and_the_check_agrees(tmp_path: Path, way: str) -> None:
    path = ran(tmp_path, way, jump="1h")
    letters = [json.loads(line) for line in (tmp_path / "state" / "dead_letters.jsonl").read_text().splitlines()]
    assert [(each["record"], each["view"], each["code"], each["column"]) for each in letters] == [
        (20, "one", "time-ahead", "at"),
        (20, "other", "time-ahead", "at"),
    ]
    assert letters[0]["content"]["at"].startswith("2031")
    found = sfumato.check_stream(path)
    assert found.sentences() == []
    assert {accounts["late"] for accounts in found.accounts.values()} == {0}


@pytest.mark.parametrize("way", WAYS)
def test_late_records_that_were_set_aside_hold(tmp_path: Path, way: str) -> None:
    path = ran(tmp_path, way, on_late="set_aside")
    found = sfumato.check_stream(path)
    assert found.sentences() == []
    assert {(accounts["late"], accounts["dead"]) for accounts in found.accounts.values()} == {(0, 34)}


@pytest.mark.parametrize(
    ("way", "code", "other", "what"),
    [
        ("windows", "time-ahead", "mask-null", "a record ahead of the stream's time was taken"),
        ("events", "time-ahead", "late", "a record was set aside as late, and is not"),
    ],
)
def test_a_reason_that_somebody_has_changed_is_found(tmp_path: Path, way: str, code: str, other: str, what: str) -> None:
    path = ran(tmp_path, way, jump="1h")
    file = tmp_path / "state" / "dead_letters.jsonl"
    file.write_text(file.read_text().replace(code, other))
    with sqlite3.connect(tmp_path / "state" / "state.sqlite") as database:
        database.execute("UPDATE file SET length = ? WHERE path = ?", (file.stat().st_size, file.name))
    database.close()
    assert ("dead letters", what) in sfumato.check_stream(path).views["one"].broken
