"""What the kernels of Mondrian work on: the rows and counters of frequencies, the promises and the ladders, as arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.kernels import mondrian as kernel
from sfumato.core.kernels import mondrian_promises as by_promises
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.problem import Problem

_KINDS = {
    "size": by_promises.SIZE,
    "distinct": by_promises.DISTINCT,
    "entropy": by_promises.ENTROPY,
    "recursive": by_promises.RECURSIVE,
    "equal_distance": by_promises.EQUAL_DISTANCE,
}


def leaf_codes(problem: Problem, frequencies: Frequencies) -> NDArray[Any]:
    """Return the leaf codes, one line a column, in one of two widths, so that at most two variants of a kernel are ever compiled."""
    width = np.uint16 if max(h.size for h in problem.hierarchies) + 2 < 2**16 else np.int32
    return np.ascontiguousarray(frequencies.combinations[frequencies.combination].T.astype(width, copy=False))


def entry_rows(frequencies: Frequencies, sensitive: Sequence[str]) -> tuple[NDArray[np.int32], list[int]]:
    """Return the kernel's rows (number, count, values, pairs, person), and how many (person, value) pairs each sensitive column has."""
    subject = frequencies.subject
    lines = kernel.VALUES + len(sensitive) if subject is None else kernel.VALUES + 2 * len(sensitive) + 1
    table = np.zeros((lines, len(frequencies.counts)), np.int32)
    table[kernel.NUMBER] = np.arange(len(frequencies.counts))
    table[kernel.COUNT] = frequencies.counts
    sizes = []
    for place, name in enumerate(sensitive):
        table[kernel.VALUES + place] = frequencies.sensitive[name]
    if subject is not None:
        table[-1] = subject
        for place, name in enumerate(sensitive):
            spans = [int(subject.max(initial=0)) + 1, len(frequencies.references[name])]
            pairs, firsts = group_columns([subject, frequencies.sensitive[name]], spans)
            table[kernel.VALUES + len(sensitive) + place] = pairs
            sizes.append(len(firsts))
    return table, sizes or [0] * len(sensitive)


def counters(frequencies: Frequencies, sensitive: Sequence[str], pair_sizes: Sequence[int]) -> tuple[NDArray[Any], ...]:
    """Return where values and pairs begin, stamps for people and pairs, counters of values, and the values' shares in the table."""
    people = int(frequencies.subject.max(initial=-1)) + 1 if frequencies.subject is not None else 0
    values = [len(frequencies.references[name]) for name in sensitive]
    shares = [frequencies.references[name] / max(1, frequencies.references[name].sum()) for name in sensitive]
    return (
        np.array([*zip(_offsets(values)[:-1], people + _offsets(pair_sizes)[:-1], strict=True)], np.int64).reshape(-1, 2),
        np.zeros(people + sum(pair_sizes), np.int32),
        np.zeros(sum(values), np.int64),
        np.zeros(sum(values), np.int32),
        np.concatenate(shares) if shares else np.empty(0, np.float64),
    )


def promise_lines(problem: Problem, sensitive: Sequence[str]) -> list[tuple[float, ...]]:
    """Return the kind, the sensitive column and two parameters of each promise."""
    lines = []
    for promise in problem.promises:
        known = promise.compiled()
        if known is None:
            raise AssertionError("promises that the kernel does not know go the slow way")
        target = sensitive.index(promise.reads[0]) if promise.reads else 0
        lines.append((_KINDS[known[0]], target, *known[1], 0.0, 0.0)[:4])
    return lines


def ladder_arrays(hierarchies: Sequence[Hierarchy]) -> tuple[NDArray[Any], ...]:
    """Return the arrays by which the kernel knows the hierarchies."""
    positions = [h.positions if h.ordered else np.empty(0) for h in hierarchies]
    nodes, shares = [], []
    for hierarchy in hierarchies:
        levels = [] if hierarchy.ordered else [hierarchy.groups(level) for level in range(hierarchy.height + 1)]
        sizes = [np.bincount(groups)[groups] / hierarchy.size for groups in levels]
        nodes.append(np.concatenate(levels) if levels else np.empty(0, np.int32))
        shares.append(np.concatenate(sizes) if sizes else np.empty(0))
    lines = zip(hierarchies, _offsets([len(p) for p in positions]), _offsets([len(n) for n in nodes]), strict=False)
    return (
        np.array([(h.ordered, h.size, h.height, p, n) for h, p, n in lines], np.int64),
        np.concatenate(positions),
        np.concatenate(nodes).astype(np.int32),
        np.concatenate(shares),
    )


def _offsets(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
