"""Readers of several views who try to learn more than one of them tells, and those who must not be kept from what is harmless."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PromiseError

ROWS = 300
KEPT = {"role": "other", "accept": "singling_out"}
REMOVED = {"role": "identifier"}
QUASI: dict[str, Any] = {"role": "quasi_identifier"}
ZIP = {**QUASI, "hierarchy": {"prefix": {}}}
KEYS = {"main": {"environment": "TOGETHER_KEY"}}


@pytest.fixture(autouse=True)
def _a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOGETHER_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")


def table() -> pa.Table:
    chance = np.random.default_rng(7)
    return pa.table(
        {
            "badge": [f"b{number}" for number in range(ROWS)],
            "zip": chance.choice(["10115", "20095"], ROWS),
            "age": chance.integers(20, 60, ROWS),
            "diag": chance.choice(["flu", "hiv", "ok"], ROWS),
            "case": [str(number) for number in chance.permutation(ROWS)],
        }
    )


def read_by_one(views: dict[str, Any], data: pa.Table | None = None, **policy: Any) -> Any:
    given = {
        "accept": "inference",
        "columns": {"badge": REMOVED, "zip": ZIP, "age": REMOVED, "diag": {"role": "sensitive"}, "case": KEPT},
        "promises": [{"k_anonymity": {"k": 10}}],
        "keys": KEYS,
        "views": views,
        "readers": {"one": [name for name in views if name != "unread"]},
        **policy,
    }
    return sfumato.run(given, table() if data is None else data)


def refused(views: dict[str, Any], data: pa.Table | None = None, **policy: Any) -> str:
    with pytest.raises(PromiseError) as caught:
        read_by_one(views, data, **policy)
    assert caught.value.code == "verify-together"
    return caught.value.message


BADGES = {"columns": {"badge": KEPT, "zip": REMOVED, "diag": REMOVED}, "promises": []}


def test_identifiers_of_one_view_beside_diagnoses_of_another() -> None:
    assert "what a promises, k_anonymity (asked 10, measured 1)" in refused({"a": {}, "badges": BADGES})


def test_a_view_that_nobody_reads_excuses_nothing() -> None:
    unread = {"columns": {"badge": {"role": "sensitive"}, "zip": REMOVED, "diag": REMOVED, "case": REMOVED}, "promises": []}
    refused({"a": {}, "badges": BADGES, "unread": unread})


def test_an_identifier_that_is_called_sensitive_is_one_all_the_same() -> None:
    refused({"a": {}, "badges": {"columns": {"badge": {"role": "sensitive"}, "zip": REMOVED, "diag": REMOVED}, "promises": []}})


def crossed(people: int) -> pa.Table:
    """Two zips by ten ages, with some people in each, whose diagnosis is the same."""
    cells = [(place, age) for place in ("11111", "22222") for age in range(20, 30) for _ in range(people)]
    return pa.table(
        {
            "badge": [str(number) for number in range(len(cells))],
            "zip": [place for place, _ in cells],
            "age": [age for _, age in cells],
            "diag": [["flu", "hiv", "ok"][(age + (place == "11111")) % 3] for place, age in cells],
            "case": [str(number) for number in range(len(cells))],
        }
    )


ZIPS = {"columns": {"age": REMOVED}, "promises": [{"k_anonymity": {"k": 20}}, {"l_diversity": {"column": "diag", "l": 3}}]}
AGES = {"columns": {"age": QUASI, "zip": REMOVED}, "promises": [{"k_anonymity": {"k": 2}}]}


def test_a_weak_promise_beside_a_strong_one_does_not_make_it_weak() -> None:
    assert "what zips promises, k_anonymity (asked 20, measured 2), l_diversity (asked 3, measured 1)" in refused(
        {"zips": ZIPS, "ages": AGES}, crossed(2)
    )


def test_a_third_view_excuses_nothing_of_two_others() -> None:
    strong = {**AGES, "promises": [{"k_anonymity": {"k": 20}}]}
    weak = {"columns": {"age": REMOVED, "case": REMOVED}, "promises": [{"k_anonymity": {"k": 2}}]}
    refused({"zips": ZIPS, "ages": strong, "weak": weak}, crossed(3))


def test_joint_classes_are_measured_on_what_masks_make_of_values() -> None:
    cells = [(place, age, f"{'ab'[(place == '1') ^ (age == 3)]}{number % 2}") for place in "12" for age in (3, 6) for number in range(6)]
    data = pa.table(
        {
            "badge": [str(number) for number in range(len(cells))],
            "zip": [place for place, _, _ in cells],
            "age": [age for _, age, _ in cells],
            "diag": [diagnosis for _, _, diagnosis in cells],
            "case": [str(number) for number in range(len(cells))],
        }
    )
    chapters = {"role": "sensitive", "mask": {"map_values": {"mapping": {"a0": "A", "a1": "A", "b0": "B", "b1": "B"}}}}
    promises = [{"k_anonymity": {"k": 5}}, {"l_diversity": {"column": "diag", "l": 2}}]
    views = {"zips": {"columns": {"age": REMOVED, "diag": chapters}}, "ages": {"columns": {"age": QUASI, "zip": REMOVED, "diag": chapters}}}

    assert "l_diversity (asked 2, measured 1)" in refused(views, data, promises=promises)


@pytest.mark.parametrize("mask", [{"hash": {"key": "main"}}, {"encrypt": {"key": "main"}}, "random_uuid", {"constant": {"value": "x"}}], ids=str)
def test_pseudonyms_of_two_views_add_nothing_that_is_known_of_anybody(mask: Any) -> None:
    badge = {"badge": {"role": "identifier", "mask": mask}}
    releases = read_by_one(
        {"fine": {"columns": badge}, "coarse": {"columns": badge, "derived_from": "fine", "promises": [{"k_anonymity": {"k": 50}}]}}
    )

    assert {release.record.together[0].keeps for release in releases.values()} == {"fine"}


def test_who_sees_everything_may_see_the_release_too() -> None:
    everything = dict.fromkeys(("badge", "zip", "age", "case"), KEPT) | {"diag": {"role": "other"}}
    releases = read_by_one({"research": {}, "doctor": {"columns": everything, "promises": []}})

    assert {release.record.together[0].keeps for release in releases.values()} == {"doctor"}


@pytest.mark.parametrize("columns", [{"diag": {"role": "other"}}, {"diag": {"role": "other"}, "age": {"role": "other", "mask": "shuffle"}}], ids=str)
def test_what_tells_nothing_of_anybody_may_be_read_beside_a_release(columns: dict[str, Any]) -> None:
    other = {"columns": {"zip": REMOVED, "case": REMOVED, **columns}, "promises": []}

    assert read_by_one({"a": {}, "b": other})["a"].record.together[0].keeps == "a"


def test_people_are_counted_where_published_values_are_compared_with_the_table() -> None:
    # by rows half of the published values are x, by people a tenth of them
    data = pa.table({"pid": ["p1", *["p2"] * 9], "zip": ["1"] * 10, "s": ["A", *["B"] * 9]})
    masked = {"role": "sensitive", "mask": {"map_values": {"mapping": {"A": "x", "B": "y"}}}}
    policy = {"columns": {"pid": REMOVED, "zip": QUASI, "s": masked}, "subject": "pid", "promises": [{"t_closeness": {"column": "s", "t": 0.3}}]}

    assert [result.measured for result in sfumato.run(policy, data).record.promises] == [0, 0]


def without(**columns: Any) -> dict[str, Any]:
    """A view that promises nothing and removes what is not given."""
    removed = {name: REMOVED for name in ("zip", "diag") if name not in columns}
    return {"columns": {**removed, **columns}, "promises": []}


BY_AGE = {"columns": {"age": QUASI}}


@pytest.mark.parametrize(
    "mask",
    [
        {"noise": {"amount": 0.4}},
        {"swap": {"share": 0.01}},
        [{"noise": {"amount": 0.1}}, {"round_number": {"base": 1}}],
        {"shuffle": {"within": ["zip"]}},
        {"noise": {"amount": 0.4, "key": "main"}},
    ],
)
def test_chance_that_moves_a_value_a_little_way_shows_it(mask: Any) -> None:
    zips = {"zip": KEPT} if "shuffle" in mask else {}
    assert "measured 1" in refused({"a": BY_AGE, "b": without(age={"role": "other", "mask": mask}, **zips)})


@pytest.mark.parametrize("mask", [{"shuffle": {}}, {"random_number": {"minimum": 1, "maximum": 9}}, {"encrypt": {"key": "main"}}, "constant"])
def test_chance_that_leaves_nothing_of_a_value_shows_nothing(mask: Any) -> None:
    assert read_by_one({"a": BY_AGE, "b": without(age={"role": "other", "mask": mask})})["a"].record.together[0].smallest_class >= 10


@pytest.mark.parametrize("mask", [{"swap": {"share": 0.05}}, {"hash": {"key": "main"}}, {"shuffle": {}}])
def test_a_view_that_hides_a_column_is_no_excuse_for_what_another_tells_of_it(mask: Any) -> None:
    # pairs of neighbours have one illness, and only the second view tells pairs apart
    rows = range(60)
    data = pa.table(
        {
            "badge": [f"b{number}" for number in rows],
            "zip": [f"1{number // 12}{number // 2 % 6}00" for number in rows],
            "age": [30] * 60,
            "diag": [("flu", "hiv", "ok", "gout", "tb")[number // 2 % 5] for number in rows],
            "case": [str(number) for number in rows],
        }
    )
    promised = [{"k_anonymity": {"k": 5}}, {"l_diversity": {"column": "diag", "l": 3}}]
    views = {
        "a": {"columns": {"diag": {"role": "sensitive", "mask": mask}}, "promises": promised},
        "b": {"columns": {"diag": {"role": "other", "mask": "constant"}}, "promises": [{"k_anonymity": {"k": 2}}]},
    }
    assert "what a promises" in refused(views, data)


def test_rows_that_a_view_leaves_out_are_not_shown_by_it() -> None:
    zips, diagnoses = ["11"] * 6 + ["12"] * 2 + ["21"] * 6, ["flu", "ok", "flu", "ok", "gout", "ok", "hiv", "hiv", *["flu", "ok", "gout"] * 2]
    numbers = [str(number) for number in range(len(zips))]
    data = pa.table({"badge": numbers, "zip": zips, "age": [30] * len(zips), "diag": diagnoses, "case": numbers})
    places = {**QUASI, "hierarchy": {"taxonomy": {"tree": {"root": ["11", "21"]}}}, "on_unknown": "suppress"}
    views = {
        "a": {"promises": [{"k_anonymity": {"k": 5}}, {"l_diversity": {"column": "diag", "l": 3}}]},
        "b": {"columns": {"zip": places, "diag": {"role": "other"}}, "promises": [{"k_anonymity": {"k": 2}}], "suppression_limit": 0.2},
    }
    assert "measured 2" in refused(views, data)


def test_a_condition_between_two_pseudonyms_tells_what_it_asks() -> None:
    when = {"column": "age", "equals": 24}
    badge = {"role": "other", "mask": {"hash": {"key": "main"}}, "when": when, "otherwise": {"encrypt": {"key": "main"}}}
    assert "what a promises" in refused({"a": BY_AGE, "b": without(badge=badge)})


def test_an_identifier_that_another_view_only_calls_sensitive_is_still_one() -> None:
    data = table().append_column("firm", pa.array([f"f{number // 3}" for number in range(ROWS)]))
    columns = {"badge": REMOVED, "zip": ZIP, "age": REMOVED, "diag": {"role": "sensitive"}, "case": KEPT, "firm": REMOVED}
    assert "measured" in refused({"a": {}, "b": without(firm={"role": "sensitive"})}, data, columns=columns)


@pytest.mark.parametrize("first", [{"hash": {"key": "main"}}, {"fake": {"kind": "name"}}, "random_uuid"], ids=str)
def test_what_an_expression_adds_behind_a_pseudonym_is_seen(first: Any) -> None:
    smuggled = {"expression": {"sql": "badge || '-' || age", "columns": ["age"]}}
    assert "what a promises" in refused({"a": BY_AGE, "b": without(badge={"role": "other", "mask": [first, smuggled]})})


@pytest.mark.parametrize(
    "mask",
    [{"fake": {"kind": "name", "key": "main"}}, {"random_uuid": {"key": "main"}}, [{"noise": {"amount": 1}}, {"hash": {"key": "main"}}]],
    ids=str,
)
def test_pseudonyms_under_a_key_tell_nothing_whatever_they_are_made_of(mask: Any) -> None:
    assert read_by_one({"a": BY_AGE, "b": without(age={"role": "other", "mask": mask})})["a"].record.together[0].smallest_class >= 10


def test_sums_of_wards_tell_a_reader_of_rows_nothing_but_wards() -> None:
    chance = np.random.default_rng(3)
    data = (
        table().append_column("ward", pa.array(chance.choice(["a", "b", "c"], ROWS))).append_column("cost", pa.array(chance.integers(100, 999, ROWS)))
    )
    columns = {"badge": REMOVED, "zip": ZIP, "age": REMOVED, "diag": {"role": "sensitive"}, "case": KEPT, "ward": {"role": "other"}, "cost": REMOVED}
    total = {"role": "other", "mask": {"aggregate": {"function": "sum", "by": ["ward"]}}}
    sums = {"columns": {"zip": REMOVED, "diag": REMOVED, "case": REMOVED, "cost": total}, "promises": []}
    assert read_by_one({"research": {"columns": {"age": QUASI}}, "sums": sums}, data, columns=columns)["research"].record.rows.out == ROWS
    # but where the groups are of a column that the rows generalise, they tell it
    by_age = {"role": "other", "mask": {"aggregate": {"function": "sum", "by": ["age"], "k": 2, "dominance": 1.0}}, "on_invalid": "remove"}
    ages = {"columns": {**sums["columns"], "cost": by_age}, "promises": []}
    assert "what research promises" in refused({"research": {"columns": {"age": QUASI}}, "ages": ages}, data, columns=columns)


@pytest.mark.parametrize("function", ["max", "mode", "average"])
def test_an_aggregate_by_its_own_values_shows_them(function: str) -> None:
    people = pa.table({"zip": [str(10_000 + row % 6) for row in range(36)], "age": [20 + row // 6 for row in range(36)], "region": ["X"] * 36})
    columns = {"zip": REMOVED, "age": REMOVED, "region": QUASI}
    by_itself = {**KEPT, "mask": {"aggregate": {"function": function, "by": ["zip"]}}}
    views = {"ages": {"columns": {"age": QUASI}}, "places": {"columns": {"zip": by_itself}}}
    message = refused(views, people, columns=columns, promises=[{"k_anonymity": {"k": 3}}])

    assert message.startswith("one would learn more from ages and places together than from one of them: their joint classes do not keep what ages ")


# badges that the first view shows too lead to the true age of every row
MOVED = {"role": "other", "mask": {"shuffle": {"together": "unit"}}}
BADGED = pa.table(
    {
        "badge": [f"b{row * 7 % 40}" for row in range(40)],
        "age": [20 + row for row in range(40)],
        "dis": [("flu", "hiv", "cold", "gout")[row % 4] for row in range(40)],
    }
)


def beside_badges(**columns: Any) -> dict[str, Any]:
    return {
        "accept": "inference",
        "columns": {"badge": KEPT, "age": QUASI, "dis": {"role": "sensitive"}},
        "promises": [{"k_anonymity": {"k": 4}}, {"l_diversity": {"column": "dis", "l": 2}}],
        "views": {"a": {}, "b": {"columns": columns, "promises": []}},
        "readers": {"z": ["a", "b"]},
    }


@pytest.mark.parametrize("further", [{}, {"when": {"not": {"column": "badge", "equals": "b3"}}}], ids=["every row", "some rows"])
def test_columns_that_move_together_are_rows_that_a_column_of_another_view_finds_again(further: Any) -> None:
    moved = {**MOVED, **further}
    with pytest.raises(PromiseError) as caught:
        sfumato.run(beside_badges(badge=moved, age=moved, dis=REMOVED), BADGED)
    assert caught.value.code == "verify-together"


def test_ages_and_diseases_that_move_together_tell_the_disease_of_whoever_has_an_age() -> None:
    with pytest.raises(PromiseError) as caught:
        sfumato.run(beside_badges(badge=REMOVED, age=MOVED, dis=MOVED), BADGED)
    assert caught.value.code == "verify-together"


def test_a_column_of_the_same_view_made_of_one_that_moves_finds_its_row_again() -> None:
    copy = {**KEPT, "mask": {"expression": {"sql": "badge", "columns": ["badge"]}}}
    policy = {
        "accept": "inference",
        "columns": {"badge": KEPT, "copy": KEPT, "age": REMOVED, "dis": QUASI},
        "promises": [{"k_anonymity": {"k": 4}}],
        "views": {
            "a": {"columns": {"badge": REMOVED, "copy": REMOVED}},
            "b": {"columns": {"badge": MOVED, "age": MOVED, "dis": REMOVED, "copy": copy}, "promises": []},
        },
        "readers": {"z": ["a", "b"]},
    }
    with pytest.raises(PromiseError) as caught:
        sfumato.run(policy, BADGED.append_column("copy", BADGED["badge"]))
    assert caught.value.code == "verify-together"


def test_columns_that_move_each_by_itself_or_that_no_other_view_shows_may_be_read_beside_others() -> None:
    apart = {"role": "other", "mask": "shuffle"}
    assert len(sfumato.run(beside_badges(badge=apart, age=apart, dis=REMOVED), BADGED)) == 2
    policy = beside_badges(badge=MOVED, phone=MOVED, age=REMOVED, dis=REMOVED)
    policy["columns"] |= {"badge": REMOVED, "phone": REMOVED}
    assert len(sfumato.run(policy, BADGED.append_column("phone", BADGED["badge"]))) == 2


def test_two_views_cannot_be_put_beside_each_other_row_by_row() -> None:
    chance, rows = random.Random(5), 400
    table = pa.table(
        {
            "pid": [f"p{number}" for number in range(rows)],
            "ward": [chance.choice("ABC") for _ in range(rows)],
            "age": [chance.choice([30, 40]) for _ in range(rows)],
            "pay": chance.sample(range(10_000), rows),
        }
    )
    k = [{"k_anonymity": {"k": 5}}]
    quasi = {"ward": QUASI, "age": QUASI}
    views = {
        "pays": {"columns": {**quasi, "pid": REMOVED, "pay": {"role": "sensitive"}}, "promises": k},
        "people": {"columns": {**quasi, "pay": REMOVED}, "promises": k},
    }
    columns = {"pid": {"role": "other", "accept": "singling_out"}, "ward": {"role": "other"}, "age": {"role": "other"}, "pay": {"role": "other"}}
    for promised in (True, False):
        given = {
            name: view
            if promised
            else {"columns": {"pid": view["columns"].get("pid", columns["pid"]), "pay": view["columns"].get("pay", columns["pay"])}}
            for name, view in views.items()
        }
        releases = sfumato.run({"columns": columns, "views": given}, table)
        pay_of = dict(zip(table["pid"].to_pylist(), table["pay"].to_pylist(), strict=True))
        beside = zip(releases["people"].table["pid"].to_pylist(), releases["pays"].table["pay"].to_pylist(), strict=True)
        # by chance one in a class of some dozens stands beside itself
        assert sum(pay_of[pid] == pay for pid, pay in beside) < rows // 10
