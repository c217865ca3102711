"""Masks that look at all rows at once: shuffle, swap, aggregate, microaggregate."""

from __future__ import annotations

import itertools
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.core.mask import MaskContext
from sfumato.core.number_columns import as_column
from sfumato.core.whose import Subject
from sfumato.errors import DataError, PolicyError
from sfumato.masking import _undominated
from sfumato.masking.aggregate import Aggregate
from sfumato.masking.microaggregate import Microaggregate
from sfumato.masking.round_number import RoundNumber
from sfumato.masking.shuffle import Shuffle
from sfumato.masking.swap import Swap

AGES = [23, 45, 26, 32, 26, 27]


def apply(mask: Any, values: Any, people: int = 2, subject: list[str] | None = None, **others: list[Any]) -> list[Any]:
    columns = {"x": values if isinstance(values, pa.Array) else pa.array(values), **{name: pa.array(other) for name, other in others.items()}}
    if subject is not None:
        columns["who"] = pa.array(subject)
    context = MaskContext("x", people=people, subject=Subject("who") if subject is not None else None)
    return list(mask.apply(pa.RecordBatch.from_pydict(columns), context).to_pylist())


# --- shuffle and swap -----------------------------------------------------------------------------------------------------


def test_a_shuffled_column_has_the_same_values_in_another_order() -> None:
    values = list(range(1000))
    found = apply(Shuffle(), values)

    assert sorted(found) == values
    assert sum(old == new for old, new in zip(values, found, strict=True)) < 20


def test_every_order_is_as_likely() -> None:
    counted = Counter(tuple(apply(Shuffle(), ["a", "b", "c"])) for _ in range(600))

    assert set(counted) == set(itertools.permutations("abc"))
    assert min(counted.values()) > 50


def test_values_stay_within_their_group_and_who_is_alone_has_none_to_exchange_with() -> None:
    wards = ["A", "B", "A", "B", "C", None, None]
    found = apply(Shuffle(within=["ward"]), [1, 2, 3, 4, 5, 6, 7], ward=wards)

    assert {found[0], found[2]} == {1, 3}
    assert {found[1], found[3]} == {2, 4}
    assert found[4] is None
    assert {found[5], found[6]} == {6, 7}


def test_with_repetition_values_are_drawn_from_the_group() -> None:
    wards = ["A", "B"] * 500
    found = apply(Shuffle(within=["ward"], repetition=True), list(range(1000)), ward=wards)

    assert all(value % 2 == place % 2 for place, value in enumerate(found))
    assert 200 < len(set(found)) < 800


@pytest.mark.parametrize("rank", [None, 1.0])
def test_the_part_that_swaps_is_one_of_all_rows_however_small_their_groups(rank: float | None) -> None:
    teams = [number // 6 for number in range(6000)]
    found = apply(Swap(within=["team"], share=0.2, rank=rank), list(range(6000)), team=teams)

    assert all(new // 6 == team for new, team in zip(found, teams, strict=True))
    moved = sum(new != old for old, new in enumerate(found))
    # 1,200 on average, with a standard deviation below 50
    assert 900 < moved < 1500


def test_a_part_of_the_rows_swaps_in_pairs() -> None:
    values = list(range(1000))
    found = apply(Swap(share=0.3), values)

    moved = [place for place in values if found[place] != place]
    assert len(moved) == 300
    assert all(found[found[place]] == place for place in moved)


def test_by_rank_values_move_only_so_far() -> None:
    values = np.random.default_rng(1).permutation(1000)
    found = np.array(apply(Swap(share=1, rank=0.02), [str(value) for value in values])).astype(int)

    assert (found != values).mean() > 0.8
    assert abs(found - values).max() <= 20


def test_texts_of_numbers_are_ranked_as_numbers() -> None:
    found = apply(Swap(share=1, rank=0.5), ["9", "10", "100", "99"])

    assert {found[0], found[1]} == {"9", "10"}


# --- aggregates -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "expected"), [("sum", 179), ("median", 26.5), ("average", 29.83), ("max", 45), ("min", 23), ("count", 6)])
def test_plain_aggregates_are_those_of_the_books(function: str, expected: float) -> None:
    found = apply(Aggregate(function=function, plain=True, decimals=2), pa.array([float(age) for age in AGES]))

    assert found == [expected] * 6


def test_the_plain_mode_is_the_most_frequent_value() -> None:
    assert apply(Aggregate(function="mode", plain=True), AGES) == [26] * 6


@pytest.mark.parametrize(("function", "expected"), [("min", 26), ("max", 27), ("median", 26.5), ("sum", 179), ("count", 6)])
def test_safe_aggregates_stand_for_k_people(function: str, expected: float) -> None:
    # the third from below and above; the four in the middle, 26, 26, 27 and 32, since three leave an odd number over
    found = apply(Aggregate(function=function, decimals=2), pa.array([float(age) for age in AGES]), people=3)

    wanted = {"median": 27.75, "max": 27.0}.get(function, expected)
    assert found == [wanted] * 6


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, 20, 30, 40, 50, 900], 35.0),  # 20, 30, 40 and 50: of 30 and 40 one is always more than half
        ([10, 20, 30, 40, 900], 30.0),  # three leave as many over on both sides
        ([10, 30, 30, 900], 30.0),  # two who have the same number
        ([1, 2, 30, 50, 60, 70], 35.5),  # 60 of 142 is less than half
        ([-900, -20, 30, 60], None),  # 900 of 1010 is more, and nobody is left to add
        ([10, 20], None),
    ],
    ids=str,
)
def test_a_median_is_told_of_as_many_in_the_middle_as_nobody_dominates(values: list[int], expected: float | None) -> None:
    assert apply(Aggregate(function="median", decimals=1), values) == [expected] * len(values)


