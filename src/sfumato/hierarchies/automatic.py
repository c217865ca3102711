"""The ladder of a column for which the policy gives none.

Numbers get quantiles, each level with half the groups of the one below, dates and instants the calendar, addresses networks, places on the globe
cells of a grid, codes (postcodes, catalogue numbers) prefixes, and categories groups: the frequent ones stay by themselves, the rare ones are
gathered with their neighbours in the alphabet. Labels of groups name first letters and counts, never a whole value: a rare value would be recognised.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core import canonical
from sfumato.core.hierarchy import ROOT, Hierarchy, Level
from sfumato.core.settings import Settings
from sfumato.hierarchies._places import are_places
from sfumato.registry import find

_FEW = 20
_SHARES = (0.01, 0.1)
_MOSTLY = 0.95
_LONGEST_CODE = 16
# of a few values only those are told from names of categories, such as T1 and T2
_SHORTEST_OF_FEW = 4
_HALVES = [1 << power for power in range(12, 0, -1)]
_CODE = r"^[0-9A-Z][0-9A-Z ./-]*$"


class Automatic(Settings):
    """The ladder that fits the values. Up to 20 categories that are no codes stand directly below the root, whatever their frequencies.

    Of more, those with 1% of the rows stay themselves at the first level; the others are joined to groups with about 1% each, and these,
    where they are many, to larger ones.
    """

    intervals: Annotated[bool, Field(description="whether dates and instants get quantiles, as numbers do, in place of the calendar")] = False

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build the ladder that fits type and number of the values; a column without any has the root alone."""
        kind = "text" if pa.types.is_string(values.type) else canonical.infer(values)
        if kind in ("date", "timestamp") and not self.intervals:
            return _built("calendar", column, values, counts)
        if canonical.is_ordered(kind):
            return _merging(find("hierarchies", "quantile")(groups=_HALVES).build(column, values, counts))
        values = canonical.as_text(values)
        if len(values) and not canonical.parse(values, "ip").null_count:
            return _built("network", column, values, counts)
        if len(values) and are_places(values):
            return _built("grid", column, values, counts)
        if len(values) and _are_codes(values, shortest=1 if len(values) > _FEW else _SHORTEST_OF_FEW):
            return _built("prefix", column, values, counts)
        if len(values) <= _FEW:
            return Hierarchy(column, False, "text", values, (Level(np.zeros(1, np.int32), (ROOT,)),))
        return _grouped(column, values, counts)


def _built(name: str, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
    built: Hierarchy = find("hierarchies", name)().build(column, values, counts)
    return built


def _merging(hierarchy: Hierarchy) -> Hierarchy:
    """Return a ladder without the levels that join nothing."""
    sizes = [hierarchy.size, *(len(level.starts) for level in hierarchy.levels)]
    *levels, root = hierarchy.levels
    return replace(hierarchy, levels=(*(level for level, below in zip(levels, sizes, strict=False) if len(level.starts) < below), root))


def _are_codes(values: pa.Array, shortest: int) -> bool:
    """Return whether most values are of one length, more or less, and of digits, capitals and little else."""
    sizes = pc.utf8_length(values).to_numpy()
    typical = np.median(sizes)
    alike = (abs(sizes - typical) <= typical // 3) & (sizes >= shortest) & (sizes <= _LONGEST_CODE)
    written = pc.and_(pc.match_substring_regex(values, _CODE), pc.match_substring_regex(values, "[0-9]")).to_numpy(zero_copy_only=False)
    return bool((alike & written).mean() >= _MOSTLY)


def _grouped(column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
    rows = int(counts.sum())
    is_rare = counts < _SHARES[0] * rows
    order = np.argsort(is_rare, kind="stable")
    leaves, weights, border = values.take(pa.array(order)), counts[order], int((~is_rare).sum())
    texts = leaves.to_pylist()
    taken = {*texts, ROOT}
    levels: list[Level] = []
    starts = np.arange(len(texts))
    for share in _SHARES:
        joined = _joined(starts, weights, border, share * rows)
        if len(joined) < len(starts):
            ends = [*joined[1:], len(texts)]
            labels = tuple(_label(texts[start:end], taken) for start, end in zip(joined, ends, strict=True))
            levels.append(Level(np.array(joined, np.int32), labels))
            starts = np.array(joined)
        if len(starts) <= _FEW:
            break
    return Hierarchy(column, False, "text", leaves, (*levels, Level(np.zeros(1, np.int32), (ROOT,))))


def _joined(starts: NDArray[np.int64], weights: NDArray[np.int64], border: int, enough: float) -> list[int]:
    """Return the first leaves of groups, each of neighbouring smaller groups with enough rows together; no group lies across the border."""
    rows = np.add.reduceat(weights, starts).tolist()
    joined: list[int] = []
    held = enough
    for start, own in zip(starts.tolist(), rows, strict=True):
        if held >= enough or start == border:
            joined.append(start)
            held = 0
        held += own
    # what is left over at the end of a side is too little to stand alone
    if held < enough and len(joined) > 1 and joined[-1] != border:
        joined.pop()
    return joined


def _label(texts: list[str], taken: set[str]) -> str:
    """Return what a group is called, and take the name; a group of one is called like its value."""
    if len(texts) == 1:
        return texts[0]
    first, last = (text[0] if text and text[0].isalnum() else "#" for text in (texts[0], texts[-1]))
    label = plain = f"{first} to {last} ({len(texts)} values)" if first != last else f"{first}... ({len(texts)} values)"
    number = 1
    while label in taken:
        number += 1
        label = f"{plain} {number}"
    taken.add(label)
    return label
