"""Stretches of a stream without a single record: headers alone, lines without anything. They are read, and nothing else comes of them."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.engine.stream.check import check_stream
from sfumato.engine.stream.kept_state import KeptState
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import SfumatoError
from tests.stream_policy import POLICY

HEADER = "pid,age,illness\n"
COMMAND = [sys.executable, "-m", "sfumato", "stream", "run", "policy.yaml"]


def rows(start: int, end: int) -> str:
    return "".join(f"{number},{20 + number * 7 % 60},{('flu', 'gout')[number % 2]}\n" for number in range(start, end))


def policy(folder: Path, source: Any = "events.csv", **further: Any) -> Path:
    told = POLICY | {"source": source, "window": {"count": 20}, "sink": "release.csv"}
    (folder / "policy.yaml").write_text(json.dumps(told | further))
    return folder / "policy.yaml"


def once(path: Path, end: str = "flush", pipe: bytes | None = None) -> dict[str, int]:
    running = Running(once=True, at_end=end)  # type: ignore[arg-type]
    if pipe is None:
        return dict(run_stream(path, running).views[""].accounts)
    reader, writer = os.pipe()
    os.write(writer, pipe)
    os.close(writer)
    with io.FileIO(reader) as content:
        return dict(run_stream(path, running, pipe=content).views[""].accounts)


def be_old(path: Path) -> None:
    """Let it be a minute that somebody has written to a file."""
    os.utime(path, (time.time() - 60, time.time() - 60))


def released(folder: Path) -> int:
    return len((folder / "release.csv").read_text().splitlines()) - 1


def test_a_file_of_a_folder_may_have_a_header_alone(tmp_path: Path) -> None:
    path = policy(tmp_path, {"delimited": {"path": "inbox"}})
    (tmp_path / "inbox").mkdir()
    for name, content in (("a", rows(0, 30)), ("b", ""), ("c", rows(30, 60)), ("d", "")):
        (tmp_path / "inbox" / f"{name}.csv").write_text(HEADER + content)

    assert once(path)["released"] == released(tmp_path) == 60
    assert check_stream(path).holds


def test_rows_may_come_long_after_their_header(tmp_path: Path) -> None:
    path, events = policy(tmp_path), tmp_path / "events.csv"
    events.write_text(HEADER)
    assert once(path, "keep")["released"] == 0
    for start in range(0, 60, 20):
        with events.open("a") as file:
            file.write(rows(start, start + 20))
        once(path, "keep")

    assert once(path)["released"] == released(tmp_path) == 60
    assert check_stream(path).holds


def test_rows_may_come_after_their_header_while_the_stream_runs(tmp_path: Path) -> None:
    policy(tmp_path)
    (tmp_path / "events.csv").write_text(HEADER)
    with following(tmp_path) as process:
        with (tmp_path / "events.csv").open("a") as file:
            file.write(rows(0, 40))
        wait_until(lambda: KeptState(tmp_path / "state").records == 40)
        process.send_signal(signal.SIGTERM)

        assert process.wait(60) == 0
    assert released(tmp_path) == 40


def test_a_stream_killed_after_a_header_alone_goes_on_where_it_was(tmp_path: Path) -> None:
    path = policy(tmp_path)
    (tmp_path / "events.csv").write_text(HEADER)
    with following(tmp_path) as process:
        process.kill()
        process.wait(60)
    with (tmp_path / "events.csv").open("a") as file:
        file.write(rows(0, 45))

    assert once(path)["released"] == released(tmp_path) == 45
    assert check_stream(path).holds


def test_a_stream_killed_between_a_header_alone_and_a_snapshot_replays_exactly(tmp_path: Path) -> None:
    path = policy(tmp_path, {"delimited": {"path": "inbox"}})
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "a.csv").write_text(HEADER + rows(0, 30))
    (tmp_path / "inbox" / "b.csv").write_text(HEADER)
    with following(tmp_path) as process:
        wait_until(lambda: KeptState(tmp_path / "state").records == 30)
        process.kill()
        process.wait(60)
    with (tmp_path / "inbox" / "b.csv").open("a") as file:
        file.write(rows(30, 60))

    assert once(path)["released"] == released(tmp_path) == 60
    assert check_stream(path).holds


def test_a_log_may_be_rotated_to_a_header_alone(tmp_path: Path) -> None:
    path, events = policy(tmp_path), tmp_path / "events.csv"
    events.write_text(HEADER + rows(0, 30))
    once(path, "keep")
    events.rename(tmp_path / "events.csv.1")
    events.write_text(HEADER)
    once(path, "keep")
    with events.open("a") as file:
        file.write(rows(30, 60))

    assert once(path)["released"] == released(tmp_path) == 60


def test_a_pipe_may_bring_a_header_alone(tmp_path: Path) -> None:
    path = policy(tmp_path, {"standard_input": {"format": "delimited"}})
    for content in (HEADER, HEADER + rows(0, 30), HEADER):
        once(path, "keep", content.encode())

    assert once(path, pipe=(HEADER + rows(30, 60)).encode())["released"] == released(tmp_path) == 60


def test_a_blank_line_alone_settles_nothing_of_a_stream_of_json(tmp_path: Path) -> None:
    path, events = policy(tmp_path, "events.jsonl"), tmp_path / "events.jsonl"
    events.write_text("\n")
    once(path, "keep")
    with events.open("a") as file:
        file.writelines(json.dumps({"pid": number, "age": 20 + number % 30, "illness": "flu"}) + "\n" for number in range(40))

    assert once(path) == {"released": 40, "aggregated": 0, "suppressed": 0, "late": 0, "dead": 0, "held": 0}


def test_a_quote_that_is_never_closed_leaves_the_state_as_it_can_be_used(tmp_path: Path) -> None:
    path, events = policy(tmp_path), tmp_path / "events.csv"
    events.write_text('"pid,age,illness\n')
    be_old(events)
    once(path)
    events.rename(tmp_path / "events.csv.1")
    events.write_text(HEADER + rows(0, 30) + '31,"4')
    be_old(events)
    found = once(path)

    assert (found["released"], found["dead"]) == (30, 1)


def test_a_line_longer_than_a_block_comes_between_others(tmp_path: Path) -> None:
    path = policy(tmp_path)
    (tmp_path / "events.csv").write_text(HEADER + f"1,30,{'x' * (18 << 20)}\n" + rows(2, 30))

    assert sum(once(path).values()) == 29


@pytest.mark.parametrize(("header", "alike"), [("pid,age,illness,pid", "1 and 4"), ("pid,pid", "1 and 2"), (",age,", "1 and 3")])
def test_a_header_that_repeats_a_name_is_refused_as_of_a_table(tmp_path: Path, header: str, alike: str) -> None:
    path, events = policy(tmp_path, unnamed="remove"), tmp_path / "events.csv"
    events.write_text(header + "\n" + f"{header}\n" * 50)
    with pytest.raises(SfumatoError) as refused:
        once(path)
    assert refused.value.code == "column-duplicate"
    assert refused.value.message == f"{events} has columns of the same name: columns {alike}"


def test_a_later_file_whose_header_repeats_a_name_is_refused_until_it_is_mended(tmp_path: Path) -> None:
    path = policy(tmp_path, {"delimited": {"path": "inbox"}})
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "a.csv").write_text(HEADER + rows(0, 30))
    (tmp_path / "inbox" / "b.csv").write_text("pid,age,age\n" + rows(30, 60))
    with pytest.raises(SfumatoError, match="columns 2 and 3"):
        once(path)
    (tmp_path / "inbox" / "b.csv").write_text(HEADER + rows(30, 60))

    assert once(path)["released"] == released(tmp_path) == 60


@pytest.mark.parametrize("header", ["", "   ", "pid", "pid,age,illness,further", '"pid'])
def test_a_later_file_of_another_header_has_dead_letters_alone(tmp_path: Path, header: str) -> None:
    path = policy(tmp_path, {"delimited": {"path": "inbox"}}, unnamed="refuse")
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "a.csv").write_text(HEADER + rows(0, 30))
    (tmp_path / "inbox" / "b.csv").write_text(f"{header}\n" + "x,y\n" * 4)
    be_old(tmp_path / "inbox" / "b.csv")
    found = once(path)

    # where the first line is blank, the next one is the header
    assert (found["released"], found["dead"]) == (30, 3 if header == "" else 4)


def test_a_header_of_ten_thousand_columns_is_read(tmp_path: Path) -> None:
    path, further = policy(tmp_path, unnamed="remove"), [f"column_{place}" for place in range(10_000)]
    content = ",".join(["pid", "age", "illness", *further]) + "\n"
    content += "".join(f"{number},{20 + number % 30},flu{',x' * len(further)}\n" for number in range(30))
    (tmp_path / "events.csv").write_text(content)

    assert once(path)["released"] == 30


class following:  # noqa: N801 - reads as a sentence
    """A stream that follows its files, once it has committed how far it has read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(COMMAND, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: (self._folder / "state" / "status.json").exists() and bool(KeptState(self._folder / "state").position))
        return self._process

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(60)


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            if reached():
                return
        except SfumatoError:
            # the state is just being made
            pass
        if time.monotonic() > deadline:
            pytest.fail("what was waited for has not come")
        time.sleep(0.05)
