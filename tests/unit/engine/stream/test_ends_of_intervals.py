"""Ends of intervals are numbers that somebody has written, in whatever form they are published and whichever search has cut them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.engine.stream.progress import StreamProgress, ViewProgress


def policy(column: dict[str, Any], size: int, **further: Any) -> dict[str, Any]:
    columns = {"person": {"role": "identifier"}, "dose": {"role": "quasi_identifier", **column}}
    return {"subject": "person", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}], "window": {"count": size}, **further}


def released(asked: dict[str, Any], doses: list[Any]) -> list[dict[str, Any]]:
    pushed = sfumato.stream(asked, secret=bytes(32)).push([{"person": place, "dose": dose} for place, dose in enumerate(doses)])
    return [row for release in pushed for row in release.batch.to_pylist()]


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly", "microaggregation"])
@pytest.mark.parametrize("doses", [[13.1, 13.1, 23.7, 24.3], [-30.97, -30.97, 1.5, 1.5], [0.1, 0.2, 0.3, 0.4]])
def test_typed_bounds_of_fractions_are_the_fractions_themselves(doses: list[float], algorithm: str) -> None:
    rows = released(policy({"publish": "typed_bounds"}, 4, algorithm=algorithm), doses)

    assert len(rows) == 4
    assert {row[name] for row in rows for name in ("dose_from", "dose_to")} <= {*doses}


@pytest.mark.parametrize(("kind", "doses"), [("integer", [17, 21, 30, 31, 38, 19]), ("decimal", ["1.5", "2.5", "7", "8", "12", "13.25"])])
def test_datafly_goes_up_the_ladder_of_intervals_of_a_window(kind: str, doses: list[Any]) -> None:
    ladder = {"type": kind, "hierarchy": {"interval": {"width": 5}}, "level": {"minimum": 1}}
    rows = released(policy(ladder, 6, algorithm="datafly"), doses)

    bounds = sorted({tuple(float(end) for end in row["dose"].strip("[]").split(", ")) for row in rows})
    assert len(rows) == 6
    assert all(any(low <= float(dose) <= high for low, high in bounds) for dose in doses)
    assert "*" not in {row["dose"] for row in rows}


@pytest.mark.parametrize("cuts", [[4], [1, 1, 1, 1], [2, 2]])
def test_decimals_are_known_on_a_ladder_that_began_with_an_exponent_however_they_come(cuts: list[int]) -> None:
    ladder = {"type": "decimal", "hierarchy": {"interval": {"width": 1}}, "level": {"minimum": 1}}
    asked = policy(ladder, 1, algorithm="castle", stream={"learn": 4})
    session = sfumato.stream({name: value for name, value in asked.items() if name != "window"}, secret=bytes(32))
    session.push([{"person": place, "dose": dose} for place, dose in enumerate(["1e0", "2", "1.5", "4"])])
    later = [{"person": 4 + place, "dose": dose} for place, dose in enumerate(["2", "1.5", "2", "1.5"])]

    dead = [letter for size in cuts for letter in session.push([later.pop(0) for _ in range(size)]).dead]

    assert dead == []


@pytest.mark.parametrize("scale", [18, 19])
def test_decimals_of_arrow_that_no_fraction_tells_are_not_rounded(scale: int) -> None:
    numbers = [Decimal("0.123456789012345678"), Decimal("0.123456789012345679"), Decimal(5), Decimal(5)]
    table = pa.table({"person": list("abcd"), "dose": pa.array(numbers, pa.decimal128(38, scale))})

    pushed = sfumato.stream(policy({"type": "decimal"}, 2), secret=bytes(32)).push(table)

    assert [letter.number for letter in pushed.dead] == [0, 1]
    assert {Decimal(row["dose"]) for release in pushed for row in release.batch.to_pylist()} == {5}


def test_a_mean_of_the_largest_numbers_is_no_one_of_them() -> None:
    means = policy({"type": "decimal"}, 3, algorithm={"microaggregation": {"publish": "mean", "dominance": 1.0}})
    largest = 1.7976931348623157e308

    assert largest not in {float(row["dose"]) for row in released(means, [largest, 10.0, -5.0])}


def test_looks_at_a_stream_in_which_nothing_comes_take_no_room() -> None:
    progress = StreamProgress(0)
    for _ in range(1000):
        progress.add(5, {"": ViewProgress({"dead": 5})})

    assert len(progress._set_aside) <= 3


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly", "microaggregation"])
@pytest.mark.parametrize(
    ("column", "values"),
    [
        ({"type": "integer", "hierarchy": {"interval": {"width": 5}}, "level": {"minimum": 3}}, [3, 80, 41, 17, 30, 31, 32, 33]),
        ({"type": "text", "hierarchy": {"prefix": {}}, "level": {"minimum": 2}}, ["1234", "1235", "1236", "1244", None, None, None, None]),
        ({"type": "text", "hierarchy": {"prefix": {}}, "level": {"minimum": 3}}, ["1234", "1235", "1236", "1244", "1", "2", "1", "2"]),
        ({"type": "decimal", "hierarchy": {"interval": {"quantiles": 3}}, "level": {"minimum": 2}}, [3, 80, 41, 17, 30, 30, 30, 30]),
    ],
)
def test_a_window_of_few_values_shows_the_root_where_its_ladder_is_too_low(column: dict[str, Any], values: list[Any], algorithm: str) -> None:
    rows = released(policy(column, 4, algorithm=algorithm), values)

    assert len(rows) == 8
    assert {row["dose"] for row in rows[4:]} <= {"*", None}


@pytest.mark.parametrize("numbers", [["87556050756590.78", "87739852784537.60"], ["9.25", "10.50"]])
def test_typed_bounds_of_decimals_of_arrow_are_these_decimals(numbers: list[str]) -> None:
    doses = [Decimal(number) for number in numbers for _ in range(2)]
    asked = policy({"type": "decimal", "publish": "typed_bounds"}, 4, algorithm={"castle": {"delta": 3}}, stream={"learn": 2})
    session = sfumato.stream({name: value for name, value in asked.items() if name != "window"}, secret=bytes(32))
    table = pa.table({"person": range(4), "dose": pa.array(doses, pa.decimal128(38, 2))})

    rows = [row for pushed in (session.push(table), session.flush()) for release in pushed for row in release.batch.to_pylist()]

    assert len(rows) == 4
    assert {row[name] for row in rows for name in ("dose_from", "dose_to")} <= {*doses}
