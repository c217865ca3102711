"""Readers who work out somebody's value from totals of two views, or of one, beside what these show; and totals that tell nobody's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PromiseError

PAY = {"role": "other", "accept": "singling_out"}
K = [{"k_anonymity": {"k": 3}}]
WOMEN = {"column": "sex", "equals": "f"}
# in every ward one woman
WARDS = pa.table(
    {
        "region": ["X"] * 15,
        "ward": ["A"] * 5 + ["B"] * 5 + ["C"] * 5,
        "sex": ["m", "m", "m", "m", "f"] * 3,
        "pay": [1500, 1600, 1700, 1800, 3900, 2500, 2600, 2700, 2800, 2950, 2100, 2200, 2300, 2400, 2475],
    }
)


@pytest.fixture(autouse=True)
def _a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOTALS_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")


def total(by: str = "", function: str = "sum", **settings: Any) -> dict[str, Any]:
    return {"mask": {"aggregate": {"function": function, "by": [by] if by else [], **settings}}}


def read_by_one(one: Any, other: Any, data: pa.Table = WARDS, column: dict[str, Any] = PAY, **policy: Any) -> Any:
    columns = {name: {"role": "other"} for name in data.column_names} | {"region": {"role": "quasi_identifier"}, "pay": column}
    columns |= {name: {"role": "identifier"} for name in data.column_names if name == policy.get("subject")}
    views = {name: {"columns": {"pay": {**column, **pay}}} for name, pay in (("one", one), ("other", other))}
    given = {
        "columns": columns,
        "promises": K,
        "views": views,
        "readers": {"reader": ["one", "other"]},
        "keys": {"main": {"environment": "TOTALS_KEY"}},
    }
    return sfumato.run({**given, **policy}, data)


def refused(one: Any, other: Any, *given: Any, **policy: Any) -> str:
    with pytest.raises(PromiseError) as caught:
        read_by_one(one, other, *given, **policy)
    assert caught.value.code == "aggregate-difference"
    return caught.value.message.removesuffix("; nothing has been published")


ALL_BUT_ONE = "pay in the view other tells a total of which the view one shows all values but those of 1 person, fewer than 3"


@pytest.mark.parametrize(
    "mask",
    [
        {"noise": {"amount": 100_000}},
        {"noise": {"amount": 100_000, "key": "main"}},
        [{"noise": {"amount": 1000}}, {"round_number": {"decimals": 0}}],
        "shuffle",
        {"shuffle": {"repetition": True}},
        "microaggregate",
        {"aggregate": {"function": "average"}},
        {"random_number": {"minimum": 0, "maximum": 9999}},
        "empty",
    ],
    ids=str,
)
def test_whoever_a_condition_leaves_as_they_are_is_taken_from_the_total(mask: Any) -> None:
    assert refused({"mask": mask, "when": WOMEN}, total("ward")) == ALL_BUT_ONE


def test_noise_on_sensitive_values_of_some_does_not_keep_them_from_the_total() -> None:
    diverse = [*K, {"l_diversity": {"column": "pay", "l": 2}}]
    noise = {"mask": {"noise": {"amount": 100_000}}, "when": WOMEN}
    assert refused(noise, total("ward"), WARDS, {"role": "sensitive"}, promises=diverse) == ALL_BUT_ONE


def test_little_noise_on_most_does_not_hide_behind_much_on_others() -> None:
    noise = {"mask": {"noise": {"amount": 100_000}}, "when": WOMEN, "otherwise": {"noise": {"amount": 1}}}
    assert refused(noise, total("ward")) == ALL_BUT_ONE


@pytest.mark.parametrize("amount", [1, 100_000])
def test_noise_on_all_may_be_read_beside_a_total(amount: float) -> None:
    assert len(read_by_one({"mask": {"noise": {"amount": amount}}}, total("ward"))) == 2


def test_who_is_left_as_they_are_may_be_read_beside_a_total_where_enough_are_not() -> None:
    noise = {"mask": {"noise": {"amount": 100_000}}, "when": WOMEN}
    assert len(read_by_one(noise, total())) == 2


SHARED = pa.table({"region": ["X"] * 8, "ward": ["A"] * 4 + ["B"] * 4, "pay": [500, 500, 500, 777, 600, 600, 600, 700]})


def test_the_mode_is_taken_from_the_total() -> None:
    words = "pay in the view other tells a total of which pay in the view one shows all values but those of 1 person, fewer than 3"
    assert refused(total("ward", "mode"), total("ward"), SHARED) == words


def test_values_that_enough_share_are_taken_from_the_total() -> None:
    pays = [3917, 2000, 2100, 2200, 2300, *[2000, 2100, 2200, 2300] * 3]
    data = pa.table({"region": ["X"] * 17, "ward": ["A"] * 5 + ["B"] * 12, "pay": pays})
    assert "all values but those of 1 person" in refused({**total("pay", "mode"), "on_invalid": "remove"}, total("ward"), data)


def test_a_mode_that_leaves_enough_may_be_read_beside_a_total() -> None:
    data = pa.table({"region": ["X"] * 6, "ward": ["A"] * 6, "pay": [500, 500, 500, 777, 800, 900]})
    assert len(read_by_one(total("ward", "mode"), total("ward"), data)) == 2


SEVERAL_ROWS = pa.table({"region": ["X"] * 4, "ward": ["A"] * 4, "who": ["p", "p", "q", "r"], "pay": [100.0, 140.0, 110.0, 150.0]})


@pytest.mark.parametrize("mask", [{"aggregate": {"function": "median", "by": ["ward"]}}, "microaggregate"], ids=str)
def test_the_mean_of_people_is_not_that_of_their_rows(mask: Any) -> None:
    words = "pay in the view one and pay in the view other tell totals of groups or values that differ by 1 person, fewer than 3"
    assert refused(total("ward"), {"mask": mask}, SEVERAL_ROWS, subject="who") == words


def test_means_of_people_with_one_row_each_may_be_read_beside_a_total_of_them() -> None:
    one_each = SEVERAL_ROWS.slice(1)
    assert len(read_by_one(total("ward"), {"mask": "microaggregate"}, one_each, subject="who")) == 2


TOP = {"top_bottom_code": {"top": 2000}}
SUM_OF_TOP = {"mask": [TOP, {"aggregate": {"function": "sum", "by": ["ward"]}}]}
FIVE = WARDS.slice(0, 5)


def test_the_total_of_changed_values_beside_that_of_the_values_tells_what_was_changed() -> None:
    words = "pay in the view one and pay in the view other tell totals of groups or values that differ by 1 person, fewer than 3"
    assert refused(total("ward"), SUM_OF_TOP, FIVE) == words


def test_who_is_known_to_be_beyond_a_limit_is_taken_from_the_total_of_limits() -> None:
    # four earn more than 2000, and the fifth is what is left
    data = pa.table({"region": ["X"] * 5, "ward": ["A"] * 5, "pay": [1500, 2600, 2700, 2800, 3900]})
    assert refused({"mask": {"generalise": {"size": 2000}}}, SUM_OF_TOP, data) == ALL_BUT_ONE
    assert len(read_by_one({"mask": {"generalise": {"size": 2000}}}, total("ward"), data)) == 2


@pytest.mark.parametrize("shown", [{"mask": TOP}, {}], ids=["as they are added up", "as they are"])
def test_the_total_of_changed_values_may_be_read_beside_all_of_them(shown: Any) -> None:
    assert len(read_by_one(shown, SUM_OF_TOP, FIVE)) == 2


def test_the_total_of_values_that_are_all_changed_may_be_read_beside_that_of_the_values() -> None:
    rounded = {"mask": [{"round_number": {"base": 1000}}, {"aggregate": {"function": "sum", "by": ["ward"], "k": 5}}]}
    assert len(read_by_one(total("ward", k=5), rounded)) == 2


# the men of ward A, the women of ward B, and one man with these
ONE_MAN = pa.table(
    {"region": ["X"] * 10, "ward": ["A"] * 5 + ["B"] * 5, "sex": ["m"] * 5 + ["f"] * 4 + ["m"], "pay": [500 + 37 * row for row in range(10)]}
)


def shuffled(*within: str) -> dict[str, Any]:
    return {"mask": {"shuffle": {"within": list(within)}}}


@pytest.mark.parametrize("role", ["other", "sensitive"])
def test_values_shuffled_twice_tell_those_of_whom_two_groups_have_in_common(role: str) -> None:
    column = PAY if role == "other" else {"role": "sensitive"}
    promises = K if role == "other" else [*K, {"l_diversity": {"column": "pay", "l": 3}}]
    words = "pay in the view one and pay in the view other show the values of groups that tell which are those of 1 person, fewer than 3"
    assert refused(shuffled("ward"), shuffled("sex"), ONE_MAN, column, promises=promises) == words


@pytest.mark.parametrize("within", [(), ("ward",)], ids=str)
def test_values_shuffled_within_groups_that_lie_within_others_may_be_read_together(within: tuple[str, ...]) -> None:
    assert len(read_by_one(shuffled("ward"), shuffled(*within), ONE_MAN)) == 2


def test_shuffled_values_beside_most_of_them_tell_the_others() -> None:
    words = "pay in the view one shows the values of a group of which the view other shows all but those of 1 person, fewer than 3"
    assert refused(shuffled("ward"), {"mask": "empty", "when": WOMEN}) == words
    assert len(read_by_one(shuffled("ward"), {})) == 2


COPIED = [{"expression": {"sql": "pay", "columns": ["pay"], "same_again": True}}, {"aggregate": {"function": "sum", "by": ["sex"], "k": 3}}]


@pytest.mark.parametrize("sql", ["pay", "pay * 2 + bonus"])
def test_the_total_of_what_is_made_of_another_column_is_one_of_that_column(sql: str) -> None:
    made = [{"expression": {"sql": sql, "columns": ["pay"], "same_again": True}}, COPIED[1]]
    columns = {name: {"role": "other"} for name in ("region", "ward", "sex")} | {
        "pay": {"role": "other", **total("ward", k=3)},
        "bonus": {"role": "other", "mask": made},
    }
    with pytest.raises(PromiseError) as caught:
        sfumato.run({"columns": columns}, ONE_MAN.append_column("bonus", [list(range(10))]))
    assert caught.value.code == "aggregate-difference"
    assert caught.value.message.startswith("pay and bonus tell totals of groups ")


def test_a_column_made_of_another_one_takes_it_from_its_total() -> None:
    shown = {"expression": {"sql": "case when sex = 'f' then pay else -1 end", "columns": ["pay", "sex"], "same_again": True}}
    columns = {name: {"role": "other"} for name in ("region", "ward", "sex")} | {
        "pay": {"role": "other", **total("ward", k=3)},
        "bonus": {"role": "other", "mask": shown},
    }
    with pytest.raises(PromiseError, match="pay tells a total of which the release shows all values but those of 1 person, fewer than 3"):
        sfumato.run({"columns": columns}, ONE_MAN.append_column("bonus", [list(range(10))]))


def test_totals_of_columns_that_have_nothing_to_do_with_each_other_stand_in_one_view() -> None:
    columns = {name: {"role": "other"} for name in ("region", "ward", "sex")} | {
        "pay": {"role": "other", **total("ward", k=3)},
        "bonus": {"role": "other", **total("sex", k=3)},
    }
    assert sfumato.run({"columns": columns}, ONE_MAN.append_column("bonus", [list(range(10))])).table.num_rows == 10


def test_nested_groups_of_enough_people_may_be_read_together() -> None:
    assert len(read_by_one(total("ward"), total())) == 2


NINE = pa.table({"ward": [ward for ward in "ABC" for _ in range(3)], "sex": ["f"] * 9, "pay": [100 * row for row in range(1, 10)]})


@pytest.mark.parametrize("readers", [{}, {"reader": ["one", "other"]}], ids=["apart", "together"])
def test_intervals_that_end_where_the_policy_says_show_nobody(readers: dict[str, Any]) -> None:
    columns = {
        "ward": {"role": "identifier"},
        "sex": {"role": "other"},
        "pay": {"role": "quasi_identifier", "hierarchy": {"interval": {"width": 1000}}},
    }
    other = {"ward": {"role": "other"}, "pay": {**PAY, **total("ward", k=3)}}
    views = {"one": {"columns": {}, "algorithm": "datafly", "promises": K}, "other": {"columns": other, "promises": []}}
    releases = sfumato.run({"columns": columns, "views": views, "readers": readers}, NINE)

    assert set(releases["one"].table["pay"].to_pylist()) == {"[0, 999]"}
    assert [note for release in releases.values() for note in release.record.notes if "tells a total" in note] == []
