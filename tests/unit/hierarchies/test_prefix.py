from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core.encoding import encode
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.publication import Publication
from sfumato.errors import PolicyError
from sfumato.hierarchies.prefix import Prefix


def build(*values: object, **settings: object) -> Hierarchy:
    return Prefix(**settings).build("zip", pa.array(values), np.ones(len(values), np.int64))


def labels(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    return [level.labels for level in hierarchy.levels]


def test_each_level_keeps_one_character_less() -> None:
    assert labels(build("10961", "10969", "12047")) == [
        ("1096*", "1204*"),
        ("109**", "120**"),
        ("10***", "12***"),
        ("1****",),
        ("*",),
    ]


def test_the_levels_can_be_chosen() -> None:
    assert labels(build("10961", "10969", "12047", lengths=[3, 1])) == [("109**", "120**"), ("1****",), ("*",)]


def test_the_mask_can_be_chosen_and_the_root_stays_a_star() -> None:
    assert labels(build("12", "13", mask="x")) == [("1x",), ("*",)]


def test_a_level_drops_as_many_characters_of_a_short_code_as_of_a_long_one() -> None:
    # counted from the longest code, 1010 and 28195 would be shown whole at levels 1 to 3
    codes = build("1010", "28195", "SW1A 1AA", "10961")

    assert codes.leaves.to_pylist() == ["1010", "10961", "28195", "SW1A 1AA"]
    assert labels(codes)[:2] == [("101*", "1096*", "2819*", "SW1A 1A*"), ("10**", "109**", "281**", "SW1A 1**")]
    assert labels(codes)[3:5] == [("****", "1****", "2****", "SW1A****"), ("*****", "SW1*****")]


@pytest.mark.parametrize("sizes", [(1, 2, 3), (4, 5, 8), (3, 40, 500)])
def test_at_every_level_so_many_characters_of_every_code_are_gone(sizes: tuple[int, ...]) -> None:
    ladder = build(*("x" * size for size in sizes), *("x" * (size - 1) + "y" for size in sizes))
    leaves, *above = (level.to_pylist() for level in ladder.ancestors())

    for level, shown in enumerate(above, start=1):
        for code, label in zip(leaves, shown, strict=True):
            assert len(label.rstrip("*")) <= max(0, len(code) - level)


def test_nothing_is_left_of_codes_of_several_lengths_before_they_are_alike() -> None:
    assert labels(build("1", "10", "100", "101", "2")) == [("**", "1*", "10*"), ("***", "1**"), ("*",)]


def test_codes_of_several_lengths_share_their_beginnings_where_lengths_are_given() -> None:
    assert labels(build("1", "10", "100", "101", "2", lengths=[2, 1])) == [("1", "10*", "2"), ("1**", "2"), ("*",)]


def test_characters_are_code_points_not_bytes() -> None:
    assert labels(build("üb", "üc", "😀1")) == [("ü*", "😀*"), ("*",)]


def test_a_code_that_looks_like_a_label_keeps_its_meaning() -> None:
    zips = build("1*", "12")

    assert labels(zips) == [("1**",), ("*",)]
    lows, highs = Publication("zip", zips).read(pa.array(["1*", "1**"]))
    assert [*zip(lows.tolist(), highs.tolist(), strict=True)] == [(0, 0), (0, 1)]


def test_labels_of_small_groups_are_not_taken_by_larger_ones() -> None:
    assert labels(build("1*a", "1*b", "12c")) == [("1**", "12*"), ("1***",), ("*",)]


def test_a_numeric_column_is_matched_as_numbers() -> None:
    zips = build(9, 10, 115)

    assert zips.kind == "integer"
    assert zips.leaves.to_pylist() == ["9", "10", "115"]
    assert encode(zips, pa.array(["+9", "115"])).codes.tolist() == [0, 2]


def test_one_value_stands_below_the_root() -> None:
    assert labels(build("a")) == [("*",)]


def test_very_long_values_get_a_few_levels_only() -> None:
    assert build("a" * 5000, "a" * 4999 + "b").height <= 17


@pytest.mark.parametrize("lengths", [[], [0], [2, 2], [1, 3], [-1]])
def test_lengths_that_do_not_fall_are_refused(lengths: list[int]) -> None:
    with pytest.raises(PolicyError):
        Prefix(lengths=lengths)


def test_a_mask_is_one_character() -> None:
    with pytest.raises(PolicyError):
        Prefix(mask="**")
