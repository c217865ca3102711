from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.errors import DataError, PolicyError
from sfumato.hierarchies.prefix import Prefix
from sfumato.masking.generalise import Generalise

COLOURS = Hierarchy.of_paths("value", [["red", "warm"], ["pink", "warm"], ["blue", "cold"]])


def masked(values: Any, kind: Any = None, ladder: Hierarchy | None = None, **way: Any) -> list[Any]:
    values = values if isinstance(values, pa.Array) else pa.array(values)
    found = Generalise(**way).apply(pa.RecordBatch.from_arrays([values], names=["value"]), MaskContext("value", kind=kind, ladder=ladder))
    assert found.type == pa.string()
    result: list[Any] = found.to_pylist()
    return result


def test_no_value_is_lost_where_a_range_does_not_divide() -> None:
    # 0 to 100 in three intervals: 99 and 100 once fell out at the top, and became empty
    found = masked(list(range(101)), intervals=3, minimum=0, maximum=100)
    assert found == ["[0, 33]"] * 34 + ["[34, 67]"] * 34 + ["[68, 100]"] * 33


@pytest.mark.parametrize("intervals", [1, 2, 7, 10, 100, 101])
def test_every_value_is_in_the_interval_that_its_label_says(intervals: int) -> None:
    found = masked(list(range(101)), intervals=intervals, minimum=0, maximum=100)
    ends = [[int(end) for end in label.strip("[]").split(", ")] for label in found]
    assert all(end[0] <= value <= end[-1] for value, end in enumerate(ends))
    assert len(set(found)) == intervals


@pytest.mark.parametrize(
    "values",
    [
        pa.array([-1, 0, 29, None]),
        pa.array(["-1", "0.00", "2.9e1", None]),
        pa.array([-1, 0, 29, None], pa.int8()),
    ],
)
def test_sizes_are_the_same_for_numbers_of_every_type(values: pa.Array) -> None:
    assert masked(values, size=10) == ["[-10, -1]", "[0, 9]", "[20, 29]", None]


def test_intervals_of_decimals_reach_to_the_next_one() -> None:
    assert masked([-0.5, 0.0, 29.99, None], size=10) == ["[-10, 0)", "[0, 10)", "[20, 30)", None]
    assert masked(["29.95", "30"], "decimal", size=10) == ["[20, 30)", "[30, 40)"]
    assert masked([0.25, 0.3, 0.49], size=0.1) == ["[0.2, 0.3)", "[0.3, 0.4)", "[0.4, 0.5)"]
    assert masked([Decimal("0.25"), Decimal("0.55")], size=0.5) == ["[0.0, 0.5)", "[0.5, 1.0)"]
    assert masked([17.9, 18.0, 64.5, 65.0], bins=[18, 65]) == ["< 18", "[18, 65)", "[18, 65)", ">= 65"]
    thirds = ["[0.0, 33.3)", "[33.3, 66.7)", "[33.3, 66.7)", "[66.7, 100.0]", None]
    assert masked([33.29, 33.3, 66.69, 100.0, 100.1], intervals=3, minimum=0, maximum=100) == thirds
    quarters = ["[0, 25)", "[25, 50)", "[75, 100]", "[75, 100]", None]
    assert masked([24.99, 25.0, 75.0, 100.0, -0.1], intervals=4, minimum=0, maximum=100) == quarters
    assert masked([0.0, 0.25, 0.99], intervals=4, minimum=0, maximum=1) == ["[0.00, 0.25)", "[0.25, 0.50)", "[0.75, 1.00]"]
    assert masked([999.5, 1000.0, 1000.4], size=50, minimum=0, maximum=1000) == ["[950, 1000)", "1000", None]


def test_decimals_that_the_policy_counts_have_closed_intervals() -> None:
    assert masked(["29.95"], size=10, decimals=2) == ["[20.00, 29.99]"]
    assert masked([29.95], size=10, decimals=2) == ["[20.00, 29.99]"]


