"""People who opt out while a stream is down: what was released comes out the same, and nothing more is made up in their name."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato
from sfumato.engine.stream import running
from sfumato.engine.stream.opted_out import OptedOut
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import SfumatoError

# ends the process as SIGKILL does, before a commit
KILLED = """
import os, signal, sys
from sfumato.engine.stream import running
from sfumato.engine.stream.run_journal import Journal
left = [int(sys.argv[1])]
def commit(self, done, before=Journal.commit):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    before(self, done)
Journal.commit, running.StreamSettings.longest_wait = commit, 0.0
running.run_stream("policy.yaml", running.Running(once=True, at_end="keep"))
"""
PEOPLE = [f"u{number}" for number in range(97)]
POLICY: dict[str, Any] = {
    "source": "events.jsonl",
    "subject": "pid",
    "columns": {"pid": {"role": "other"}, "at": {"role": "other", "type": "integer"}, "item": {"role": "sensitive"}},
    "algorithm": {
        "z_anonymity": {
            "z": 6,
            "time": "at",
            "window": "10m",
            "path": "item",
            "noise": {"diffmax": 3, "copied": ["at"], "opted_out_file": "out.txt"},
        }
    },
    "stream": {"state": "state", "batch": 100},
    "sink": "release.jsonl",
}


def line(number: int, **further: Any) -> str:
    told = {"pid": PEOPLE[number * 7919 % 97], "at": 1_700_000_000 + number, "item": f"a{number % 2}.b{number % 3}.c{number * 31 % 180}"}
    return json.dumps(told | further) + "\n"


def begun(folder: Path, listed: list[str], **further: Any) -> Path:
    (folder / "policy.yaml").write_text(json.dumps(POLICY | further))
    (folder / "out.txt").write_text("\n".join(listed))
    append(folder, 0, 600)
    return folder / "policy.yaml"


def append(folder: Path, start: int, end: int) -> None:
    with (folder / "events.jsonl").open("a") as file:
        file.write("".join(map(line, range(start, end))))


def killed(folder: Path, commit: int) -> bytes:
    """Kill a stream before a commit of it, and return what could be seen."""
    ended = subprocess.run([sys.executable, "-c", KILLED, str(commit)], cwd=folder, capture_output=True, check=False, timeout=300)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    return (folder / "release.jsonl").read_bytes()


def made_up(folder: Path, since: int = 0) -> set[str]:
    """Return in whose names rows were made up for records from one on."""
    found = [json.loads(text) for text in (folder / "release.jsonl").read_text().splitlines()]
    return {row["pid"] for row in found if row["at"] >= 1_700_000_000 + since and row["pid"] != PEOPLE[(row["at"] - 1_700_000_000) * 7919 % 97]}


@pytest.mark.parametrize("before", [[], ["u0", "u1", "u2"], PEOPLE[:40]])
def test_what_was_seen_is_written_again_whoever_is_put_into_the_list_or_taken_out(tmp_path: Path, before: list[str]) -> None:
    path = begun(tmp_path, before)
    seen = killed(tmp_path, commit=1)
    (tmp_path / "out.txt").write_text("\n".join(PEOPLE[30:]))
    append(tmp_path, 600, 1200)

    run_stream(path, Running(once=True))

    assert len(seen.splitlines()) > 600
    assert (tmp_path / "release.jsonl").read_bytes().startswith(seen)
    assert made_up(tmp_path, since=0) & {*PEOPLE[40:]}
    assert not made_up(tmp_path, since=600) & {*before, *PEOPLE[30:]}
    assert sfumato.check_stream(path).sentences() == []


def test_a_stream_is_taken_up_again_by_its_pieces_though_the_list_has_grown_between_them(tmp_path: Path) -> None:
    path = begun(tmp_path, [])
    for listed, end in ((PEOPLE[:30], 900), (PEOPLE[20:60], 1200), ([], 1500)):
        killed(tmp_path, commit=2)
        (tmp_path / "out.txt").write_text("\n".join(listed))
        append(tmp_path, end - 300, end)

    run_stream(path, Running(once=True))

    assert made_up(tmp_path) & {*PEOPLE[:30]}
    assert made_up(tmp_path, since=1200) & {*PEOPLE[60:]}
    assert not made_up(tmp_path, since=1200) & {*PEOPLE[:60]}
    assert sfumato.check_stream(path).sentences() == []


def test_who_was_once_in_the_list_has_opted_out_for_ever(tmp_path: Path) -> None:
    path = begun(tmp_path, PEOPLE[:60])
    run_stream(path, Running(once=True))
    (tmp_path / "out.txt").write_text("")
    append(tmp_path, 600, 1200)

    run_stream(path, Running(once=True))

    assert made_up(tmp_path, since=600)
    assert not made_up(tmp_path) & {*PEOPLE[:60]}


def test_who_was_listed_later_and_is_made_up_all_the_same_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = begun(tmp_path, [])
    run_stream(path, Running(once=True))
    (tmp_path / "out.txt").write_text("\n".join(PEOPLE))
    append(tmp_path, 600, 1200)
    monkeypatch.setattr(OptedOut, "between", lambda *_: np.empty(0, np.int64))

    run_stream(path, Running(once=True))

    (found,) = sfumato.check_stream(path).sentences()
    assert found.startswith("release: z_anonymity: a record was made up for somebody who has opted out, ")
    assert int(found.split("record ")[-1]) >= 600


def test_nobody_in_the_list_is_named_in_the_state(tmp_path: Path) -> None:
    begun(tmp_path, ["canary-of-the-list"])
    run_stream(tmp_path / "policy.yaml", Running(once=True))

    assert [file.name for file in (tmp_path / "state").rglob("*") if file.is_file() and b"canary-of-the-list" in file.read_bytes()] == []


FLAG = {
    "columns": POLICY["columns"] | {"out": {"role": "identifier"}, "weight": {"role": "identifier", "type": "integer"}},
    "algorithm": {"z_anonymity": POLICY["algorithm"]["z_anonymity"] | {"noise": {"diffmax": 3, "copied": ["at"], "opted_out": "out"}}},
}


@pytest.mark.parametrize("wrong", [{"weight": "heavy"}, {"at": None}, {"weight": [1]}])
def test_who_opts_out_in_a_dead_letter_is_known_to_the_check(tmp_path: Path, wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "policy.yaml").write_text(json.dumps(POLICY | FLAG))
    told = [line(number, out="no", weight=1) for number in range(1200)]
    letters = [line(0, **({"pid": person, "out": "yes", "weight": 1} | wrong)) for person in PEOPLE]
    (tmp_path / "events.jsonl").write_text("".join([*told[:300], *letters, *told[300:]]))
    run_stream(tmp_path / "policy.yaml", Running(once=True))
    assert sfumato.check_stream(tmp_path / "policy.yaml").sentences() == []

    monkeypatch.setattr(running, "state_folder", lambda _: tmp_path / "other")
    monkeypatch.setattr("sfumato.engine.stream.check.state_folder", lambda _: tmp_path / "other")
    monkeypatch.setattr("sfumato.engine.stream.event_work.EventWork._look_at_letters", lambda *_: None)
    (tmp_path / "release.jsonl").unlink()
    (tmp_path / "release.jsonl.manifest.jsonl").unlink()
    run_stream(tmp_path / "policy.yaml", Running(once=True))
    (found,) = sfumato.check_stream(tmp_path / "policy.yaml").sentences()
    assert found.startswith("release: z_anonymity: a record was made up for somebody who has opted out, ")


@pytest.mark.parametrize("listed", ["5", "+5.0", "5.00", "05"])
def test_the_list_is_read_in_the_one_writing_of_the_declared_type(tmp_path: Path, listed: str) -> None:
    columns = POLICY["columns"] | {"pid": {"role": "other", "type": "decimal", "accept": "singling_out"}}
    path = begun(tmp_path, [listed], columns=columns, source="events.csv")
    writings = ["{}", "{}.0", "{}.00", "+{}"]
    lines = [f"{writings[n % 4].format(n * 7919 % 97)},{1_700_000_000 + n},a{n % 2}.b{n % 3}.c{n * 31 % 180}" for n in range(1500)]
    (tmp_path / "events.csv").write_text("\n".join(["pid,at,item", *lines, ""]))

    run_stream(path, Running(once=True))

    found = [json.loads(text) for text in (tmp_path / "release.jsonl").read_text().splitlines()]
    fakes = {float(row["pid"]) for row in found if float(row["pid"]) != (int(row["at"]) - 1_700_000_000) * 7919 % 97}
    assert fakes
    assert 5 not in fakes
    assert sfumato.check_stream(path).sentences() == []


def test_a_line_that_is_not_of_the_declared_type_lists_nobody(tmp_path: Path) -> None:
    columns = POLICY["columns"] | {"pid": {"role": "other", "type": "integer", "accept": "singling_out"}}
    path = begun(tmp_path, ["5", "# those who said no"], columns=columns)
    (tmp_path / "events.jsonl").write_text("".join(line(number, pid=number % 97) for number in range(100)))
    run_stream(path, Running(once=True))

    with closing(sqlite3.connect(tmp_path / "state" / "state.sqlite")) as database:
        ((told,),) = database.execute("SELECT value FROM about WHERE name = 'told opted out '")
    ((since, people),) = json.loads(told)
    assert (since, len(people)) == (0, 1)


def test_a_class_of_one_person_in_several_writings_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"pid": {"role": "identifier", "type": "decimal"}, "age": {"role": "quasi_identifier", "type": "integer"}}
    given = {"source": "events.csv", "subject": "pid", "columns": columns, "promises": [{"k_anonymity": {"k": 3}}], "window": {"count": 12}}
    (tmp_path / "policy.yaml").write_text(json.dumps({**given, "sink": "release.jsonl", "stream": {"state": "state"}}))
    people = ["1", "1.0", "+1", "2", "3", "4"]
    (tmp_path / "events.csv").write_text("pid,age\n" + "".join(f"{people[n % 6]},{20 if n % 6 < 3 else 60}\n" for n in range(24)))
    # as if the run took each writing for another person
    monkeypatch.setattr("sfumato.engine.stream.people.known_people", lambda subjects, _: subjects)
    run_stream(tmp_path / "policy.yaml", Running(once=True))

    (found,) = sfumato.check_stream(tmp_path / "policy.yaml").sentences()
    assert found.startswith("release: k_anonymity: a class has too few people, ")


def test_a_list_that_cannot_be_read_stops_the_stream_before_a_record_is_taken(tmp_path: Path) -> None:
    path = begun(tmp_path, [])
    (tmp_path / "out.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(SfumatoError, match="is not UTF-8 text"):
        run_stream(path, Running(once=True))