def test_nothing_is_told_of_fewer_than_k_people_however_many_rows_they_have() -> None:
    found = apply(
        Aggregate(function="average", by=["ward"], dominance=1),
        [1.0, 2.0, 3.0, 4.0, 5.0],
        ward=["A", "A", "B", "B", "B"],
        subject=["p", "p", "q", "r", "q"],
    )

    assert found == [None, None, 4.0, 4.0, 4.0]


@pytest.mark.parametrize("mask", [Aggregate(function="average"), Aggregate(function="median", k=4), Microaggregate(k=4)], ids=str)
def test_halves_are_rounded_as_those_of_round_number(mask: Any) -> None:
    for values in ([2, 2, 3, 3], [-2, -2, -3, -3], [3, 3, 4, 4], ["1.00", "1.00", "1.01", "1.01"]):
        mean = sum(Decimal(value) for value in values) / 4
        (rounded,) = apply(RoundNumber(decimals=2 if isinstance(values[0], str) else 0), [str(mean)])

        assert [str(value) for value in apply(mask, values)] == [rounded] * 4


def test_nothing_is_told_of_a_sum_that_one_person_dominates() -> None:
    assert apply(Aggregate(function="sum"), [1, 1, 98]) == [None] * 3
    assert apply(Aggregate(function="sum", dominance=1), [1, 1, 98]) == [100] * 3
    assert apply(Aggregate(function="average"), [-50.0, 1.0, 1.0]) == [None] * 3


def test_what_somebody_takes_away_again_hides_nobody_in_a_sum() -> None:
    # p and q add nothing to the sum, which is r's
    values, whose = [1_000_000, -1_000_000, 1_000_000, -1_000_000, 500], list("ppqqr")
    for function in ("sum", "average"):
        assert apply(Aggregate(function=function, k=3), values, subject=whose) == [None] * 5
    # nor does it make somebody large who adds little
    assert apply(Aggregate(function="sum", k=3), [1_000_000, -999_900, 110, 120], subject=list("ppqr")) == [330] * 4


def test_a_sum_of_decimals_has_as_many_digits_as_it_needs() -> None:
    money = pa.array([Decimal("999.99")] * 3, pa.decimal128(5, 2))
    assert apply(Aggregate(function="sum"), money) == [Decimal("2999.97")] * 3
    assert Aggregate(function="sum").output_type(money.type) == pa.decimal128(38, 2)
    assert Aggregate(function="average", decimals=4).output_type(money.type) == money.type
    assert apply(Aggregate(function="average", decimals=4), money) == [Decimal("999.99")] * 3


def test_a_number_with_more_digits_than_its_column_is_none() -> None:
    assert as_column(np.array([999.994, 999.996, -1e9, 0.5]), pa.array([], pa.decimal128(5, 2))).to_pylist() == [
        Decimal("999.99"),
        None,
        None,
        Decimal("0.50"),
    ]


