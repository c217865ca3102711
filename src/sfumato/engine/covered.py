"""Covered: what each class of a written release shows, held against the originals that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import MaskPlan
from sfumato.core.publication import Publication
from sfumato.engine.broken_release import broken

Extents = tuple[str, NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], int]
"""A column, the parts of its leaves and of its range that its published values stand for, how many rows have each, and how many leaves there are."""


@dataclass(frozen=True, eq=False)
class Shown:
    """What classes show in one column: distinct texts, which of them each class has, and the smallest and the largest of its originals.

    ``leaves`` are the originals of all published rows, each at least once.
    """

    texts: Sequence[pa.Array]
    places: NDArray[np.int64]
    smallest: NDArray[np.int64]
    largest: NDArray[np.int64]
    leaves: NDArray[np.int32]


def levels_of(masks: MaskPlan, levels: Sequence[int] | None) -> Sequence[int | None]:
    """Return the level of each recoded column; none where a release is made of boxes."""
    return levels if levels is not None else [None] * len(masks.publications)


def covered(publication: Publication, shown: Shown, sizes: NDArray[np.int64], level: int | None, in_part: bool) -> Extents:
    """Check that the value of every class covers its members' originals, and that it is no wider than it needs to be.

    ``sizes`` are how many rows each class has, ``level`` that of a full-domain release; ``in_part`` says that some rows are not published.
    """
    hierarchy = publication.hierarchy
    lows, highs = publication.read(*shown.texts)
    low, high = lows[shown.places], highs[shown.places]
    if ((low < 0) | (shown.smallest < low) | (shown.largest > high)).any():
        raise broken(f"publishes in column {publication.column} a value that does not cover its original", code="verify-covers")
    wanted = _wanted(publication, level, shown.smallest, shown.largest)
    if any(text.take(pa.array(shown.places)) != asked for text, asked in zip(shown.texts, wanted, strict=True)):
        raise broken(f"publishes in column {publication.column} a wider value than was decided", code="verify-width")
    shares, spans = publication.extents(*shown.texts)
    rows = np.bincount(shown.places, sizes, minlength=len(lows)).astype(np.int64)
    if hierarchy.ordered and in_part:
        return publication.column, *among_published(hierarchy, shown.leaves, shares, spans, rows)
    return publication.column, shares, spans, rows, hierarchy.size


def among_published(
    hierarchy: Hierarchy, leaves: NDArray[np.int32], shares: NDArray[np.float64], spans: NDArray[np.float64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], int]:
    """Measure against the leaves and the range of published rows: the extremes of suppressed people must not show in the record."""
    known = np.unique(leaves[leaves < hierarchy.size])
    if len(known) < 2:
        return np.where(shares < 1, 1 / max(1, len(known)), 1.0), np.where(spans < 1, 0.0, 1.0), rows, len(known)
    positions = hierarchy.positions
    # halves: the range may be more than a float holds; where numbers are too close for one, leaves are counted
    whole, part = (positions[last] / 2 - positions[first] / 2 for first, last in ((0, -1), (known[0], known[-1])))
    wider = whole / part if part > 0 else hierarchy.size / len(known)
    return np.minimum(1.0, shares * hierarchy.size / len(known)), np.minimum(1.0, spans * wider), rows, len(known)


def _wanted(publication: Publication, level: int | None, smallest: NDArray[np.int64], largest: NDArray[np.int64]) -> tuple[pa.Array, ...]:
    """Return the text that each class must show: anything wider was not decided by the search.

    A full-domain release shows the node of its level; boxes show the smallest value that holds the class, on the least level or above.
    """
    hierarchy = publication.hierarchy
    if level == hierarchy.height:
        whole = hierarchy.outside if largest.max(initial=0) >= hierarchy.size else hierarchy.size - 1
        lows, highs = np.zeros_like(smallest), np.full_like(largest, whole)
    else:
        lows, highs = _nodes_that_hold(hierarchy, publication.least if level is None else level, smallest, largest)
    span = hierarchy.size + 2
    pairs, places = np.unique(lows * span + highs, return_inverse=True)
    return tuple(text.take(places) for text in publication.texts(*np.divmod(pairs, span), level))


def _nodes_that_hold(
    hierarchy: Hierarchy, level: int, lows: NDArray[np.int64], highs: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the nodes of a level begin and end in which the ends of intervals lie."""
    firsts, lasts = hierarchy.nodes(level)
    special = np.array([hierarchy.missing, hierarchy.outside])
    groups = hierarchy.groups(level)
    return np.append(firsts[groups], special)[lows], np.append(lasts[groups], special)[highs]
