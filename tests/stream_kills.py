"""A stream whose process is killed at any moment: what must hold afterwards. The tests do it a few times, ``benchmarks/stream_kills.py`` fifty."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.events import SUPPRESSED, EventDecisions
from sfumato.engine.stream.check import check_stream
from sfumato.measures.event_replay import Asked, EventReplay, Seen

PEOPLE = 400
K, L, Z, MADE_UP = 3, 2, 8, 3
BEGIN = 1_800_000_000
MINUTE = 60_000_000
POLICY: dict[str, Any] = {
    "source": "events.jsonl",
    "subject": "pid",
    "columns": {
        "pid": {"role": "identifier"},
        "number": {"role": "identifier"},
        "at": {"role": "identifier", "type": "timestamp"},
        "zip": {"role": "quasi_identifier", "type": "integer"},
        "age": {"role": "quasi_identifier", "type": "integer"},
        "item": {"role": "identifier"},
        "illness": {"role": "sensitive"},
    },
    "promises": [{"k_anonymity": {"k": K}}, {"l_diversity": {"column": "illness", "l": L}}],
    "stream": {"state": "state", "batch": 500},
    "views": {
        "plain": {
            "columns": {"number": {"role": "other", "accept": "singling_out"}, "zip": {"role": "identifier"}, "age": {"role": "identifier"}},
            "promises": [],
            "sink": "plain.csv",
        },
        "windows": {"window": {"time": "10s", "column": "at", "lateness": "1s"}, "sink": "windows.jsonl"},
        "clusters": {"algorithm": {"castle": {"delta": 300}}, "sink": "clusters.jsonl"},
        "events": {
            "algorithm": {
                "z_anonymity": {
                    "z": Z,
                    "window": "1m",
                    "time": "at",
                    "path": "item",
                    "separator": "*",
                    "noise": {"diffmax": MADE_UP, "copied": ["number", "illness"], "opted_out_file": "out.txt"},
                }
            },
            "promises": [],
            "columns": {
                "pid": {"role": "other", "accept": "singling_out"},
                "number": {"role": "other", "accept": "singling_out"},
                "item": {"role": "other"},
                "zip": {"role": "identifier"},
                "age": {"role": "identifier"},
            },
            "sink": "events.csv",
        },
    },
}


def records(start: int, number: int) -> str:
    """Return records as lines of JSON, each a function of its number alone; one in fifty cannot be read."""
    lines = []
    for place in range(start, start + number):
        chance = random.Random(place)
        if place % 50 == 17:
            lines.append("no record\n")
            continue
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGIN + place // 40))
        item = f"shop*{chance.choice('abc')}*{min(int(chance.paretovariate(0.7)), 500)}"
        told = {"pid": chance.randrange(PEOPLE), "number": place, "at": at, "zip": 10_000 + chance.randrange(900), "age": chance.randrange(90)}
        lines.append(json.dumps(told | {"item": item, "illness": chance.choice(["flu", "asthma", "gout"])}) + "\n")
    return "".join(lines)


def killed_stream(folder: Path, number: int, kills: int, chance: random.Random) -> Counter[str]:
    """Let a stream follow a file that grows, kill it so often, let it come to its end, and return how the runs ended.

    Each time somebody opts out, and one who has before is taken out of the list.
    """
    (folder / "policy.yaml").write_text(json.dumps(POLICY))
    source, written, ended = folder / "events.jsonl", 0, Counter[str]()
    source.touch()
    (folder / "out.txt").touch()
    for trial in range(kills):
        before, process = _commits(folder), _started(folder)
        goal, until, deadline = number * (trial + 1) // kills, chance.uniform(0.1, 3), time.monotonic() + 600
        began = time.monotonic() if trial % 3 == 0 else None
        while began is None or time.monotonic() < began + until:
            written += _append(source, written, min(goal - written, chance.randrange(1, max(2, number // kills // 20))), chance)
            # most of the time it is killed after a commit, when something can be lost
            if began is None and (_commits(folder) != before or time.monotonic() > deadline):
                began = time.monotonic()
        process.send_signal(signal.SIGKILL)
        ended["killed" if process.wait() == -signal.SIGKILL else "failed"] += 1
        ended["after a commit"] += _commits(folder) != before
        (folder / "out.txt").write_text("".join(f"{person}\n" for person in chance.sample(range(PEOPLE), 40)))
        written += _append(source, written, goal - written, chance)
    process = _started(folder, "--once")
    ended["done" if process.wait() == 0 else "failed"] += 1
    return ended


def _append(source: Path, start: int, number: int, chance: random.Random) -> int:
    """Append records as others write: now and then half a line first."""
    text = records(start, number)
    with source.open("a") as file:
        file.write(text[: len(text) // 2])
        file.flush()
        time.sleep(chance.uniform(0, 0.05))
        file.write(text[len(text) // 2 :])
    return number


def _commits(folder: Path) -> int:
    """Return something that changes with every commit."""
    status = folder / "state" / "status.json"
    return status.stat().st_mtime_ns if status.exists() else 0


def check(folder: Path, number: int) -> None:
    """Every record is accounted for once in every view, what was released is what the manifests list, and promises hold over all of it."""
    status = json.loads((folder / "state" / "status.json").read_text())
    poison = len(range(17, number, 50))
    for view in POLICY["views"]:
        accounts = status["views"][view]["accounts"]
        assert sum(accounts.values()) == number, view
        assert accounts["dead"] == poison, view
    _check_plain(folder, number)
    for view in ("windows", "clusters"):
        _check_clusters(folder, view, status["views"][view]["accounts"])
    _check_events(folder, status["views"]["events"]["accounts"])
    _check_manifests(folder)
    assert check_stream(folder / "policy.yaml").sentences() == []


def _check_plain(folder: Path, number: int) -> None:
    with (folder / "plain.csv").open() as file:
        numbers = [int(row["number"]) for row in csv.DictReader(file)]
    assert sorted(numbers) == [place for place in range(number) if place % 50 != 17], "a record is lost or doubled"


def _check_clusters(folder: Path, view: str, accounts: dict[str, int]) -> None:
    rows = [json.loads(line) for line in (folder / f"{view}.jsonl").read_text().splitlines()]
    links = np.fromfile(folder / "state" / "links" / f"{view}.rows", "<i8").reshape(-1, 2)
    assert len(rows) == len(links) == accounts["released"]
    assert len(np.unique(links[:, 0])) == len(links), "a record is released twice"
    lines = (folder / "events.jsonl").read_text().splitlines()
    people, shown, illnesses = defaultdict(set), defaultdict(set), defaultdict(set)
    for row, (place, cluster) in zip(rows, links.tolist(), strict=True):
        original = json.loads(lines[place])
        assert row["illness"] == original["illness"]
        for name in ("zip", "age"):
            low, high = _ends(row[name])
            assert low <= original[name] <= high, "a value does not cover its original"
        people[cluster].add(original["pid"])
        shown[cluster].add((row["zip"], row["age"]))
        illnesses[cluster].add(row["illness"])
    assert min(map(len, people.values())) >= K, "a promise is broken"
    assert min(map(len, illnesses.values())) >= L, "a promise is broken"
    assert {len(boxes) for boxes in shown.values()} == {1}


def _ends(text: str) -> tuple[float, float]:
    if text == "*":
        return -np.inf, np.inf
    first, _, last = text.strip("[]").partition(", ")
    return float(first), float(last or first)


def _check_events(folder: Path, accounts: dict[str, int]) -> None:
    """Replay what came beside what left: enough people share, or seem to share, whatever was published."""
    left = defaultdict(list)
    with (folder / "events.csv").open() as file:
        rows = list(csv.DictReader(file))
    links = np.fromfile(folder / "state" / "links" / "events.rows", "<i8").reshape(-1, 2)[:, 0].tolist()
    for row, record in zip(rows, links, strict=True):
        assert record in (-1, int(row["number"]))
        left[int(row["number"])].append((int(row["pid"]), record == -1, row["item"]))
    assert sum(not is_fake for each in left.values() for _, is_fake, _ in each) == accounts["released"]
    assert len(rows) > accounts["released"], "nothing was made up: this trial shows too little"
    replay = EventReplay(Asked(MINUTE, rest=True, diffmax=MADE_UP))
    with (folder / "events.jsonl").open() as file:
        came = [_seen(number, json.loads(text)) for number, text in enumerate(file) if number % 50 != 17]
    for start in range(0, len(came), 5_000):
        piece = came[start : start + 5_000]
        assert list(replay.breaches(piece, _decided(piece, left))) == []


def _seen(number: int, told: dict[str, Any]) -> Seen:
    parts = told["item"].split("*")
    labels = [("*".join(parts[:end]),) for end in range(len(parts), 0, -1)]
    return Seen(number, (BEGIN + number // 40) * 1_000_000, told["pid"], labels)


def _decided(piece: list[Seen], left: dict[int, list[tuple[int, bool, str]]]) -> EventDecisions:
    """Return what must have been decided of records, by what left of them."""
    texts = [left[record.number][0][2] if record.number in left else None for record in piece]
    levels = [SUPPRESSED if text is None else record.labels.index((text,)) for record, text in zip(piece, texts, strict=True)]
    leaving = [(place, *row[:2]) for place, record in enumerate(piece) for row in left.get(record.number, [])]
    places, shown, is_fake = (np.array(column) for column in zip(*leaving, strict=True)) if leaving else (np.empty(0, np.int64),) * 3
    numbers = np.array([record.number for record in piece])
    return EventDecisions(numbers, np.array(levels, np.int8), np.full(len(piece), Z), {"item": pa.array(texts)}, places, shown, is_fake)


def _check_manifests(folder: Path) -> None:
    for name in ("plain.csv", "windows.jsonl", "clusters.jsonl", "events.csv"):
        listed = [json.loads(line) for line in (folder / f"{name}.manifest.jsonl").read_text().splitlines()]
        assert [each["segment"] for each in listed] == list(range(1, len(listed) + 1))
        assert [each["from"] for each in listed[1:]] == [each["to"] for each in listed[:-1]]
        assert listed[-1]["to"] == (folder / name).stat().st_size


def _started(folder: Path, *further: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sfumato", "stream", "run", "policy.yaml", *further]
    with (folder / "errors.txt").open("ab") as errors:
        return subprocess.Popen(command, cwd=folder, env=dict(os.environ), stdout=subprocess.DEVNULL, stderr=errors)
