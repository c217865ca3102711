"""Whoever sees rows before a crash and those that are written again compares them: made-up people, noise and orders must be the same.

Chance is that of a push, so that what matters is how records are cut into pushes, which hangs on how fast a source grew.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sfumato.engine.stream import running, spool
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import SfumatoError

# ends the process as SIGKILL does before a commit; while each of the first pieces is taken, its source grows
KILLED = """
import os, signal, sys
from pathlib import Path
from sfumato.engine.stream import running, spool
from sfumato.engine.stream.run_journal import Journal
parts = [Path(name) for name in sys.argv[2:]]
before, left = running._Stream._push_records, [int(sys.argv[1])]
def push(self, *given):
    before(self, *given)
    if parts:
        with open("events.jsonl", "a") as file:
            file.write(parts.pop(0).read_text())
def commit(self, done, before=Journal.commit):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    before(self, done)
running._Stream._push_records, Journal.commit, running.StreamSettings.longest_wait = push, commit, 1000.0
running.run_stream("policy.yaml", running.Running(once=True))
"""
EVENTS = {
    "columns": {"pid": {"role": "other"}, "at": {"role": "other", "type": "integer"}, "item": {"role": "sensitive"}},
    "algorithm": {"z_anonymity": {"z": 6, "time": "at", "window": "1h", "path": "item", "noise": {"diffmax": 3, "copied": ["at"]}}},
}
NOISE = {
    "columns": {
        "pid": {"role": "identifier"},
        "at": {"role": "other", "type": "integer", "mask": {"noise": {"amount": 50}}},
        "item": {"role": "identifier"},
    }
}
CLASSES = {
    "columns": {"pid": {"role": "identifier"}, "at": {"role": "quasi_identifier", "type": "integer"}, "item": {"role": "sensitive"}},
    "promises": [{"k_anonymity": {"k": 3}}],
}
WAYS: dict[str, dict[str, Any]] = {
    "z_anonymity": EVENTS,
    "noise": NOISE,
    "windows": {**CLASSES, "window": {"count": 70}},
    "clusters": {**CLASSES, "algorithm": {"castle": {"delta": 90}}},
}


def line(number: int) -> str:
    told = {"pid": f"u{number * 7919 % 97}", "at": 1_700_000_000 + number, "item": f"a{number % 2}.b{number % 3}.c{number * 31 % 180}"}
    return json.dumps(told) + "\n"


def lines(start: int, end: int) -> str:
    return "".join(map(line, range(start, end)))


def begun(folder: Path, **further: Any) -> Path:
    told = {"source": "events.jsonl", "subject": "pid", "stream": {"state": "state", "batch": 250}, "sink": "release.jsonl", **further}
    (folder / "policy.yaml").write_text(json.dumps(told))
    (folder / "events.jsonl").write_text(lines(0, 600))
    return folder / "policy.yaml"


def killed(folder: Path, commit: int) -> None:
    for part in range(3):
        (folder / f"part{part}").write_text(lines(600 + 200 * part, 800 + 200 * part))
    command = [sys.executable, "-c", KILLED, str(commit), "part0", "part1", "part2"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=300)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


@pytest.mark.parametrize("way", WAYS)
def test_rows_that_are_written_again_are_those_that_were_seen_though_the_source_has_grown(tmp_path: Path, way: str) -> None:
    path = begun(tmp_path, **WAYS[way])
    killed(tmp_path, commit=1)
    seen = (tmp_path / "release.jsonl").read_bytes()
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(lines(1200, 1500))

    run_stream(path, Running(once=True))

    assert len(seen.splitlines()) > 600
    assert (tmp_path / "release.jsonl").read_bytes().startswith(seen)


def test_all_views_write_again_what_was_seen_of_them(tmp_path: Path) -> None:
    views = {
        name: {"sink": f"{name}.jsonl"} | {key: told for key, told in way.items() if key != "columns"}
        for name, way in WAYS.items()
        if name != "noise"
    }
    views["z_anonymity"] |= {"columns": {**EVENTS["columns"], "pid": {"role": "identifier"}}, "promises": []}
    path = begun(tmp_path, **CLASSES, views=views, sink=None)
    killed(tmp_path, commit=1)
    seen = {name: (tmp_path / f"{name}.jsonl").read_bytes() for name in views}
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(lines(1200, 1500))

    run_stream(path, Running(once=True))

    assert all(seen.values())
    assert [name for name in views if not (tmp_path / f"{name}.jsonl").read_bytes().startswith(seen[name])] == []


def test_what_came_by_a_pipe_is_taken_again_in_the_same_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, commit = begun(tmp_path, **NOISE, source={"standard_input": {"format": "json_lines"}}), running.Journal.commit
    monkeypatch.setattr(spool, "READ", 10_000)
    monkeypatch.setattr(running.StreamSettings, "longest_wait", 1000.0)
    monkeypatch.setattr(running.Journal, "commit", interrupted)
    with (tmp_path / "events.jsonl").open("rb", buffering=0) as pipe, pytest.raises(KeyboardInterrupt):
        run_stream(path, Running(), pipe=pipe)
    seen = (tmp_path / "release.jsonl").read_bytes()
    monkeypatch.setattr(running.Journal, "commit", commit)
    monkeypatch.setattr(spool, "READ", 1 << 18)
    (tmp_path / "more.jsonl").write_text((tmp_path / "events.jsonl").read_text()[len(spooled(tmp_path)) :] + lines(600, 900))
    with (tmp_path / "more.jsonl").open("rb", buffering=0) as pipe:
        progress = run_stream(path, Running(), pipe=pipe)

    assert seen
    assert (tmp_path / "release.jsonl").read_bytes().startswith(seen)
    assert progress.views[""].accounts["released"] == 900


def interrupted(journal: Any, done: Any) -> None:
    raise KeyboardInterrupt


def spooled(folder: Path) -> bytes:
    return b"".join(found.read_bytes() for found in sorted((folder / "state" / "spool").glob("0*")))


@pytest.mark.parametrize("manifest", ["kept", "removed"])
@pytest.mark.parametrize("sink", ["release.jsonl", "release.parquet"])
def test_a_state_that_is_older_than_the_release_is_refused_and_the_release_left_as_it_is(tmp_path: Path, sink: str, manifest: str) -> None:
    path = begun(tmp_path, **EVENTS, sink=sink)
    run_stream(path, Running(once=True))
    shutil.copytree(tmp_path / "state", tmp_path / "older")
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(lines(600, 1200))
    run_stream(path, Running(once=True))
    if manifest == "removed":
        (tmp_path / (f"{sink}.manifest.jsonl" if sink == "release.jsonl" else f"{sink}/manifest.jsonl")).unlink()
    before = files(tmp_path, sink)
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "older").rename(tmp_path / "state")

    with pytest.raises(SfumatoError) as refused:
        run_stream(path, Running(once=True))

    assert (refused.value.code, refused.value.status) == ("stream-state-older", 6)
    assert refused.value.hint == "put back the newest state; to begin anew, name another sink, or remove this one with its manifest"
    assert files(tmp_path, sink) == before


@pytest.mark.parametrize("sink", ["release.jsonl", "release.parquet"])
def test_a_manifest_that_was_removed_is_written_anew(tmp_path: Path, sink: str) -> None:
    path = begun(tmp_path, **EVENTS, sink=sink)
    run_stream(path, Running(once=True))
    manifest = tmp_path / (f"{sink}.manifest.jsonl" if sink == "release.jsonl" else f"{sink}/manifest.jsonl")
    before, told = files(tmp_path, sink), manifest.read_bytes()
    manifest.unlink()

    run_stream(path, Running(once=True))

    assert manifest.read_bytes() == told
    assert files(tmp_path, sink) == before


def test_no_row_is_seen_before_it_is_written_down_which_records_it_is_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, seen = begun(tmp_path, **NOISE), []

    def plan(journal: Any, planned: Any) -> None:
        seen.append(((tmp_path / "release.jsonl").stat().st_size, [piece.records for piece in planned.pieces], planned.flush))
        raise KeyboardInterrupt

    monkeypatch.setattr(running.Journal, "plan", plan)
    with pytest.raises(KeyboardInterrupt):
        run_stream(path, Running(once=True))
    assert seen == [(0, [600], True)]


def files(folder: Path, sink: str) -> dict[str, bytes]:
    return {
        str(found): found.read_bytes()
        for found in sorted(folder.rglob("*"))
        if found.is_file() and found.relative_to(folder).parts[0].startswith(sink)
    }
