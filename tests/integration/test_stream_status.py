"""What ``sfumato stream status`` says, held against manifest and report: while a stream runs, when it was stopped, and when it failed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.engine.stream import running
from sfumato.engine.stream.progress import StreamProgress
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import SfumatoError
from tests.stream_policy import POLICY

Command = Callable[..., Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(json.dumps(POLICY))
    append(tmp_path, 0, 45)
    return tmp_path / "policy.yaml"


def append(folder: Path, start: int, end: int) -> None:
    with (folder / "events.jsonl").open("a") as file:
        file.writelines(json.dumps({"pid": n, "age": 20 + n % 9, "illness": ("flu", "gout")[n % 2]}) + "\n" for n in range(start, end))


def status(path: Path, command: Command) -> dict[str, Any]:
    return dict(json.loads(command("stream", "status", str(path), "--format", "json").stdout))


def as_others_say(path: Path, command: Command) -> tuple[int, int, dict[str, int]]:
    """Return how many records the report knows of, how many rows the manifest lists, and what the report says became of the records."""
    last = json.loads(command("stream", "report", str(path), "--format", "json").stdout)[""][-1]
    listed = path.with_name("release.jsonl.manifest.jsonl").read_text().splitlines()
    accounts = {name.removeprefix("accounts."): number for name, number in last.items() if name.startswith("accounts.")}
    return last["records"], sum(json.loads(line)["rows"] for line in listed), accounts


def agrees(path: Path, command: Command) -> dict[str, Any]:
    told, (records, rows, accounts) = status(path, command), as_others_say(path, command)
    assert told["records"] == records
    assert told["views"][""]["accounts"] == accounts
    assert told["views"][""]["accounts"]["released"] == rows
    return told


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def committed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a stream that is gone after a commit, without its state having been kept."""
    with monkeypatch.context() as gone:
        gone.setattr(running._Stream, "_end", interrupted)
        gone.setattr(running.StreamSettings, "longest_wait", 0.0)
        with pytest.raises(KeyboardInterrupt):
            run_stream(path, Running(once=True))


@pytest.mark.parametrize(("at_end", "state", "held"), [("flush", "ended", 0), ("keep", "stopped", 5)])
def test_a_stream_that_has_ended_or_was_stopped(path: Path, at_end: Any, state: str, held: int, sfumato_command: Command) -> None:
    run_stream(path, Running(once=True, at_end=at_end))

    told = agrees(path, sfumato_command)
    assert (told["state"], told["views"][""]["accounts"]["held"]) == (state, held)
    assert "records   45\n" in sfumato_command("stream", "status", str(path)).stdout


def test_a_process_that_was_killed_before_it_said_what_it_had_committed(
    path: Path, monkeypatch: pytest.MonkeyPatch, sfumato_command: Command
) -> None:
    run_stream(path, Running(once=True, at_end="keep"))
    earlier = (path.parent / "state" / "status.json").read_text()
    append(path.parent, 45, 95)
    committed(path, monkeypatch)
    (path.parent / "state" / "status.json").write_text(json.dumps({**json.loads(earlier), "state": "running"}))

    told = agrees(path, sfumato_command)
    assert (told["state"], told["records"]) == ("interrupted", 95)
    assert sfumato.check_stream(path).state == "interrupted"


def test_a_stream_that_is_being_taken_up_again(path: Path, monkeypatch: pytest.MonkeyPatch, sfumato_command: Command) -> None:
    committed(path, monkeypatch)
    seen, recover = [], running._Stream._recover

    def looked_at(self: Any) -> None:
        seen.append(agrees(path, sfumato_command))
        recover(self)

    monkeypatch.setattr(running._Stream, "_recover", looked_at)
    run_stream(path, Running(once=True))

    assert (seen[0]["state"], seen[0]["records"]) == ("running", 45)
    assert "loss" in seen[0]["views"][""]["measured"]


def test_a_stream_that_cannot_be_taken_up_again(path: Path, monkeypatch: pytest.MonkeyPatch, sfumato_command: Command) -> None:
    committed(path, monkeypatch)
    (path.parent / "events.jsonl").unlink()
    with pytest.raises(SfumatoError) as refused:
        run_stream(path, Running(once=True))

    told = agrees(path, sfumato_command)
    assert (told["state"], told["error"], told["records"]) == ("failed", refused.value.code, 45)
    said = json.loads((path.parent / "state" / "status.json").read_text())
    assert said["views"][""]["accounts"] == told["views"][""]["accounts"]


def test_a_stream_that_runs(path: Path, sfumato_command: Command) -> None:
    stop, seen = threading.Event(), list[dict[str, Any]]()

    def watch(progress: StreamProgress) -> None:
        if progress.records == 45 and not seen:
            append(path.parent, 45, 60)
        if progress.records and progress.state == "running":
            seen.append(agrees(path, sfumato_command))
        if progress.records == 60:
            stop.set()

    run_stream(path, Running(), stop, watch)

    assert {told["state"] for told in seen} == {"running"}
    assert [seen[0]["records"], seen[-1]["records"]] == [45, 60]


def test_a_fault_of_ours_is_no_interruption(path: Path, monkeypatch: pytest.MonkeyPatch, sfumato_command: Command) -> None:
    def broken(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(running._Stream, "_go_on", broken)
    with pytest.raises(AssertionError):
        run_stream(path, Running(once=True))

    assert sfumato_command("stream", "status", str(path)).stdout.startswith("state     failed [internal]\n")
