"""What the first records of a stream have does not change what later ones say: whole numbers before fractions, and one list among texts."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.engine.stream.running import Running, run_stream

COLUMNS = {"u": {"role": "identifier"}, "age": {"role": "quasi_identifier", "type": "integer"}}
NUMBERS = [1, 44.9, 44.0, Decimal("3.5"), 7]


def pushed(kind: str | None, *records: Any, role: str = "sensitive") -> tuple[list[Any], int]:
    """Return the values that leave, in order, and how many records were set aside."""
    column = {"role": role, **({"type": kind} if kind else {})}
    policy = {"subject": "u", "columns": {**COLUMNS, "x": column}, "promises": [{"k_anonymity": {"k": 2}}], "window": {"count": 1000}}
    session = sfumato.stream(policy)
    for each in records:
        assert not list(session.push(each))
    found = [value for release in session.flush() for value in release.batch.column("x").to_pylist()]
    return sorted(found, key=str), session.accounts.dead


def people(values: list[Any]) -> list[dict[str, Any]]:
    return [{"u": str(place), "age": 1, "x": value} for place, value in enumerate(values)]


@pytest.mark.parametrize(
    ("kind", "left", "dead"),
    [
        ("decimal", [1.0, 10.0, 3.5, 44.0, 44.9, 7.0], 0),
        ("integer", [1, 10, 44, 7], 2),
        (None, [1, 10, 44, 7], 2),
        ("text", ["1", "10", "3.5", "44", "44.9", "7"], 0),
    ],
)
def test_a_fraction_behind_whole_numbers_is_no_whole_number(kind: str | None, left: list[Any], dead: int) -> None:
    assert pushed(kind, people([10]), people(NUMBERS)) == (left, dead)


def test_the_text_of_a_fraction_is_taken_where_the_policy_says_so() -> None:
    assert pushed("decimal", people([10]), people(["44.1", "44.2"])) == ([10.0, 44.1, 44.2], 0)


def test_columns_of_whole_numbers_may_go_on_as_fractions_where_the_policy_says_so() -> None:
    first, second = (
        pa.table({"u": ["0", "1"], "age": [1, 1], "x": pa.array(values, kind)}) for values, kind in (([10, 11], pa.int64()), ([1.5, 2], pa.float64()))
    )

    assert pushed("decimal", first, second) == ([1.5, 10.0, 11.0, 2.0], 0)


def test_what_is_generalised_covers_the_fraction() -> None:
    assert pushed("decimal", people([10]), people([44.9, 44.9]), role="quasi_identifier") == (["[10, 44.9]"] * 3, 0)


@pytest.mark.parametrize("place", [0, 112, 900])
def test_one_list_makes_no_lists_of_all_other_values(tmp_path: Path, place: int) -> None:
    lines = [{"u": number % 90, "age": 20 + number % 9, "city": ["Rome"] if number == place else "Rome"} for number in range(1000)]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    policy = {
        "source": "events.jsonl",
        "subject": "u",
        "columns": {**COLUMNS, "city": {"role": "quasi_identifier"}},
        "promises": [{"k_anonymity": {"k": 3}}],
        "window": {"count": 50},
        "stream": {"state": "state"},
        "sink": "release.jsonl",
    }
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    progress = run_stream(tmp_path / "policy.yaml", Running(once=True))

    assert progress.views[""].accounts["dead"] == 1
    assert {json.loads(line)["city"] for line in (tmp_path / "release.jsonl").read_text().splitlines()} == {"Rome"}
