"""Totals beside each other: differences of few people are found, and refused or told of."""

from __future__ import annotations

from itertools import combinations
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
    """Add up any groups of one kind, subtract any of the other, and count whose rows are left."""
    unions = [
        [np.isin(kind, chosen) for size in range(5) for chosen in combinations(sorted(set(kind.tolist()) - {-1}), size)] for kind in (one, other)
    ]
    left = [len(set(people[mine != theirs].tolist())) for mine in unions[0] for theirs in unions[1]]
    return min((number for number in left if number), default=None)


@pytest.mark.parametrize("seed", range(60))
def test_the_smallest_difference_is_the_one_that_unions_of_groups_give(seed: int) -> None:
    chance = np.random.default_rng(seed)
    number = int(chance.integers(1, 14))
    one, other = (chance.integers(-1, chance.integers(1, 5), number) for _ in range(2))
    if seed % 2:
        # groups within groups, some of them without a total
        other = np.where((one >= 0) & (chance.random(number) < 0.8), one // 2, -1)
    everybody = np.arange(number, dtype=np.int32)
    people = chance.integers(0, chance.integers(1, number + 1), number).astype(np.int32)

    assert fewest_people(one, other, everybody) == by_hand(one, other, everybody)
    # people with several rows are never taken for more than they are
    assert (fewest_people(one, other, people) or 0) <= (by_hand(one, other, people) or 0)


def test_many_groups_are_compared_one_by_one() -> None:
    one = np.repeat(np.arange(300), 10)
    other = one.copy()
    other[7] = 299

    assert fewest_people(one, other, np.arange(3000, dtype=np.int32)) == 1


def test_the_total_less_all_groups_of_both_kinds_is_refused(tmp_path: Path) -> None:
    # forty people by sex and ward, and one in a ward too small to be told: both sums together tell his
    people = [("mf"[number % 2], f"w{number % 4 // 2}", 100 + number) for number in range(40)] + [("m", "w9", 432)]
    table = pa.table({name: [row[place] for row in people] for place, name in enumerate(("sex", "ward", "pay"))})
    views = {
        name: {
            "columns": {"pay": {"role": "other", "mask": {"aggregate": {"function": "sum", "by": [name], "k": 5}}, "on_invalid": "remove"}},
            "sink": str(tmp_path / f"{name}.csv"),
        }
        for name in ("sex", "ward")
    }
    columns = {name: {"role": "other"} for name in table.column_names}
    with pytest.raises(PromiseError, match="differ by 1 person, fewer than 5"):
        sfumato.run({"columns": columns, "views": views, "readers": {"boss": list(views)}}, table)


def test_a_value_that_one_view_hides_does_not_follow_from_a_total_in_another(tmp_path: Path) -> None:
    table = pa.table({"ward": ["a"] * 9, "vip": ["no"] * 8 + ["yes"], "pay": [*range(100, 108), 999]})
    columns = {name: {"role": "other"} for name in table.column_names}
    hidden = {"role": "other", "mask": "empty", "when": {"column": "vip", "equals": "yes"}}
    total = {"role": "other", "mask": {"aggregate": {"function": "sum", "by": ["ward"], "k": 5, "dominance": 0.9}}}
    views = {
        "hidden": {"columns": {"pay": hidden}, "sink": str(tmp_path / "h.csv")},
        "total": {"columns": {"pay": total}, "sink": str(tmp_path / "t.csv")},
    }
    with pytest.raises(PromiseError) as caught:
        sfumato.run({"columns": columns, "views": views, "readers": {"boss": list(views)}}, table)

    assert caught.value.message == (
        "pay in the view total tells a total of which the view hidden shows all values but those of 1 person, fewer than 5; "
        "nothing has been published"
    )
    # who sees all values learns nothing from their total
    views["hidden"]["columns"] = {}
    sfumato.run({"columns": columns, "views": views, "readers": {"boss": list(views)}}, table)


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


@pytest.mark.parametrize("settings", [{"function": "max"}, {"function": "sum", "plain": True}])
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
