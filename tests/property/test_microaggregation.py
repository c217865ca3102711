"""Microaggregation of windows: each person is in one group, every group keeps the promises, and no mean tells mostly one person's number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.algorithms.microaggregation import Microaggregation
from sfumato.core.stream import Points, StreamProblem
from sfumato.promises.k_anonymity import KAnonymity
from tests.property.test_castle import FURTHER, assert_promises_hold
from tests.stream_records import problem, records


@pytest.mark.parametrize("further", FURTHER)
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 300),
    k=st.integers(2, 6),
    people=st.sampled_from([None, 5, 60]),
    missing=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_every_group_keeps_the_promises(further: str, seed: int, rows: int, k: int, people: int | None, missing: float) -> None:
    points = records(seed, rows, people, missing)
    asked = problem([KAnonymity(k=k), *FURTHER[further]])
    found = Microaggregation(block=100).cluster(points, asked)
    everybody = points.classes(np.zeros(rows, np.int32), 1, {"illness": whole(points)}, asked)
    if found is None:
        assert not all(promise.holds(everybody).all() for promise in asked.promises)
        return
    assert np.array_equal(found.numbers, points.numbers)
    assert np.array_equal(found.references["illness"], whole(points))
    assert_promises_hold(points, asked, [found])
    groups_of = {person: set(found.cluster_of[points.people == person].tolist()) for person in points.people.tolist()}
    assert all(len(groups) == 1 for groups in groups_of.values())


def whole(points: Points) -> np.ndarray:
    pairs = {(person, value) for person, value in zip(points.people.tolist(), points.sensitive["illness"].tolist(), strict=True)}
    return np.bincount([value for _, value in pairs], minlength=6)


def of_numbers(values: list[float], people: list[int], k: int) -> tuple[Points, StreamProblem]:
    nobody_says = np.full((1, 2), np.nan)
    points = Points(np.arange(len(values)), np.array(values, float)[:, None], np.array(people, np.int64))
    return points, StreamProblem(["number"], [None], [KAnonymity(k=k)], [1.0], nobody_says)


def test_a_mean_is_that_of_people_each_with_their_own() -> None:
    found = Microaggregation(publish="mean").cluster(*of_numbers([1, 3, 5, 4], [7, 7, 8, 9], 3))
    assert found is not None
    assert found.centres is not None
    # the first person's own mean is 2
    assert found.centres.tolist() == [[pytest.approx(11 / 3)]]
    assert (found.lows.tolist(), found.highs.tolist()) == ([[1.0]], [[5.0]])


def test_a_mean_of_which_one_person_makes_up_most_is_not_told() -> None:
    found = Microaggregation(publish="mean").cluster(*of_numbers([1, 1, 1, 900], [1, 2, 3, 4], 4))
    assert found is not None
    assert found.centres is not None
    assert np.isnan(found.centres).all()
    assert (found.lows.tolist(), found.highs.tolist()) == ([[-np.inf]], [[np.inf]])


def test_people_in_one_place_are_grouped_too() -> None:
    found = Microaggregation().cluster(*of_numbers([5.0] * 40, list(range(40)), 3))
    assert found is not None
    assert np.bincount(found.cluster_of).min() >= 3


def test_groups_are_near_in_trees_as_well() -> None:
    points = records(3, 400, missing=0.0)
    found = Microaggregation().cluster(points, problem([KAnonymity(k=4)], weights=[0.01, 0.01, 100.0]))
    assert found is not None
    assert (found.lows[:, 2] == found.highs[:, 2]).mean() > 0.9
