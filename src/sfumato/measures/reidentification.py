"""Risk of being found again by one's quasi-identifiers, from the sizes of the classes that share them.

Prosecutor: the attacker knows that somebody is in the table; a member of a class of n is found with probability 1/n. Journalist: the attacker
knows only that somebody is in the population of which the table is a part; then the class's size in the population counts. Marketer: how many
would be found on average if everybody were looked for. Dankar, El Emam, "A method for evaluating marketer re-identification risk" (2010).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

# a third is written 0.33: a class of three is not above it
THRESHOLDS = {"0.05": 0.05, "0.1": 0.1, "0.2": 0.2, "0.33": 1 / 3, "0.5": 0.5}
_ENOUGH = 1e-12


def reidentification(sizes: NDArray[np.int64], numbers: NDArray[np.int64] | None = None) -> dict[str, Any]:
    """Return the risks of a table whose classes have these sizes; where ``numbers`` are given, so many classes each.

    >>> found = reidentification(np.array([1, 1, 2, 4]))
    >>> found["highest_risk"], found["average_risk"], found["unique"], found["at_risk"]["0.33"]
    (1.0, 0.5, 0.25, 0.5)
    """
    numbers = np.ones(len(sizes), np.int64) if numbers is None else numbers
    members = sizes * numbers
    people = int(members.sum())
    if not people:
        return {"highest_risk": 0.0, "average_risk": 0.0, "unique": 0.0, "at_risk": dict.fromkeys(THRESHOLDS, 0.0)}
    return {
        "highest_risk": 1 / int(sizes.min()),
        "average_risk": int(numbers.sum()) / people,
        "unique": float(members[sizes == 1].sum() / people),
        "at_risk": {name: float(members[1 / sizes > threshold].sum() / people) for name, threshold in THRESHOLDS.items()},
    }


def journalist(sizes: NDArray[np.int64], in_population: NDArray[np.float64]) -> dict[str, float]:
    """Return the journalist's risks: ``in_population`` is, for each class, the expected 1 / its size in the population.

    >>> journalist(np.array([1, 1]), np.array([0.25, 0.5]))
    {'highest_risk': 0.5, 'average_risk': 0.375}
    """
    people = max(1, int(sizes.sum()))
    return {"highest_risk": float(in_population.max(initial=0.0)), "average_risk": float((sizes * in_population).sum() / people)}


def expected_in_population(sizes: NDArray[np.int64], population: int) -> NDArray[np.float64]:
    """Return the expected 1/F for classes of which f are in the table, where nothing is known of the population but its size.

    Benedetti, Franconi (1998): the rest of a class in the population follows the negative binomial distribution, the table being drawn from it
    at random.

    >>> expected_in_population(np.array([1, 2]), 3).round(4).tolist()
    [1.0, 0.5]
    """
    fraction = min(1.0, int(sizes.sum()) / population)
    distinct, places = np.unique(sizes, return_inverse=True)
    return np.array([_expected(int(size), fraction) for size in distinct])[places]


def _expected(size: int, fraction: float) -> float:
    """Return the sum over j of C(size + j - 1, j) p^size (1 - p)^j / (size + j)."""
    if fraction >= 1:
        return 1 / size
    if size == 1:
        return fraction / (1 - fraction) * math.log(1 / fraction)
    term, total, j, seen = math.exp(size * math.log(fraction)) if size * math.log(fraction) > -700 else 0.0, 0.0, 0, 0.0
    if not term:
        # a large class: the sum is all but its value at the mean
        return fraction / size
    while 1 - seen > _ENOUGH and j < 10_000_000:
        total += term / (size + j)
        seen += term
        term *= (size + j) / (j + 1) * (1 - fraction)
        j += 1
    return total


def separation(sizes: NDArray[np.int64], numbers: NDArray[np.int64] | None = None) -> float:
    """Return the part of all pairs of rows that some columns tell apart.

    Motwani, Xu, "Efficient algorithms for masking and finding quasi-identifiers" (2007).

    >>> separation(np.array([2, 2])).__round__(4)
    0.6667
    """
    numbers = np.ones(len(sizes), np.int64) if numbers is None else numbers
    rows = float((sizes * numbers).sum())
    if rows < 2:
        return 0.0
    exact = sizes.astype(np.float64)
    return 1 - float((exact * (exact - 1) * numbers).sum()) / (rows * (rows - 1))


def distinction(sizes: NDArray[np.int64], numbers: NDArray[np.int64] | None = None) -> float:
    """Return the number of different values, or combinations, for each row."""
    numbers = np.ones(len(sizes), np.int64) if numbers is None else numbers
    return int(numbers.sum()) / max(1, int((sizes * numbers).sum()))
