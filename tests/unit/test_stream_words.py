"""What is said of the records of a stream."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.cli.stream import _of_unfinished, _of_view
from sfumato.engine.stream.progress import StreamProgress, ViewProgress
from sfumato.policy.model import Policy


@pytest.mark.parametrize(
    ("accounts", "rows", "words"),
    [
        ({"released": 0, "aggregated": 0, "held": 7}, 0, "release   0 released, 7 held"),
        ({"released": 0, "aggregated": 3889, "dead": 1}, 3889, "release   3,889 released in aggregates, 1 dead letter"),
        ({"released": 8800, "suppressed": 3, "dead": 2}, 8809, "release   8,800 released, 3 suppressed, 2 dead letters, and 9 made-up rows"),
        ({"released": 8, "held": 0}, 9, "release   8 released, and 1 made-up row"),
    ],
)
def test_what_became_of_records(accounts: dict[str, int], rows: int, words: str) -> None:
    assert _of_view("", accounts, {"rows": float(rows)}, {})[0] == words


@pytest.mark.parametrize(
    ("people", "silent", "words"),
    [
        (1, None, "100.0% finest; 1 person in the window"),
        (3, None, "100.0% finest; 3 people in the window"),
        (40, None, "100.0% finest; nothing of fewer than 3 of the 40 people in the window"),
        (1_200, 0, "100.0% finest; nothing of 0 of the 1,200 people in the window"),
    ],
)
def test_people_of_whom_nothing_is_published(people: int, silent: int | None, words: str) -> None:
    measured = {"shares.0": 1.0, "z": 3.0, "people": float(people)} | ({} if silent is None else {"silent": float(silent)})
    assert _of_view("", {}, measured, {})[-1].strip() == words


def test_large_measures_are_written_out() -> None:
    assert _of_view("", {}, {"delay.mean": 50_000.4, "delay.longest": 99_999.0}, {})[-1].strip() == "delay.mean 50,000, delay.longest 99,999"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("events.arrow", "half a message, whose writer has not written the rest or is gone"),
        ({"standard_input": {"format": "arrow"}}, "half a message, whose writer has not written the rest or is gone"),
        ("events.jsonl", "its last line has no end"),
        ("events.csv", "look at its last lines, and for a stray quote"),
    ],
)
def test_what_waits_for_its_end_is_told_by_its_format(source: Any, words: str) -> None:
    policy = Policy.model_validate({"source": source, "columns": {}})
    assert _of_unfinished({"bytes": 12, "seconds": 6.0}, policy.source) == [f"source    12 bytes wait for the end of a record, for 6 s: {words}"]


def test_the_line_in_the_terminal_of_several_views_is_one_line_of_its_width() -> None:
    progress = StreamProgress(7_200)
    measured = {"z": 10.0, "p_kanon": 0.4455, "delay.mean": 0.0, "loss": 0.25, "shares.0": 0.11}
    late = measured | {"late_lately": 0.98, "clock_ahead": 5 * 31_556_952.0}
    progress.views = {"analysts": ViewProgress({"held": 5}, measured), "partners": ViewProgress({"held": 0}, late)}
    assert [len(progress.line(width)) <= width for width in range(1, 200)] == [True] * 199
    assert progress.line(60) == "7,200 records  0/s  partners: 98% late, clock 5 years ahead"
    assert progress.line(79) == "7,200 records  0/s  analysts: held 5  partners: 98% late, clock 5 years ahead"