def test_extremes_go_by_people() -> None:
    # the smallest three are one person's: the second person's smallest is 7
    assert apply(Aggregate(function="min"), [1, 2, 3, 7, 9], subject=list("aaabc")) == [7] * 5
    assert apply(Aggregate(function="max", maximum=8), [1, 2, 3, 7, 9], subject=list("aaabc")) == [7] * 5
    assert apply(Aggregate(function="min", minimum=8), [1, 2, 3, 7, 9], subject=list("aaabc")) == [8] * 5


def test_a_mode_is_told_only_where_k_people_share_it() -> None:
    assert apply(Aggregate(function="mode"), ["x", "x", "y"], subject=["a", "a", "b"]) == [None] * 3
    assert apply(Aggregate(function="mode"), ["x", "x", "y"], subject=["a", "c", "b"]) == ["x"] * 3
    assert apply(Aggregate(function="mode"), ["y", "x", "y", "x"]) == ["x"] * 4


def test_a_run_stops_where_a_group_is_too_small_unless_it_is_removed() -> None:
    column = {"role": "other", "mask": {"aggregate": {"function": "average", "by": ["ward"]}}}
    table = pa.table({"pay": ["20", "20", "99"], "ward": ["A", "A", "B"]})
    policy: dict[str, Any] = {"columns": {"pay": column, "ward": {"role": "other"}}}

    with pytest.raises(DataError) as raised:
        sfumato.run(policy, data=table)
    assert raised.value.message == (
        "column pay: 1 row of which aggregate tells nothing "
        "(groups of fewer than 2 people, or in which one person makes up more than 0.5 of it; "
        "or no number that the column can hold, or numbers of more than 15 digits together), row 3"
    )
    assert raised.value.hint == "larger groups, by fewer columns, or say on_invalid: remove in columns.pay"
    policy["columns"]["pay"] = {**column, "on_invalid": "remove"}
    found = sfumato.run(policy, data=table).table.to_pylist()
    assert sorted((row["ward"], row["pay"]) for row in found) == [("A", "20"), ("A", "20"), ("B", None)]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"function": "mode"}, "fewer than 3 people of the group share a value"),
        ({"function": "count"}, "groups of fewer than 3 people"),
        ({"function": "max"}, "groups of fewer than 3 people; or no number that the column can hold, or numbers of more than 15 digits together"),
        ({"function": "sum", "plain": True}, "no number that the column can hold, or numbers of more than 15 digits together"),
    ],
)
def test_what_an_aggregate_refuses_is_said_of_its_groups(settings: dict[str, Any], why: str) -> None:
    assert Aggregate(k=3, **settings).refused(2)[0] == f"of which aggregate tells nothing ({why})"


@pytest.mark.parametrize(
    ("mask", "values", "words", "advice"),
    [
        ({"aggregate": {"function": "average"}}, ["a", "b"], "with a value that aggregate, which takes numbers, cannot take", "mask the others"),
        ({"aggregate": {"function": "min"}}, ["2020-01-01"] * 2, "with a value that aggregate, which takes numbers, cannot take", "mask the others"),
        ({"microaggregate": {"k": 3}}, ["a", "b"], "with a value that microaggregate, which takes numbers, cannot take", "mask the others"),
        (
            {"microaggregate": {"k": 3}},
            ["1", "2"],
            "of which microaggregate tells nothing (groups of fewer than 3 people, or in which one person makes up more than 0.5, however large; "
            "or a number of more than 15 digits)",
            "larger groups, within fewer columns, or top_bottom_code before it",
        ),
    ],
)
def test_what_is_no_number_is_told_from_a_group_that_is_too_small(mask: Any, values: list[str], words: str, advice: str) -> None:
    with pytest.raises(DataError) as raised:
        sfumato.run({"columns": {"pay": {"role": "other", "mask": mask}}}, data=pa.table({"pay": values}))
    assert raised.value.message == f"column pay: 2 rows {words}, the first in row 1"
    assert str(raised.value.hint).startswith(advice)


def test_people_of_the_policy_s_subject_are_counted() -> None:
    columns = {
        "who": {"role": "identifier"},
        "ward": {"role": "other"},
        "pay": {"role": "other", "mask": {"aggregate": {"function": "average", "by": ["ward"], "dominance": 1}}, "on_invalid": "remove"},
    }
    table = pa.table({"who": ["a", "a", "b", "c"], "ward": ["A", "A", "B", "B"], "pay": [10, 20, 30, 50]})

    found = sfumato.run({"columns": columns, "subject": "who"}, data=table).table
    assert sorted(found.to_pylist(), key=str) == sorted([{"ward": "A", "pay": None}] * 2 + [{"ward": "B", "pay": 40}] * 2, key=str)