def test_a_number_between_two_closed_intervals_is_in_neither() -> None:
    # 49.45 was once shown as [0, 49], and what is above the maximum as the maximum
    values = ["49", "49.45", "48.5", "1000.47", "1001", "-0.4", "1000"]
    assert masked(values, size=50, minimum=0, maximum=1000) == ["[0, 49]", None, "[0, 49]", None, None, None, "1000"]
    assert masked(["1000.47", "950.2", "950"], intervals=20, minimum=0, maximum=1000) == [None, None, "[901, 950]"]
    assert masked(["17.9", "64.5", "65.5"], bins=[18, 65]) == ["< 18", None, ">= 65"]
    assert masked(["29.995"], size=10, decimals=2) == [None]


def test_bins_with_names_take_every_decimal() -> None:
    assert masked(["17.9", "64.5"], bins=[18, 65], labels=["child", "adult", "old"]) == ["child", "adult"]


def test_what_to_do_with_decimals_is_said() -> None:
    batch = pa.RecordBatch.from_pydict({"value": ["49.45"]})
    with pytest.raises(DataError) as raised:
        MaskedColumn("value", [Generalise(size=50)]).apply(batch, MaskContext("value"))
    assert raised.value.sentence() == (
        "column value: 1 row with a value that generalise cannot take: no number, beyond minimum or maximum, or between two intervals "
        "[mask-invalid]\n"
        "  try: of dates minimum: 2024-01-01, or another day with which the intervals begin; with decimals say how many, decimals: 2, or "
        "type: decimal for intervals such as [0, 50); mask the others with `when`, or say on_invalid: remove in columns.value"
    )
    with pytest.raises(DataError) as raised:
        MaskedColumn("value", [Generalise(size=50, minimum=0)]).apply(batch, MaskContext("value"))
    assert str(raised.value.hint).startswith("with decimals say how many, decimals: 2, or")


@pytest.mark.parametrize("declared", [True, False])
def test_a_size_alone_on_a_column_of_dates_is_told_the_bound_that_makes_it_days(declared: bool) -> None:
    days = ["2024-01-09", "2024-02-09"]
    column: dict[str, Any] = {"role": "other", "mask": {"generalise": {"size": 7}}, **({"type": "date"} if declared else {})}
    table = pa.table({"on": pa.array(days) if declared else pc.cast(pa.array(days), pa.date32())})
    with pytest.raises(PolicyError) as raised:
        sfumato.run({"columns": {"on": column}}, data=table)
    (mistake,) = raised.value.mistakes
    assert mistake.message == "generalise takes integer or decimal, and the column is of type date"
    assert mistake.hint == "minimum: 2024-01-01, or another day with which the intervals begin"
    column["mask"] = {"generalise": {"size": 7, "minimum": "2024-01-01"}}
    assert sfumato.run({"columns": {"on": column}}, data=table).table["on"].null_count == 0


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-2_000, 2_000), min_size=1, max_size=30),
    st.sampled_from([{"size": 50}, {"size": 0.1}, {"size": 7, "minimum": -3, "maximum": 900}, {"intervals": 20, "minimum": 0, "maximum": 1000}]),
    st.sampled_from([None, "decimal"]),
)
def test_every_label_holds_its_number(numbers: list[float], way: dict[str, Any], kind: Any) -> None:
    texts = [repr(number) for number in numbers]
    for text, label in zip(texts, masked(texts, kind, **way), strict=True):
        if label is not None:
            first, last = [Decimal(end) for end in (label.strip("[])").split(", ") * 2)[:2]]
            assert first <= round(Decimal(text), 18) <= last
            assert not label.endswith(")") or Decimal(text) < last


def test_intervals_of_a_size_begin_at_the_minimum_and_end_at_the_maximum() -> None:
    assert masked([17, 18, 27, 28, 65, 66], size=10, minimum=18, maximum=65) == [None, "[18, 27]", "[18, 27]", "[28, 37]", "[58, 65]", None]


