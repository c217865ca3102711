"""Totals beside each other: differences of few people are found, and refused or told of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.core.mask import Told
from sfumato.engine.differences import ToldInView, fewest_people, told_by_all
from sfumato.errors import PromiseError

PEOPLE = {
    "name": [f"P{number}" for number in range(11)],
    "ward": ["A"] * 4 + ["B"] * 5 + ["C"] * 2,
    "floor": ["1"] * 9 + ["2"] * 2,
    "stay": [3, 5, 2, 8, 1, 9, 4, 4, 6, 7, 5],
}


def by_hand(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], people: np.ndarray[Any, Any]) -> int | None:
    found = []
    for mine, theirs in ((one, other), (other, one)):
        groups = [[set(np.flatnonzero(kind == group)) for group in set(kind.tolist()) - {-1}] for kind in (mine, theirs)]
        for rows in groups[0]:
            parts = [part for part in groups[1] if part <= rows]
            less = [part for part in groups[1] if part & rows] + ([set().union(*parts)] if parts else [])
            found += [len({people[row] for row in rows - part}) for part in less]
    return min((number for number in found if number), default=None)


@pytest.mark.parametrize("seed", range(200))
def test_the_smallest_difference_is_the_one_that_sets_of_rows_give(seed: int) -> None:
    chance = np.random.default_rng(seed)
    number = int(chance.integers(1, 14))
    one, other = (chance.integers(-1, chance.integers(1, 5), number) for _ in range(2))
    if seed % 2:
        # groups within groups, some of them without a total
        other = np.where((one >= 0) & (chance.random(number) < 0.8), one * 2 + chance.integers(0, 2, number), -1)
    people = chance.integers(0, chance.integers(1, number + 1), number).astype(np.int32)

    assert fewest_people(one, other, people) == by_hand(one, other, people)


def policy(folder: Path, readers: dict[str, list[str]], **settings: Any) -> dict[str, Any]:
    plain = {"name": {"role": "identifier"}, "ward": {"role": "other"}, "floor": {"role": "other"}}
    total, parts = ({**plain, "stay": {"role": "other", "mask": {"aggregate": {"k": 3, **each, **settings}}}} for each in ({}, {"by": ["ward"]}))
    parts["stay"] |= {"on_invalid": "remove"}
    views = {
        "board": {"columns": total, "sink": str(folder / "board.csv")},
        "wards": {"columns": parts, "sink": str(folder / "wards.csv")},
    }
    return {"columns": total, "views": views, "readers": readers}


@pytest.mark.parametrize("function", ["sum", "average", "count"])
def test_a_total_beside_groups_of_which_a_small_one_is_left_out_is_refused(function: str, tmp_path: Path) -> None:
    with pytest.raises(PromiseError) as caught:
        sfumato.run(policy(tmp_path, {"chief": ["board", "wards"]}, function=function), frame())

    assert caught.value.code == "aggregate-difference"
    assert caught.value.message == (
        "stay in the view board and stay in the view wards tell totals of groups that differ by 2 people, fewer than 3; nothing has been published"
    )
    assert list(tmp_path.iterdir()) == []


def test_where_nobody_reads_both_the_records_tell_of_it(tmp_path: Path) -> None:
    releases = sfumato.run(policy(tmp_path, {"chief": ["board"], "nurse": ["wards"]}, function="sum"), frame())

    for release in releases.values():
        assert release.record.notes[-1] == (
            "stay in the view board and stay in the view wards tell totals of groups that differ by 2 people: who reads both views learns of them"
        )


@pytest.mark.parametrize("settings", [{"function": "median"}, {"function": "sum", "plain": True}])
def test_what_cannot_be_subtracted_or_is_told_to_everybody_stands(settings: dict[str, Any], tmp_path: Path) -> None:
    releases = sfumato.run(policy(tmp_path, {"chief": ["board", "wards"]}, **settings), frame())

    assert [note for release in releases.values() for note in release.record.notes if "differ by" in note] == []


def test_counts_of_one_view_are_held_against_each_other() -> None:
    columns = {
        "name": {"role": "identifier"},
        "ward": {"role": "other", "mask": {"aggregate": {"function": "count", "k": 3}}},
        "floor": {"role": "other", "mask": {"aggregate": {"function": "count", "k": 3, "by": ["floor"]}}, "on_invalid": "remove"},
        "stay": {"role": "other"},
    }
    with pytest.raises(PromiseError, match="ward and floor tell totals of groups that differ by 2 people, fewer than 3"):
        sfumato.run({"columns": columns}, frame())


def test_two_microaggregations_of_one_column_are_held_against_each_other(tmp_path: Path) -> None:
    views = {
        name: {
            "columns": {"stay": {"role": "other", "mask": {"microaggregate": {"k": k}}}},
            "sink": str(tmp_path / f"{name}.csv"),
        }
        for name, k in (("fine", 3), ("coarse", 5))
    }
    columns = {name: {"role": "identifier"} for name in PEOPLE}
    given = {"columns": columns, "views": views, "readers": {"one": ["fine", "coarse"]}}

    with pytest.raises(PromiseError, match="aggregate-difference"):
        sfumato.run(given, frame())


def test_three_totals_that_tell_of_somebody_only_together_are_refused(tmp_path: Path) -> None:
    # who is in A and B, in B and C, and in all three: the fourth set is what is left
    groups = {"x": "aaaaaabbbbbbnnnnnnz", "y": "nnnnnnbbbbbbccccccz", "z": "aaaaaannnnnnccccccz"}
    rows = len(groups["x"])
    table = pa.table({"stay": list(range(1, rows + 1)), **{name: list(letters) for name, letters in groups.items()}})
    columns = {name: {"role": "identifier"} for name in groups}
    views = {
        name: {
            "columns": {
                **columns,
                "stay": {"role": "other", "mask": {"aggregate": {"function": "sum", "k": 3, "by": [name]}}, "on_invalid": "remove"},
            },
            "sink": str(tmp_path / f"{name}.csv"),
        }
        for name in groups
    }
    views["all"] = {
        "columns": {**columns, "stay": {"role": "other", "mask": {"aggregate": {"function": "sum", "k": 3}}}},
        "sink": str(tmp_path / "all.csv"),
    }
    given = {"columns": {**columns, "stay": {"role": "other"}}, "views": views, "readers": {"one": list(views)}}
    with pytest.raises(PromiseError, match="aggregate-difference"):
        sfumato.run(given, table)


def test_an_unknown_that_all_equations_solve_is_found() -> None:
    # a + b, b + c and a + c give each of them, though no two of these differ by it alone
    letters = np.repeat(np.arange(3), [2, 9, 9])
    kinds = [np.where(letters == left_out, -1, 0) for left_out in range(3)]
    totals = [ToldInView(f"v{number}", "stay", Told("stay", kind, 3)) for number, kind in enumerate(kinds)]

    assert told_by_all(totals, np.arange(20, dtype=np.int32)) == 2
    assert told_by_all(totals[:2], np.arange(20, dtype=np.int32)) is None


def frame() -> Any:
    return pa.table(PEOPLE)