@pytest.mark.parametrize("mask", ["shuffle", "swap", {"aggregate": {"function": "sum"}}, "microaggregate"], ids=str)
def test_they_are_refused_on_quasi_identifiers(mask: Any) -> None:
    policy = {"columns": {"age": {"role": "quasi_identifier", "mask": mask}}, "promises": [{"k_anonymity": {"k": 2}}]}

    with pytest.raises(PolicyError) as raised:
        sfumato.plan(policy, data=pa.table({"age": [1, 2]}))
    assert [mistake.code for mistake in raised.value.mistakes] == ["policy-mask-promise"]


# --- microaggregation -----------------------------------------------------------------------------------------------------


def best(values: list[float], k: int) -> float:
    """Return the least sum of squared errors of all partitions of the sorted values into groups of at least k."""
    values = sorted(values)

    def cost(part: list[float]) -> float:
        return float(((np.array(part) - np.mean(part)) ** 2).sum())

    least = [0.0] + [float("inf")] * len(values)
    for end in range(k, len(values) + 1):
        least[end] = min(least[begin] + cost(values[begin:end]) for begin in range(end - k + 1))
    return least[-1]


@settings(max_examples=150, deadline=None)
@given(values=st.lists(st.integers(-1000, 1000), min_size=2, max_size=40), k=st.integers(2, 6), shift=st.sampled_from([0, 10**9]))
def test_no_partition_has_smaller_errors(values: list[int], k: int, shift: int) -> None:
    shifted = [float(value + shift) for value in values]
    found = apply(Microaggregate(k=k, decimals=9, dominance=1), pa.array(shifted))

    if len(values) < k:
        assert found == [None] * len(values)
        return
    assert min(Counter(found).values()) >= k
    assert sum((old - new) ** 2 for old, new in zip(shifted, found, strict=True)) == pytest.approx(best(shifted, k), rel=1e-6, abs=1e-3)


def test_people_are_grouped_with_all_their_rows() -> None:
    found = apply(Microaggregate(k=2, dominance=1), pa.array([1.0, 3.0, 4.0, 100.0, 110.0]), subject=list("aabcd"))

    assert found == [3.0, 3.0, 3.0, 105.0, 105.0]


def test_whole_numbers_and_texts_stay_what_they_are() -> None:
    assert apply(Microaggregate(k=2, dominance=1), [1, 2, 10, 11]) == [2, 2, 11, 11]
    assert apply(Microaggregate(k=2, dominance=1), ["1.5", "2.0", "x", "9.9", "9.9"]) == ["1.8", "1.8", None, "9.9", "9.9"]
    # nobody's own value is told: of three all are in the middle
    assert apply(Microaggregate(k=2, centre="median", dominance=1), [1, 2, 9]) == [4, 4, 4]
    assert apply(Microaggregate(k=3, centre="median"), [1, 2, 3, 4, 90]) == [3, 3, 3, 3, 3]


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.integers(-50, 50) | st.integers(-5000, 5000), min_size=1, max_size=40),
    k=st.integers(2, 5),
    centre=st.sampled_from(["mean", "median"]),
)
def test_nobody_makes_up_most_of_a_mean_that_is_told(values: list[int], k: int, centre: Any) -> None:
    mask = Microaggregate(k=k, centre=centre, decimals=9)
    columns = pa.RecordBatch.from_pydict({"x": pa.array([float(value) for value in values])})
    told, found = mask.told(columns, MaskContext(column="x")), mask.apply(columns, MaskContext(column="x")).to_pylist()

    assert told is not None
    for group in set(told.groups.tolist()) - {-1}:
        rows = [place for place, its in enumerate(told.groups.tolist()) if its == group]
        parts = [abs(values[place]) for place in rows]
        assert len(rows) >= k
        assert max(parts) <= 0.5 * sum(parts)
        assert found[rows[0]] == pytest.approx(np.mean([values[place] for place in rows]), abs=1e-6)
    if centre == "mean":
        assert [value is None for value in found] == [group < 0 for group in told.groups.tolist()]