def test_numbers_far_apart_are_looked_up_one_by_one() -> None:
    assert masked([0, 10**17, -(10**17)], size=1_000) == ["[0, 999]", f"[{10**17}, {10**17 + 999}]", f"[{-(10**17)}, {-(10**17) + 999}]"]
    assert masked([0, 10**14], intervals=2, minimum=0, maximum=10**14) == ["[0, 50000000000000]", "[50000000000001, 100000000000000]"]


def test_bins_are_open_at_both_ends() -> None:
    assert masked(["17.9", "18", "64", "65", "200"], bins=[18, 65]) == ["< 18", "[18, 64]", "[18, 64]", ">= 65", ">= 65"]


def test_bins_end_where_minimum_and_maximum_say() -> None:
    assert masked([-1, 0, 17, 18, 120, 121], bins=[18], minimum=0, maximum=120) == [None, "[0, 17]", "[0, 17]", "[18, 120]", "[18, 120]", None]


def test_bins_may_have_labels() -> None:
    assert masked([5, 30, 90], bins=[18, 65], labels=["child", "adult", "老人 🙂"]) == ["child", "adult", "老人 🙂"]


def test_dates_have_sizes_in_days_and_bins() -> None:
    days = pa.array([date(2019, 12, 31), date(2020, 1, 1), date(2020, 1, 31)])
    assert masked(days, size=30, minimum="2020-01-01") == [None, "[2020-01-01, 2020-01-30]", "[2020-01-31, 2020-02-29]"]
    assert masked(["1999-12-31T23:59:59Z", "2000-01-01"], bins=["2000-01-01"]) == ["< 2000-01-01", ">= 2000-01-01"]


@pytest.mark.parametrize(
    ("keep", "wanted"),
    [
        ("year", ["2024", "1969"]),
        ("quarter", ["2024-Q4", "1969-Q1"]),
        ("month", ["2024-12", "1969-01"]),
        ("week", ["2025-W01", "1969-W01"]),
        ("day", ["2024-12-30", "1969-01-01"]),
    ],
)
def test_dates_are_cut_to_a_stretch_of_the_calendar(keep: str, wanted: list[str]) -> None:
    assert masked(["2024-12-30T23:59:59Z", "1969-01-01", "soon", None], keep=keep) == [*wanted, None, None]
    assert masked([datetime(2024, 12, 30, 23, 59), datetime(1969, 1, 1)], keep=keep) == wanted


def test_codes_keep_their_first_characters() -> None:
    assert masked(["10969", "日本語コード", "e\u0301clair", None], prefix=3) == ["109*", "日本語*", "e\u0301c*", None]
    assert masked([10969, 10115], prefix=2) == ["10*", "10*"]


def test_a_code_of_which_nothing_would_be_hidden_is_null() -> None:
    assert masked(["109", "10", "", "1096"], prefix=3) == [None, None, None, "109*"]


def test_addresses_become_networks_also_where_nobody_says_that_they_are_addresses() -> None:
    values = ["10.1.2.3", "2001:db8:1:2::3", "::ffff:10.1.2.3", "10.1.2", None]
    assert masked(values, "ip", prefix=24) == ["10.1.2.0/24", "2001:db8:1::/48", "10.1.2.0/24", None, None]
    assert masked(["10.1.2.3", "2001:db8:1:2::3"], prefix=24, prefix_ipv6=32) == ["10.1.2.0/24", "2001:db8::/32"]
    assert masked(["10.1.2.3"], "text", prefix=2) == ["10*"]
    assert masked(["10.1.2.3"], prefix=33) == [None]


def test_levels_show_the_nodes_of_the_hierarchy() -> None:
    assert masked(["red", "blue", "green", None], ladder=COLOURS, level=1) == ["warm", "cold", None, None]
    assert masked(["red", "blue"], ladder=COLOURS, level=2) == ["*", "*"]


def test_a_level_that_would_show_a_code_whole_shows_nothing() -> None:
    codes = Prefix(lengths=[4, 2]).build("value", pa.array(["1010", "28195"]), np.ones(2, np.int64))
    assert masked(["1010", "28195"], ladder=codes, level=1) == [None, "2819*"]
    assert masked(["1010", "28195"], ladder=codes, level=2) == ["10**", "28***"]


