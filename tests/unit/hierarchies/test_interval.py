from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core import canonical
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.publication import Publication
from sfumato.errors import DataError, PolicyError
from sfumato.hierarchies.interval import Interval

AGES = pa.array([17, 21, 30, 31, 38, 90])


def build(values: pa.Array, counts: Any = None, **how: Any) -> Hierarchy:
    return Interval(**how).build("age", values, np.ones(len(values), np.int64) if counts is None else np.array(counts))


def labels(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    return [level.labels for level in hierarchy.levels]


def typed(kind: canonical.ValueType, *texts: str) -> pa.Array:
    values = canonical.parse(pa.array(texts, pa.string()), kind)
    return values.take(pa.compute.sort_indices(values))


def test_a_width_cuts_at_its_multiples_and_doubles_from_level_to_level() -> None:
    assert labels(build(AGES, width=10)) == [
        ("[10, 19]", "[20, 29]", "[30, 39]", "[90, 99]"),
        ("[0, 19]", "[20, 39]", "[80, 99]"),
        ("[0, 39]", "[80, 119]"),
        ("*",),
    ]


def test_an_empty_interval_does_not_widen_its_neighbour() -> None:
    assert labels(build(pa.array([2, 22]), width=5))[0] == ("[0, 4]", "[20, 24]")


def test_a_minimum_is_where_widths_begin_and_a_maximum_where_they_end() -> None:
    ages = build(AGES, width=10, minimum=18, maximum=35)

    assert labels(ages) == [("[18, 27]", "[28, 35]"), ("*",)]
    assert ages.leaves.to_pylist() == ["21", "30", "31"]


def test_negative_numbers_are_cut_like_positive_ones() -> None:
    assert labels(build(pa.array([-17, -3, 0, 4]), width=5)) == [("[-20, -16]", "[-5, -1]", "[0, 4]"), ("[-20, -1]", "[0, 19]"), ("*",)]


def test_bins_are_equally_wide() -> None:
    assert labels(build(pa.array([0, 5, 55, 99]), bins=10))[0] == ("[0, 9]", "[50, 59]", "[90, 99]")


def test_more_bins_than_numbers_leave_single_numbers() -> None:
    assert labels(build(pa.array([1, 2, 3]), bins=30))[0] == ("1", "2", "3")


def test_quantiles_hold_equally_many_rows() -> None:
    assert labels(build(AGES, counts=[1, 1, 1, 1, 1, 5], quantiles=2)) == [("[17, 38]", "90"), ("*",)]


def test_edges_are_where_the_next_interval_begins() -> None:
    assert labels(build(AGES, edges=[18, 31, 65])) == [("17", "[18, 30]", "[31, 64]", "[65, 90]"), ("[17, 30]", "[31, 90]"), ("*",)]


def test_edges_of_long_whole_numbers_are_not_rounded() -> None:
    far = 2**53
    found = build(pa.array([far, far + 1, far + 2, far + 3]), edges=[far + 1, far + 3])
    assert labels(found)[0] == (str(far), f"[{far + 1}, {far + 2}]", str(far + 3))


def test_edges_that_are_written_as_texts_rise_as_the_column_does() -> None:
    assert labels(build(AGES, edges=["9", "31", "100"]))[0] == ("[9, 30]", "[31, 99]")
    with pytest.raises(DataError):
        build(AGES, edges=["31", "9"])


def test_edges_beyond_the_values_do_no_harm() -> None:
    assert labels(build(AGES, edges=[-5, 200])) == [("[-5, 199]",), ("*",)]


def test_without_a_way_intervals_hold_about_equally_many_rows() -> None:
    assert labels(build(AGES)) == [("[17, 21]", "30", "[31, 38]", "90"), ("[17, 30]", "[31, 90]"), ("*",)]


def test_decimals_meet_at_the_scale_of_the_column() -> None:
    assert labels(build(typed("decimal", "0.30", "-1.25", "2.5"), width=0.5))[0] == ("[-1.50, -1.01]", "[0.00, 0.49]", "[2.50, 2.99]")


def test_a_tenth_is_cut_exactly() -> None:
    tenths = typed("decimal", *(f"{number / 10:.1f}" for number in range(10)))

    assert labels(build(tenths, width=0.1))[0] == tuple(f"0.{digit}" for digit in range(10))


def test_short_floating_numbers_are_cut_like_decimal_ones() -> None:
    assert labels(build(pa.array([0.1, 13.0, 14.4, 19.87654321]), width=10))[0] == ("[0, 9.99999999]", "[10, 19.99999999]")
    assert labels(build(pa.array([0.25, 1.5], pa.float32()), width=1))[0] == ("[0, 0.99]", "[1, 1.99]")


@pytest.mark.parametrize(
    "how", [{"width": 10}, {"edges": [0, 10, 20], "minimum": -10, "maximum": 100}, {"bins": 2, "minimum": 0, "maximum": 20}], ids=str
)
def test_no_value_is_told_by_intervals_whose_ends_the_policy_says(how: dict[str, Any]) -> None:
    # a third has no short decimal form
    values = pa.array([1 / 3, 13 + 1 / 3, 19 + 2 / 3])

    told = labels(build(values, **how))[0]

    assert told[-1] == "[10, 19.999999999999996]"
    assert not any(text in label for label in told for text in canonical.render(values).to_pylist())


def test_dates_are_cut_in_days() -> None:
    days = typed("date", "2020-01-03", "2020-01-09", "2020-01-10", "2020-02-20")

    assert labels(build(days, width=7, minimum="2020-01-01"))[0] == (
        "[2020-01-01, 2020-01-07]",
        "[2020-01-08, 2020-01-14]",
        "[2020-02-19, 2020-02-25]",
    )


def test_the_first_and_the_last_day_of_the_calendar_have_intervals() -> None:
    days = typed("date", "0001-01-01", "9999-12-31")

    assert labels(build(days, width=1000))[0] == ("[0001-01-01, 0001-06-11]", "[9997-07-18, 9999-12-31]")


def test_instants_are_cut_in_seconds() -> None:
    instants = typed("timestamp", "2020-01-01T10:00", "2020-01-01T10:30", "2020-01-01 11:00:05")

    assert labels(build(instants, width=3600)) == [
        ("[2020-01-01T10:00:00Z, 2020-01-01T10:59:59Z]", "[2020-01-01T11:00:00Z, 2020-01-01T11:59:59Z]"),
        ("*",),
    ]


def test_instants_with_fractions_meet_at_the_microsecond() -> None:
    instants = typed("timestamp", "2020-01-01T10:00:00.5", "2020-01-01T11:00:00")

    assert labels(build(instants, width=3600))[0][0] == "[2020-01-01T10:00:00Z, 2020-01-01T10:59:59.999999Z]"


def test_a_bound_may_be_a_date_of_the_policy() -> None:
    days = typed("date", "2019-05-05", "2020-05-05")

    assert build(days, minimum=datetime.date(2020, 1, 1)).size == 1


def test_a_bound_of_another_type_is_refused_without_naming_it() -> None:
    with pytest.raises(DataError) as caught:
        build(AGES, minimum="2020-01-01")

    assert caught.value.message == "column age has type integer, and the bounds or edges of its intervals are not of that type or do not rise"


def test_one_value_stands_below_the_root() -> None:
    assert labels(build(pa.array([5]))) == [("*",)]
    assert labels(build(pa.array([5]), quantiles=3)) == [("*",)]
    assert labels(build(pa.array([1 / 3]), bins=3)) == [("*",)]


def test_one_value_keeps_the_interval_that_was_asked_for() -> None:
    assert labels(build(pa.array([5]), width=10)) == [("[0, 9]",), ("*",)]


def test_values_all_outside_the_bounds_leave_the_root_alone() -> None:
    nobody = build(AGES, minimum=200, width=5)

    assert (nobody.size, labels(nobody)) == (0, [("*",)])


def test_text_has_no_intervals_even_where_it_is_made_of_digits() -> None:
    with pytest.raises(DataError) as caught:
        build(pa.array(["10", "9"]), width=5)

    assert caught.value.message == "column age has type text, which has no intervals"


@pytest.mark.parametrize(
    "how",
    [
        {"width": 0},
        {"width": float("inf")},
        {"bins": 0},
        {"quantiles": 0},
        {"edges": []},
        {"edges": [2, 1]},
        {"edges": [1, 1]},
        {"edges": [float("nan")]},
        {"minimum": 5, "maximum": 5},
        {"maximum": float("inf")},
        {"width": 1, "bins": 2},
    ],
    ids=str,
)
def test_settings_that_cannot_work_are_refused(how: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        Interval(**how)


WAYS = st.one_of(
    st.builds(lambda width: {"width": width}, st.sampled_from([0.1, 0.25, 1.0, 2.5, 7.0, 1000.0])),
    st.builds(lambda bins: {"bins": bins}, st.integers(1, 12)),
    st.builds(lambda quantiles: {"quantiles": quantiles}, st.integers(1, 12)),
    st.builds(lambda edges: {"edges": sorted(edges)}, st.sets(st.integers(-60, 60).map(float), min_size=1, max_size=5)),
    st.just({}),
)
BOUNDS = st.fixed_dictionaries({}, optional={"minimum": st.integers(-40, -1).map(float), "maximum": st.integers(0, 40).map(float)})
COLUMNS = st.one_of(
    st.sets(st.integers(-50, 50), min_size=1, max_size=40).map(lambda values: pa.array(sorted(values))),
    st.sets(st.decimals(-50, 50, places=2), min_size=1, max_size=40).map(lambda values: typed("decimal", *map(str, values))),
    st.sets(st.floats(-50, 50).map(lambda value: round(value, 9) or 0.0), min_size=1, max_size=40).map(lambda values: pa.array(sorted(values))),
    st.sets(st.integers(-50, 50), min_size=1, max_size=40).map(lambda values: pa.array(sorted(values), pa.int32()).cast(pa.date32())),
    st.sets(st.integers(-50_000_000, 50_000_000), min_size=1, max_size=40).map(
        lambda values: pa.array(sorted(values), pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    ),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(values=COLUMNS, way=WAYS, bounds=BOUNDS)
def test_a_label_covers_exactly_the_leaves_of_its_node(values: pa.Array, way: dict[str, Any], bounds: dict[str, Any]) -> None:
    hierarchy = build(values, **way, **bounds)

    for number, level in enumerate(hierarchy.levels[:-1], start=1):
        firsts, lasts = hierarchy.nodes(number)
        lows, highs = Publication("age", hierarchy).read(pa.array(level.labels, pa.string()))
        assert (lows.tolist(), highs.tolist()) == (firsts.tolist(), lasts.tolist())


@settings(max_examples=100, deadline=None)
@given(values=COLUMNS, way=WAYS)
def test_the_intervals_of_a_level_do_not_overlap(values: pa.Array, way: dict[str, Any]) -> None:
    hierarchy = build(values, **way)

    for level in hierarchy.levels[:-1]:
        ends = [label.strip("[]").partition(", ")[::2] for label in level.labels]
        flat = pa.array([text for low, high in ends for text in (low, high or low)], pa.string())
        places = canonical.positions(canonical.parse(flat, hierarchy.kind))
        assert (np.diff(places)[1::2] > 0).all()
