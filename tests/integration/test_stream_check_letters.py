"""Dead letters as ``sfumato stream check`` holds them against the source: whole records, as they came, and what somebody has changed of them."""

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

ILLNESSES = ("flu", "gout", "asthma")
COLUMNS: dict[str, Any] = POLICY["columns"] | {"at": {"role": "identifier", "type": "timestamp"}}
EVENTS = {"columns": COLUMNS | {"age": {"role": "identifier", "type": "integer"}}}
WAYS: dict[str, dict[str, Any]] = {
    "windows": {"columns": COLUMNS, "promises": POLICY["promises"], "window": {"count": 10}},
    "clusters": {"columns": COLUMNS, "promises": POLICY["promises"], "algorithm": {"castle": {"delta": 12}}},
    "events": EVENTS | {"algorithm": {"z_anonymity": {"z": 3, "window": "1m", "time": "at", "path": "illness"}}},
    "at once": EVENTS,
    "views": {
        "columns": COLUMNS,
        "promises": POLICY["promises"],
        "window": {"count": 10},
        "views": {
            "one": {"sink": "one.jsonl"},
            "other": {"sink": "other.csv", "promises": [], "columns": {"age": {"role": "identifier", "type": "integer"}}},
        },
    },
}
FORMATS: dict[str, Callable[[dict[str, Any]], str]] = {
    "events.jsonl": json.dumps,
    "events.csv": lambda record: ",".join(f'"{value}"' for value in record.values()),
}
WHAT = "a dead letter is not what was read of its record"


def records() -> list[dict[str, Any]]:
    told = [{"pid": n % 17, "age": 20 + n % 20, "illness": ILLNESSES[n % 3], "at": f"2026-01-01T00:00:{n:02}Z"} for n in range(60)]
    for number in (8, 33, 34):
        told[number]["age"] = "unknown"
    return told


def ran(folder: Path, way: str, source: str = "events.jsonl") -> Path:
    """Run a stream, in two times, of which some records cannot be read and some do not fit; return its policy."""
    path, lines = folder / "policy.yaml", [FORMATS[source](record) for record in records()]
    lines[12] = lines[40] = 'no record "'
    policy = {name: POLICY[name] for name in ("subject", "stream", "sink")} | WAYS[way] | {"source": source}
    path.write_text(json.dumps({name: value for name, value in policy.items() if way != "views" or name != "sink"}))
    header = [",".join(COLUMNS)] if source.endswith(".csv") else []
    for part in ([*header, *lines[:30]], lines[30:]):
        with (folder / source).open("a") as file:
            file.writelines(f"{line}\n" for line in part)
        run_stream(path, Running(once=True, at_end="keep" if part[-1] != lines[-1] else "flush"))
    return path


def letters(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path.parent / "state" / "dead_letters.jsonl").read_text().splitlines()]


def rewrite(path: Path, told: list[dict[str, Any]]) -> None:
    """Write dead letters in place of those that were, so that the state takes them for the right ones."""
    file = path.parent / "state" / "dead_letters.jsonl"
    file.write_text("".join(json.dumps(letter, ensure_ascii=False) + "\n" for letter in told))
    with sqlite3.connect(path.parent / "state" / "state.sqlite") as database:
        database.execute("UPDATE file SET length = ? WHERE path = ?", (file.stat().st_size, file.name))
    database.close()


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("way", WAYS)
def test_dead_letters_as_they_were_written_hold(tmp_path: Path, way: str, source: str) -> None:
    path = ran(tmp_path, way, source)
    assert len({letter["record"] for letter in letters(path)}) >= 4
    found = sfumato.check_stream(path)
    assert found.sentences() == []
    assert not [each for view in found.views.values() for each in view.not_checked if "dead letters" in each]


CHANGES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "another content": lambda letter: {
        "content": letter["content"].upper() if isinstance(letter["content"], str) else letter["content"] | {"pid": 1}
    },
    "no content": lambda letter: {"content": None},
    "another record": lambda letter: {"record": letter["record"] + 1},
    "another column": lambda letter: {"column": "flu"},
    "a column that is none": lambda letter: {"column": ["pid"]},
    "something else": lambda letter: {"name": "Ada"},
}


@pytest.mark.parametrize("is_unread", [True, False])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", ["windows", "events"])
def test_a_dead_letter_that_was_altered_is_found(tmp_path: Path, way: str, change: str, is_unread: bool) -> None:
    path = ran(tmp_path, way, "events.jsonl" if is_unread else "events.csv")
    told = letters(path)
    place = next(place for place, letter in enumerate(told) if ("view" not in letter) == is_unread)
    told[place] |= CHANGES[change](told[place])
    rewrite(path, told)
    found = sfumato.check_stream(path).views[""].broken
    assert (found["dead letters", WHAT].times, found["dead letters", WHAT].first) == (1, f"record {told[place]['record']}")


def test_the_reason_of_a_record_that_could_not_be_read_is_looked_at(tmp_path: Path) -> None:
    path = ran(tmp_path, "windows")
    rewrite(path, [letter | {"code": "record-cut"} for letter in letters(path)])
    assert sfumato.check_stream(path).sentences() == [f"release: dead letters: {WHAT}, 5 times, first at record 8"]


def test_a_record_that_was_set_aside_when_its_window_closed_is_known_as_it_was_held(tmp_path: Path) -> None:
    """What the columns are is seen by the first window: a record that waits for it across two runs is set aside as the view holds it."""
    path = tmp_path / "policy.yaml"
    columns = COLUMNS | {"illness": {"role": "sensitive", "hierarchy": {"taxonomy": {"tree": {"any": ["flu", "gout"]}}}}}
    promises = [*POLICY["promises"], {"t_closeness": {"column": "illness", "t": 0.9, "distance": "hierarchical"}}]
    path.write_text(json.dumps(POLICY | {"columns": columns, "window": {"count": 40}, "promises": promises}))
    told = [record | {"age": 30, "illness": "asthma" if number == 3 else "flu"} for number, record in enumerate(records())]
    for part in (told[:20], told[20:]):
        with (tmp_path / "events.jsonl").open("a") as file:
            file.writelines(json.dumps(record) + "\n" for record in part)
        run_stream(path, Running(once=True, at_end="keep" if part[0] is told[0] else "flush"))
    (letter,) = letters(path)
    assert set(letter["content"]) < set(told[3]) or letter["content"] != told[3]

    assert sfumato.check_stream(path).sentences() == []

    rewrite(path, [letter | {"content": letter["content"] | {"pid": "1"}}])
    assert sfumato.check_stream(path).sentences() == [f"release: dead letters: {WHAT}, at record 3"]


def test_dead_letters_whose_source_is_gone_are_not_checked_and_that_is_said(tmp_path: Path) -> None:
    path = ran(tmp_path, "windows")
    (tmp_path / "events.jsonl").write_text("")
    found = sfumato.check_stream(path)
    assert found.holds
    assert "dead letters: the records that they are of cannot be read" in found.views[""].not_checked
