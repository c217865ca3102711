"""The distances of t-closeness against the examples of the paper, and against the cheapest way to move earth found by linear programming."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.hierarchy import Hierarchy
from sfumato.promises._distances import equal_distances, hierarchical_distances, ordered_distances

DISEASES = Hierarchy.of_paths(
    "disease",
    [
        ["gastric ulcer", "stomach", "digestive"],
        ["gastritis", "stomach", "digestive"],
        ["colitis", "colon", "digestive"],
        ["flu", "infection", "respiratory"],
        ["pneumonia", "infection", "respiratory"],
        ["bronchitis", "respiratory"],
        ["rash"],
    ],
)


def cheapest(shares: NDArray[np.float64], reference: NDArray[np.float64], costs: NDArray[np.float64]) -> float:
    """Return the least that moving one distribution to the other costs."""
    linprog = pytest.importorskip("scipy.optimize", reason="needs scipy; it is among the requirements of development").linprog
    size = len(shares)
    leaving, arriving = np.zeros((size, size * size)), np.zeros((size, size * size))
    for place in range(size):
        leaving[place, place * size : (place + 1) * size] = 1
        arriving[place, place::size] = 1
    found = linprog(costs.ravel(), A_eq=np.concatenate([leaving, arriving]), b_eq=np.concatenate([shares, reference]), method="highs")
    return float(found.fun)


def random_classes(random: np.random.Generator, values: int) -> Classes:
    histograms = random.integers(0, 6, (5, values)) * random.integers(0, 2, (5, values))
    histograms[:, random.integers(0, values)] += 1
    reference = histograms.sum(axis=0) + random.integers(0, 3, values) * random.integers(0, 2, values)
    return Classes.of_histograms("disease", *histograms.tolist(), reference=reference.tolist())


def node_costs(hierarchy: Hierarchy) -> NDArray[np.float64]:
    """Return how far any two codes are apart: the height of the lowest node that holds them; missing and unknown hang below the root."""
    size = hierarchy.size + 2
    costs = np.ones((size, size))
    for low in range(hierarchy.size):
        for high in range(low, hierarchy.size):
            costs[low, high] = costs[high, low] = hierarchy.lowest_level(low, high)[0] / hierarchy.height
    np.fill_diagonal(costs, 0)
    return costs


def test_the_salaries_of_the_paper() -> None:
    # nine salaries from 3k to 11k; {3k, 4k, 5k} is 0.375 from them all, {6k, 8k, 11k} 0.167
    classes = Classes.of_histograms("salary", [1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1], reference=[1] * 9)

    distances = ordered_distances(classes.histogram("salary"), classes.reference("salary"))

    assert distances == pytest.approx([0.375, 1 / 6])


@pytest.mark.parametrize("seed", range(8))
def test_the_ordered_distance_is_the_cheapest_move(seed: int) -> None:
    classes = random_classes(np.random.default_rng(seed), 7)
    reference = classes.reference("disease")
    present = np.flatnonzero(reference > 0)
    costs = abs(np.subtract.outer(np.arange(len(present)), np.arange(len(present)))) / max(1, len(present) - 1)

    distances = ordered_distances(classes.histogram("disease"), reference)

    assert distances == pytest.approx([cheapest(line[present], reference[present], costs) for line in dense(classes, 7)])


@pytest.mark.parametrize("seed", range(8))
def test_the_hierarchical_distance_is_the_cheapest_move_also_with_missing_and_unknown_values(seed: int) -> None:
    size = DISEASES.size + 2
    classes = random_classes(np.random.default_rng(seed), size)

    distances = hierarchical_distances(classes.histogram("disease"), classes.reference("disease"), DISEASES)

    costs = node_costs(DISEASES)
    assert distances == pytest.approx([cheapest(line, classes.reference("disease"), costs) for line in dense(classes, size)])


@pytest.mark.parametrize("seed", range(4))
def test_the_equal_distance_is_the_cheapest_move(seed: int) -> None:
    classes = random_classes(np.random.default_rng(seed), 6)

    distances = equal_distances(classes.histogram("disease"), classes.reference("disease"))

    assert distances == pytest.approx([cheapest(line, classes.reference("disease"), 1 - np.eye(6)) for line in dense(classes, 6)])


def test_values_that_are_near_are_less_far_than_any() -> None:
    # all of the class has one stomach disease, the table both of them evenly
    classes = Classes.of_histograms("disease", [4, 0, 0, 0, 0, 0, 0, 0, 0], reference=[4, 4, 0, 0, 0, 0, 0, 0, 0])
    histogram, reference = classes.histogram("disease"), classes.reference("disease")

    assert equal_distances(histogram, reference) == pytest.approx([0.5])
    assert hierarchical_distances(histogram, reference, DISEASES) == pytest.approx([0.5 / 3])


def test_one_value_is_at_no_distance_from_itself() -> None:
    classes = Classes.of_histograms("disease", [3, 0], reference=[5, 0])

    assert ordered_distances(classes.histogram("disease"), classes.reference("disease")).tolist() == [0]


def dense(classes: Classes, size: int) -> NDArray[np.float64]:
    histogram = classes.histogram("disease")
    table = np.zeros((classes.number, size))
    table[histogram.class_of, histogram.values] = histogram.shares
    return table
