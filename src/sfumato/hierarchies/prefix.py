"""Prefixes of codes, zip codes above all: each level keeps fewer leading characters, ``10969`` becomes ``1096*``, then ``109**``.

Characters are Unicode code points. A level drops so many characters of every code, counted from the code's own end, whatever the length of others.
"""

from __future__ import annotations

from collections.abc import Iterator
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
Sizes = NDArray[np.int64]


class Prefix(Settings):
    """Prefixes of codes; what is dropped is filled up with the mask, to the length of the longest code of the group.

    Level n drops n characters of every code, ``1010`` and ``SW1A 1AA`` become ``10**`` and ``SW1A 1**`` at level 2: codes of different lengths are
    alike only once nothing of them is left. With ``lengths`` they share their beginnings, and a code that is no longer than the length of a level is
    shown whole there. Of codes with more than 16 characters a level drops a sixteenth.

    Where a label is a code of the data itself, or the label of a smaller group, it gets one more mask character until it means one thing.

    >>> zips = Prefix().build("zip", pa.array(["10961", "10969", "12047"]), np.array([1, 1, 1]))
    >>> [level.labels for level in zips.levels]
    [('1096*', '1204*'), ('109**', '120**'), ('10***', '12***'), ('1****',), ('*',)]
    """

    lengths: Annotated[
        list[int] | None,
        Field(
            min_length=1,
            description="how many leading characters each level keeps, falling; where it is left out each level drops one more of every code",
        ),
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
        if self.lengths is None:
            sizes = pc.utf8_length(canonical.render(values)).to_numpy(zero_copy_only=False)
            values = values.take(pa.array(np.argsort(sizes, kind="stable")))
        levels = self._levels(canonical.render(values)) if len(values) else ()
        return Hierarchy(column, False, kind, values, (*levels, Level(np.zeros(1, np.int32), (ROOT,))), builder=self)

    def _levels(self, texts: pa.Array) -> list[Level]:
        sizes = pc.utf8_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)
        meanings = {text: (place, place) for place, text in enumerate(texts.to_pylist())} | {ROOT: (0, len(texts) - 1)}
        levels = []
        for starts, prefixes in self._groups(texts, sizes):
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

    def _groups(self, texts: pa.Array, sizes: Sizes) -> Iterator[tuple[NDArray[np.int32], list[str]]]:
        """Return for each level the first leaf of each group, and the leading characters that its codes show."""
        if self.lengths is not None:
            for length in self.lengths:
                yield _starts(pc.utf8_slice_codeunits(texts, 0, length), np.zeros(len(texts), np.int64))
            return
        for kept in _kept(sizes):
            yield _starts(_heads(texts, kept), np.where(kept > 0, sizes, 0))


def _kept(sizes: Sizes) -> Iterator[Sizes]:
    """Return for each level how many characters of codes of these lengths are left: one fewer a level; of very long codes a sixteenth fewer."""
    rungs = min(int(sizes.max()), _MOST_LEVELS)
    for level in range(1, rungs):
        yield np.maximum(np.minimum(sizes - level, sizes * (rungs - level) // rungs), 0)


def _heads(texts: pa.Array, kept: Sizes) -> pa.Array:
    """Return the leading characters of each code; codes of which the same number is kept stand together."""
    runs = np.flatnonzero(np.diff(kept, prepend=-1, append=-1))
    return pa.concat_arrays([pc.utf8_slice_codeunits(texts[first:last], 0, int(kept[first])) for first, last in pairwise(runs.tolist())])


def _starts(heads: pa.Array, apart: Sizes) -> tuple[NDArray[np.int32], list[str]]:
    """Return the first leaf of each group of like heads, and these; ``apart`` differs where they are two groups nevertheless."""
    changes = pc.not_equal(heads[1:], heads[:-1]).to_numpy(zero_copy_only=False) | (apart[1:] != apart[:-1])
    starts = np.flatnonzero(np.r_[True, changes]).astype(np.int32)
    return starts, heads.take(pa.array(starts)).to_pylist()
