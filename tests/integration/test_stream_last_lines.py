"""The last line of a file that somebody is still writing: with ``--once`` half a record waits for its rest, and a whole one does not."""

from __future__ import annotations

import io
import json
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.engine.stream import progress, running
from sfumato.engine.stream.check import check_stream
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import PolicyError
from tests.stream_policy import POLICY

PEOPLE = [{"pid": number, "age": 20 + number % 20, "illness": ("flu", "gout")[number % 2]} for number in range(30)]
JSON = "".join(json.dumps(person) + "\n" for person in PEOPLE)
CSV = "pid,age,illness\n" + "".join(",".join(map(str, person.values())) + "\n" for person in PEOPLE)


def policy(folder: Path, source: Any) -> Path:
    (folder / "policy.yaml").write_text(json.dumps(POLICY | {"source": source}))
    return folder / "policy.yaml"


def once(path: Path, **further: Any) -> tuple[int, int]:
    accounts = run_stream(path, Running(once=True), **further).views[""].accounts
    return sum(accounts.values()), accounts["dead"]


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


@pytest.mark.parametrize(("name", "content"), [("events.jsonl", JSON), ("events.csv", CSV)])
@pytest.mark.parametrize("cut", [3, 9])
def test_half_a_last_line_waits_for_its_rest(tmp_path: Path, name: str, content: str, cut: int) -> None:
    path, events = policy(tmp_path, name), tmp_path / name
    events.write_text(content[:-cut])
    assert once(path) == (29, 0)
    append(events, content[-cut:].encode())
    assert once(path) == (30, 0)


