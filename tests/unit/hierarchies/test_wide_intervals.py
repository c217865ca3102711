"""Intervals of whole numbers of 64 bits, held against plain arithmetic that knows no largest number."""

from __future__ import annotations

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


@settings(max_examples=200, deadline=None)
@given(values=COLUMNS, width=st.sampled_from([1, 7, 1000, 10**15, 10**18]))
@example(values=[FIRST, FIRST + 1, 5], width=7)
def test_widths_of_any_whole_numbers_are_those_of_plain_arithmetic(values: list[int], width: int) -> None:
    hierarchy = build(values, Interval(width=width))

    begins = [value // width * width for value in values]
    assert shown(hierarchy, 0) == [(max(begin, FIRST), min(begin + width - 1, LAST)) for begin in begins]
