"""The ladder of one column: its leaves in order, and the levels above them.

Every value is a leaf code, every generalised value an interval of leaf codes. Leaves of a taxonomy are numbered depth first, so that each
node covers an interval, and the lowest node that holds a set of leaves is that of its smallest and largest. Two further codes hang below
the root only: ``missing`` (the value was null) and ``outside`` (the hierarchy does not know the value).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical

if TYPE_CHECKING:
    from sfumato.core.interfaces import HierarchyBuilder

ROOT = "*"


@dataclass(frozen=True, eq=False)
class Level:
    """One rung above the leaves: ``starts`` is the first leaf of each node, ``labels`` what each is called."""

    starts: NDArray[np.int32]
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The leaves of a column in order, and the levels above them, from the finest to the root.

    ``ordered`` columns (numbers, dates) may publish any interval of leaves; the others only a node. ``values`` are the leaves as typed
    values in leaf order. ``tells_values`` says that the labels of nodes name values of the table, not only what the policy says. ``builder``
    is there where labels cover the same whatever values a table has: it names the ancestors of values that are not among the leaves.

    >>> colours = Hierarchy.of_paths("colour", [["red", "warm"], ["pink", "warm"], ["blue", "cold"]])
    >>> colours.label(0, 1), colours.label(1, 1), colours.label(0, 2)
    ('warm', 'pink', '*')
    """

    column: str
    ordered: bool
    kind: canonical.ValueType
    values: pa.Array
    levels: tuple[Level, ...]
    tells_values: bool = False
    builder: HierarchyBuilder | None = None

    @classmethod
    def of_paths(cls, column: str, paths: Sequence[Sequence[str]], root: str = ROOT) -> Hierarchy:
        """Build a tree from one path a leaf (leaf, parent, ..., below the root), given depth first; paths may differ in length."""
        height = max(len(path) for path in paths)
        levels = []
        for step in range(1, height):
            # the ancestor at this distance from the root, or the leaf itself where the tree is not that deep
            keys = [tuple(path[max(0, len(path) - (height - step)) :]) for path in paths]
            levels.append(_level(keys))
        levels.append(Level(np.zeros(1, np.int32), (root,)))
        leaves = pa.array([path[0] for path in paths], pa.string())
        return cls(column, False, "text", leaves, tuple(levels))

    @cached_property
    def size(self) -> int:
        """The number of leaves, ``missing`` and ``outside`` not counted."""
        return len(self.values)

    @property
    def missing(self) -> int:
        """The code of a missing value."""
        return self.size

    @property
    def outside(self) -> int:
        """The code of a value that the hierarchy does not know."""
        return self.size + 1

    @property
    def height(self) -> int:
        """The number of the root's level; leaves have level 0."""
        return len(self.levels)

    @property
    def root(self) -> str:
        """What stands for any value that the hierarchy knows; with missing or unknown ones among them it is always ``*``."""
        return self.levels[-1].labels[0]

    @cached_property
    def leaves(self) -> pa.Array:
        """The canonical text of each leaf."""
        return canonical.render(self.values)

    @cached_property
    def positions(self) -> NDArray[np.float64]:
        """Where each leaf stands: on the line of its type where the column is ordered, by number elsewhere."""
        if self.ordered:
            return canonical.positions(self.values)
        return np.arange(self.size, dtype=np.float64)

    def groups(self, level: int) -> NDArray[np.int32]:
        """Return the number of the node that each leaf belongs to at a level."""
        if level == 0:
            return np.arange(self.size, dtype=np.int32)
        starts = self.levels[level - 1].starts
        return (np.searchsorted(starts, np.arange(self.size), side="right") - 1).astype(np.int32)

    def ancestors(self) -> list[pa.Array]:
        """Return what stands above each leaf, one array a level, the leaf itself first."""
        above = (pa.array(level.labels, pa.string()).take(pa.array(self.groups(number))) for number, level in enumerate(self.levels, start=1))
        return [self.leaves, *above]

    def nodes(self, level: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the first and last leaf of each node of a level."""
        if level == 0:
            every = np.arange(self.size, dtype=np.int32)
            return every, every
        starts = self.levels[level - 1].starts
        return starts, np.append(starts[1:], self.size).astype(np.int32) - 1

    def node_label(self, level: int, node: int) -> str:
        """Return what a node of a level is called."""
        if level == 0:
            return str(self.leaves[node].as_py())
        return self.levels[level - 1].labels[node]

    def lowest_level(self, low: int, high: int) -> tuple[int, int]:
        """Return level and number of the lowest node that holds the leaves ``low`` to ``high``."""
        if low == high:
            return 0, low
        for number, level in enumerate(self.levels, start=1):
            first, last = np.searchsorted(level.starts, (low, high), side="right") - 1
            if first == last:
                return number, int(first)
        raise AssertionError("the last level of a hierarchy has one node")

    def label(self, low: int, high: int) -> str | None:
        """Return how the smallest published value is written that holds the codes ``low`` to ``high``; None is a missing value."""
        if high >= self.size:
            return None if low == high == self.missing else ROOT
        if low == high:
            return str(self.leaves[low].as_py())
        if self.ordered:
            return interval_text(str(self.leaves[low].as_py()), str(self.leaves[high].as_py()))
        return self.node_label(*self.lowest_level(low, high))

    def labels(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> pa.Array:
        """Return ``label`` for many intervals at once."""
        if not self.ordered or not self.size:
            return self._node_labels(lows, highs)
        first, last = (self.leaves.take(np.minimum(ends, self.size - 1)) for ends in (lows, highs))
        written = pc.binary_join_element_wise("[", first, ", ", last, "]", "")
        plain = pc.if_else(pa.array(lows == highs), first, written)
        special = pc.if_else(pa.array((lows == self.missing) & (highs == self.missing)), pa.scalar(None, pa.string()), ROOT)
        return pc.if_else(pa.array(highs >= self.size), special, plain)

    def _node_labels(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> pa.Array:
        """Return the labels of the lowest nodes that hold intervals, level by level from the finest."""
        labels = np.full(len(lows), ROOT, object)
        waiting = np.flatnonzero(highs < self.size)
        single = waiting[lows[waiting] == highs[waiting]]
        labels[single] = self.leaves.take(lows[single]).to_pylist()
        waiting = waiting[lows[waiting] != highs[waiting]]
        for level in self.levels:
            first, last = (np.searchsorted(level.starts, ends[waiting], side="right") - 1 for ends in (lows, highs))
            found = first == last
            labels[waiting[found]] = np.array(level.labels, object)[first[found]]
            waiting = waiting[~found]
        labels[(lows == self.missing) & (highs == self.missing)] = None
        return pa.array(labels, pa.string())


def interval_text(low: str, high: str) -> str:
    """Return how a closed interval is written.

    >>> interval_text("20", "29")
    '[20, 29]'
    """
    return low if low == high else f"[{low}, {high}]"


def interval_ends(label: str) -> tuple[str, str] | None:
    """Return the two ends of a written interval, None where the text is not one.

    >>> interval_ends("[20, 29]"), interval_ends("20")
    (('20', '29'), None)
    """
    if not (label.startswith("[") and label.endswith("]") and ", " in label):
        return None
    low, _, high = label[1:-1].partition(", ")
    return low, high


def _level(keys: Sequence[tuple[str, ...]]) -> Level:
    starts = [0] + [place for place in range(1, len(keys)) if keys[place] != keys[place - 1]]
    return Level(np.array(starts, np.int32), tuple(keys[start][0] for start in starts))