def test_a_last_line_of_json_that_is_whole_needs_no_line_end(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(JSON[:-1])
    assert once(policy(tmp_path, "events.jsonl")) == (30, 0)


def test_a_last_line_of_delimited_text_is_whole_when_nobody_has_written_for_a_while(tmp_path: Path) -> None:
    path, events = policy(tmp_path, "events.csv"), tmp_path / "events.csv"
    events.write_text(CSV[:-1])
    assert once(path) == (29, 0)
    os.utime(events, (time.time() - 60, time.time() - 60))
    assert once(path) == (30, 0)


def test_half_a_message_of_arrow_waits_for_its_rest(tmp_path: Path) -> None:
    path, written = policy(tmp_path, "events.arrow"), io.BytesIO()
    batch = pa.RecordBatch.from_pylist(PEOPLE)
    with pa.ipc.new_stream(written, batch.schema) as writer:
        writer.write_batch(batch.slice(0, 15))
        half = written.tell() + 40
        writer.write_batch(batch.slice(15))
    (tmp_path / "events.arrow").write_bytes(written.getvalue()[:half])
    assert once(path) == (15, 0)
    append(tmp_path / "events.arrow", written.getvalue()[half:])
    assert once(path) == (30, 0)


@pytest.mark.parametrize(("form", "content"), [("json_lines", JSON), ("delimited", CSV)])
def test_a_pipe_that_is_closed_has_ended_and_its_last_line_counts(tmp_path: Path, form: str, content: str) -> None:
    path = policy(tmp_path, {"standard_input": {"format": form}})
    reader, writer = os.pipe()
    os.write(writer, content[:-9].encode())
    threading.Timer(1.0, lambda: os.close(writer)).start()
    with io.FileIO(reader) as pipe:
        assert once(path, pipe=pipe) == (30, 1)


def arrow_of(people: list[dict[str, Any]]) -> bytes:
    written, batch = io.BytesIO(), pa.RecordBatch.from_pylist(people)
    with pa.ipc.new_stream(written, batch.schema) as writer:
        writer.write_batch(batch)
    return written.getvalue()


@pytest.mark.parametrize(
    ("form", "content", "cut", "whole", "dead"),
    [
        ("delimited", CSV.encode(), 3, 0, 1),
        ("delimited", CSV.encode(), len(CSV) - 5, 0, 0),
        ("json_lines", JSON.encode(), 3, 0, 1),
        # a record says itself where it ends
        ("json_lines", JSON.encode(), 1, 1, 0),
        ("json_lines", JSON.encode(), len(JSON) - 5, 0, 1),
        ("arrow", arrow_of(PEOPLE), 40, 0, 1),
        ("arrow", arrow_of(PEOPLE), len(arrow_of(PEOPLE)) - 40, 0, 0),
    ],
)
def test_half_a_record_of_a_pipe_that_was_cut_off_is_set_aside(tmp_path: Path, form: str, content: bytes, cut: int, whole: int, dead: int) -> None:
    path = policy(tmp_path, {"standard_input": {"format": form}})
    reader, writer = os.pipe()
    os.write(writer, content[:-cut])
    stop = threading.Event()
    threading.Timer(2.0, stop.set).start()
    with io.FileIO(reader) as pipe:
        before = run_stream(path, Running(), stop, pipe=pipe).views[""].accounts
        os.close(writer)
        assert before["dead"] == 0
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    with io.FileIO(reader) as pipe:
        assert once(path, pipe=pipe) == (sum(before.values()) + whole + dead + 30, dead)
    found = check_stream(path)
    assert found.holds
    assert found.records == sum(before.values()) + whole + dead + 30


@pytest.mark.parametrize("form", ["json_lines", "delimited", "arrow"])
def test_a_dash_as_a_path_is_refused_with_what_was_meant(tmp_path: Path, form: str) -> None:
    with pytest.raises(PolicyError) as refused:
        once(policy(tmp_path, {form: {"path": "-"}}))
    (mistake,) = refused.value.mistakes
    assert (mistake.message, mistake.code) == ("a stream would wait for a file called -", "policy-stream-source")
    assert mistake.hint == f"source: {{standard_input: {{format: {form}}}}} for a pipe; ./- for a file of that name"


@pytest.mark.parametrize(
    ("first", "then", "illnesses"),
    [
        (b"illness\na\nb\nc", b"\nd\n", ["a", "b", "c", "d"]),
        (b"illness\r\na\r\nb\r\nc", b"\r\nd\r\n", ["a", "b", "c", "d"]),
        (b"illness\r\na\r\nb\r\nc\r", b"\nd\r\n", ["a", "b", "c", "d"]),
        (b"illness\na\nb\nc", b"\n\nd\n", ["", "a", "b", "c", "d"]),
        (b"illness\na\nb\nc\n", b"\nd\n", ["", "a", "b", "c", "d"]),
        (b"illness\na\nb\nc", b"\n", ["a", "b", "c"]),
        (b"illness", b"\na\n", ["a"]),
    ],
)
def test_a_line_end_that_comes_later_is_no_record(tmp_path: Path, first: bytes, then: bytes, illnesses: list[str]) -> None:
    found = []
    for parts in ([first, then], [first + then]):
        folder = tmp_path / str(len(parts))
        folder.mkdir()
        told = {"source": "events.csv", "columns": {"illness": {"role": "other"}}, "stream": {"state": "state"}, "sink": "release.jsonl"}
        (folder / "policy.yaml").write_text(json.dumps(told))
        for part in parts:
            append(folder / "events.csv", part)
            os.utime(folder / "events.csv", (1, 1))
            run_stream(folder / "policy.yaml", Running(once=True))
        found.append(sorted(json.loads(text)["illness"] or "" for text in (folder / "release.jsonl").read_text().splitlines()))
    assert found == [illnesses, illnesses]


def test_a_stray_quote_that_holds_back_all_that_follows_is_told(
    tmp_path: Path, sfumato_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_UNFINISHED", 0.2)
    monkeypatch.setattr(running, "_HEARTBEAT", 0.1)
    path, told, stop = policy(tmp_path, "events.csv"), [], threading.Event()
    (tmp_path / "events.csv").write_text(CSV + '7,"33,flu\n8,34,gout\n')

    def watch(found: progress.StreamProgress) -> None:
        told.append(found.line())
        if "unfinished" in found.as_mapping() and "unfinished" in (tmp_path / "state" / "status.json").read_text():
            stop.set()

    thread = threading.Timer(60, stop.set)
    thread.start()
    made = run_stream(path, Running(), stop, watch)
    thread.cancel()

    assert re.search(r"  20 bytes wait for the end of a record, for \d s$", told[-1])
    assert "sfumato_stream_unfinished_bytes 20\n" in made.prometheus()
    shown = sfumato_command("stream", "status", path).stdout
    assert re.search(r"source    20 bytes wait for the end of a record, for \d s: look at its last lines, and for a stray quote\n", shown)
