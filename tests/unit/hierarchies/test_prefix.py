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


def test_codes_of_several_lengths_share_a_node_with_one_label() -> None:
    assert labels(build("1", "10", "100", "101", "2")) == [("1", "10*", "2"), ("1**", "2"), ("*",)]


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
    assert zips.leaves.to_pylist() == ["10", "115", "9"]
    assert encode(zips, pa.array(["+9", "115"])).codes.tolist() == [2, 1]


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
