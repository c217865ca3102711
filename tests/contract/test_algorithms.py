"""What every search over tables must do, whoever wrote it. Those over streams have suites of their own, such as test_event_searches.py."""

from __future__ import annotations

import inspect

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Search
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.problem import Problem
from sfumato.core.quiet import Quiet
from sfumato.core.recoding import Recoding
from sfumato.errors import PromiseError
from sfumato.hierarchies.interval import Interval
from sfumato.promises.k_anonymity import KAnonymity
from sfumato.promises.l_diversity import LDiversity
from sfumato.registry import find, names

# searches over streams have a suite of their own
ALGORITHMS = [name for name in names("algorithms") if hasattr(find("algorithms", name), "search")]
# every component with its own settings, and those settings that make another search of it
SEARCHES = {name: find("algorithms", name)() for name in ALGORITHMS} | {"mondrian, relaxed": find("algorithms", "mondrian")(relaxed=True)}
NUMBERS = Interval().build("number", pa.array([1, 2, 3, 5, 8, 13, 21, 34]), np.ones(8, np.int64))
TREE = Hierarchy.of_paths("tree", [["p", "A"], ["q", "A"], ["r"], ["s", "B", "C"], ["t", "B", "C"], ["u", "D", "C"]])


def counted(seed: int, rows: int, special: bool = True) -> Frequencies:
    rng = np.random.default_rng(seed)
    number, tree = rng.integers(0, 10 if special else 8, rows), rng.integers(0, 8 if special else 6, rows)
    sensitive = rng.integers(0, 3, rows).astype(np.int32)
    groups, firsts = group_columns([number, tree], [10, 8])
    of_row, first_rows = group_columns([groups, sensitive], [len(firsts), 3])
    return Frequencies(
        np.stack([number[firsts], tree[firsts]], axis=1),
        groups[first_rows],
        np.bincount(of_row).astype(np.int64),
        {"s": sensitive[first_rows]},
        None,
        {"s": np.bincount(sensitive, minlength=3).astype(np.int64)},
    )


def where_combinations_go(recoding: Recoding, frequencies: Frequencies) -> tuple[np.ndarray, np.ndarray]:
    """Return combinations and their classes, a combination once for each class that rows of it go to."""
    kept = np.flatnonzero(recoding.class_of >= 0)
    if recoding.dealing is None:
        return frequencies.combinations[kept], recoding.class_of[kept]
    dealt = recoding.dealing
    of_entry = frequencies.combination[dealt.entry]
    # what is suppressed is suppressed whole, and nobody is lost or doubled
    assert np.array_equal(np.unique(of_entry), kept)
    rows = np.bincount(of_entry, dealt.rows, minlength=len(frequencies.combinations))
    assert np.array_equal(rows[kept], frequencies.combination_rows[kept])
    return frequencies.combinations[of_entry], dealt.class_of


@pytest.mark.parametrize("name", ALGORITHMS)
def test_it_is_a_search(name: str) -> None:
    assert isinstance(find("algorithms", name)(), Search)


@pytest.mark.parametrize("name", names("algorithms"))
def test_it_has_a_card_and_searches_tables_or_streams(name: str) -> None:
    component = find("algorithms", name)
    assert "Cost:" in (inspect.getdoc(component) or "")
    assert "Guarantee:" in (inspect.getdoc(component) or "")
    assert any(hasattr(component, way) for way in ("search", "cluster", "start"))


@pytest.mark.parametrize("name", SEARCHES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 120), k=st.integers(2, 7), limit=st.sampled_from([0.0, 0.05, 0.3, 1.0]))
def test_every_class_keeps_every_promise_and_no_more_is_suppressed_than_may_be(name: str, seed: int, rows: int, k: int, limit: float) -> None:
    frequencies = counted(seed, rows)
    promises = [KAnonymity(k=k), LDiversity(column="s", l=2)]
    problem = Problem([NUMBERS, TREE], promises, [1.0, 1.0], suppressible=int(limit * rows))
    try:
        recoding = SEARCHES[name].search(problem, frequencies, Quiet())
    except PromiseError as error:
        assert error.hint
        return
    classes = recoding.classes(frequencies)
    assert classes.number == recoding.number > 0
    for promise in promises:
        assert promise.holds(classes).all()
    assert frequencies.rows - classes.rows.sum() <= int(limit * rows)
    # every box covers what is in it, and stays within the codes that there are
    codes, of = where_combinations_go(recoding, frequencies)
    assert (recoding.lows[of] <= codes).all()
    assert (codes <= recoding.highs[of]).all()
    assert (recoding.highs <= np.array([NUMBERS.outside, TREE.outside])).all()


@pytest.mark.parametrize("name", SEARCHES)
def test_what_cannot_be_kept_is_refused_with_what_could(name: str) -> None:
    with pytest.raises(PromiseError, match="k_anonymity") as raised:
        SEARCHES[name].search(Problem([NUMBERS, TREE], [KAnonymity(k=31)], [1.0, 1.0]), counted(1, 30), Quiet())
    assert "k: 30" in str(raised.value)


@pytest.mark.parametrize("name", SEARCHES)
def test_arguments_are_not_changed_and_the_answer_is_the_same_twice(name: str) -> None:
    frequencies = counted(3, 90)
    before = frequencies.combinations.copy(), frequencies.counts.copy()
    problem = Problem([NUMBERS, TREE], [KAnonymity(k=4)], [1.0, 2.0], suppressible=9)
    one, other = (SEARCHES[name].search(problem, frequencies, Quiet()) for _ in range(2))
    assert np.array_equal(one.class_of, other.class_of)
    assert all(np.array_equal(*pair) for pair in zip(where_combinations_go(one, frequencies), where_combinations_go(other, frequencies), strict=True))
    assert np.array_equal(one.lows, other.lows)
    assert np.array_equal(before[0], frequencies.combinations)
    assert np.array_equal(before[1], frequencies.counts)


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("most", [1, 2])
def test_levels_stay_within_their_range(name: str, least: int, most: int) -> None:
    frequencies = counted(5, 400, special=False)
    problem = Problem([NUMBERS, TREE], [KAnonymity(k=2)], [1.0, 1.0], 400, [0, least], [NUMBERS.height, most])
    recoding = SEARCHES[name].search(problem, frequencies, Quiet())
    least_groups, most_groups = TREE.groups(least), TREE.groups(most)
    for low, high in zip(recoding.lows[:, 1], recoding.highs[:, 1], strict=True):
        assert most_groups[low] == most_groups[high]
        assert low == 0 or least_groups[low - 1] != least_groups[low]
        assert high == TREE.size - 1 or least_groups[high + 1] != least_groups[high]
