"""Totals beside each other: differences of few people are found, and refused or told of."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.engine.differences import few_in_common, few_people, fewest_people, may_tell_of_few
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


def test_people_who_have_other_rows_too_are_counted_whole_in_words() -> None:
    # two of twenty people have a further row, in a group too small to be told of: the totals differ by both of them, not by one
    people = np.array([*range(20), 3, 14], np.int32)
    groups = np.array([0] * 10 + [1] * 10 + [-1, -1])

    assert few_people([np.zeros(22, np.int64), groups], people, 5) == "2 people"
    assert few_people([np.zeros(22, np.int64), groups], people, 2) == "fewer than 2 people, or it cannot be shown that they do not"


@pytest.mark.parametrize("seed", range(60))
def test_no_fewer_people_are_told_than_differ(seed: int) -> None:
    chance = np.random.default_rng(seed)
    number = int(chance.integers(2, 14))
    one, other = (chance.integers(-1, chance.integers(1, 5), number) for _ in range(2))
    people = chance.integers(0, chance.integers(1, number + 1), number).astype(np.int32)
    told, fewest = few_people([one, other], people, 100), by_hand(one, other, people)

    assert (told is None) == (fewest is None)
    assert told is None or int(told.split()[0]) >= (fewest or 0)


@pytest.mark.parametrize("seed", range(60))
def test_a_row_that_adds_another_number_to_each_total_is_left_wherever_one_of_its_groups_is(seed: int) -> None:
    chance = np.random.default_rng(seed)
    number = int(chance.integers(1, 12))
    one, other = (chance.integers(-1, chance.integers(1, 4), number) for _ in range(2))
    apart = chance.random(number) < 0.4
    # by hand, such a row has two values, each of which is in one total
    spread = [np.append(one, np.full(number, -1)), np.append(np.where(apart, -1, other), np.where(apart, other, -1))]
    rows = np.arange(number, dtype=np.int32)

    assert fewest_people(one, other, rows, apart) == by_hand(*spread, np.tile(rows, 2))


def test_values_of_three_kinds_are_told_apart() -> None:
    # the third total is that of the first two groups, with another value of the last row
    groups = np.repeat(np.arange(2), 6)
    kinds, same = [groups, groups, np.zeros(12, np.int64)], np.zeros(12, np.int64)
    changed = np.where(np.arange(12) == 11, 1, 0)
    people = np.arange(12, dtype=np.int32)

    assert few_people(kinds, people, 3, [same, same, same]) is None
    assert few_people(kinds, people, 3, [same, same, changed]) == "fewer than 3 people, or it cannot be shown that they do not"


def in_common_by_hand(kinds: list[np.ndarray[Any, Any]]) -> int | None:
    """Intersect the values that groups show, and those that only some of them show; what one group shows alone is no finding."""
    shown = [{group: frozenset(np.flatnonzero(kind == group).tolist()) for group in set(kind.tolist()) - {-1}} for kind in kinds]
    found = []
    for row in range(len(kinds[0])):
        holding = [groups[int(kind[row])] for groups, kind in zip(shown, kinds, strict=True) if kind[row] >= 0]
        others = [values for groups, kind in zip(shown, kinds, strict=True) if kind[row] < 0 for values in groups.values()]
        if holding:
            left = frozenset.intersection(*holding) - frozenset().union(*others)
            found += [len(left)] if left not in holding else []
    return min(found, default=None)


@pytest.mark.parametrize("seed", range(60))
def test_whom_mixed_groups_have_in_common_is_found_as_by_intersecting_their_values(seed: int) -> None:
    chance = np.random.default_rng(seed)
    number = int(chance.integers(1, 12))
    kinds = [chance.integers(-1, chance.integers(1, 4), number) for _ in range(2 + seed % 2)]
    expected = in_common_by_hand(kinds)
    words = None if expected is None else "1 person" if expected == 1 else f"{expected} people"

    assert few_in_common(kinds, np.arange(number, dtype=np.int32), number + 1) == words


def test_a_difference_among_many_groups_is_found() -> None:
    one = np.repeat(np.arange(300), 10)
    other = one.copy()

    assert few_people([one, other], np.arange(3000, dtype=np.int32), 5) is None
    other[7] = 299
    assert few_people([one, other], np.arange(3000, dtype=np.int32), 5) == "fewer than 5 people, or it cannot be shown that they do not"


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
        sfumato.run({"accept": "inference", "columns": columns, "views": views, "readers": {"boss": list(views)}}, table)


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
        sfumato.run({"accept": "inference", "columns": columns, "views": views, "readers": {"boss": list(views)}}, table)

    assert caught.value.message == (
        "pay in the view total tells a total of which the view hidden shows all values but those of 1 person, fewer than 5; "
        "nothing has been published"
    )
    # who sees all values learns nothing from their total
    views["hidden"]["columns"] = {}
    sfumato.run({"accept": "inference", "columns": columns, "views": views, "readers": {"boss": list(views)}}, table)


def policy(folder: Path, readers: dict[str, list[str]], **settings: Any) -> dict[str, Any]:
    plain = {"name": {"role": "identifier"}, "ward": {"role": "other"}, "floor": {"role": "other"}}
    total, parts = ({**plain, "stay": {"role": "other", "mask": {"aggregate": {"k": 3, **each, **settings}}}} for each in ({}, {"by": ["ward"]}))
    parts["stay"] |= {"on_invalid": "remove"}
    views = {
        "board": {"columns": total, "sink": str(folder / "board.csv")},
        "wards": {"columns": parts, "sink": str(folder / "wards.csv")},
    }
    return {"accept": "inference", "columns": total, "views": views, "readers": readers}


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
            "stay in the view board and stay in the view wards tell totals of groups that differ by 2 people, fewer than 3: who reads both views "
            "learns of them"
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
        sfumato.run({"accept": "inference", "columns": columns}, frame())


def test_two_microaggregations_of_one_column_are_held_against_each_other(tmp_path: Path) -> None:
    views = {
        name: {
            "columns": {"stay": {"role": "other", "mask": {"microaggregate": {"k": k}}}},
            "sink": str(tmp_path / f"{name}.csv"),
        }
        for name, k in (("fine", 3), ("coarse", 5))
    }
    columns = {name: {"role": "identifier"} for name in PEOPLE}
    given = {"accept": "inference", "columns": columns, "views": views, "readers": {"one": ["fine", "coarse"]}}

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
    given = {"accept": "inference", "columns": {**columns, "stay": {"role": "other"}}, "views": views, "readers": {"one": list(views)}}
    with pytest.raises(PromiseError, match="aggregate-difference"):
        sfumato.run(given, table)


def test_what_all_equations_solve_is_found() -> None:
    # a + b, b + c and a + c give each of them, though no two of these differ by it alone
    letters = np.repeat(np.arange(3), [2, 9, 9])
    kinds = [np.where(letters == left_out, -1, 0) for left_out in range(3)]
    people = np.arange(20, dtype=np.int32)

    assert few_people(kinds, people, 3) == "fewer than 3 people, or it cannot be shown that they do not"
    assert few_people(kinds[:2], people, 3) is None


def solvable(kinds: list[np.ndarray[Any, Any]], people: np.ndarray[Any, Any], least: int) -> bool:
    """Try every set of fewer people: something of them alone follows where a combination of totals has no other row in it."""
    rows = [(kind == group).astype(float) for kind in kinds for group in np.unique(kind[kind >= 0])]
    matrix = np.array(rows)
    for size in range(1, least):
        for some in combinations(np.unique(people).tolist(), size):
            inside = np.isin(people, some)
            # combinations of totals that leave out all other rows, and are not nothing
            if np.linalg.matrix_rank(matrix) > np.linalg.matrix_rank(matrix[:, ~inside]):
                return True
    return False


@pytest.mark.parametrize("seed", range(60))
def test_no_combination_of_three_kinds_of_totals_tells_of_few_unseen(seed: int) -> None:
    chance = np.random.default_rng(seed)
    number, least = int(chance.integers(6, 16)), int(chance.integers(2, 4))
    people = chance.integers(0, number, number).astype(np.int32) if seed % 3 == 0 else np.arange(number, dtype=np.int32)
    kinds = [chance.integers(-1 if seed % 2 else 0, chance.integers(1, 4), number) for _ in range(3)]

    if solvable(kinds, people, least):
        assert may_tell_of_few(kinds, people, least)


def test_three_kinds_of_large_groups_are_not_refused() -> None:
    chance = np.random.default_rng(5)
    kinds = [chance.integers(0, 6, 20_000) for _ in range(3)]

    assert few_people(kinds, np.arange(20_000, dtype=np.int32), 5) is None
    nested = np.arange(20_000) // 1000
    assert few_people([nested, nested // 4, nested // 20], np.arange(20_000, dtype=np.int32), 100) is None


def beside(folder: Path, masks: dict[str, Any], function: str = "sum") -> dict[str, Any]:
    """A total of pay, beside views that show pay in other ways, all read by one."""
    total = {"role": "other", "mask": {"aggregate": {"function": function, "k": 5, "dominance": 0.9}}}
    pays = {"total": total, **masks}
    views = {name: {"columns": {"pay": pay}, "sink": str(folder / f"{name}.csv")} for name, pay in pays.items()}
    return {"accept": "inference", "columns": {"pay": {"role": "other"}, "ward": {"role": "other"}}, "views": views, "readers": {"boss": list(views)}}


PAYS = pa.table({"pay": [*range(100, 108), 999], "ward": ["a"] * 4 + ["b"] * 5})
VIP = {"column": "pay", "above": 900}


@pytest.mark.parametrize(
    "shown",
    [
        {"role": "other", "mask": {"top_bottom_code": {"top": 500}}},
        {"role": "other", "mask": "empty", "when": VIP, "otherwise": "keep"},
        {"role": "other", "mask": {"regex_replace": {"pattern": "^999$", "replacement": "x", "unmatched": "keep"}}},
        {"role": "other", "mask": {"expression": {"sql": "CASE WHEN pay > 900 THEN NULL ELSE pay END"}}},
    ],
)
def test_a_total_beside_a_mask_that_leaves_most_values_as_they_are_is_refused(shown: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(PromiseError, match="shows all values but those of 1 person"):
        sfumato.run(beside(tmp_path, {"shown": shown}), PAYS)


def test_a_total_beside_views_that_show_its_values_between_them_is_refused(tmp_path: Path) -> None:
    halves = {f"of {ward}": {"role": "other", "mask": "empty", "when": {"or": [VIP, {"column": "ward", "equals": ward}]}} for ward in "ab"}
    with pytest.raises(PromiseError, match="the view of a and the view of b show all values but those of 1 person"):
        sfumato.run(beside(tmp_path, halves), PAYS)


def test_where_nobody_reads_a_total_and_its_values_the_records_tell_of_it(tmp_path: Path) -> None:
    given = beside(tmp_path, {"shown": {"role": "other", "mask": {"top_bottom_code": {"top": 500}}}})
    releases = sfumato.run({**given, "readers": {}}, PAYS)
    words = "pay in the view total tells a total of which the view shown shows all values but those of 1 person, fewer than 5"
    assert all(f"{words}: who reads both views learns of them" in release.record.notes for release in releases.values())


def test_an_extreme_beside_means_of_few_is_refused(tmp_path: Path) -> None:
    means = {"role": "other", "mask": {"microaggregate": {"k": 3, "dominance": 1}}}
    extreme = {"role": "other", "mask": {"aggregate": {"function": "min", "k": 3}}}
    words = "pay in the view means tells a total of which pay in the view total and pay in the view least show all values but those of 2 people"
    with pytest.raises(PromiseError, match=words):
        sfumato.run(beside(tmp_path, {"means": means, "least": extreme}, "max"), PAYS)


CONSENTING = {"when": {"column": "ward", "equals": "a"}, "otherwise": "empty"}
CONSENT = pa.table({"pay": [100, 200, 100, 200, 100, 200, 100, 200, 999], "ward": ["a"] * 8 + ["b"]})


@pytest.mark.parametrize(
    "mask",
    [
        "shuffle",
        {"swap": {"share": 0.5}},
        {"shuffle": {"within": ["ward"]}},
        {"noise": {"amount": 0.5}},
        {"regex_replace": {"pattern": "^", "replacement": "EUR "}},
        {"hash": {"unkeyed": "sha256"}},
        {"expression": {"sql": "pay * 2"}},
        {"map_values": {"mapping": {"100": "low", "200": "high", "999": "vip"}}},
    ],
    ids=str,
)
def test_a_total_beside_others_in_any_order_or_writing_is_refused(mask: Any, tmp_path: Path) -> None:
    with pytest.raises(PromiseError, match="aggregate-difference"):
        sfumato.run(beside(tmp_path, {"open": {"role": "other", "mask": mask, **CONSENTING}}), CONSENT)


@pytest.mark.parametrize("mask", [{"constant": {}}, {"random_number": {"minimum": 1, "maximum": 9}}, {"generalise": {"size": 1000}}], ids=str)
def test_a_total_beside_what_tells_no_values_stands(mask: Any, tmp_path: Path) -> None:
    assert len(sfumato.run(beside(tmp_path, {"open": {"role": "other", "mask": mask, **CONSENTING}}), CONSENT)) == 2


def test_a_total_beside_the_ends_of_intervals_is_refused(tmp_path: Path) -> None:
    table = pa.table({"zip": [f"{100 + row // 3}" for row in range(30)], "cost": [1000 + 37 * row * row for row in range(30)]})
    fine = {"zip": {"role": "quasi_identifier"}, "cost": {"role": "quasi_identifier"}}
    total = {"zip": {"role": "other"}, "cost": {"role": "other", "mask": {"aggregate": {"function": "sum", "by": ["zip"], "k": 3}}}}
    views = {
        "fine": {"columns": fine, "promises": [{"k_anonymity": {"k": 3}}], "sink": str(tmp_path / "fine.csv")},
        "total": {"columns": total, "promises": [], "sink": str(tmp_path / "total.csv")},
    }
    with pytest.raises(PromiseError, match="cost in the view total tells a total of which the view fine shows all values but those of 1 person"):
        sfumato.run({"accept": "inference", "columns": fine, "views": views, "readers": {"one": list(views)}}, table)


def frame() -> Any:
    return pa.table(PEOPLE)
