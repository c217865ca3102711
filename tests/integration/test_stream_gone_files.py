"""Files of a source that are emptied or removed once they were read: the stream goes on without them, and says for how long it cannot."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.engine.stream import running
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import SfumatoError

# states are kept only where there is haste
PATIENT = """
from sfumato.engine.stream import running
running._SNAPSHOT_SECONDS = 1000.0
running.run_stream("policy.yaml")
"""


def policy(folder: Path, source: str) -> Path:
    told = {"source": source, "columns": {"number": {"role": "other", "type": "integer"}}, "stream": {"state": "state"}, "sink": "release.jsonl"}
    (folder / "policy.yaml").write_text(json.dumps(told))
    return folder / "policy.yaml"


def lines(start: int, end: int) -> str:
    return "".join(f'{{"number":{number}}}\n' for number in range(start, end))


def released(folder: Path) -> list[int]:
    path = folder / "release.jsonl"
    return sorted(json.loads(text)["number"] for text in path.read_text().splitlines()) if path.is_file() else []


def status(folder: Path) -> dict[str, Any]:
    path = folder / "state" / "status.json"
    told: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return told


def wait(until: Callable[[], bool]) -> None:
    for _ in range(600):
        if until():
            return
        time.sleep(0.05)
    raise AssertionError("waited too long")


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_log_that_was_emptied_in_place_is_followed_again_once_it_has_grown(tmp_path: Path) -> None:
    path, codes = policy(tmp_path, "events.jsonl"), []
    (tmp_path / "events.jsonl").write_text(lines(0, 50))

    def follow() -> None:
        try:
            run_stream(path)
        except SfumatoError as error:
            codes.append(error.code)

    thread = threading.Thread(target=follow)
    thread.start()
    wait(lambda: len(released(tmp_path)) == 50)
    (tmp_path / "events.jsonl").write_text("")
    thread.join()
    assert codes == ["stream-source-shortened"]

    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(lines(50, 500))
    run_stream(path, Running(once=True))

    assert released(tmp_path) == list(range(500))


def test_a_file_that_was_read_and_removed_is_not_needed_after_a_kill(tmp_path: Path) -> None:
    path, folder = policy(tmp_path, "in/*.jsonl"), tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text(lines(0, 50))
    process = subprocess.Popen([sys.executable, "-c", PATIENT], cwd=tmp_path)
    try:
        wait(lambda: len(released(tmp_path)) == 50 and "needed_files" in status(tmp_path))
        (folder / "a.jsonl").unlink()
        wait(lambda: "needed_files" not in status(tmp_path))
        (folder / "b.jsonl").write_text(lines(50, 100))
        wait(lambda: len(released(tmp_path)) == 100)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()

    run_stream(path, Running(once=True))

    assert released(tmp_path) == list(range(100))


def test_the_status_names_the_files_that_must_stay(tmp_path: Path, sfumato_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    path, folder = policy(tmp_path, "in/*.jsonl"), tmp_path / "in"
    folder.mkdir()
    for number in range(7):
        (folder / f"{number}.jsonl").write_text(lines(number, number + 1))
    monkeypatch.setattr(running.StreamSettings, "longest_wait", 0.0)
    monkeypatch.setattr(running._Stream, "_end", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_stream(path, Running(once=True))

    named = ", ".join(str(folder / f"{number}.jsonl") for number in range(5))
    assert f"needed    still, to go on after a crash: {named}, 2 more\n" in sfumato_command("stream", "status", str(path)).stdout
    monkeypatch.undo()
    run_stream(path, Running(once=True))
    assert "needed" not in sfumato_command("stream", "status", str(path)).stdout