def test_a_level_of_prefixes_hides_as_much_of_short_codes_as_of_long_ones() -> None:
    values = ["1010", "28195", "SW1A 1AA", "10961"]
    codes = Prefix().build("value", pa.array(values), np.ones(4, np.int64))
    assert masked(values, ladder=codes, level=2) == ["10**", "281**", "SW1A 1**", "109**"]


def test_a_level_without_a_hierarchy_or_above_it_is_refused() -> None:
    with pytest.raises(DataError) as raised:
        masked(["red"], level=1)
    assert raised.value.sentence() == (
        "column value: a level of its hierarchy is asked for, and there is none [mask-hierarchy]\n"
        "  try: hierarchy: {taxonomy: {path: ...}} beside the mask"
    )
    with pytest.raises(DataError) as raised:
        masked(["red"], ladder=COLOURS, level=3)
    assert raised.value.message == "column value: level 3 is asked for, and its hierarchy has levels 1 to 2"


def test_an_unknown_value_stops_the_run() -> None:
    batch = pa.RecordBatch.from_pydict({"value": ["red", "green"]})
    with pytest.raises(DataError) as raised:
        MaskedColumn("value", [Generalise(level=1)]).apply(batch, MaskContext("value", ladder=COLOURS))
    assert raised.value.code == "mask-invalid"


@pytest.mark.slow
def test_many_rows_get_what_few_get() -> None:
    values = np.random.default_rng(1).integers(-50, 150, 5_000)
    assert masked(values, size=7) == [label for value in values.tolist() for label in masked([value], size=7)]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "needs one of size, intervals, bins, level, keep, prefix"),
        ({"size": 1, "keep": "year"}, "needs one of size, intervals, bins, level, keep, prefix"),
        ({"intervals": 3}, "needs a minimum and a maximum with intervals: where they lie must not hang on the data"),
        ({"intervals": 12, "minimum": 0, "maximum": 10, "decimals": 0}, "intervals: are more than there are values between minimum and maximum"),
        ({"keep": "year", "minimum": 1}, "takes minimum, maximum and decimals only with size, intervals or bins"),
        ({"bins": [1, 2], "labels": ["a", "b"]}, "labels: needs bins, and one label more than there are of them"),
        ({"bins": [2, 1]}, "needs a minimum, bins and a maximum that rise"),
        ({"bins": [1, "2020-01-01"]}, "needs bounds that are all numbers, or all days such as 2020-01-31"),
        ({"bins": ["2020-01-01T12:00:00Z"]}, "needs bounds that are all numbers, or all days such as 2020-01-31"),
        ({"size": 0.5, "minimum": "2020-01-01"}, "size: needs whole days"),
        ({"size": 0.5, "decimals": 0}, "decimals: must be at least 1, which its sizes and bounds have"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as raised:
        Generalise(**settings)
    assert raised.value.mistakes[0].message == words


def test_types_that_do_not_fit_are_refused() -> None:
    assert Generalise(size=1).misfit(pa.date32(), None) == "takes integer or decimal, and the column is of type date"
    assert Generalise(keep="year").misfit(pa.int64(), None) == "takes date or timestamp, and the column is of type integer"
    assert Generalise(prefix=32).misfit(pa.string(), "ip") == "keeps 32 leading bits, and an IPv4 address has 32: nothing of it would be hidden"
    assert masked(["10.1.2.3", "2001:db8::1", "abcdef"], prefix=32, prefix_ipv6=64) == [None, "2001:db8::/64", None]
    few = Generalise(intervals=4, minimum=0, maximum=1)
    assert few.misfit(pa.float64(), None) is None
    assert few.misfit(pa.string(), "decimal") is None
    assert "say how many decimals there are, or type: decimal" in str(few.misfit(pa.string(), None))
    assert "more intervals than there are whole numbers" in str(few.misfit(pa.int64(), None))
    assert Generalise(prefix=3).misfit(pa.float64(), None) == "takes the beginnings of codes and addresses, and the column is of type decimal"
    assert Generalise(level=1).misfit(pa.float64(), None) is None
