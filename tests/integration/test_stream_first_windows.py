"""The first window of a stream may be short, and what is no record stops a stream that shall stop at it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import DataError, PromiseError, UsageError

COLUMNS: dict[str, Any] = {
    "pid": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "type": "integer"},
    "at": {"role": "identifier", "type": "timestamp"},
    "temp": {"role": "other", "type": "decimal"},
}


def record(number: int, minute: int, temp: float) -> str:
    at = f"2026-01-01T{9 + minute // 60:02}:{minute % 60:02}:00Z"
    return json.dumps({"pid": number, "age": 20 + number % 50, "at": at, "temp": temp}) + "\n"


def policy(folder: Path, records: str, **further: Any) -> dict[str, Any]:
    (folder / "in.jsonl").write_text(records)
    told = {"source": str(folder / "in.jsonl"), "sink": str(folder / "out.jsonl"), "subject": "pid", "columns": COLUMNS}
    return (
        told
        | {"promises": [{"k_anonymity": {"k": 3}}], "window": {"time": "1h", "column": "at"}, "stream": {"state": str(folder / "state")}}
        | further
    )


def accounts(given: dict[str, Any]) -> dict[str, int]:
    (view,) = run_stream(given, Running(once=True)).views.values()
    return dict(view.accounts)


FEW = "".join(record(number, 59, 36 + number / 10) for number in range(12))
MANY = "".join(record(number, 60 + number // 20, 35 + number % 60 / 10) for number in range(12, 800))


@pytest.mark.parametrize(("on_small", "released"), [("carry", 800), ("suppress", 788)])
def test_a_short_first_window_does_not_end_the_stream(tmp_path: Path, on_small: str, released: int) -> None:
    given = policy(tmp_path, FEW + MANY)
    given["window"]["on_small"] = on_small
    assert accounts(given)["released"] == released
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == released


def test_a_column_that_singles_people_out_is_refused_with_the_last_window(tmp_path: Path) -> None:
    given = policy(tmp_path, "".join(record(number, number, number / 7) for number in range(300)))
    with pytest.raises(PromiseError) as caught:
        run_stream(given, Running(once=True))
    assert (caught.value.code, "nothing was released yet" in str(caught.value)) == ("singling-out", True)
    assert not (tmp_path / "out.jsonl").exists() or (tmp_path / "out.jsonl").read_text() == ""


def test_a_column_that_singles_people_out_is_refused_once_there_are_enough_rows(tmp_path: Path) -> None:
    given = policy(tmp_path, "".join(record(number, number // 400 * 60, number / 7) for number in range(4000)))
    with pytest.raises(PromiseError) as caught:
        run_stream(given, Running(once=True, at_end="keep"))
    assert caught.value.code == "singling-out"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"pid": 5, "age": "x"', "json-line"),
        ('{"pid": 5, "age": "old", "at": "2026-01-01T09:00:00Z", "temp": 1.5}', "json-type"),
        ("[1, 2]", "json-line"),
    ],
)
def test_what_is_no_record_stops_a_stream_that_shall_stop(tmp_path: Path, line: str, code: str) -> None:
    given = policy(tmp_path, MANY + line + "\n" + MANY)
    given["stream"]["on_unfit"] = "error"
    with pytest.raises(DataError) as caught:
        run_stream(given, Running(once=True))
    assert (caught.value.code, code in caught.value.message) == ("stream-unfit", True)
    given["stream"] = {"state": str(tmp_path / "other")}
    assert accounts(given)["dead"] == 1


def test_what_is_left_at_the_end_of_a_file_is_told(tmp_path: Path) -> None:
    rows = [f"{number},{20 + number % 30},2026-01-01T09:00:00Z,36.{number % 5}" for number in range(40)]
    rows[30] = rows[30].replace("2026", '"2026')
    (tmp_path / "in.csv").write_text("pid,age,at,temp\n" + "\n".join(rows) + "\n")
    given = policy(tmp_path, "") | {"source": str(tmp_path / "in.csv")}
    progress = run_stream(given, Running(once=True))
    assert (progress.records, progress.as_mapping()["unfinished"]["bytes"]) == (30, len("\n".join(rows[30:])) + 1)


def test_a_wrong_address_of_metrics_leaves_the_status_as_it_is(tmp_path: Path) -> None:
    given = policy(tmp_path, FEW + MANY)
    run_stream(given, Running(once=True))
    before = (tmp_path / "state" / "status.json").read_bytes()
    with pytest.raises(UsageError):
        run_stream(given, Running(once=True, metrics="abc"))
    assert (tmp_path / "state" / "status.json").read_bytes() == before


def of_clusters(folder: Path, records: str) -> dict[str, Any]:
    given = policy(folder, records, algorithm={"castle": {"delta": 1_100}})
    given["stream"]["batch"] = 2
    del given["window"]
    return given


def test_a_few_rows_of_the_first_clusters_do_not_end_the_stream(tmp_path: Path) -> None:
    # 300 temperatures: among the few rows that leave first most of them occur once, among all that wait none does
    given = of_clusters(tmp_path, "".join(record(number, number // 30, 30 + number * 7 % 300 / 10) for number in range(1_200)))
    assert accounts(given)["released"] > 1_100


def test_a_column_that_singles_people_out_is_refused_with_the_first_clusters(tmp_path: Path) -> None:
    given = of_clusters(tmp_path, "".join(record(number, number // 30, number / 7) for number in range(1_200)))
    with pytest.raises(PromiseError) as caught:
        run_stream(given, Running(once=True))
    assert caught.value.message == "most of the 1102 values of column temp that would be published occur once: it singles people out"
    assert caught.value.hint == (
        "give it the role identifier or quasi_identifier, mask it, or say accept: singling_out in columns.temp; nothing was released yet: change the "
        "policy and run it again, and where that is refused, because records of the old one wait, with another folder, stream: {state: ...}"
    )
