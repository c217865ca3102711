"""Prefixes of codes, zip codes above all: each level keeps fewer leading characters, ``10969`` becomes ``1096*``, then ``109**``.

Characters are Unicode code points. A code shorter than a level's length stays itself at that level.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field, field_validator

from sfumato.core import canonical
from sfumato.core.hierarchy import ROOT, Hierarchy, Level
from sfumato.core.settings import Settings

_MOST_LEVELS = 16
_LONGEST = 10_000


class Prefix(Settings):
    """Prefixes of codes; what is dropped is filled up with the mask, to the length of the longest code of the group.

    Where that is a code of the data itself, or the label of a smaller group, the label gets one more mask character until it means one thing.

    >>> zips = Prefix().build("zip", pa.array(["10961", "10969", "12047"]), np.array([1, 1, 1]))
    >>> [level.labels for level in zips.levels]
    [('1096*', '1204*'), ('109**', '120**'), ('10***', '12***'), ('1****',), ('*',)]
    """

    lengths: Annotated[
        list[int] | None,
        Field(min_length=1, description="how many leading characters each level keeps, falling; one fewer a level where it is left out"),
    ] = None
    mask: Annotated[str, Field(min_length=1, max_length=1, description="what stands for a character that is dropped")] = "*"

    @field_validator("lengths")
    @classmethod
    def _falling(cls, value: list[int] | None) -> list[int] | None:
        if value is not None and (min(value) < 1 or max(value) > _LONGEST or any(later >= earlier for earlier, later in pairwise(value))):
            raise ValueError("needs lengths from 1 to 10000 that fall from level to level")
        return value

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build one level a length over the distinct values, whatever their type."""
        del counts
        kind = "text" if pa.types.is_string(values.type) else canonical.infer(values)
        # the order of bytes is that of code points: what shares a prefix stands together
        values = values.take(pc.sort_indices(canonical.render(values)))
        texts = canonical.render(values)
        levels = self._levels(texts) if len(values) else ()
        return Hierarchy(column, False, kind, values, (*levels, Level(np.zeros(1, np.int32), (ROOT,))), builder=self)

    def _levels(self, texts: pa.Array) -> list[Level]:
        sizes = pc.utf8_length(texts).to_numpy()
        meanings = {text: (place, place) for place, text in enumerate(texts.to_pylist())}
        levels = []
        for length in self.lengths or _default_lengths(int(sizes.max())):
            starts, prefixes = _groups(texts, length)
            ends = [*(starts[1:] - 1).tolist(), len(texts) - 1]
            longest = np.maximum.reduceat(sizes, starts).tolist()
            labels = []
            for prefix, size, node in zip(prefixes, longest, zip(starts.tolist(), ends, strict=True), strict=True):
                label = prefix.ljust(size, self.mask)
                while meanings.setdefault(label, node) != node:
                    label += self.mask
                labels.append(label)
            levels.append(Level(starts, tuple(labels)))
        return levels


def _default_lengths(longest: int) -> Sequence[int]:
    """Return one length fewer a level down to one character; of very long codes only some of them."""
    if longest <= _MOST_LEVELS:
        return range(longest - 1, 0, -1)
    return [longest * step // _MOST_LEVELS for step in range(_MOST_LEVELS - 1, 0, -1)]


def _groups(texts: pa.Array, length: int) -> tuple[NDArray[np.int32], list[str]]:
    """Return the first leaf of each group that shares its leading characters, and these characters."""
    heads = pc.utf8_slice_codeunits(texts, 0, length)
    changes = pc.not_equal(heads[1:], heads[:-1]).to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(np.r_[True, changes]).astype(np.int32)
    return starts, heads.take(pa.array(starts)).to_pylist()