def test_a_group_takes_in_its_neighbours_until_nobody_makes_up_most_of_it() -> None:
    assert apply(Microaggregate(k=3), [1, 1, 10, 11, 12, 13]) == [8] * 6
    # whoever has more than all others together is left out with those beside them, and the others are not
    assert apply(Microaggregate(k=3), [0, 0, 0, 0, 0, 0, 0, 1_000_000])[:3] == [0, 0, 0]
    assert apply(Microaggregate(k=3), [0, 0, 0, 0, 0, 0, 0, 1_000_000])[-3:] == [None] * 3
    assert apply(Microaggregate(k=3), [20, 21, 22, 23, 24, 25, 3000]) == [22, 22, 22, 22, None, None, None]


def test_a_column_of_nothing_is_nothing() -> None:
    assert apply(Microaggregate(k=2), pa.array([], pa.float64())) == []
    assert apply(Shuffle(), []) == []
    assert apply(Aggregate(function="mode"), pa.array([], pa.string())) == []


def test_bounds_of_an_aggregate_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(PolicyError) as caught:
        Aggregate(function="max", minimum=9, maximum=1)
    assert str(caught.value) == "aggregate: has a minimum that is larger than its maximum [policy-value]"


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["9007199254740993", "1", "9007199254740993"]),
        pa.array([2**56, 1, -(2**56)]),
        pa.array([Decimal("12345678901234567.11"), Decimal("12345678901234567.12"), Decimal("1.13")]),
    ],
)
def test_numbers_of_which_a_float_loses_digits_are_never_added_up_wrongly(values: pa.Array) -> None:
    for function in ("sum", "average", "max", "median"):
        assert apply(Aggregate(function=function, plain=True), values) == [None] * 3
    assert apply(Microaggregate(k=2), values) == [None] * 3

    assert apply(Aggregate(function="sum", plain=True), pa.array(["90071992547409.1", "1", "-2"])) == ["90071992547408.1"] * 3
    assert apply(Aggregate(function="sum", plain=True), pa.array([1e300, 2.0])) == [1e300, 1e300]


def test_a_dominance_that_hardly_any_group_can_keep_looks_at_each_number_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    plain = _undominated._dominated
    monkeypatch.setattr(_undominated, "_dominated", lambda sizes, *others: looked_at.append(len(sizes)) or plain(sizes, *others))
    pays = np.sort(np.random.default_rng(7).lognormal(8, 1, 20_000))
    bounds = np.arange(0, 20_001, 4)
    assert _undominated.undominated(pays, bounds, 1.001 / 20_000)[1].all()
    assert sum(looked_at) < 10 * len(pays)


def test_a_dominance_that_no_group_can_keep_is_answered_at_once() -> None:
    # by growing every group in turn this would take hours
    assert apply(Microaggregate(k=3, dominance=1e-9), list(range(1, 300_001))) == [None] * 300_000
    assert apply(Microaggregate(k=3, dominance=1e-9), [0, 0, 0, 7, 8, 9]) == [0, 0, 0, None, None, None]


# --- columns that move together -------------------------------------------------------------------------------------------

TOWNS = [("Bremen", "28195", "DE"), ("Wien", "1010", None), ("Paris", "75001", "FR"), (None, "9999", "NL")]
PLACES = pa.table(
    {
        **{name: [TOWNS[number % 7 % 4][place] for number in range(210)] for place, name in enumerate(("town", "postcode", "country"))},
        "ward": [("A", "B", "C")[number % 3] for number in range(210)],
        "number": list(range(210)),
    }
)


def moved(data: pa.Table = PLACES, **settings: Any) -> pa.Table:
    mask = {"role": "other", "mask": {"shuffle": {"together": "places", **settings.pop("shuffle", {})}}, **settings}
    others = {name: {"role": "other"} for name in ("ward", "number")}
    return sfumato.run({"columns": {**dict.fromkeys(("town", "postcode", "country"), mask), **others}}, data=data).table


def rows_of(table: pa.Table, *names: str) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(table.column(name).to_pylist() for name in names), strict=True))


@pytest.mark.parametrize("within", [[], ["ward"]])
def test_columns_that_move_together_show_rows_that_were_there_with_what_was_missing(within: list[str]) -> None:
    made = moved(shuffle={"within": within})
    names = ("town", "postcode", "country", *within)
    assert rows_of(made, *names) == rows_of(PLACES, *names)
    assert rows_of(made, *names, "number") != rows_of(PLACES, *names, "number")


