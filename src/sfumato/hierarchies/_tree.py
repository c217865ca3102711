"""Levels of a tree from the names that its leaves' ancestors have, where leaves that share an ancestor stand together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core import canonical
from sfumato.core.hierarchy import ROOT, Hierarchy, Level
from sfumato.core.interfaces import HierarchyBuilder
from sfumato.errors import DataError

TOP = Level(np.zeros(1, np.int32), (ROOT,))


def level_of(names: pa.Array) -> Level:
    """Return the level on which each run of leaves with the same name is one node.

    >>> level_of(pa.array(["2024-01", "2024-01", "2024-02"])).labels
    ('2024-01', '2024-02')
    """
    changes = pc.not_equal(names[1:], names[:-1]).to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(np.r_[True, changes]).astype(np.int32)
    return Level(starts, tuple(names.take(pa.array(starts)).to_pylist()))


def tree(column: str, kind: canonical.ValueType, leaves: pa.Array, levels: Sequence[Level], builder: HierarchyBuilder | None = None) -> Hierarchy:
    """Return the ladder of nodes above the leaves; a column without any has the root alone."""
    return Hierarchy(column, False, kind, leaves, (*(levels if len(leaves) else ()), TOP), builder=builder)


def wrong_type(column: str, kind: str, what: str, hint: str) -> DataError:
    """Return the error for a column whose values have no such ladder."""
    return DataError(f"column {column} has type {kind}, which has no {what}", code="hierarchy-type", hint=hint)
