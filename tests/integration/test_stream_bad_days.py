"""A stream on bad days: full disks, readers who do not read, kills at the worst moments. Nothing is lost, and no value is told."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.engine.stream import spool
from sfumato.engine.stream.kept_state import told_status
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import SfumatoError

CANARY = "Qkxcanary"
COLUMNS: dict[str, Any] = {
    "pid": {"role": "identifier"},
    "name": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "type": "integer"},
    "illness": {"role": "sensitive"},
}
COMMAND = [sys.executable, "-m", "sfumato", "stream", "run", "policy.yaml"]
# ends the process as SIGKILL does, at the so many-eth call of a function
KILLED = """
import os, signal, sys
from importlib import import_module
module, name, method, calls = sys.argv[1:5]
owner, left = getattr(import_module(module), name), [int(calls)]
before = getattr(owner, method)
def killed(*given, **further):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return before(*given, **further)
setattr(owner, method, killed)
from sfumato.engine.stream import running
running.StreamSettings.longest_wait = 0.0
running.run_stream("policy.yaml", running.Running(once=True), pipe=sys.stdin.buffer.raw)
"""


def line(number: int, width: int = 0) -> str:
    told = {"pid": number % 40, "name": f"{CANARY} {number}", "age": 20 + number * 7 % 60, "illness": ("flu", "gout")[number % 2]}
    return json.dumps(told).ljust(max(0, width - 1)) + "\n"


def lines(start: int, end: int) -> str:
    return "".join(map(line, range(start, end)))


def policy(folder: Path, **further: Any) -> Path:
    told: dict[str, Any] = {"source": "events.jsonl", "subject": "pid", "columns": COLUMNS, "promises": [{"k_anonymity": {"k": 3}}]}
    told |= {"window": {"count": 20}, "stream": {"state": "state"}, "sink": "release.jsonl"}
    (folder / "policy.yaml").write_text(json.dumps(told | further))
    return folder / "policy.yaml"


def rows(folder: Path) -> int:
    return len((folder / "release.jsonl").read_text().splitlines())


def listed(folder: Path) -> int:
    return sum(json.loads(text)["rows"] for text in (folder / "release.jsonl.manifest.jsonl").read_text().splitlines())


def accounts(path: Path) -> dict[str, int]:
    return dict(run_stream(path, Running(once=True)).views[""].accounts)


def records_told(folder: Path) -> int:
    status = folder / "state" / "status.json"
    return int(json.loads(status.read_text())["records"]) if status.exists() else 0


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# --- readers ------------------------------------------------------------------------------------------------------------


def resident(process: int) -> int:
    told = Path(f"/proc/{process}/status").read_text()
    return int(told.split("VmRSS:")[1].split()[0])


def told_of(folder: Path) -> str:
    return subprocess.run([*COMMAND[:-2], "status", COMMAND[-1]], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_a_reader_who_stops_reading_is_waited_for_and_a_signal_still_ends_it(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(lines(0, 60_000))
    policy(tmp_path, sink={"standard_output": {"format": "json_lines"}}, stream={"state": "state", "batch": 1000})
    process = subprocess.Popen([*COMMAND, "--once"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    first = process.stdout.read(1000)
    time.sleep(2)
    before = resident(process.pid), records_told(tmp_path)
    time.sleep(3)

    assert process.poll() is None
    assert records_told(tmp_path) == before[1]
    assert resident(process.pid) < before[0] + 8_000
    wait_until(lambda: "health    waiting: nobody reads standard output, for " in told_of(tmp_path))

    process.send_signal(signal.SIGTERM)
    wait_until(lambda: process.poll() is not None)
    rest, errors = process.communicate()
    assert process.returncode == 5
    assert b"[output-unread]" in errors
    assert CANARY.encode() not in errors + first + rest

    again = subprocess.run([*COMMAND, "--once", "--format", "json"], cwd=tmp_path, capture_output=True, check=True, timeout=300)
    assert b'"released": 60000' in again.stderr
    assert (first + rest + again.stdout).count(b"\n") >= 60_000


@pytest.mark.slow
def test_a_stream_that_is_stopped_can_release_what_waits(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(lines(0, 110))
    policy(tmp_path)
    process = subprocess.Popen([*COMMAND, "--on-stop", "flush"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    wait_until(lambda: records_told(tmp_path) == 110)
    process.send_signal(signal.SIGTERM)
    answer, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "110 released" in answer
    assert rows(tmp_path) == listed(tmp_path) == 110


# --- full disks ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("limit", [40_000, 200_000])
def test_files_that_may_not_grow_are_one_clear_error_and_the_next_run_goes_on(tmp_path: Path, limit: int) -> None:
    # the smaller limit stops the state, the larger one the release
    (tmp_path / "events.jsonl").write_text(lines(0, 10_000))
    path = policy(tmp_path)
    ended = subprocess.run(
        [*COMMAND, "--once"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert (ended.returncode, "[disk-full]" in ended.stderr) == (5, True), ended.stderr
    assert CANARY not in ended.stdout + ended.stderr

    assert accounts(path)["released"] == 10_000
    assert rows(tmp_path) == listed(tmp_path) == 10_000


@contextlib.contextmanager
def filled_once_it_runs(disk: Path) -> Iterator[None]:
    """Fill a disk as soon as the status of a stream is written there."""

    def fill() -> None:
        wait_until((disk / "state" / "status.json").exists)
        with (disk / "filled").open("ab", buffering=0) as filled, contextlib.suppress(OSError):
            while filled.write(bytes(1 << 12)):
                pass

    filling = threading.Thread(target=fill)
    filling.start()
    try:
        yield
    finally:
        filling.join()


def test_a_disk_that_is_too_full_for_the_status_is_told_by_status(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)], check=False, capture_output=True).returncode:
        pytest.skip("needs to mount a small disk; run as root")
    try:
        path = policy(tmp_path, stream={"state": "disk/state"})
        (tmp_path / "events.jsonl").write_text(lines(0, 10_000))
        with pytest.raises(SfumatoError) as refused, filled_once_it_runs(disk):
            run_stream(path, Running(once=True))
        assert refused.value.code == "disk-full"
        assert (told_status(disk / "state")["state"], told_status(disk / "state")["error"]) == ("failed", "disk-full")

        (disk / "filled").unlink()
        assert accounts(path)["released"] == 10_000
        assert told_status(disk / "state")["state"] == "ended"
        assert not list((disk / "state").glob("failed.*"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_spool_without_space_is_one_clear_error_and_what_was_spooled_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write, left = policy(tmp_path, source={"standard_input": {"format": "json_lines"}}), os.write, [60_000]

    def full(handle: int, content: Any) -> int:
        if left[0] < len(content):
            raise OSError(28, "No space left on device")
        left[0] -= len(content)
        return write(handle, content)

    monkeypatch.setattr(spool.os, "write", full)
    monkeypatch.setattr(spool, "READ", 128 * 128)
    (tmp_path / "come.jsonl").write_text("".join(line(number, 128) for number in range(1000)))
    with (tmp_path / "come.jsonl").open("rb", buffering=0) as pipe:
        with pytest.raises(SfumatoError) as refused:
            run_stream(path, Running(), pipe=pipe)
        monkeypatch.undo()
    assert (refused.value.code, CANARY in str(refused.value)) == ("disk-full", False)
    with (tmp_path / "come.jsonl").open("rb", buffering=0) as pipe:
        # what could not be spooled is still whose it was who wrote it
        pipe.seek(3 * 128 * 128)
        progress = run_stream(path, Running(), pipe=pipe)
    assert progress.views[""].accounts["released"] == 1000


# --- kills at chosen moments --------------------------------------------------------------------------------------------


def killed_at(folder: Path, module: str, name: str, method: str, calls: int, stdin: Any = subprocess.DEVNULL) -> None:
    command = [sys.executable, "-c", KILLED, f"sfumato.engine.stream.{module}", name, method, str(calls)]
    ended = subprocess.run(command, cwd=folder, stdin=stdin, capture_output=True, check=False, timeout=300)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(("growing", "Manifest", "list", 3), id="between commit and manifest"),
        pytest.param(("run_journal", "Journal", "commit", 3), id="between files and commit"),
        pytest.param(("growing", "GrowingFile", "append", 7), id="among files"),
        pytest.param(("run_journal", "Journal", "tell", 1), id="at the very beginning"),
    ],
)
def test_a_kill_at_the_worst_moment_loses_and_doubles_nothing(
    tmp_path: Path, moment: tuple[str, str, str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    for part in range(8):
        (tmp_path / "in" / f"{part}.jsonl").write_text(lines(part * 100, part * 100 + 100) + f"{CANARY}\n")
    path = policy(tmp_path, source="in/")
    killed_at(tmp_path, *moment)

    told = accounts(path)

    assert (told["released"], told["dead"], sum(told.values())) == (800, 8, 808)
    assert rows(tmp_path) == listed(tmp_path) == 800
    assert len((tmp_path / "state" / "dead_letters.jsonl").read_text().splitlines()) == 8


@pytest.mark.slow
def test_a_kill_while_a_pipe_is_spooled_loses_nothing_that_was_synced(tmp_path: Path) -> None:
    path = policy(tmp_path, source={"standard_input": {"format": "json_lines"}})
    number = 6 * spool.READ // 128
    (tmp_path / "come.jsonl").write_text("".join(line(place, 128) for place in range(number)))
    with (tmp_path / "come.jsonl").open("rb", buffering=0) as pipe:
        killed_at(tmp_path, "spool", "Spool", "_add", 3, pipe)
        assert pipe.tell() == 3 * spool.READ
        progress = run_stream(path, Running(), pipe=pipe)
    assert progress.views[""].accounts["released"] == rows(tmp_path) == number


@pytest.mark.slow
def test_a_file_that_is_rotated_while_the_stream_lies_killed_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(lines(0, 200))
    path = policy(tmp_path, source="*.jsonl", sink="out/release.jsonl")
    (tmp_path / "out").mkdir()
    killed_at(tmp_path, "growing", "Manifest", "list", 1)
    (tmp_path / "events.jsonl").rename(tmp_path / "events-old.jsonl")
    with (tmp_path / "events-old.jsonl").open("a") as file:
        file.write(lines(200, 300))
    (tmp_path / "events.jsonl").write_text(lines(300, 360))

    assert accounts(path)["released"] == 360
    assert rows(tmp_path / "out") == listed(tmp_path / "out") == 360


# --- records ------------------------------------------------------------------------------------------------------------


def test_files_with_other_columns_in_mid_stream_are_dead_letters(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for part, header in enumerate(("pid,name,age,illness", "pid,name,illness", "illness,pid,age,name")):
        values = {"pid": range(40), "name": [CANARY] * 40, "age": range(20, 60), "illness": ["flu", "gout"] * 20}
        told = zip(*(values[name] for name in header.split(",")), strict=True)
        (tmp_path / "in" / f"{part}.csv").write_text(header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in told))

    told = accounts(policy(tmp_path, source="in/"))

    assert (told["released"], told["dead"]) == (80, 40)
    letters = [json.loads(text) for text in (tmp_path / "state" / "dead_letters.jsonl").read_text().splitlines()]
    assert [letter["record"] for letter in letters] == list(range(40, 80))


def test_a_state_that_cannot_be_read_is_refused_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(lines(0, 50))
    path = policy(tmp_path)
    accounts(path)
    for name, replaced in (("state.sqlite", CANARY * 999), ("secret", CANARY)):
        before = (tmp_path / "state" / name).read_bytes()
        (tmp_path / "state" / name).write_text(replaced)
        with pytest.raises(SfumatoError) as refused:
            accounts(path)
        assert (refused.value.code, refused.value.status, CANARY in str(refused.value)) == ("stream-state-damaged", 5, False)
        (tmp_path / "state" / name).write_bytes(before)
    assert accounts(path)["released"] == 50


@pytest.mark.parametrize(("commit", "stretches"), [("0ms", 3), ("1h", 1)])
def test_rows_wait_for_their_commit_as_long_as_the_policy_says(tmp_path: Path, commit: str, stretches: int) -> None:
    path = policy(tmp_path, source="parts/", stream={"state": "state", "commit": commit})
    (tmp_path / "parts").mkdir()
    for number in range(3):
        (tmp_path / "parts" / f"{number}.jsonl").write_text(lines(number * 40, number * 40 + 40))

    run_stream(path, Running(once=True))

    assert len((tmp_path / "release.jsonl.manifest.jsonl").read_text().splitlines()) == stretches
    assert listed(tmp_path) == 120


def test_a_full_disk_behind_standard_output_is_no_fault_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    (tmp_path / "events.csv").write_text("pid,ward\n1,a\n2,b\n")
    columns = {"pid": {"role": "identifier"}, "ward": {"role": "other"}}
    path.write_text(json.dumps({"source": "events.csv", "subject": "pid", "columns": columns, "stream": {"state": "state"}, "sink": "-"}))
    command = [sys.executable, "-m", "sfumato", "stream", "run", str(path), "--once"]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert (ended.returncode, "there is no space left to write what standard output leads to [disk-full]" in ended.stderr) == (5, True)
    assert (told_status(tmp_path / "state")["state"], told_status(tmp_path / "state")["error"]) == ("failed", "disk-full")
    # nothing is lost by it
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120, check=False)
    assert sorted(ended.stdout.split()) == ["a", "b", "ward"]