def test_columns_that_move_together_may_name_their_groups_in_any_order() -> None:
    data = PLACES.append_column("day", pa.array([number % 2 for number in range(210)]))
    masks = {"town": ["ward", "day"], "postcode": ["day", "ward"]}
    columns: dict[str, Any] = {name: {"role": "other"} for name in data.column_names}
    columns |= {name: {"role": "other", "mask": {"shuffle": {"together": "places", "within": within}}} for name, within in masks.items()}
    names = ("town", "postcode", "ward", "day")
    assert rows_of(sfumato.run({"columns": columns}, data=data).table, *names) == rows_of(data, *names)


def test_rows_that_do_not_move_may_be_masked_otherwise_in_every_column() -> None:
    columns: dict[str, Any] = {name: {"role": "other"} for name in PLACES.column_names}
    for name in ("town", "postcode"):
        mask = {"shuffle": {"together": "places"}}
        columns[name] = {
            "role": "other",
            "mask": mask,
            "when": {"column": "number", "below": 100},
            "otherwise": {"constant": {"value": f"no {name}"}},
        }
    made = sfumato.run({"columns": columns}, data=PLACES).table.sort_by("number")
    assert rows_of(made.slice(100), "town", "postcode") == {("no town", "no postcode"): 110}
    assert rows_of(made.slice(0, 100), "town", "postcode") == rows_of(PLACES.slice(0, 100), "town", "postcode")


def test_columns_that_move_together_with_repetition_show_no_row_that_was_not_there() -> None:
    made = moved(shuffle={"within": ["ward"], "repetition": True})
    names = ("town", "postcode", "country", "ward")
    assert set(rows_of(made, *names)) <= set(rows_of(PLACES, *names))


def test_columns_move_together_where_a_condition_holds() -> None:
    made = moved(when={"column": "number", "below": 100}).sort_by("number")
    names = ("town", "postcode", "country")
    assert made.slice(100).equals(PLACES.slice(100))
    assert rows_of(made.slice(0, 100), *names) == rows_of(PLACES.slice(0, 100), *names)


def test_who_is_alone_in_a_group_cannot_move_and_stops_the_run_or_has_no_place() -> None:
    one = pa.concat_tables([PLACES, pa.table({"town": ["Rom"], "postcode": ["00118"], "country": ["IT"], "ward": ["D"], "number": [210]})])
    with pytest.raises(DataError) as raised:
        moved(one, shuffle={"within": ["ward"]})
    words = "1 row with a value that shuffle cannot take (no other row is alike in ward, to exchange it with), row 211"
    assert raised.value.message.startswith(f"column town: {words}; ")
    assert str(raised.value.hint).startswith("larger groups, within fewer columns, or say on_invalid: remove in columns.town; ")
    made = moved(one, shuffle={"within": ["ward"]}, on_invalid="remove")
    assert made.filter(pa.compute.equal(made["number"], 210)).select(["town", "postcode", "country"]).to_pylist() == [
        {"town": None, "postcode": None, "country": None}
    ]


def test_a_release_that_tears_apart_what_should_move_together_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.core.moved_together.MovedTogether.order", lambda self, name, column, groups, draw: draw())
    with pytest.raises(sfumato.errors.SfumatoError, match="tears columns apart that were to move together") as caught:
        moved(shuffle={"within": ["ward"]})
    assert caught.value.code == "verify-mask"


def test_every_pass_draws_another_order() -> None:
    mask, context = Shuffle(together="x"), MaskContext("x")
    column = pa.RecordBatch.from_pydict({"x": list(range(1000))})
    assert mask.apply(column, context) != mask.apply(column, context)


