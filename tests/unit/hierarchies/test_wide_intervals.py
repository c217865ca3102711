"""Intervals of whole numbers of 64 bits, held against plain arithmetic that knows no largest number."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.core.hierarchy import Hierarchy
from sfumato.hierarchies.interval import Interval

FIRST, LAST = -(2**63), 2**63 - 1
NUMBERS = st.one_of(st.integers(FIRST, LAST), st.integers(FIRST, FIRST + 9), st.integers(LAST - 9, LAST), st.integers(-9, 9), st.integers(0, 2**62))
COLUMNS = st.sets(NUMBERS, min_size=1, max_size=20).map(sorted)
Ends = list[tuple[int, int]]


def build(values: list[int], how: Interval) -> Hierarchy:
    return how.build("account", pa.array(values, pa.int64()), np.ones(len(values), np.int64))


def shown(hierarchy: Hierarchy, level: int) -> Ends:
    """Return the ends of the interval that a level shows of each value."""
    found = hierarchy.levels[level]
    ends = [label.strip("[]").split(", ") for label in found.labels]
    nodes = np.searchsorted(found.starts, np.arange(len(hierarchy.leaves)), side="right") - 1
    return [(int(ends[node][0]), int(ends[node][-1])) for node in nodes]


def equally_wide(values: list[int], bins: int) -> Ends:
    """Return the ends of the interval of each value among so many equally wide ones."""
    width = Fraction(values[-1] - values[0] + 1, bins)
    numbers = [min(floor((value - values[0]) / width), bins - 1) for value in values]
    return [(ceil(values[0] + number * width), ceil(values[0] + (number + 1) * width) - 1) for number in numbers]


@settings(max_examples=300, deadline=None)
@given(values=COLUMNS, bins=st.integers(1, 12))
@example(values=[0, 5, 10, 15, 20, 25, LAST], bins=4)
@example(values=[FIRST, 0, 5, 10], bins=3)
@example(values=[1_700_000_000_000_012_345, 1_705_097_600_000_012_345], bins=7)
def test_bins_of_any_whole_numbers_are_those_of_plain_arithmetic(values: list[int], bins: int) -> None:
    hierarchy = build(values, Interval(bins=bins))

    assert shown(hierarchy, 0) == equally_wide(values, bins)


@settings(max_examples=200, deadline=None)
@given(values=COLUMNS, width=st.sampled_from([1, 7, 1000, 10**15, 10**18]))
@example(values=[FIRST, FIRST + 1, 5], width=7)
def test_widths_of_any_whole_numbers_are_those_of_plain_arithmetic(values: list[int], width: int) -> None:
    hierarchy = build(values, Interval(width=width))

    begins = [value // width * width for value in values]
    assert shown(hierarchy, 0) == [(max(begin, FIRST), min(begin + width - 1, LAST)) for begin in begins]


@settings(max_examples=200, deadline=None)
@given(values=COLUMNS, edges=st.sets(st.integers(-(2**53), 2**53), min_size=1, max_size=4).map(sorted))
@example(values=[FIRST, 5, 10], edges=[0, 10])
def test_edges_among_any_whole_numbers_are_those_of_plain_arithmetic(values: list[int], edges: list[int]) -> None:
    hierarchy = build(values, Interval(edges=list(map(float, edges))))

    firsts = [max((edge for edge in edges if edge <= value), default=min(values)) for value in values]
    lasts = [min((edge - 1 for edge in edges if edge > value), default=max(values)) for value in values]
    assert shown(hierarchy, 0) == list(zip(firsts, lasts, strict=True))


def test_edges_near_the_largest_number_beside_one_beyond_it_are_told_apart() -> None:
    hierarchy = build([5, LAST - 2, LAST - 1, LAST], Interval(edges=[str(LAST - 1), 1e19]))

    assert shown(hierarchy, 0) == [(5, LAST - 2), (5, LAST - 2), (LAST - 1, LAST), (LAST - 1, LAST)]
