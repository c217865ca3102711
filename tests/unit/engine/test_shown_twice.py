"""Values that several groups show: of how few people they may be."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.mask import Told
from sfumato.engine.shown_twice import few_who_may_have_it

PEOPLE = np.arange(12, dtype=np.int32)
WARDS = np.repeat(np.arange(3), 4)


def told(groups: NDArray[np.int64], *known: int, people: int = 3) -> Told:
    return Told(frozenset(["pay"]), np.zeros(12, np.uint64), np.full(12, -1), people, np.isin(np.arange(12), known), one_of=groups)


def test_a_value_of_two_groups_may_be_that_of_those_in_both() -> None:
    # the second kind has rows 3 to 5 in its first group: row 3 is in ward 0, rows 4 and 5 in ward 1
    other = np.where((np.arange(12) >= 3) & (np.arange(12) < 6), 0, 1)

    assert few_who_may_have_it([told(WARDS, 3), told(other, 3)], PEOPLE) == ([0, 1], 1)
    assert few_who_may_have_it([told(WARDS, 5), told(other, 5)], PEOPLE) == ([0, 1], 2)
    assert few_who_may_have_it([told(WARDS, 5, people=2), told(other, 5, people=2)], PEOPLE) is None


def test_three_kinds_of_groups_are_looked_at_together() -> None:
    second, third = np.arange(12) % 4 // 2, np.arange(12) % 2
    kinds = [np.zeros(12, np.int64), second, third]

    assert few_who_may_have_it([told(kind, 4, people=4) for kind in kinds], PEOPLE) == ([0, 1, 2], 3)
    assert few_who_may_have_it([told(kind, 4, people=3) for kind in kinds], PEOPLE) is None


@pytest.mark.parametrize("known", [(), (0,)])
def test_a_value_of_one_group_tells_nothing_more(known: tuple[int, ...]) -> None:
    assert few_who_may_have_it([told(WARDS, *known), told(WARDS // 2, 11)], PEOPLE) is None


def test_a_group_within_another_tells_no_more_than_it_does_alone() -> None:
    assert few_who_may_have_it([told(WARDS, 3, people=9), told(np.zeros(12, np.int64), 3, people=9)], PEOPLE) is None


def test_a_value_that_enough_people_have_is_nobodys_in_particular() -> None:
    other = np.where(np.arange(12) == 3, 0, 1)
    other[8:] = 0

    assert few_who_may_have_it([told(WARDS, 3), told(other, 3)], PEOPLE) == ([0, 1], 1)
    assert few_who_may_have_it([told(WARDS, 1, 2, 3), told(other, 3, 8)], PEOPLE) is None
    # three rows of one person are one holder
    assert few_who_may_have_it([told(WARDS, 1, 2, 3), told(other, 3, 8)], np.where(PEOPLE < 4, 0, PEOPLE).astype(np.int32)) == ([0, 1], 1)