@pytest.mark.parametrize(
    ("town", "key", "words"),
    [
        ({"mask": [{"shuffle": {"together": "p"}}, {"shorten": {"length": 1}}]}, "mask", "together with others (p), and is not its only operation"),
        ({"mask": {"shuffle": {"together": "q"}}}, "mask", "together with others (q), and there are none"),
        ({"mask": {"shuffle": {"together": "p", "repetition": True}}}, "mask", "by other settings or under another condition"),
        ({"mask": {"shuffle": {"together": "p"}}, "when": {"column": "number", "above": 3}}, "mask", "by other settings or under another condition"),
        ({"mask": {"shuffle": {"together": "p"}}, "on_null": "error"}, "mask", "where something else becomes of a missing value"),
        ({"mask": {"shuffle": {"together": "p"}}, "on_invalid": "remove"}, "mask", "or of a row that is alone"),
        ({"mask": {"shuffle": {"together": "p"}}, "on_null": "keep"}, "on_null", "a missing value moves with the others of its row"),
    ],
)
def test_columns_that_cannot_move_together_are_refused_with_the_policy(town: Any, key: str, words: str) -> None:
    other = {"role": "other", "mask": {"shuffle": {"together": "p"}}}
    columns = {"town": {"role": "other", **town}, "postcode": other, "country": other, "ward": {"role": "other"}, "number": {"role": "other"}}
    with pytest.raises(PolicyError) as caught:
        sfumato.plan({"columns": columns}, data=PLACES)
    found = [mistake for mistake in caught.value.mistakes if mistake.key == f"columns.town.{key}"]
    assert [mistake.code for mistake in found] == ["policy-mask-together"]
    assert words in found[0].message


@pytest.mark.parametrize("role", ["identifier", "other"])
def test_a_sensitive_column_moves_together_with_sensitive_columns_only(role: str) -> None:
    unit: dict[str, Any] = {"mask": {"shuffle": {"together": "p"}}}
    columns = {name: {"role": "other"} for name in PLACES.column_names} | {"town": {"role": role, **unit}, "country": {"role": "sensitive", **unit}}
    with pytest.raises(PolicyError) as caught:
        sfumato.plan({"columns": columns}, data=PLACES)
    (mistake,) = caught.value.mistakes
    assert (mistake.key, mistake.code) == ("columns.country.mask", "policy-mask-together")
    assert "moves a sensitive column together with town, which would tell whose value it is" in mistake.message
    sfumato.plan({"columns": {**columns, "town": {"role": "sensitive", **unit}}}, data=PLACES)


@pytest.mark.parametrize("mask", [{"aggregate": {"function": "average"}}, {"aggregate": {"function": "max"}}, {"microaggregate": {"k": 20}}], ids=str)
@pytest.mark.parametrize("as_text", [False, True])
def test_small_numbers_are_told_with_their_digits(mask: dict[str, Any], as_text: bool) -> None:
    values = [(1.5 + place / 10) * 1e-17 for place in range(20)]
    given = [str(value) for value in values] if as_text else values
    (found,) = set(sfumato.run({"columns": {"v": {"role": "other", "mask": mask}}}, data=pa.table({"v": given})).table["v"].to_pylist())
    wanted = sorted(values)[-2] if mask.get("aggregate", {}).get("function") == "max" else sum(values) / 20
    assert float(found) == pytest.approx(wanted, rel=1e-12, abs=0)


def test_large_numbers_are_told_or_refused_for_what_they_are() -> None:
    table = pa.table({"v": [9 * 10**15 + place for place in range(20)]})
    extreme = {"columns": {"v": {"role": "other", "mask": {"aggregate": {"function": "max", "k": 2}}}}}
    assert set(sfumato.run(extreme, data=table).table["v"].to_pylist()) == {9 * 10**15 + 18}
    total = {"columns": {"v": {"role": "other", "mask": {"aggregate": {"function": "sum", "k": 2}}}}}
    with pytest.raises(DataError, match="numbers of more than 15 digits together"):
        sfumato.run(total, data=table)


@pytest.mark.parametrize("mask", [{"aggregate": {"function": "average", "decimals": 3}}, {"microaggregate": {"k": 4, "decimals": 3}}], ids=str)
def test_whole_numbers_get_the_decimals_that_are_asked_for(mask: dict[str, Any]) -> None:
    found = sfumato.run({"columns": {"v": {"role": "other", "mask": mask}}}, data=pa.table({"v": pa.array([1, 2, 2, 2], pa.int32())})).table["v"]
    assert (found.type, found.to_pylist()) == (pa.float64(), [1.75] * 4)


def test_one_column_that_makes_groups_need_not_be_a_list() -> None:
    assert Aggregate.model_validate({"function": "sum", "by": "unit"}).by == ["unit"]


def test_a_lone_row_cannot_be_shuffled_and_is_told_why() -> None:
    policy = {"columns": {"pay": {"role": "other", "mask": "shuffle"}}}
    with pytest.raises(DataError) as raised:
        sfumato.run(policy, data=pa.table({"pay": [5]}))
    assert raised.value.message == "column pay: 1 row with a value that shuffle cannot take (there is no other row to exchange it with), row 1"
