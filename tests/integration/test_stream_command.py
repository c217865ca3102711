"""``sfumato stream`` as a user calls it: files, folders and pipes in, releases out, and one clear sentence for what goes wrong."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sfumato
from sfumato.cli.stream import _Line
from sfumato.core.staging import StagedFile
from sfumato.engine.stream import growing, running
from sfumato.engine.stream.progress import StreamProgress, ViewProgress
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import PolicyError, PromiseError, SfumatoError
from sfumato.masking.aggregate import Aggregate

CANARY = "Qkxcanary"


def line(number: int, **further: Any) -> str:
    told = {"pid": number % 40, "name": f"{CANARY} {number}", "age": 20 + number * 7 % 60, "illness": ("flu", "gout")[number % 2]}
    return json.dumps(told | further) + "\n"


def policy(**further: Any) -> dict[str, Any]:
    return {
        "source": "events.jsonl",
        "subject": "pid",
        "columns": {
            "pid": {"role": "identifier"},
            "name": {"role": "identifier"},
            "age": {"role": "quasi_identifier", "type": "integer"},
            "illness": {"role": "sensitive"},
        },
        "promises": [{"k_anonymity": {"k": 3}}],
        "window": {"count": 20},
        "stream": {"state": "state"},
        "sink": "release.jsonl",
        **further,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events.jsonl").write_text("".join(map(line, range(100))))
    return tmp_path


def written(folder: Path, **further: Any) -> Path:
    (folder / "policy.yaml").write_text(json.dumps(policy(**further)))
    return folder / "policy.yaml"


def released(folder: Path, name: str = "release.jsonl") -> list[dict[str, Any]]:
    return [json.loads(text) for text in (folder / name).read_text().splitlines()]


def run(path: Path, **further: Any) -> dict[str, int]:
    return dict(run_stream(path, Running(once=True, **further)).views[""].accounts)


def test_a_file_is_read_to_its_end_and_every_record_told_of(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    ended = sfumato_command("stream", "run", written(folder), "--once", "--format", "json")
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["views"][""]["accounts"] == {"released": 100, "aggregated": 0, "suppressed": 0, "late": 0, "dead": 0, "held": 0}
    assert len(released(folder)) == 100
    assert CANARY not in (folder / "release.jsonl").read_text() + ended.stdout + ended.stderr
    status = sfumato_command("stream", "status", folder / "policy.yaml")
    assert "state     ended" in status.stdout
    assert "100 released" in status.stdout
    report = sfumato_command("stream", "report", folder / "policy.yaml", "-o", folder / "page.html")
    assert report.returncode == 0, report.stderr
    assert "One point is no chart" in (folder / "page.html").read_text()


def test_status_and_the_live_line_tell_shares_by_level_and_who_is_silent(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    events = "".join(json.dumps({"pid": n % 40, "at": n, "item": "a.b" if n % 3 else f"a.{n}"}) + "\n" for n in range(600))
    (folder / "events.jsonl").write_text(events)
    columns = {"pid": {"role": "identifier"}, "at": {"role": "identifier"}, "item": {"role": "sensitive"}}
    search = {"z_anonymity": {"z": 5, "time": "at", "path": "item"}}
    path = folder / "policy.yaml"
    path.write_text(json.dumps(policy(columns=columns, algorithm=search, promises=[])).replace('"window": {"count": 20}, ', ""))
    progress = run_stream(path, Running(once=True))
    assert re.search(r"release: held 0, delay 0, z 5, p_kanon [0-9.]+, finest 6\d%", progress.line())
    status = sfumato_command("stream", "status", path).stdout
    assert re.search(r"6\d\.\d% finest, \d+\.\d% 1 level up; nothing of (0|fewer than 5) of the 40 people in the window", status)
    told = json.loads(sfumato_command("stream", "status", path, "--format", "json").stdout)["views"][""]["measured"]
    assert told["shares.0"] + told["shares.1"] == pytest.approx(1, abs=0.02)
    assert {"p_kanon", "people", "time"} <= told.keys()


def test_a_second_run_goes_on_where_the_first_has_ended(folder: Path) -> None:
    path = written(folder)
    run(path)
    first = (folder / "release.jsonl").read_bytes()
    with (folder / "events.jsonl").open("a") as file:
        file.write("".join(map(line, range(100, 140))))
    accounts = run(path)
    assert accounts["released"] == 140
    assert (folder / "release.jsonl").read_bytes().startswith(first)
    assert len(released(folder)) == 140


def test_records_that_wait_are_kept_and_leave_with_the_next_run(folder: Path) -> None:
    path = written(folder)
    (folder / "events.jsonl").write_text("".join(map(line, range(110))))
    assert run(path, at_end="keep")["held"] == 10
    with (folder / "events.jsonl").open("a") as file:
        file.write("".join(map(line, range(110, 120))))
    assert run(path, at_end="keep") | {"x": 0} == {"released": 120, "aggregated": 0, "suppressed": 0, "late": 0, "dead": 0, "held": 0, "x": 0}


def test_bad_records_are_dead_letters_whole_in_a_private_file_and_nowhere_else(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    with (folder / "events.jsonl").open("a") as file:
        file.write(f"{CANARY} is no record\n" + line(7, age="old") + line(8, secret=CANARY) + '{"pid": 1, "pid": 2}\n')
    ended = sfumato_command("stream", "run", written(folder), "--once")
    assert ended.returncode == 0, ended.stderr
    assert "4 dead letters" in ended.stdout
    assert CANARY not in ended.stdout + ended.stderr
    letters = [json.loads(text) for text in (folder / "state" / "dead_letters.jsonl").read_text().splitlines()]
    assert [(letter["record"], letter["code"]) for letter in letters] == [
        (100, "json-line"),
        (101, "json-type"),
        (102, "json-field-unnamed"),
        (103, "json-line"),
    ]
    assert CANARY in letters[0]["content"]
    assert (folder / "state" / "dead_letters.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_a_pipe_is_read_to_its_end(folder: Path) -> None:
    path = written(folder, source={"standard_input": {"format": "json_lines"}}, sink={"standard_output": {"format": "json_lines"}})
    ended = subprocess.run(
        [sys.executable, "-m", "sfumato", "stream", "run", str(path)],
        input="".join(map(line, range(60))),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert len(ended.stdout.splitlines()) == 60
    assert "60 released" in ended.stderr


def test_every_process_writes_the_header_of_delimited_text_to_standard_output(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    path = written(folder, sink="-")
    first = sfumato_command("stream", "run", str(path), "--once")
    with (folder / "events.jsonl").open("a") as file:
        file.writelines(map(line, range(100, 200)))
    second = sfumato_command("stream", "run", str(path), "--once")

    assert [ran.stdout.splitlines()[0] for ran in (first, second)] == ["age,illness"] * 2
    assert [len(ran.stdout.splitlines()) for ran in (first, second)] == [101] * 2


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_fault_and_is_told_of(folder: Path) -> None:
    (folder / "events.jsonl").write_text("".join(map(line, range(20_000))))
    path = written(folder, sink={"standard_output": {"format": "json_lines"}})
    process = subprocess.Popen(
        [sys.executable, "-m", "sfumato", "stream", "run", str(path), "--once"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    words = b"nobody reads standard output any more, and the stream has ended; the next run goes on from the last commit\n"
    assert process.stderr.read().endswith(words)
    process.stderr.close()


@pytest.mark.slow
def test_a_stream_that_is_stopped_keeps_what_waits_and_says_so(folder: Path) -> None:
    (folder / "events.jsonl").write_text("".join(map(line, range(110))))
    path = written(folder)
    process = subprocess.Popen([sys.executable, "-m", "sfumato", "stream", "run", str(path)], stdout=subprocess.PIPE, text=True)
    status, deadline = folder / "state" / "status.json", time.monotonic() + 60
    while not (status.exists() and json.loads(status.read_text())["records"] == 110):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    answer, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "100 released, 10 held" in answer


def test_delimited_text_and_folders_are_read_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for part in range(3):
        rows = "".join(f"{n},{CANARY},{20 + n % 50},flu\n" for n in range(part * 40, part * 40 + 40))
        (tmp_path / "in" / f"{part}.csv").write_text(f"pid,name,age,illness\n{rows}{'too,short' if part else ''}\n")
    path = written(tmp_path, source="in/", sink="release.csv")
    accounts = run(path)
    assert (accounts["released"], accounts["dead"]) == (120, 2)
    lines = (tmp_path / "release.csv").read_text().splitlines()
    assert (lines[0], len(lines)) == ("age,illness", 121)


def test_arrow_comes_and_goes_in_files(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = pa.table({"pid": range(60), "name": [CANARY] * 60, "age": [20 + n % 50 for n in range(60)], "illness": ["flu", "gout"] * 30})
    with pa.OSFile(str(tmp_path / "in" / "a.arrow"), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=25)
    with pa.OSFile(str(tmp_path / "in" / "b.arrow"), "wb") as file, pa.ipc.new_stream(file, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=25)
    assert run(written(tmp_path, source="in/", sink="out.arrow"))["released"] == 120
    listed = [json.loads(text) for text in (tmp_path / "out.arrow" / "manifest.jsonl").read_text().splitlines()]
    with pa.OSFile(str(tmp_path / "out.arrow" / listed[0]["file"])) as file:
        assert sum(each["rows"] for each in listed) == 120
        assert pa.ipc.open_file(file).read_all().column_names == ["age", "illness"]


def test_a_full_disk_is_one_clear_error_and_the_next_run_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write = written(folder), os.pwrite

    def full(handle: int, content: Any, at: int) -> int:
        if at > 100:
            raise OSError(28, "No space left on device")
        return write(handle, content[:50], at)

    monkeypatch.setattr(growing.os, "pwrite", full)
    with pytest.raises(SfumatoError) as refused:
        run(path)
    assert (refused.value.code, CANARY in str(refused.value)) == ("disk-full", False)
    monkeypatch.undo()
    assert run(path)["released"] == 100
    assert len(released(folder)) == 100


def test_a_state_folder_that_cannot_be_written_is_refused(folder: Path) -> None:
    (folder / "state").write_text("a file")
    with pytest.raises(SfumatoError) as refused:
        run(written(folder))
    assert refused.value.status == 5


def test_a_release_that_somebody_has_shortened_is_not_written_to(folder: Path) -> None:
    path = written(folder)
    run(path)
    (folder / "release.jsonl").write_text("")
    with pytest.raises(SfumatoError) as refused:
        run(path)
    assert refused.value.code == "stream-sink-shortened"


def test_a_policy_that_was_changed_does_not_take_up_the_old_state(folder: Path) -> None:
    run(written(folder))
    with pytest.raises(SfumatoError) as refused:
        run(written(folder, promises=[{"k_anonymity": {"k": 2}}]))
    assert refused.value.code == "stream-state-policy"


CHANGED: dict[str, tuple[dict[str, Any], str, str]] = {
    "hierarchy": (
        {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"path": "read.txt"}}},
        "*: old, young\nold: flu\nyoung: gout\n",
        "*: old, young\nold: gout\nyoung: flu\n",
    ),
    "mask": ({"role": "other", "mask": {"map_values": {"path": "read.txt"}}}, "flu,a\ngout,b\n", "flu,b\ngout,a\n"),
}


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("kind", CHANGED)
def test_a_file_of_the_policy_that_was_changed_is_refused_before_a_state_was_kept(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    column, before, after = CHANGED[kind]
    path = written(folder, columns=policy()["columns"] | {"illness": column})
    (folder / "read.txt").write_text(before)
    with monkeypatch.context() as killed:
        killed.setattr(running._Stream, "_end", interrupted)
        killed.setattr(running.StreamSettings, "longest_wait", 0.0)
        with pytest.raises(KeyboardInterrupt):
            run(path)

    (folder / "read.txt").write_text(after)
    for command in (run, sfumato.check_stream):
        with pytest.raises(SfumatoError) as refused:
            command(path)
        assert refused.value.code == "stream-state-policy"
    (folder / "read.txt").write_text(before)
    assert run(path)["released"] == 100


def test_a_stream_that_follows_takes_what_is_appended(folder: Path) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=run_stream, args=(written(folder), Running(on_stop="flush"), stop))
    thread.start()
    with (folder / "events.jsonl").open("a") as file:
        for number in range(100, 160):
            file.write(line(number)[:10])
            file.flush()
            file.write(line(number)[10:])
            file.flush()
    deadline = time.monotonic() + 60
    while not ((folder / "release.jsonl").exists() and len(released(folder)) >= 140):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    stop.set()
    thread.join(60)
    assert len(released(folder)) == 160


def test_a_source_or_sink_that_cannot_be_a_streams_is_refused(folder: Path) -> None:
    for further, code in (
        ({"source": "a.parquet"}, "policy-stream-source"),
        ({"sink": "a.xlsx"}, "policy-stream-sink"),
        ({"sink": None}, "policy-stream-sink"),
    ):
        with pytest.raises(SfumatoError) as refused:
            run(written(folder, **{**further, "stream": {"state": f"state-{code}"}}))
        assert code in str(refused.value)


def test_two_runs_under_one_secret_release_the_same_bytes(folder: Path) -> None:
    run(written(folder))
    first = (folder / "release.jsonl").read_bytes()
    secret = (folder / "state" / "secret").read_bytes()
    (folder / "again").mkdir()
    (folder / "again" / "secret").write_bytes(secret)
    run(written(folder, sink="again.jsonl", stream={"state": "again"}))
    assert (folder / "again.jsonl").read_bytes() == first


def test_an_unfinished_last_line_of_a_pipe_is_a_record(folder: Path) -> None:
    read, write = os.pipe()
    os.write(write, "".join(map(line, range(60))).rstrip("\n").encode())
    os.close(write)
    path = written(folder, source={"standard_input": {"format": "json_lines"}})
    with os.fdopen(read, "rb", buffering=0) as pipe:
        assert isinstance(pipe, io.FileIO)
        progress = run_stream(path, Running(), pipe=pipe)
    assert progress.views[""].accounts["released"] == 60


COSTS = {"pid": {"role": "identifier"}, "name": {"role": "identifier"}, "age": {"role": "identifier"}, "illness": {"role": "other"}}


def costs(folder: Path, mask: dict[str, Any], different: int = 997) -> Path:
    """Write records whose costs are floats that no sum of them is exact of, and the policy that masks them."""
    lines = (line(number, cost=round((1 + number * 7919 % different) / 7, 3)) for number in range(200))
    (folder / "events.jsonl").write_text("".join(lines))
    cost = {"role": "other", "type": "decimal", "mask": mask}
    return written(folder, columns=COSTS | {"cost": cost}, promises=[], window={"count": 50})


@pytest.mark.parametrize(
    "mask",
    [
        {"aggregate": {"by": ["illness"], "function": "average", "k": 3}},
        {"aggregate": {"by": ["illness"], "function": "sum"}},
        {"aggregate": {"by": ["illness"], "function": "median", "k": 3}},
        {"microaggregate": {"k": 3}},
    ],
)
@pytest.mark.parametrize("different", [997, 5])
def test_totals_of_floats_do_not_hang_on_the_order_of_rows(folder: Path, mask: dict[str, Any], different: int) -> None:
    counted = run(costs(folder, mask, different))

    assert counted["released"] + counted["aggregated"] == 200


def test_a_release_that_breaks_stops_the_stream_and_its_status_says_so(
    folder: Path, sfumato_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = costs(folder, {"aggregate": {"by": ["illness"], "function": "sum"}})
    apply, calls = Aggregate.apply, []

    def other_every_time(self: Aggregate, columns: pa.RecordBatch, context: Any) -> pa.Array:
        calls.append(None)
        return pc.add(apply(self, columns, context), float(len(calls)))

    monkeypatch.setattr(Aggregate, "apply", other_every_time)
    with pytest.raises(PromiseError) as caught:
        run(path)

    assert caught.value.message == (
        "verification stopped the stream: a release holds in column cost a masked value that is not what its mask makes of its original; "
        "it was not handed out, and what was released before stays"
    )
    status = sfumato_command("stream", "status", path)
    assert status.stdout.startswith("state     failed [verify-mask]\n"), status.stderr


def test_a_stream_that_is_taken_up_again_says_so_while_nothing_comes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_HEARTBEAT", 0.2)
    path, status, stop, seen = written(folder), folder / "state" / "status.json", threading.Event(), []
    run(path, at_end="keep")
    status.write_text(json.dumps({**json.loads(status.read_text()), "process": -1, "state": "running", "at": 0.0}))

    def watch(progress: StreamProgress) -> None:
        seen.append((json.loads(status.read_text()), progress.line()))
        if len(seen) == 3:
            stop.set()

    run_stream(path, Running(), stop, watch)

    (first, shown), (second, _) = seen[:2]
    assert (first["state"], first["process"], first["records"]) == ("running", os.getpid(), 100)
    assert first["views"][""]["accounts"]["released"] == 100
    assert second["at"] > first["at"]
    assert "release: held 0, " in shown


def test_status_says_that_kernels_are_compiled(folder: Path, monkeypatch: pytest.MonkeyPatch, sfumato_command: Callable[..., Any]) -> None:
    monkeypatch.setattr(running, "is_stream_warm", lambda _: False)
    path, stop, seen = written(folder, source="later.jsonl"), threading.Event(), []

    def watch(_: StreamProgress) -> None:
        seen.append(sfumato_command("stream", "status", str(path)).stdout)
        stop.set()

    run_stream(path, Running(), stop, watch)

    assert seen[0].splitlines()[1] == "health    waiting: kernels are compiled for this machine, once for each kind of work"
    assert "health" not in sfumato_command("stream", "status", str(path)).stdout


def test_status_says_that_nothing_was_heard_of_a_process(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    path, stop, seen = written(folder, source="later.jsonl"), threading.Event(), []
    status = folder / "state" / "status.json"

    def watch(_: StreamProgress) -> None:
        status.write_text(json.dumps({**json.loads(status.read_text()), "at": time.time() - 75}))
        seen.append(sfumato_command("stream", "status", str(path)).stdout)
        stop.set()

    run_stream(path, Running(), stop, watch)

    assert seen[0].splitlines()[1].startswith("health    stalled: nothing was heard of the process, for 7")


def test_the_line_in_the_terminal_is_written_where_something_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", shown)
    progress = StreamProgress(7)

    with _Line("text") as terminal:
        for _ in range(3):
            progress.waiting()
            terminal.show(progress)

    assert shown.getvalue() == "\r7 records  0/s\n"


def test_data_that_is_interrupted_says_nothing_of_a_release() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sfumato", "generate", "shop", "--endless", "--rate", "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[1] == "interrupted\n"


@pytest.mark.parametrize(("arguments", "is_whole"), [(["--format", "json"], json.loads), ([], lambda row: row.count(b",") == 2)])
def test_data_that_is_interrupted_at_full_speed_ends_with_a_whole_record(arguments: list[str], is_whole: Callable[[bytes], object]) -> None:
    command = [sys.executable, "-m", "sfumato", "generate", "shop", "--endless", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    assert process.stdout is not None
    begun = process.stdout.read(65_536) + process.stdout.read(65_536)
    process.send_signal(signal.SIGTERM)
    rest, told = process.communicate(timeout=60)
    assert (process.returncode, b"interrupted" in told) == (130, True)
    assert (begun + rest).endswith(b"\n")
    assert all(is_whole(line) for line in (begun + rest).splitlines())


def test_a_stream_of_dead_letters_is_not_well(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    (folder / "events.jsonl").write_text("no record\n" * 300 + "".join(map(line, range(40))))
    path = written(folder)
    progress = run_stream(path, Running(once=True))
    progress.state = "running"
    assert progress.health.words() == "stalled: most of the latest records are dead letters"
    told = sfumato_command("stream", "status", str(path)).stdout
    assert "most records are dead letters: dead_letters.jsonl in the private folder has them" in told


def test_dead_letters_of_long_ago_are_forgotten() -> None:
    progress = StreamProgress(0)
    progress.add(500, {"": ViewProgress({"dead": 500})})
    for records in range(1000, 3000, 500):
        progress.add(records, {"": ViewProgress({"dead": 510})})
    assert progress.mostly_set_aside == []


def test_a_file_that_went_unread_and_a_policy_that_was_changed_are_told(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    with (folder / "events.jsonl").open("a") as file:
        file.write(line(100)[:9])
    path = written(folder)
    run(path, at_end="keep")
    (folder / "events.jsonl").unlink()
    run(path, at_end="keep")
    told = sfumato_command("stream", "status", str(path))
    assert "lost      1 file of the source went before the end was read\n" in told.stdout
    assert "changed" not in told.stdout

    written(folder, promises=[{"k_anonymity": {"k": 4}}])
    told = sfumato_command("stream", "status", str(path))
    assert "policy    changed since: all of this is of the policy before, and stream run refuses the new one\n" in told.stdout


def test_a_report_is_refused_of_a_policy_that_was_changed(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    path = written(folder)
    run(path)
    written(folder, promises=[{"k_anonymity": {"k": 4}}])
    told = sfumato_command("stream", "report", path)
    assert (told.returncode, told.stdout) == (5, "")
    assert told.stderr == (
        f"the state in {folder / 'state'} belongs to another policy, or to this one before it was changed [stream-state-policy]\n"
        "  try: report it with the policy that it was run with\n"
    )


@pytest.mark.parametrize(
    "place", ["state/state.sqlite", "state/new.html", "release.jsonl", "release.jsonl.manifest.jsonl", "link", "events.jsonl", "policy.yaml"]
)
def test_no_report_is_written_over_what_belongs_to_the_stream(folder: Path, place: str, sfumato_command: Callable[..., Any]) -> None:
    path = written(folder)
    run(path)
    (folder / "link").hardlink_to(folder / "release.jsonl")
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    told = sfumato_command("stream", "report", path, "-o", folder / place, "--force")
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith(f"{folder / place} belongs to the stream [stream-report-place]\n")
    assert before == {file: file.read_bytes() for file in before}
    assert (folder / place) in before or not (folder / place).exists()


def test_records_that_do_not_fit_are_counted_by_reason_and_never_quoted(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    with (folder / "events.jsonl").open("a") as file:
        file.write(line(100, age="canary") + line(101, canary="x") + line(102, canary="x") + "{canary\n")
    path = written(folder)
    ran = sfumato_command("stream", "run", str(path), "--once")
    reasons = "set aside since it was started: 2 json-field-unnamed, 1 json-type age, 1 json-line\n"

    assert reasons in ran.stdout
    assert reasons in sfumato_command("stream", "status", str(path)).stdout
    assert "canary" not in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("source", "first", "later", "reasons"),
    [
        (
            "events.jsonl",
            '{"number": 1, "share": 0.5, "text": "a"}',
            ['{"number": "34"}', '{"number": 1.0}', '{"share": "0.5"}'],
            {"json-type number": 2, "json-type share": 1},
        ),
        ("events.jsonl", '{"number": 1, "share": 0.5, "text": "a"}', ['{"share": 2}', '{"text": 34}', '{"text": true}'], {}),
        ("events.csv", "number,share,text\n1,0.5,a", ["34,2,7", "x,2,7"], {"value-type number": 1}),
    ],
)
def test_values_of_another_type_are_taken_as_the_documentation_says(
    tmp_path: Path, source: str, first: str, later: list[str], reasons: dict[str, int]
) -> None:
    columns = {"number": {"role": "other", "type": "integer"}, "share": {"role": "other", "type": "decimal"}, "text": {"role": "other"}}
    told = {"source": source, "columns": columns, "stream": {"state": "state"}, "sink": "release.jsonl"}
    (tmp_path / "policy.yaml").write_text(json.dumps(told))
    (tmp_path / source).write_text("\n".join([first, *later, ""]))

    ended = run_stream(tmp_path / "policy.yaml", Running(once=True)).views[""]

    assert ended.set_aside == reasons
    assert ended.accounts["released"] == 1 + len(later) - sum(reasons.values())


def test_a_text_that_can_be_read_as_a_number_is_taken_from_python_and_arrow() -> None:
    told = {"columns": {"number": {"role": "other", "type": "integer"}}}
    for further in ([{"number": "34"}, {"number": "x"}], pa.table({"number": ["34", "x"]})):
        session = sfumato.stream(told)
        session.push([{"number": 1}])
        pushed = session.push(further)
        assert [release.batch.to_pylist() for release in pushed] == [[{"number": 34}]]
        assert [letter.code for letter in pushed.dead] == ["value-type"]


@pytest.mark.parametrize("sink", ["release.jsonl", "release.csv", "release.parquet"])
def test_two_streams_do_not_write_to_one_sink(folder: Path, sink: str) -> None:
    first, stop = written(folder, sink=sink), threading.Event()
    begun = threading.Thread(target=lambda: run_stream(first, stop=stop))
    begun.start()
    try:
        while not (folder / "state" / "status.json").exists():
            time.sleep(0.05)
        other = folder / "other.yaml"
        other.write_text(json.dumps(policy(sink=sink, stream={"state": "other"})))
        with pytest.raises(SfumatoError) as refused:
            run(other)
    finally:
        stop.set()
        begun.join(60)
    assert refused.value.code == "sink-busy"
    assert refused.value.message == f"another run is writing {folder / sink}"
    with pytest.raises(SfumatoError) as older:
        run(other)
    assert older.value.code == "stream-state-older"
    assert len(run_stream(first, Running(once=True)).views) == 1
    assert not list(folder.glob(".*.sfumato"))


@contextmanager
def running_stream(path: Path) -> Iterator[None]:
    stop = threading.Event()
    begun = threading.Thread(target=lambda: run_stream(path, stop=stop))
    begun.start()
    try:
        while not (path.parent / "release.jsonl.manifest.jsonl").is_file() or not (path.parent / "release.jsonl.manifest.jsonl").read_bytes():
            time.sleep(0.05)
        yield
    finally:
        stop.set()
        begun.join(60)


@pytest.mark.parametrize("sink", ["symbolic.jsonl", "hard.jsonl", "elsewhere/release.jsonl"])
def test_a_link_to_the_sink_of_a_stream_is_the_same_sink(folder: Path, sink: str) -> None:
    (folder / "release.jsonl").touch()
    (folder / "symbolic.jsonl").symlink_to("release.jsonl")
    (folder / "hard.jsonl").hardlink_to(folder / "release.jsonl")
    (folder / "elsewhere").symlink_to(".")
    first, other = written(folder), folder / "other.yaml"
    other.write_text(json.dumps(policy(sink=sink, stream={"state": "other"})))
    with running_stream(first):
        before = (folder / "release.jsonl").read_bytes()
        with pytest.raises(SfumatoError) as refused:
            run(other)
        assert (folder / "release.jsonl").read_bytes() == before
    assert refused.value.code == "sink-busy"


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        ("release.jsonl.manifest.jsonl", "is the manifest of a stream's release"),
        ("state/release.jsonl", "lies in the private folder of a stream"),
        ("state/links/more.jsonl", "lies in the private folder of a stream"),
    ],
)
def test_what_a_stream_keeps_for_itself_is_no_sink(folder: Path, sink: str, message: str) -> None:
    run(written(folder))
    for state in ("other", "state"):
        (folder / "other.yaml").write_text(json.dumps(policy(sink=sink, stream={"state": state})))
        with pytest.raises(PolicyError) as refused:
            run(folder / "other.yaml")
        assert [(mistake.message, mistake.code) for mistake in refused.value.mistakes] == [(message, "sink-of-stream")]


def test_a_run_does_not_write_over_the_manifest_of_a_stream_that_runs(folder: Path) -> None:
    with running_stream(written(folder)), pytest.raises(SfumatoError, match="another run is writing"):
        StagedFile(str(folder / "release.jsonl.manifest.jsonl"))


def test_a_run_and_a_stream_do_not_write_to_one_sink(folder: Path) -> None:
    path, held = written(folder), StagedFile(str(folder / "release.jsonl"))
    try:
        with pytest.raises(SfumatoError, match="another run is writing"):
            run(path)
    finally:
        held.abort()
    assert run(path)["released"] == 100


@pytest.mark.parametrize("name", ["events.csv", "events.jsonl"])
def test_a_value_that_is_not_of_its_declared_type_is_a_dead_letter_in_every_format(tmp_path: Path, name: str) -> None:
    columns = policy()["columns"] | {"visits": {"role": "other", "type": "integer"}}
    people = [json.loads(line(number, visits="many" if number == 7 else number % 3)) for number in range(100)]
    rows = "".join(",".join(map(str, person.values())) + "\n" for person in people)
    texts = {"events.csv": ",".join(people[0]) + "\n" + rows, "events.jsonl": "".join(json.dumps(person) + "\n" for person in people)}
    (tmp_path / name).write_text(texts[name])
    found = run(written(tmp_path, source=name, columns=columns))
    assert (found["dead"], found["released"] + found["suppressed"]) == (1, 99)


@pytest.mark.parametrize(
    ("source", "sink", "state", "found"),
    [
        ("*.jsonl", "release.csv", "state", ["sink"]),
        ({"json_lines": {"path": "in/**/*.jsonl"}}, "out/release.csv", "in/state", ["stream.state"]),
        ("in/", "out/release.csv", "in/state", ["stream.state"]),
        ("**/*.jsonl", "out/release.parquet", "state", ["sink", "stream.state"]),
        ("in/*.jsonl", "out/release.csv", "in/state", []),
        ("event*.jsonl", "release.csv", "state", []),
    ],
)
def test_a_stream_does_not_feed_itself(folder: Path, source: Any, sink: str, state: str, found: list[str]) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "a.jsonl").write_text("".join(map(line, range(40))))
    path = written(folder, source=source, sink=sink, stream={"state": state})
    if not found:
        assert run(path) == run(path)
        return
    with pytest.raises(PolicyError) as refused:
        run(path)
    assert [(mistake.key, mistake.code) for mistake in refused.value.mistakes] == [(key, "sink-is-source") for key in found]


def test_a_state_of_the_installation_among_the_files_of_the_source_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_HOME", str(folder / "in" / "home"))
    (folder / "in").mkdir()
    (folder / "in" / "a.jsonl").write_text("".join(map(line, range(40))) + "no record\n")
    path = written(folder, source="in/**/*.jsonl", sink="out/release.csv", stream={})
    assert run(path) == run(path) | {"dead": 1}


def test_a_dead_stream_whose_process_number_is_in_use_does_not_run(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    path, status = written(folder), folder / "state" / "status.json"
    with running_stream(path):
        assert "state     running" in sfumato_command("stream", "status", path).stdout
        told = json.loads(status.read_text())
    # as SIGKILL leaves it, and as if the number had been given to this process
    status.write_text(json.dumps(told | {"state": "running", "process": os.getpid()}))
    assert "state     interrupted" in sfumato_command("stream", "status", path).stdout


def test_a_source_that_is_not_there_is_an_error_where_nothing_is_waited_for(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    ended = sfumato_command("stream", "run", written(folder, source="evnts.jsonl"), "--once")
    assert (ended.returncode, ended.stdout) == (5, "")
    assert ended.stderr.startswith(f"{folder / 'evnts.jsonl'} is not there [file-missing]\n")
    # one that was read before may have been moved away
    path = written(folder, stream={"state": "other"})
    run(path)
    (folder / "events.jsonl").unlink()
    assert run(path)["released"] == 100


@pytest.mark.parametrize("source", ["in/", "in/*.jsonl"])
def test_a_folder_or_a_pattern_without_a_file_is_told(folder: Path, source: str, sfumato_command: Callable[..., Any]) -> None:
    (folder / "in").mkdir()
    path = written(folder, source={"json_lines": {"path": source}})
    ended = sfumato_command("stream", "run", path, "--once")
    assert (ended.returncode, "source    no file yet: " in ended.stdout) == (0, True), ended.stderr
    assert "source    no file yet: " in sfumato_command("stream", "status", path).stdout
    (folder / "in" / "a.jsonl").write_text("".join(map(line, range(40))))
    assert "no file yet" not in sfumato_command("stream", "run", path, "--once").stdout


def test_a_folder_with_files_of_other_endings_says_how_to_name_them(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "a.log").write_text("".join(map(line, range(40))))
    path = written(folder, source={"json_lines": {"path": "in"}})
    told = sfumato_command("stream", "run", path, "--once").stdout
    assert f"no file yet: {folder / 'in'} with the ending of its format; a pattern such as in/*.log names others" in told
    path = written(folder, source={"json_lines": {"path": "in/*.log"}})
    assert "40 released" in sfumato_command("stream", "run", path, "--once").stdout


def test_a_file_that_is_waited_for_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    progress = StreamProgress(0)
    progress.awaited = "evnts.jsonl"
    with _Line("text") as told:
        told.show(progress)
        told.show(progress)
    assert capsys.readouterr().err == "waits for evnts.jsonl: no file yet\n"


def test_a_report_replaces_its_own_page_and_no_other(folder: Path, sfumato_command: Callable[..., Any]) -> None:
    path, page = written(folder), folder / "policy.report.html"
    run(path)
    for _ in range(2):
        ended = sfumato_command("stream", "report", path)
        assert (ended.returncode, ended.stdout) == (0, f"report    {page}\n"), ended.stderr
    page.write_text(page.read_text().replace("</body>", "<p>a note</p></body>"))
    assert "[output-exists]" in sfumato_command("stream", "report", path).stderr


KEYS = {name: base64.b64encode(bytes(range(place, place + 32))).decode() for place, name in enumerate("ABC")}
KEYED = {
    "keys": {"names": {"file": "names.key"}},
    "columns": policy()["columns"] | {"name": {"role": "other", "mask": {"hash": {"key": "names"}}, "accept": "singling_out"}},
}


def test_a_key_that_was_exchanged_is_refused_and_the_first_goes_on(folder: Path) -> None:
    (folder / "names.key").write_text(f"first:{KEYS['A']}\n")
    (folder / "names.key").chmod(0o600)
    path = written(folder, **KEYED)
    run(path, at_end="keep")
    for other in (f"first:{KEYS['B']}", f"second:{KEYS['B']}\nfirst:{KEYS['A']}", f"second:{KEYS['A']}"):
        (folder / "names.key").write_text(other)
        for command in (run, sfumato.check_stream):
            with pytest.raises(SfumatoError) as refused:
                command(path)
            assert str(refused.value) == (
                f"key names: the one in use is not the one that the stream in {folder / 'state'} began with [stream-key-changed]\n"
                "  try: put that one first again; for a new key name another state and another sink: one release is made under one key"
            )
    (folder / "names.key").write_text(f"first:{KEYS['A']}\nzeroth:{KEYS['C']}\n")
    assert run(path)["released"] == 100
    assert sfumato.check_stream(path).sentences() == []
    assert [file for file in (folder / "state").rglob("*") if file.is_file() and KEYS["A"].encode() in file.read_bytes()] == []


def test_a_session_is_not_restored_under_another_key(folder: Path) -> None:
    (folder / "names.key").write_text(f"first:{KEYS['A']}\n")
    (folder / "names.key").chmod(0o600)
    path = written(folder, **KEYED)
    session = sfumato.stream(path, secret=bytes(32))
    session.push([{"pid": 1, "name": "ada", "age": 20, "illness": "flu"}])
    state = session.snapshot()
    sfumato.stream(path, secret=bytes(32)).restore(state)
    (folder / "names.key").write_text(f"first:{KEYS['B']}\n")
    with pytest.raises(SfumatoError, match="key names: the one in use is not the one that what is restored was written under"):
        sfumato.stream(path, secret=bytes(32)).restore(state)


@pytest.mark.parametrize("kind", CHANGED)
def test_a_file_that_is_mended_before_anything_was_taken_is_no_other(folder: Path, kind: str) -> None:
    column, _, after = CHANGED[kind]
    path = written(folder, columns=policy()["columns"] | {"illness": column}, stream={"state": "state", "on_unfit": "error"})
    (folder / "read.txt").write_text("*: cold\n" if kind == "hierarchy" else "cold,a\n")
    with pytest.raises(SfumatoError):
        run(path)
    (folder / "read.txt").write_text(after)
    assert run(path)["released"] == 100
