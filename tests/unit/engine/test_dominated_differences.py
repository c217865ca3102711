"""Differences of totals of which one person makes up most, held against all differences that there are."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.engine.dominated_differences import dominated_difference, dominated_group

Numbers = NDArray[np.float64]
Groups = NDArray[np.int64]


def is_dominated_somewhere(one: Groups, other: Groups, first: Numbers, second: Numbers, limit: float) -> bool:
    """Try every way to add up some groups of one kind and to subtract some of the other; everybody has one row."""
    for some in product([0, 1], repeat=int(one.max()) + 1):
        for taken in product([0, 1], repeat=int(other.max()) + 1):
            left = np.where(one >= 0, np.array(some)[one] * first, 0) - np.where(other >= 0, np.array(taken)[other] * second, 0)
            sizes = np.abs(left)
            if sizes.max() > limit * sizes.sum() * (1 + 1e-6):
                return True
    return False


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_dominated_difference_is_found_where_there_is_one_and_nowhere_else(data: st.DataObject) -> None:
    rows = data.draw(st.integers(3, 12))
    one, other = (np.array(data.draw(st.lists(st.integers(-1, 2), min_size=rows, max_size=rows)), np.int64) for _ in range(2))
    values = np.array(data.draw(st.lists(st.integers(-50, 50), min_size=rows, max_size=rows)), float)
    changed = np.array(data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)))
    second = np.where(changed, np.minimum(values, 20), values)
    if one.max() < 0 or other.max() < 0:
        return
    limit = data.draw(st.sampled_from([0.3, 0.5, 0.8]))
    found = dominated_difference(one, other, np.arange(rows, dtype=np.int32), values, second, limit)
    assert (found is not None) == is_dominated_somewhere(one, other, values, second, limit)


def test_who_is_left_of_a_group_may_dominate_the_others() -> None:
    people, pays = np.arange(5, dtype=np.int32), np.array([40.0, 30, 1, 2, 30])
    whole = np.zeros(5, np.int64)
    assert dominated_group(np.array([-1, -1, 0, 0, 0]), people, pays, 0.5, whole)
    assert not dominated_group(whole, people, pays, 0.3, whole)
    assert not dominated_group(np.array([0, -1, 0, 0, 0]), people, pays, 0.6, whole)


def test_the_rows_of_one_person_count_together() -> None:
    whole, left = np.zeros(5, np.int64), np.array([-1, 0, 0, 0, 0])
    pays, people = np.array([90.0, 20, 20, 20, 20]), np.array([0, 1, 1, 1, 2], np.int32)
    assert dominated_group(left, people, pays, 0.5, whole)


def test_many_groups_are_looked_at_in_a_moment() -> None:
    chance = np.random.default_rng(3)
    one, other = chance.integers(0, 300, 40_000), chance.integers(0, 300, 40_000)
    pays = chance.lognormal(8, 0.5, 40_000)
    assert dominated_difference(one, other, np.arange(40_000, dtype=np.int32), pays, pays, 0.5) is None
