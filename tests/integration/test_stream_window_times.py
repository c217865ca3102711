"""Windows of time that say when they began and ended: the same in all rows that leave together, whatever was carried over, and never of a session."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.engine.stream.check import check_stream
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import PolicyError
from tests.stream_policy import POLICY

COLUMNS = POLICY["columns"] | {"at": {"role": "identifier", "type": "timestamp"}}
TIMES = {"start": "window_start", "end": "window_end"}
WINDOW = {"time": "10m", "column": "at", "publish": TIMES}


def policy(**further: Any) -> dict[str, Any]:
    return POLICY | {"columns": COLUMNS, "window": WINDOW} | further


def records(numbers: range = range(60)) -> list[dict[str, Any]]:
    """Return a record a minute, of 20 people."""
    return [
        {"pid": n % 20, "at": f"2026-01-01T{n // 60:02}:{n % 60:02}:30Z", "age": 20 + n % 5, "illness": ("flu", "gout", "cold")[n % 3]}
        for n in numbers
    ]


def ran(folder: Path, told: list[dict[str, Any]], **further: Any) -> Path:
    (folder / "policy.yaml").write_text(json.dumps(policy(**further)))
    (folder / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in told))
    run_stream(folder / "policy.yaml", Running(once=True))
    return folder / "policy.yaml"


def released(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in (folder / "release.jsonl").read_text().splitlines()]


def test_every_row_says_when_its_window_began_and_ended(tmp_path: Path) -> None:
    path = ran(tmp_path, records())

    assert [list(row)[-2:] for row in released(tmp_path)] == [["window_start", "window_end"]] * 60
    spans = {(row["window_start"], row["window_end"]) for row in released(tmp_path)}
    ends = [f"2026-01-01T{n // 6:02}:{n % 6}0:00Z" for n in range(7)]
    assert spans == set(pairwise(ends))
    assert check_stream(path).sentences() == []


def test_windows_that_were_carried_over_are_one_stretch(tmp_path: Path) -> None:
    few = [record | {"pid": 1} for record in records(range(10))]
    path = ran(tmp_path, [*few, *records(range(10, 30))])

    spans = {(row["window_start"], row["window_end"]) for row in released(tmp_path)}
    assert spans == {("2026-01-01T00:00:00Z", "2026-01-01T00:20:00Z"), ("2026-01-01T00:20:00Z", "2026-01-01T00:30:00Z")}
    assert check_stream(path).sentences() == []


@pytest.mark.parametrize("way", [{"on_late": "next"}, {"on_late": "leave_out"}])
def test_a_late_record_has_the_times_of_the_window_that_it_is_in(tmp_path: Path, way: dict[str, Any]) -> None:
    late = records(range(25)) + records(range(3, 5)) + records(range(25, 30))
    assert check_stream(ran(tmp_path, late, stream=POLICY["stream"] | way)).sentences() == []
    assert {row["window_start"] for row in released(tmp_path)} == {f"2026-01-01T00:{n}0:00Z" for n in range(3)}


@pytest.mark.parametrize("sink", ["release.csv", "release.parquet", "release.arrow"])
def test_every_sink_has_the_times(tmp_path: Path, sink: str) -> None:
    path = ran(tmp_path, records(), sink=sink)

    assert check_stream(path).sentences() == []
    if sink == "release.csv":
        with (tmp_path / sink).open() as file:
            assert {row["window_end"] for row in csv.DictReader(file)} >= {"2026-01-01T00:10:00Z", "2026-01-01T01:00:00Z"}
        return
    (file, *_) = sorted((tmp_path / sink).glob(f"*{Path(sink).suffix}"))
    table = pq.read_table(file) if sink.endswith("parquet") else pa.ipc.open_file(file).read_all()
    assert table.schema.field("window_start").type == pa.timestamp("us", "UTC")


def test_one_of_the_times_is_enough_and_numbers_are_times_too(tmp_path: Path) -> None:
    told = [record | {"at": 1_767_225_600_000 + 60_000 * n} for n, record in enumerate(records())]
    columns = COLUMNS | {"at": {"role": "identifier", "type": "integer"}}
    path = ran(tmp_path, told, columns=columns, window=WINDOW | {"unit": "ms", "publish": {"end": "until"}})

    assert {row["until"] for row in released(tmp_path)} == {f"2026-01-01T{n // 6:02}:{n % 6}0:00Z" for n in range(1, 7)}
    assert not any("window_start" in row for row in released(tmp_path))
    assert check_stream(path).sentences() == []


@pytest.mark.parametrize("sink", ["release.jsonl", "release.csv", "release.parquet"])
@pytest.mark.parametrize("day", ["9999-12-30", "0001-01-03"])
def test_a_record_whose_window_is_beyond_the_calendar_is_a_dead_letter(tmp_path: Path, sink: str, day: str) -> None:
    told = records(range(20)) + [record | {"at": f"{day}T12:00:00Z"} for record in records(range(20))]
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(policy(window=WINDOW | {"time": "7d"}, sink=sink)))
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in told))

    accounts = run_stream(path, Running(once=True)).views[""].accounts

    assert (accounts["released"], accounts["dead"]) == (20, 20)
    assert check_stream(path).sentences() == []


def test_without_being_asked_a_window_says_nothing_of_its_times(tmp_path: Path) -> None:
    ran(tmp_path, records(), window={"time": "10m", "column": "at"})
    assert {tuple(row) for row in released(tmp_path)} == {("age", "illness")}


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("window_end", "2026-01-01T00:20:00Z", "is not the same in all rows that left together, or no end of a window"),
        ("window_start", None, "is not the same in all rows that left together, or no end of a window"),
    ],
)
def test_a_time_that_somebody_changed_is_found(tmp_path: Path, name: str, value: str | None, what: str) -> None:
    path = ran(tmp_path, records())
    rows = released(tmp_path)
    rows[3][name] = value or "2026-01-01T00:00:01Z"
    (tmp_path / "release.jsonl").write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))

    assert f"release: windows: column {name}: a window {what}, at the release that begins with row 0" in check_stream(path).sentences()


@pytest.mark.parametrize(("begins", "what"), [("00:10:00Z", "begins after one of its records"), ("00:00:00Z", "ends before one of its records")])
def test_a_window_that_does_not_hold_its_records_is_found(tmp_path: Path, begins: str, what: str) -> None:
    path = ran(tmp_path, records(range(10)) if begins.startswith("00:10") else records(range(10, 20)))
    rows = [row | {"window_start": f"2026-01-01T{begins}", "window_end": f"2026-01-01T00:{int(begins[3]) + 1}0:00Z"} for row in released(tmp_path)]
    (tmp_path / "release.jsonl").write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))

    (found,) = check_stream(path).sentences()
    assert what in found


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (
            {"session": "10m", "column": "at", "publish": TIMES},
            "window.publish: a session begins and ends at its person's own times, which nobody else has [policy-window]\n"
            "  try: leave it out; windows of time, window: {time: 10m}, may say theirs",
        ),
        (
            {"count": 10, "publish": TIMES},
            "window.publish: says something only of windows of time [policy-window]\n  try: leave it out",
        ),
        (
            WINDOW | {"publish": {"start": "age"}},
            "window.publish.start: there is a column age already [policy-window]\n  try: start: window_start",
        ),
        (
            WINDOW | {"publish": {"start": "when", "end": "when"}},
            "window.publish.end: there is a column when already [policy-window]\n  try: end: window_end",
        ),
        (
            WINDOW | {"publish": {}},
            "window.publish: names no column [policy-window]\n  try: publish: {start: window_start, end: window_end}",
        ),
    ],
)
def test_times_that_nobody_may_know_or_that_have_no_column_are_refused(window: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as refused:
        sfumato.stream(policy(window=window))
    assert message in str(refused.value)


def test_the_plan_says_it(sfumato_command: Any, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(json.dumps(policy()))
    told = sfumato_command("plan", str(tmp_path / "policy.yaml")).stdout
    assert "Say in every row when its window began in window_start and ended in window_end." in told
