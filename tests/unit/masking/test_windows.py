"""Masks within windows: stretches of time or of a number that make groups."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.core.mask import MaskContext
from sfumato.core.windows import windows
from sfumato.errors import DataError, PolicyError, PromiseError
from sfumato.masking.aggregate import Aggregate
from sfumato.masking.microaggregate import Microaggregate
from sfumato.masking.shuffle import Shuffle
from sfumato.masking.swap import Swap

MONDAY = date(2026, 11, 9)


def apply(mask: Any, people: int = 2, **columns: Any) -> list[Any]:
    batch = pa.RecordBatch.from_pydict({name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in columns.items()})
    return list(mask.apply(batch, MaskContext("x", people=people)).to_pylist())


def test_rows_of_one_week_show_their_average_and_weeks_begin_on_monday() -> None:
    days = [MONDAY - timedelta(1), MONDAY, MONDAY + timedelta(6), MONDAY - timedelta(7), MONDAY + timedelta(7), MONDAY + timedelta(8)]
    found = apply(Aggregate(function="average", by=["day"], every={"day": "1w"}, dominance=1), x=[1, 10, 20, 3, 100, 300], day=days)

    assert found == [2, 15, 15, 2, 200, 200]


def test_a_window_is_one_of_the_columns_that_make_groups() -> None:
    mask = Aggregate(function="sum", by=["ward", "at"], every={"at": "6h"}, dominance=1)
    at = ["2026-11-15T01:00:00Z", "2026-11-15T05:59:59Z", "2026-11-15T06:00:00Z", "2026-11-15T07:30:00+01:00"]
    found = apply(mask, x=[1, 2, 4, 8], ward=["A", "A", "A", "A"], at=at)

    assert found == [3, 3, 12, 12]
    assert apply(mask, x=[1, 2, 4, 8], ward=["A", "A", "B", "C"], at=at) == [3, 3, None, None]


@pytest.mark.parametrize(
    ("length", "groups"),
    [("1d", 4), ("7d", 4), ("month", 3), ("quarter", 3), ("year", 2), ("36500d", 2)],
)
def test_windows_have_the_length_that_is_asked_for(length: str, groups: int) -> None:
    days = pa.array([date(1969, 12, 31), date(1970, 1, 31), date(1970, 4, 1), date(1970, 4, 30), None])
    found = windows(days, length, "day")

    assert found.null_count == 1
    assert len(found.drop_null().unique()) == groups


def test_fractions_lie_in_the_window_in_which_they_are_written() -> None:
    found = windows(pa.array([0.1, 0.3, 0.6, 0.7, 0.69]), 0.1, "dose")

    assert found.to_pylist() == ["1", "3", "6", "7", "6"]
    assert windows(pa.array(["0.30", "0.39", "-0.01", None]), 0.1, "dose").to_pylist() == ["3", "3", "-1", None]


def test_instants_days_text_and_dictionaries_lie_in_the_same_windows() -> None:
    day = [date(2026, 3, 1), date(1960, 2, 29)]
    instants = [datetime(2026, 3, 1, 23), datetime(1960, 2, 29, 1)]
    texts = pa.array(["2026-03-01 12:00", "1960-02-29T00:00:00Z"])
    expected = windows(pa.array(day), "1w", "day").to_pylist()

    assert windows(pa.array(instants), "1w", "day").to_pylist() == expected
    assert windows(texts, "1w", "day").to_pylist() == expected
    assert windows(texts.dictionary_encode(), "1w", "day").to_pylist() == expected


def test_values_are_shuffled_swapped_and_microaggregated_within_windows() -> None:
    ages = np.random.default_rng(3).integers(0, 100, 4000)
    salaries = ages * 1000 + np.arange(4000) % 1000
    for mask in (
        Shuffle(within=["age"], every={"age": 10}),
        Swap(share=1, within=["age"], every={"age": 10}),
        Microaggregate(k=5, within=["age"], every={"age": 10}),
    ):
        found = np.array(apply(mask, people=5, x=salaries, age=ages))

        assert (found != salaries).mean() > 0.9
        assert (found // 10_000 == ages // 10).all()


def test_who_is_alone_in_a_window_has_nobody_to_exchange_with() -> None:
    assert apply(Shuffle(within=["age"], every={"age": 10}), x=[1, 2, 3], age=[11, 19, 20])[2] is None


def test_missing_times_are_a_group_of_their_own() -> None:
    mask = Aggregate(function="max", by=["at"], every={"at": "1d"}, plain=True)

    assert apply(mask, x=[1, 2, 3], at=pa.array([None, None, MONDAY])) == [2, 2, 3]
    assert apply(mask, x=[1, 2, 3], at=pa.nulls(3, pa.string())) == [3, 3, 3]


@pytest.mark.parametrize("length", ["7", "0d", "-1d", "d", "1y", "1 w", "months", 0, -1, float("nan"), float("inf"), [1], None])
def test_what_is_no_length_is_refused(length: Any) -> None:
    with pytest.raises(PolicyError) as caught:
        Shuffle(within=["at"], every={"at": length})

    assert "every" in str(caught.value)


def test_a_column_that_makes_no_groups_has_no_windows() -> None:
    with pytest.raises(PolicyError, match="divides a column into windows that makes no groups; name it with those that do"):
        Aggregate(function="sum", by=["ward"], every={"at": "1d"})


NO_WINDOW: list[tuple[Any, Any]] = [
    (["monday", "x"], "1d"),
    ([1, 2], "1d"),
    ([MONDAY], 7),
    (["10.0.0.1"], 1),
    ([1.0, float("nan")], 1),
    ([float("inf")], 1),
    (pa.array([2**63], pa.uint64()), 10),
]


@pytest.mark.parametrize(("values", "length"), NO_WINDOW)
def test_values_that_lie_in_no_window_are_refused_without_being_told(values: list[Any], length: Any) -> None:
    with pytest.raises(DataError) as caught:
        windows(values if isinstance(values, pa.Array) else pa.array(values), length, "at")

    assert caught.value.code == "mask-window"
    assert "at" in str(caught.value)
    assert "monday" not in str(caught.value)


def policy(**masks: Any) -> dict[str, Any]:
    others = {name: {"role": "other"} for name in ("at", "ward")}
    return {"columns": {**others, **{name: {"role": "other", "mask": mask} for name, mask in masks.items()}}, "unnamed": "remove"}


def table(days: int = 40, a_day: int = 3) -> pa.Table:
    at = [MONDAY + timedelta(day) for day in range(days) for _ in range(a_day)]
    income = np.random.default_rng(7).integers(1000, 1100, len(at))
    return pa.table({"at": at, "ward": ["A"] * len(at), "income": income, "again": income})


def test_a_wrong_type_is_told_with_the_policy_before_any_row() -> None:
    with pytest.raises(PolicyError) as caught:
        sfumato.run(policy(income={"aggregate": {"function": "sum", "by": ["at"], "every": {"at": 7}}}), data=table())

    assert "aggregate makes windows of 7 of the column at, which is of type date" in str(caught.value)
    assert "policy-mask-type" in str(caught.value)


def test_a_release_shows_the_aggregates_of_windows() -> None:
    data = table()
    mask = {"aggregate": {"function": "sum", "by": ["at"], "every": {"at": "1w"}, "k": 5}}
    release = sfumato.run(policy(income=mask), data=data)

    told = defaultdict(int)
    for at, income in zip(data["at"].to_pylist(), data["income"].to_pylist(), strict=True):
        told[at - timedelta(at.weekday())] += income
    shown = release.table.to_pylist()
    assert len(shown) == len(data)
    assert {row["income"] for row in shown} == set(told.values())


@pytest.mark.parametrize(("lengths", "refused"), [(("1w", "2w"), False), (("7d", "8d"), True), (("1w", "1w"), False)])
def test_overlapping_windows_are_refused_unless_differences_have_enough_people(lengths: tuple[str, str], refused: bool) -> None:
    def summed(length: str) -> dict[str, Any]:
        return {"aggregate": {"function": "sum", "by": ["at"], "every": {"at": length}, "k": 5, "dominance": 1}}

    both = {
        **policy(),
        "columns": {"at": {"role": "other"}, "income": {"role": "other"}},
        "views": {name: {"columns": {"income": {"role": "other", "mask": summed(length)}}} for name, length in zip("ab", lengths, strict=True)},
        "readers": {"auditor": ["a", "b"]},
    }
    data = table(a_day=3)
    if refused:
        with pytest.raises(PromiseError) as caught:
            sfumato.run(both, data=data)
        assert caught.value.code == "aggregate-difference"
    else:
        assert set(sfumato.run(both, data=data)) == {"a", "b"}
