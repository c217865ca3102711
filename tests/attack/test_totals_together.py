"""Readers who work out somebody's value from totals of two views, or of one, beside what these show; and totals that tell nobody's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PromiseError

pytestmark = pytest.mark.slow

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
        "accept": "inference",
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
        sfumato.run({"accept": "inference", "columns": columns}, ONE_MAN.append_column("bonus", [list(range(10))]))
    assert caught.value.code == "aggregate-difference"
    assert caught.value.message.startswith("pay and bonus tell totals of groups ")


def test_a_column_made_of_another_one_takes_it_from_its_total() -> None:
    shown = {"expression": {"sql": "case when sex = 'f' then pay else -1 end", "columns": ["pay", "sex"], "same_again": True}}
    columns = {name: {"role": "other"} for name in ("region", "ward", "sex")} | {
        "pay": {"role": "other", **total("ward", k=3)},
        "bonus": {"role": "other", "mask": shown},
    }
    with pytest.raises(PromiseError, match="pay tells a total of which the release shows all values but those of 1 person, fewer than 3"):
        sfumato.run({"accept": "inference", "columns": columns}, ONE_MAN.append_column("bonus", [list(range(10))]))


def test_totals_of_columns_that_have_nothing_to_do_with_each_other_stand_in_one_view() -> None:
    columns = {name: {"role": "other"} for name in ("region", "ward", "sex")} | {
        "pay": {"role": "other", **total("ward", k=3)},
        "bonus": {"role": "other", **total("sex", k=3)},
    }
    assert sfumato.run({"accept": "inference", "columns": columns}, ONE_MAN.append_column("bonus", [list(range(10))])).table.num_rows == 10


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
    releases = sfumato.run({"accept": "inference", "columns": columns, "views": views, "readers": readers}, NINE)

    assert set(releases["one"].table["pay"].to_pylist()) == {"[0, 999]"}
    assert [note for release in releases.values() for note in release.record.notes if "tells a total" in note] == []


# one young woman, and of every other kind five or six people; hers is the third largest value of the women and of the young
ANN = pa.table(
    {
        "region": ["X"] * 17,
        "sex": ["f"] * 7 + ["m"] * 10,
        "age": ["young"] + ["old"] * 6 + ["young"] * 5 + ["old"] * 5,
        "pay": [
            *(5000.37, 9000.24, 8001.54, 3002.37, 2503.6, 2104.63, 1905.07),
            *(7030.01, 6531.84, 2932.26, 2633.23, 2335.0, 7760.47, 6661.84, 3012.48, 2713.64, 2414.15),
        ],
    }
)
# of every kind three people or more
EVEN = pa.concat_tables([ANN.slice(0, 1)] * 2 + [ANN]).set_column(3, "pay", pa.array([round(1000 + 37.31 * row * row, 2) for row in range(19)]))


@pytest.mark.parametrize("mask", [{"shuffle": {"within": ["age"]}}, {"swap": {"share": 0.5, "within": ["age"]}}], ids=str)
@pytest.mark.parametrize("function", ["average", "sum", "max", "min"])
def test_a_total_or_an_extreme_tells_which_values_in_any_order_its_group_has(function: str, mask: Any) -> None:
    words = "pay in the view one and pay in the view other show, add up or choose from the values of groups that tell which are those of 1 person"
    assert refused(total("sex", function), {"mask": mask}, ANN) == f"{words}, fewer than 3"


@pytest.mark.parametrize("steps", [["yearly", "mixed"], ["mixed", "yearly"]], ids=str)
def test_values_in_any_order_are_known_in_any_unit(steps: list[str]) -> None:
    masks = {"yearly": {"expression": {"sql": "pay * 12"}}, "mixed": {"shuffle": {"within": ["age"]}}}
    assert "that tell which are those of 1 person" in refused(total("sex"), {"mask": [masks[step] for step in steps]}, ANN)


def read_by_all(*pays: Any, data: pa.Table = ANN) -> Any:
    columns = {name: {"role": "other"} for name in data.column_names} | {"region": {"role": "quasi_identifier"}}
    views = {f"v{number}": {"columns": {"pay": {**PAY, **pay}}} for number, pay in enumerate(pays)}
    return sfumato.run({"accept": "inference", "columns": columns, "promises": K, "views": views, "readers": {"reader": list(views)}}, data)


def test_two_totals_beside_all_values_in_any_order_tell_whose_they_are() -> None:
    with pytest.raises(PromiseError) as caught:
        read_by_all(total("sex", "average"), shuffled(), total("age", "average"))
    assert caught.value.message == (
        "pay in the view v0, pay in the view v1 and pay in the view v2 show, add up or choose from the values of groups that tell which are those of "
        "1 person, fewer than 3; nothing has been published"
    )
    assert len(read_by_all(total("sex", "average"), shuffled(), total("age", "average"), data=EVEN)) == 3


def test_a_total_to_which_others_add_what_is_shown_nowhere_may_be_read_beside_shuffled_values() -> None:
    old = {"mask": "shuffle", "when": {"column": "age", "equals": "old"}, "otherwise": "empty"}
    assert len(read_by_all(total(), old)) == 2


@pytest.mark.parametrize("pay", [shuffled(), shuffled("sex"), {"mask": {"swap": {"within": ["sex"]}}}], ids=str)
@pytest.mark.parametrize("function", ["average", "max"])
def test_groups_within_others_may_be_read_beside_values_in_any_order(function: str, pay: Any) -> None:
    assert len(read_by_one(total("sex", function), pay, ANN)) == 2


@pytest.mark.parametrize("within", [(), ("sex",), ("age",)], ids=str)
def test_groups_that_have_enough_in_common_may_be_read_beside_values_in_any_order(within: tuple[str, ...]) -> None:
    assert len(read_by_one(total("sex", k=3), shuffled(*within), EVEN)) == 2


ONE_VALUE = "show one value of groups that have 1 person in common, fewer than 3"


def test_an_extreme_of_two_groups_is_that_of_somebody_in_both() -> None:
    assert refused(total("sex", "max"), total("age", "max"), ANN) == f"pay in the view one and pay in the view other {ONE_VALUE}"


def test_an_extreme_of_two_groups_in_one_view_is_that_of_somebody_in_both() -> None:
    copied = [{"expression": {"sql": "pay", "columns": ["pay"], "same_again": True}}, {"aggregate": {"function": "max", "by": ["age"], "k": 3}}]
    columns = {name: {"role": "other"} for name in ("region", "sex", "age")} | {
        "pay": {"role": "other", **total("sex", "max", k=3)},
        "again": {"role": "other", "mask": copied},
    }
    with pytest.raises(PromiseError) as caught:
        sfumato.run({"accept": "inference", "columns": columns}, ANN.append_column("again", [[0.0] * 17]))
    assert caught.value.message == f"pay and again {ONE_VALUE}; nothing has been published"


def test_extremes_of_weeks_and_of_seven_days_are_held_against_each_other() -> None:
    # weeks begin on Mondays, windows of seven days on Thursdays: the third largest cost of a week and of seven days is that of a Thursday
    days = ["2024-04-01"] * 3 + ["2024-04-04"] + ["2024-04-02"] + ["2024-04-05"] + ["2024-04-08"] * 3 + ["2024-04-11"] * 3
    data = pa.table({"day": days, "cost": [100, 200, 300, 500, 900, 800, 950, 110, 120, 410, 420, 430]})
    views = {
        length: {"columns": {"cost": {"role": "other", "mask": {"aggregate": {"function": "max", "by": ["day"], "every": {"day": length}, "k": 3}}}}}
        for length in ("1w", "7d")
    }
    given = {
        "accept": "inference",
        "columns": {"day": {"role": "other"}, "cost": {"role": "other"}},
        "views": views,
        "readers": {"reader": list(views)},
    }
    with pytest.raises(PromiseError, match="show one value of groups that have 2 people in common, fewer than 3"):
        sfumato.run({**given, "unnamed": "remove"}, data)


@pytest.mark.parametrize(
    ("one", "other", "data"),
    [
        (total("sex", "max"), total("", "max"), ANN),
        (total("sex", "min"), total("age", "max"), ANN),
        (total("sex", "max"), total("sex", "max", k=4), ANN),
        (total("sex", "mode"), total("age", "mode"), ANN.set_column(3, "pay", pa.array([500] * 17))),
    ],
    ids=["within", "apart", "same", "shared"],
)
def test_extremes_and_modes_that_tell_of_enough_may_be_read_together(one: Any, other: Any, data: pa.Table) -> None:
    assert len(read_by_one(one, other, data)) == 2


CONSENTING = {"when": {"column": "consent", "equals": "y"}, "otherwise": "empty"}
# one more than half of those who share the first place has not agreed
DIAGNOSES = pa.table({"region": ["X"] * 15, "consent": ["n"] + ["y"] * 14, "pay": ["hiv"] * 6 + ["asthma"] * 5 + ["flu"] * 4})
NINTH = pa.table({"region": ["X"] * 10, "consent": ["n"] + ["y"] * 9, "pay": [90, 100, 95, 50, 10, 11, 12, 13, 14, 15]})
DIFFER = "pay in the view one and pay in the view other tell values or totals of groups that differ by 1 person, fewer than 3"


@pytest.mark.parametrize(
    ("one", "other", "data"),
    [
        (total("", "mode"), {**total("", "mode"), **CONSENTING}, DIAGNOSES),
        (total("", "max"), {**total("", "max"), **CONSENTING}, NINTH),
        (total("", "min"), {**total("", "max"), **CONSENTING}, NINTH),
        (total("", "sum"), {**total("", "max"), **CONSENTING}, NINTH),
    ],
    ids=["modes", "extremes", "two ends", "a total"],
)
def test_one_value_of_all_beside_that_of_all_but_one_tells_of_that_one(one: Any, other: Any, data: pa.Table) -> None:
    assert refused(one, other, data) == DIFFER


@pytest.mark.parametrize(("function", "data"), [("mode", DIAGNOSES), ("max", NINTH)], ids=str)
def test_one_value_of_all_beside_the_values_of_all_but_one_tells_of_that_one(function: str, data: pa.Table) -> None:
    shown = {"mask": "empty", "when": {"column": "consent", "equals": "n"}}
    words = "pay in the view one tells one value of a group of which the view other shows all values but those of 1 person, fewer than 3"
    assert refused(total("", function), shown, data) == words


def test_several_extremes_of_groups_tell_of_whom_only_their_union_lacks() -> None:
    # the third and the fourth largest of all, and those of two wards, of which one more person is in neither
    pays = [90, 100, 99, 98, 60, 10, 97, 96, 95, 61, 11]
    data = pa.table({"region": ["X"] * 11, "ward": ["C"] + ["A"] * 5 + ["B"] * 5, "pay": pays})
    wards = {**total("ward", "max"), "on_invalid": "remove"}
    with pytest.raises(PromiseError, match="tell values or totals of groups that differ by 1 person, fewer than 4"):
        read_by_all(total("", "max"), total("", "max", k=4), {**total("ward", "max", k=4), "on_invalid": "remove"}, wards, data=data)
    assert len(read_by_one(total("", "max"), wards, data)) == 2


@pytest.mark.parametrize("function", ["mode", "max"])
def test_one_value_of_all_may_be_read_beside_that_of_all_but_enough(function: str) -> None:
    data = pa.table({"region": ["X"] * 12, "consent": ["n"] * 3 + ["y"] * 9, "pay": [5, 5, 5, 4, 4, 4, 4, 3, 3, 3, 2, 1]})
    assert len(read_by_one(total("", function), {**total("", function), **CONSENTING}, data)) == 2


# forty people whose values are near each other, and one who is not shown
CHIEF = pa.table({"region": ["X"] * 41, "pay": [100_000 + 10 * (row // 4) + row % 4 for row in range(40)] + [500_000]})


@pytest.mark.parametrize(
    "mask",
    [{"generalise": {"size": 10}}, {"round_number": {"base": 10}}, {"character_mask": {"keep_first": 5}}, {"generalise": {"size": 500}}],
    ids=str,
)
def test_brackets_of_all_but_one_leave_little_open_of_the_total(mask: Any) -> None:
    below = {"mask": mask, "when": {"column": "pay", "below": 400_000}, "otherwise": "constant"}
    assert refused(below, total(), CHIEF) == (
        "pay in the view other tells a total of which the view one shows so much that less than a tenth is open of 1 person, fewer than 3"
    )


def test_brackets_that_leave_enough_open_may_be_read_beside_a_total() -> None:
    shown = {"when": {"column": "pay", "below": 400_000}, "otherwise": "constant"}
    assert len(read_by_one({"mask": {"generalise": {"size": 2000}}, **shown}, total(), CHIEF)) == 2
    # three who are not shown hide each other, and so do those who are all alike
    three = pa.concat_tables([CHIEF, CHIEF.slice(40), CHIEF.slice(40)])
    assert len(read_by_one({"mask": {"generalise": {"size": 10}}, **shown}, total(), three)) == 2
    near = pa.table({"region": ["X"] * 41, "pay": [100_000 + row for row in range(41)]})
    assert (
        len(read_by_one({"mask": {"generalise": {"size": 10}}, "when": {"column": "pay", "below": 100_040}, "otherwise": "constant"}, total(), near))
        == 2
    )


LITTLE_OPEN = "so much that less than a tenth is open of 1 person, fewer than 3"


@pytest.mark.parametrize(
    "mask",
    [
        {"generalise": {"bins": [100_050, 400_000], "labels": ["low", "middle", "high"]}},
        {"expression": {"sql": "CASE WHEN pay > 400000 THEN 'high' WHEN pay >= 100050 THEN 'middle' ELSE pay::text END"}},
        {"map_values": {"mapping": {"500000": "high"}, "default": "others"}},
    ],
    ids=["labels", "exact values and labels", "one label for most"],
)
def test_a_label_that_one_person_has_says_no_width_that_the_total_could_fall_short_of(mask: Any) -> None:
    assert LITTLE_OPEN in refused({"mask": mask}, total(), CHIEF)


@pytest.mark.parametrize(
    "steps", [[{"expression": {"sql": "pay * 2"}}], [{"top_bottom_code": {"top": 450_000}}], [{"round_number": {"base": 7}}]], ids=str
)
def test_brackets_are_held_against_the_total_of_what_was_made_of_values(steps: list[Any]) -> None:
    below = {"mask": {"generalise": {"size": 10}}, "when": {"column": "pay", "below": 400_000}, "otherwise": "constant"}
    (aggregate,) = total().values()
    assert LITTLE_OPEN in refused(below, {"mask": [*steps, aggregate]}, CHIEF)


def test_brackets_are_held_against_means_of_people_with_several_rows() -> None:
    twice = pa.concat_tables([CHIEF.append_column("who", pa.array([str(row) for row in range(41)]))] * 2)
    below = {"mask": {"generalise": {"size": 10}}, "when": {"column": "pay", "below": 400_000}, "otherwise": "constant"}
    assert LITTLE_OPEN in refused(below, {"mask": {"microaggregate": {"k": 41}}}, twice, subject="who").replace("fewer than 41", "fewer than 3")
    assert LITTLE_OPEN in refused(below, total(), twice, subject="who")


def test_brackets_of_several_views_are_known_by_what_they_have_in_common() -> None:
    def sized(start: int) -> dict[str, Any]:
        shown = {"mask": {"generalise": {"size": 4000, "minimum": start}}, "when": {"column": "pay", "below": 400_000}, "otherwise": "constant"}
        return {"columns": {"pay": {**PAY, **shown}}}

    views = {"one": sized(96_090), "two": sized(96_000), "other": {"columns": {"pay": {**PAY, **total()}}}}
    policy: dict[str, Any] = {"accept": "inference", "columns": {"region": {"role": "quasi_identifier"}, "pay": PAY}, "promises": K, "views": views}
    for seen in (["one", "other"], ["two", "other"]):
        assert len(sfumato.run({**policy, "readers": {"reader": seen}}, CHIEF)) == 3
    with pytest.raises(PromiseError, match="the view one and the view two show so much that less than a tenth is open of 1 person"):
        sfumato.run({**policy, "readers": {"reader": ["one", "two", "other"]}}, CHIEF)


def test_brackets_that_are_all_alike_may_be_read_beside_the_total_of_as_few_as_may_be_told_of() -> None:
    twelve = pa.table({"region": ["X"] * 12, "pay": [1000 + 7 * row for row in range(12)]})
    policy = {"promises": [{"k_anonymity": {"k": 12}}]}
    assert len(read_by_one({"mask": {"generalise": {"size": 100}}}, total(), twelve, **policy)) == 2


def test_an_interval_is_as_wide_as_it_says_whoever_is_in_it() -> None:
    assert len(read_by_one({"mask": {"generalise": {"bins": [100_050, 400_000]}}}, total(), CHIEF)) == 2


def test_another_column_of_the_same_view_may_hold_the_brackets() -> None:
    columns = {
        "region": {"role": "other"},
        "band": {
            "role": "other",
            "mask": {"expression": {"sql": "CASE WHEN pay > 400000 THEN 'high' ELSE (pay // 10)::text END", "columns": ["pay"]}},
        },
        "pay": {**PAY, **total(k=3)},
    }
    with pytest.raises(PromiseError, match="pay tells a total of which the release shows so much that less than a tenth is open"):
        sfumato.run({"accept": "inference", "columns": columns}, CHIEF.append_column("band", CHIEF["region"]))


def test_what_chance_leaves_of_values_is_not_held_against_a_total_and_the_records_say_so() -> None:
    release = read_by_one({"mask": {"noise": {"amount": 100_000}}}, total(), WARDS)
    words = (
        "pay in the view other is not held against the bounds within which chance has left values in pay in the view one: "
        "both may tell more than each"
    )
    assert all(words in release[name].record.notes for name in ("one", "other"))


YEARLY, TOP_OF_YEAR, TOP_OF_MONTH = {"expression": {"sql": "pay * 12"}}, {"top_bottom_code": {"top": 100_000}}, {"top_bottom_code": {"top": 8500}}


@pytest.mark.parametrize(
    "mask",
    [
        [YEARLY, TOP_OF_YEAR],
        [TOP_OF_MONTH, YEARLY],
        [TOP_OF_MONTH, {"round_number": {"decimals": 1}}],
        [{"round_number": {"base": 5}}, TOP_OF_MONTH],
        [TOP_OF_MONTH, {"noise": {"amount": 0.01, "decimals": 2}}],
        [TOP_OF_MONTH, {"hash": {"unkeyed": "sha256"}}],
        {"expression": {"sql": "CASE WHEN pay > 8500 THEN 0 ELSE pay / 2 + 7 END"}},
        {"expression": {"sql": "CASE WHEN pay > 8500 THEN 'x' ELSE 'EUR ' || pay END"}},
    ],
    ids=str,
)
def test_values_in_another_unit_are_taken_from_the_total(mask: Any) -> None:
    assert refused({"mask": mask}, total(), ANN) == ALL_BUT_ONE


@pytest.mark.parametrize(
    "steps",
    [
        [YEARLY, TOP_OF_YEAR, {"aggregate": {"function": "sum"}}],
        [TOP_OF_MONTH, YEARLY, {"aggregate": {"function": "sum"}}],
        ["shuffle", TOP_OF_MONTH],
    ],
    ids=str,
)
def test_what_is_told_of_changed_values_in_another_unit_or_order_tells_what_was_changed(steps: Any) -> None:
    assert "that differ by 1 person, fewer than 3" in refused(total(), {"mask": steps}, ANN)


@pytest.mark.parametrize(
    "sql",
    [
        "pay * 12",
        "'EUR ' || pay",
        "pay > 8500",
        "CASE WHEN pay > 8500 THEN 9 ELSE floor(pay / 1000) END",
        "CASE WHEN pay > 8500 THEN 'high' WHEN pay > 3000 THEN 'middle' ELSE 'low' END",
    ],
)
def test_what_tells_all_values_or_brackets_may_be_read_beside_a_total(sql: str) -> None:
    assert len(read_by_one({"mask": {"expression": {"sql": sql}}}, total(), ANN)) == 2


def test_hashes_of_all_values_may_be_read_beside_a_total() -> None:
    hashed = [{"round_number": {"decimals": 1}}, {"hash": {"unkeyed": "sha256"}}]
    assert len(read_by_one({"mask": hashed}, total(), ANN)) == 2


# three who are left out because one of them would show, beside fifteen others
LEFT_OUT = pa.concat_tables([WARDS, pa.table({"region": ["X"] * 3, "ward": ["D"] * 3, "sex": ["m", "m", "f"], "pay": [900, 1000, 9000]})])
REMOVED = {**total("ward"), "on_invalid": "remove"}


def test_a_group_that_is_left_out_because_somebody_dominates_it_follows_from_the_total_of_all() -> None:
    assert refused(REMOVED, total(), LEFT_OUT) == (
        "pay in the view one and pay in the view other tell totals of groups that differ by 3 people or more "
        "in which one person makes up more than 0.5"
    )
    assert "in which one person makes up more than 0.5" in refused(REMOVED, total(function="average"), LEFT_OUT)


def test_a_group_that_is_left_out_may_be_where_nobody_dominates_what_follows() -> None:
    assert len(read_by_one(REMOVED, {**total("ward"), "on_invalid": "remove"}, LEFT_OUT)) == 2
    assert len(read_by_one({**total("ward", dominance=1)}, total(dominance=1), LEFT_OUT)) == 2


def test_who_dominates_those_whose_values_are_not_shown_is_told_by_the_total() -> None:
    shown = {"mask": "constant", "when": {"column": "ward", "equals": "D"}}
    assert refused(shown, total(), LEFT_OUT) == (
        "pay in the view other tells a total of which the view one shows so many values that of the others one person makes up more than 0.5"
    )


# six pairs whose hours anybody may know
PAIRS = pa.table(
    {
        "region": ["X"] * 12,
        "pair": [letter for letter in "ABCDEF" for _ in range(2)],
        "hours": [38, 21, 40, 35, 20, 30, 10, 37, 25, 40, 33, 19],
        "pay": [1500, 1600, 1720, 1810, 2900, 2500, 2600, 2780, 2800, 2950, 2100, 2200],
    }
)
BY_HOURS = {"expression": {"sql": "pay * hours", "columns": ["hours"]}}


def weighted(step: Any, groups: list[str], **others: Any) -> dict[str, Any]:
    plain, made = ({"aggregate": {"function": "sum", "by": groups, "k": 2, "dominance": 1}} for _ in range(2))
    shown = {name: {"role": "other"} for name in ("region", "pair", "hours")}
    views = {name: {"columns": {"pay": {**PAY, "mask": mask}}} for name, mask in (("one", plain), ("two", [step, made]))}
    return {"accept": "inference", "columns": {**shown, "pay": PAY, **others}, "views": views, "readers": {"reader": ["one", "two"]}}


WITH_WEIGHTS = (
    "pay in the view one and pay in the view two tell sums of the same values with weights that can be known, "
    "from which it may follow what fewer than 2 people add"
)


@pytest.mark.parametrize("step", [BY_HOURS, {"expression": {"sql": "pay * pay"}}], ids=["hours", "squares"])
def test_two_sums_of_a_pair_one_of_them_weighted_tell_both_values(step: Any) -> None:
    with pytest.raises(PromiseError) as caught:
        sfumato.run(weighted(step, ["pair"]), PAIRS)
    assert caught.value.message == f"{WITH_WEIGHTS}; nothing has been published"


def test_weighted_sums_of_more_people_than_there_are_sums_may_be_read_together() -> None:
    assert len(sfumato.run(weighted(BY_HOURS, ["region"]), PAIRS)) == 2


def test_sums_of_pairs_weighted_by_what_nobody_sees_may_be_read_together() -> None:
    assert len(sfumato.run(weighted(BY_HOURS, ["pair"], hours={"role": "identifier"}), PAIRS)) == 2


def test_a_sum_of_two_columns_beside_that_of_each_is_held_to_the_people_they_differ_by() -> None:
    everybody, others = {"function": "sum", "k": 3}, {"function": "sum", "by": ["ward"], "k": 3, "dominance": 1}
    data = WARDS.append_column("bonus", pa.array([100 + 7 * row for row in range(15)])).append_column("both", WARDS["pay"])
    data = data.set_column(1, "ward", pa.array(["A"] * 14 + ["B"]))
    both = [{"expression": {"sql": "pay + bonus", "columns": ["pay", "bonus"]}}, {"aggregate": others}]
    columns = {
        "region": {"role": "other"},
        "ward": {"role": "other"},
        "sex": {"role": "other"},
        "pay": {**PAY, "mask": {"aggregate": everybody}},
        "bonus": {**PAY, "mask": {"aggregate": others}, "on_invalid": "remove"},
        "both": {**PAY, "mask": both, "on_invalid": "remove"},
    }
    with pytest.raises(PromiseError, match="pay and both tell totals of groups that differ by 1 person, fewer than 3"):
        sfumato.run({"accept": "inference", "columns": columns}, data)
    same = {**columns, "pay": {**PAY, "mask": {"aggregate": others}, "on_invalid": "remove"}}
    assert sfumato.run({"accept": "inference", "columns": same}, data).record.rows.out == 15


# twelve people who have nothing, or next to nothing, and twelve others
CONVICTED = {
    "nothing": [0] * 12 + [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 4],
    "little": [1, 2, 1, 0, 3, 1, 2, 0, 1, 2, 1, 1] + [50 * row for row in range(12)],
    "most": [9] * 12 + [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 4],
}


@pytest.mark.parametrize(
    ("pays", "mask"),
    [
        ("nothing", {"generalise": {"size": 10}}),
        ("little", {"generalise": {"size": 1000}}),
        ("most", {"generalise": {"size": 10}}),
        ("nothing", {"expression": {"sql": "CASE WHEN pay < 10 THEN 'few' ELSE 'many' END"}}),
    ],
    ids=str,
)
@pytest.mark.parametrize("function", ["sum", "average"])
def test_a_total_at_the_edge_of_its_brackets_tells_what_everybody_has(pays: str, mask: Any, function: str) -> None:
    data = pa.table({"region": ["X"] * 24, "ward": ["A"] * 12 + ["B"] * 12, "pay": CONVICTED[pays]})
    assert LITTLE_OPEN in refused({"mask": mask}, total("ward", function), data)


def test_a_total_in_the_middle_of_its_brackets_may_be_read_beside_them() -> None:
    data = pa.table({"region": ["X"] * 24, "ward": ["A"] * 12 + ["B"] * 12, "pay": [*range(3, 9), *range(3, 9), *range(1, 7), *range(1, 7)]})
    assert len(read_by_one({"mask": {"generalise": {"size": 10}}}, total("ward"), data)) == 2


def flagged(*limits: int) -> dict[str, Any]:
    """Return columns that are masked in one way where pay is at least a limit, and in another where it is not."""
    return {
        f"flag{limit}": {
            "role": "other",
            "mask": {"constant": {"value": "hi"}},
            "when": {"column": "pay", "at_least": limit},
            "otherwise": "constant",
        }
        for limit in limits
    }


def test_conditions_on_what_is_added_up_are_brackets_of_it() -> None:
    data = pa.table({"pay": [100] * 5 + [101] * 4 + [150], "flag100": ["x"] * 10, "flag102": ["x"] * 10, "flag125": ["x"] * 10})
    pay = {"pay": {**PAY, **total(k=3)}}
    with pytest.raises(
        PromiseError, match="pay tells a total of which the release shows so much that less than a tenth is open of 1 person"
    ) as caught:
        sfumato.run({"accept": "inference", "columns": pay | flagged(100, 102)}, data.drop_columns(["flag125"]))
    assert caught.value.code == "aggregate-difference"
    wide = data.set_column(0, "pay", pa.array([100, 103, 107, 112, 120, 126, 131, 138, 144, 150]))
    assert sfumato.run({"accept": "inference", "columns": pay | flagged(125)}, wide.drop_columns(["flag100", "flag102"])).table.num_rows == 10


ALL_BUT_THE_FIRST = {"when": {"not": {"column": "pay", "equals": 1500}}, "otherwise": "empty"}


@pytest.mark.parametrize("function", ["sum", "average"])
def test_a_plain_total_of_all_but_one_is_taken_from_one_that_is_not_plain(function: str) -> None:
    plain = {**total(function=function, plain=True), **ALL_BUT_THE_FIRST}
    assert refused(plain, total()) == "pay in the view one and pay in the view other tell totals of groups that differ by 1 person, fewer than 3"


def test_plain_values_of_people_who_are_alone_are_taken_from_a_total() -> None:
    assert ALL_BUT_ONE.replace("the view one shows", "pay in the view one shows") == refused(
        {**total("pay", plain=True), **ALL_BUT_THE_FIRST}, total()
    )


def test_plain_totals_may_be_read_beside_each_other_and_beside_the_same_groups() -> None:
    assert len(read_by_one({**total(plain=True), **ALL_BUT_THE_FIRST}, total(plain=True))) == 2
    assert len(read_by_one(total("ward", plain=True), total("ward"))) == 2
    assert len(read_by_one(total("pay", plain=True), total())) == 2


@pytest.mark.parametrize("first", [{"swap": {"share": 0.5}}, {"swap": {"share": 0.5, "within": ["ward"]}}, {"expression": {"sql": "pay"}}], ids=str)
def test_means_of_groups_hide_what_the_operations_before_them_have_left(first: Any) -> None:
    data = pa.table({"ward": ["A"] * 6 + ["B"] * 6, "pay": [10, 20, 30, 40, 50, 60, 70, 80, 90, 11, 12, 13]})
    mask = [first, {"microaggregate": {"k": 2, "dominance": 1}}]
    for _ in range(5):
        assert sfumato.run({"accept": "inference", "columns": {"ward": {"role": "other"}, "pay": {**PAY, "mask": mask}}}, data).table.num_rows == 12


def test_conditions_of_two_views_are_brackets_of_what_a_third_adds_up() -> None:
    data = pa.table({"pay": [100] * 4 + [101] * 4 + [99, 150]})
    hidden = {"mask": {"constant": {"value": "hi"}}, "otherwise": "constant"}
    views = {f"from{limit}": {"columns": {"pay": {**PAY, **hidden, "when": {"column": "pay", "at_least": limit}}}} for limit in (100, 102)}
    views["all"] = {"columns": {"pay": {**PAY, **total(k=3)}}}
    policy = {"accept": "inference", "columns": {"pay": PAY}, "views": views}
    assert len(sfumato.run({**policy, "readers": {"reader": ["from100", "all"], "other": ["from102", "all"]}}, data)) == 3
    with pytest.raises(PromiseError, match="the view from100 and the view from102 show so much that less than a tenth is open of 1 person"):
        sfumato.run({**policy, "readers": {"reader": [*views]}}, data)


@pytest.mark.parametrize("size", [8, 9, 11, 12, 20])
def test_brackets_with_one_value_each_are_no_values(size: int) -> None:
    data = pa.table({"region": ["X"] * 40, "pay": [2000 + 97 * place % 4001 for place in range(40)]})
    released = read_by_one({"mask": {"generalise": {"size": size}}}, total(k=3), data)
    assert {name: release.table.num_rows for name, release in released.items()} == {"one": 40, "other": 40}


@pytest.mark.parametrize("function", ["sum", "average"])
@pytest.mark.parametrize(
    "pays", [[0, 0, 0, 0, 55, 150], [40, 40, 40, 40, 55, 150], [79, 79, 79, 79, 55, 150], [0] * 6, [0, 0, 1, 1, 55, 150]], ids=str
)
def test_a_total_at_the_edge_of_an_interval_is_refused_though_all_who_are_told_of_are_alike(pays: list[int], function: str) -> None:
    data = pa.table({"region": ["X"] * 6, "ward": [*"AAAABB"], "pay": pays})
    found = refused({"mask": {"generalise": {"size": 40}}}, {**total("ward", function, k=3), "on_invalid": "remove"}, data)
    assert found == "pay in the view other tells a total of which the view one shows so much that less than a tenth is open of 1 person, fewer than 3"


@pytest.mark.parametrize("function", ["max", "min"])
def test_an_extreme_that_only_one_person_can_have_by_their_brackets_is_refused(function: str) -> None:
    data = pa.table({"region": ["X"] * 6, "pay": [10, 50, 95, 130, 170, 210]})
    found = refused({"mask": {"generalise": {"size": 40}}}, total("", function, k=3), data)
    assert found == (
        "pay in the view other tells one value of a group of which the view one shows so much that it can be only that of 1 person, fewer than 3"
    )


def test_a_mode_of_all_who_can_have_it_by_their_labels_is_refused() -> None:
    data = pa.table({"region": ["X"] * 6, "pay": ["flu", "flu", "flu", "cold", "gout", "burn"]})
    found = refused({"mask": {"generalise": {"prefix": 1}}}, total("", "mode", k=3), data)
    assert "it can be only that of 3 people, so many share it that each of them has it" in found


def test_cases_by_a_text_beside_totals_are_weighed_without_it() -> None:
    data = pa.table(
        {"ward": [*"AABBCCAABBCD"], "town": [*"XYXYXYXYXYXY"], "pay": list(range(1000, 2200, 100)), "p": [1] * 12, "q": [1] * 12, "r": [1] * 12}
    )
    hidden = {"expression": {"sql": "case when ward = 'D' then null else pay end", "columns": ["pay", "ward"]}}
    sums = {by: {"aggregate": {"function": "sum", "by": [by], "k": 2, "dominance": 0.9}} for by in ("ward", "town")}
    masks = {"p": [{"expression": {"sql": "pay", "columns": ["pay"]}}, sums["ward"]], "q": [hidden, sums["town"]], "r": hidden}
    columns = {name: {"role": "other"} for name in ("ward", "town")} | {"pay": {"role": "identifier"}}
    columns |= {name: {"role": "other", "mask": mask, "on_invalid": "remove"} for name, mask in masks.items()}
    assert sfumato.run({"accept": "inference", "columns": columns}, data).table.num_rows == 12


HOURS = [40] * 30 + [30] * 29 + [31]
STAFF = pa.table(
    {
        "ward": ["A"] * 30 + ["B"] * 30,
        "hours": HOURS,
        "pay": [3100 + (37 * number * number) % 900 for number in range(60)],
        "bonus": [1] * 60,
    }
)


@pytest.mark.parametrize("sql", ["pay * hours", 'PAY * "hours"', "pay * hours * 2"])
def test_a_weighted_sum_is_held_against_others_whatever_column_it_stands_in(sql: str) -> None:
    made = [{"expression": {"sql": sql, "columns": ["pay", "hours"]}}, {"aggregate": {"function": "sum", "k": 10, "by": ["ward"]}}]
    columns = {
        "ward": {"role": "other"},
        "hours": {"role": "other", "accept": ["singling_out"]},
        "pay": {"role": "other", "mask": {"aggregate": {"function": "sum", "k": 10}}},
        "bonus": {"role": "other", "mask": made},
    }

    # one person has 31 hours: her pay would follow from both sums
    with pytest.raises(PromiseError) as refusal:
        sfumato.run({"columns": columns, "accept": ["inference"]}, STAFF)
    assert refusal.value.code == "aggregate-difference"
