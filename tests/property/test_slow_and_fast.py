"""The fused kernel and the slow way make the same cuts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.algorithms import _any_promise
from sfumato.algorithms.mondrian import Mondrian
from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.problem import Problem
from sfumato.core.quiet import Quiet
from sfumato.errors import PromiseError
from sfumato.hierarchies.interval import Interval
from sfumato.promises.k_anonymity import KAnonymity
from sfumato.promises.l_diversity import LDiversity
from sfumato.promises.t_closeness import TCloseness

PROMISES = [
    [],
    [LDiversity(column="s", l=2)],
    [LDiversity(column="s", l=1.7, kind="entropy")],
    [LDiversity(column="s", l=2, kind="recursive", c=2.5)],
    [TCloseness(column="s", t=0.4)],
    [LDiversity(column="s", l=2), TCloseness(column="s", t=0.5)],
]
TREE = Hierarchy.of_paths("b", [["p", "A"], ["q", "A"], ["r", "A"], ["s", "B"], ["t"], ["u", "C"], ["v", "C"]])


def frequencies(rng: np.random.Generator, rows: int, people: bool) -> Frequencies:
    numbers = rng.integers(0, 14, rows)
    tree = rng.integers(0, 9, rows)
    sensitive = rng.choice(4, rows, p=[0.5, 0.25, 0.15, 0.1]).astype(np.int32)
    subject = rng.integers(0, max(1, rows // 2), rows)
    groups, firsts = group_columns([numbers, tree], [14, 9])
    columns, sizes = [groups, sensitive], [len(firsts), 4]
    if people:
        columns.append(subject)
        sizes.append(rows)
    of_row, first_rows = group_columns(columns, sizes)
    reference = np.bincount(sensitive if not people else sensitive[group_columns([sensitive, subject], [4, rows])[1]], minlength=4)
    return Frequencies(
        np.stack([numbers[firsts], tree[firsts]], axis=1),
        groups[first_rows],
        np.bincount(of_row).astype(np.int64),
        {"s": sensitive[first_rows]},
        subject[first_rows].astype(np.int64) if people else None,
        {"s": reference.astype(np.int64)},
    )


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("further", PROMISES, ids=lambda p: "+".join(x.component_name() for x in p) or "size")
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 150), k=st.integers(2, 6), weight=st.sampled_from([0.5, 1.0, 3.0]))
def test_both_ways_find_the_same_boxes(further: list, people: bool, seed: int, rows: int, k: int, weight: float) -> None:
    counted = frequencies(np.random.default_rng(seed), rows, people)
    # twelve values: codes 12 and 13 are missing and outside
    numbers = Interval().build("a", pa.array(np.arange(12) ** 2), np.ones(12, np.int64))
    promises = [KAnonymity(k=k), *further]
    if not further:
        counted = (
            Frequencies(counted.combinations, np.arange(len(counted.combinations), dtype=np.int32), counted.combination_rows)
            if not people
            else counted
        )
    problem = Problem([numbers, TREE], promises, [weight, 1.0])
    try:
        fast = Mondrian().search(problem, counted, Quiet())
    except PromiseError:
        return
    slow = _any_promise.partition(problem, counted, k, Quiet())

    def boxes(recoding):
        return sorted(map(tuple, np.concatenate([recoding.lows, recoding.highs], axis=1).tolist()))

    assert boxes(fast) == boxes(slow)
    classes = counted.classes(fast.class_of)
    assert all(promise.holds(classes).all() for promise in promises)
    assert fast.number == classes.number
