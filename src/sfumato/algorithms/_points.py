"""What the kernels over the records of a stream work on: scales, promises and counters as arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Promise
from sfumato.core.kernels import cluster_promises, mondrian_promises
from sfumato.core.kernels.people import number_people
from sfumato.core.stream import Points, StreamProblem

_FUSED = {
    "size": mondrian_promises.SIZE,
    "distinct": mondrian_promises.DISTINCT,
    "entropy": mondrian_promises.ENTROPY,
    "recursive": mondrian_promises.RECURSIVE,
    "equal_distance": mondrian_promises.EQUAL_DISTANCE,
}
_FAR = {"ordered_distance": cluster_promises.ORDERED_DISTANCE, "hierarchical_distance": cluster_promises.HIERARCHICAL_DISTANCE}
_FEW_LEAVES = 64
_prepared: WeakKeyDictionary[StreamProblem, Scales] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Scales:
    """The quasi-identifiers and promises of a problem.

    ``ladders`` has for each column: ordered, leaves, levels, where its ``losses`` by two leaves begin (-1 where they are too many to be kept), where
    its nodes begin; ``nodes`` and ``shares`` have by level and leaf the node that the leaf belongs to, and that node's part of all leaves, ``below``
    how many leaves that are. ``spans`` is how long each ordered column's line is, NaN where nobody says.
    """

    ladders: NDArray[np.int64]
    nodes: NDArray[np.int32]
    shares: NDArray[np.float64]
    below: NDArray[np.int32]
    losses: NDArray[np.float64]
    spans: NDArray[np.float64]
    weights: NDArray[np.float64]
    smallest: int
    sensitive: tuple[str, ...]
    fused: NDArray[np.float64]
    far: NDArray[np.float64]
    sensitive_trees: NDArray[np.int64]
    sensitive_nodes: NDArray[np.int32]


def are_known(promises: Sequence[Promise]) -> bool:
    """Return whether the kernels know all promises."""
    return all((how := promise.compiled_on_points()) is not None and (how[0] in _FUSED or how[0] in _FAR) for promise in promises)


def fewest(promises: Sequence[Promise]) -> int:
    """Return the fewest people that a cluster can have."""
    known = [promise.compiled_on_points() for promise in promises]
    return max([1, *(int(how[1][0]) for how in known if how is not None and how[0] == "size")])


def scales(problem: StreamProblem, sensitive: tuple[str, ...]) -> Scales:
    """Return a problem as arrays, which are made once."""
    found = _prepared.get(problem)
    if found is None or found.sensitive != sensitive:
        found = _prepared[problem] = _made(problem, sensitive)
    return found


def _made(problem: StreamProblem, sensitive: tuple[str, ...]) -> Scales:
    lines, nodes, shares, below = _trees(problem.ladders)
    losses = _losses(problem.ladders, lines)
    ranges = np.asarray(problem.ranges, np.float64).reshape(-1, 2)
    fused, far = [], []
    if are_known(problem.promises):
        for promise in problem.promises:
            kind, limits = promise.compiled_on_points() or ("", ())
            target = sensitive.index(promise.reads[0]) if promise.reads else 0
            if kind in _FAR:
                far.append((_FAR[kind], target, limits[0]))
            else:
                fused.append((_FUSED[kind], target, *limits, 0.0, 0.0)[:4])
    own_lines, own_nodes, _, _ = _trees([problem.sensitive_ladders.get(name) for name in sensitive])
    return Scales(
        lines,
        nodes,
        shares,
        below,
        losses,
        np.where(ranges[:, 1] > ranges[:, 0], ranges[:, 1] - ranges[:, 0], np.nan),
        np.array(problem.weights, np.float64),
        fewest(problem.promises),
        sensitive,
        np.array(fused, np.float64).reshape(-1, 4),
        np.array(far, np.float64).reshape(-1, 3),
        own_lines,
        own_nodes,
    )


def _trees(ladders: Sequence[Hierarchy | None]) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
    lines, nodes, shares, below, begin = [], [np.empty(0, np.int32)], [np.empty(0)], [np.empty(0, np.int32)], 0
    for ladder in ladders:
        if ladder is None:
            lines.append((1, 0, 0, 0, 0))
            continue
        lines.append((0, ladder.size, ladder.height, 0, begin))
        for level in range(ladder.height + 1):
            groups = ladder.groups(level)
            nodes.append(groups)
            below.append(np.bincount(groups)[groups].astype(np.int32))
            shares.append(below[-1] / ladder.size)
            begin += ladder.size
    return np.array(lines, np.int64).reshape(-1, 5), np.concatenate(nodes).astype(np.int32), np.concatenate(shares), np.concatenate(below)


def _losses(ladders: Sequence[Hierarchy | None], lines: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what the lowest node that holds two leaves loses, for trees of few leaves, and write down where each begins."""
    losses, begin = [np.empty(0)], 0
    for ladder, line in zip(ladders, lines, strict=True):
        line[3] = -1
        if ladder is None or not 1 < ladder.size <= _FEW_LEAVES:
            continue
        lost = np.zeros((ladder.size, ladder.size))
        for level in range(ladder.height, 0, -1):
            groups = ladder.groups(level)
            together = groups[:, None] == groups
            lost = np.where(together, (np.bincount(groups)[groups][:, None] - 1) / (ladder.size - 1), lost)
        np.fill_diagonal(lost, 0.0)
        line[3] = begin
        begin += lost.size
        losses.append(lost.ravel())
    return np.concatenate(losses)


@dataclass(frozen=True, eq=False)
class Counted:
    """The people and sensitive values of a window, numbered, and what they are counted with (see ``kernels/cluster_promises.py``)."""

    persons: NDArray[np.int32]
    pairs: NDArray[np.int32]
    values: NDArray[np.int32]
    tests: tuple[NDArray[Any], ...]
    state: NDArray[np.int64]
    counts: list[int]


def counted(points: Points, known: Scales) -> Counted:
    """Number the people and pairs of a window."""
    rows, columns = len(points), len(known.sensitive)
    values = np.empty((rows, columns), np.int32)
    for place, name in enumerate(known.sensitive):
        values[:, place] = points.sensitive[name]
    persons, pairs, sizes = np.empty(rows, np.int32), np.empty((rows, columns), np.int32), np.zeros(1 + columns, np.int64)
    number_people(points.people, values, persons, pairs, np.empty(1 << (2 * rows + 1).bit_length(), np.int32), sizes)
    twice = bool(sizes[0] < rows)
    counts = [max(int(values[:, place].max(initial=0)) + 1, _codes(known, place)) for place in range(columns)]
    layout, trees, total, pair_total = np.empty((columns, 2), np.int64), np.empty((columns, 4), np.int64), 0, int(sizes[0])
    for place, number in enumerate(counts):
        layout[place] = total, pair_total
        trees[place] = number, *known.sensitive_trees[place, [1, 2, 4]]
        total += number
        pair_total += int(sizes[1 + place])
    state = np.zeros(4, np.int64)
    tests = (
        np.zeros(1 + columns, np.int64),
        layout,
        np.zeros(pair_total if twice else 0, np.int32),
        np.zeros(total, np.int64),
        np.zeros(total, np.int32),
        np.zeros(total),
        known.fused,
        state,
        known.far,
        trees,
        known.sensitive_nodes,
        np.empty((2, max(counts, default=0))),
    )
    return Counted(persons, pairs, values, tests, state, counts)


def _codes(known: Scales, place: int) -> int:
    """Return how many codes a sensitive column has by its ladder, those of missing and unknown values among them; 0 where it has none."""
    ordered, leaves = known.sensitive_trees[place, :2]
    return 0 if ordered else int(leaves) + 2


def by_column(known: Scales, counts: Sequence[int], references: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return the reference of each sensitive column."""
    ends = np.cumsum(counts)
    return {name: references[end - number : end].copy() for name, number, end in zip(known.sensitive, counts, ends, strict=True)}
