"""Quantiles: groups of neighbouring values that hold about equally many rows each, such as percentiles, then twentieths, tenths and fifths."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, field_validator

from sfumato.core import canonical
from sfumato.core.hierarchy import Hierarchy, Level, interval_text
from sfumato.core.settings import Settings
from sfumato.hierarchies._tree import TOP, wrong_type


class Quantile(Settings):
    """Groups of about equally many rows of an ordered column. A value that many rows have is never divided, so that groups may be missing.

    >>> incomes = Quantile(groups=[4, 2]).build("income", pa.array([10, 20, 30, 40]), np.array([5, 5, 5, 5]))
    >>> [level.labels for level in incomes.levels]
    [('10', '20', '30', '40'), ('[10, 20]', '[30, 40]'), ('*',)]
    """

    groups: Annotated[
        list[int],
        Field(min_length=1, description="how many groups each level has; each number divides the one before"),
    ] = [100, 20, 10, 5]

    @field_validator("groups")
    @classmethod
    def _dividing(cls, value: list[int]) -> list[int]:
        if min(value) < 1 or max(value) > 1_000_000 or any(later >= earlier or earlier % later for earlier, later in pairwise(value)):
            raise ValueError("needs numbers from 1 to 1000000 that fall, each dividing the one before: otherwise groups do not nest")
        return value

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build one level a number of groups over the distinct values."""
        kind = "text" if pa.types.is_string(values.type) else canonical.infer(values)
        if not canonical.is_ordered(kind):
            raise wrong_type(column, kind, "quantiles", "declare another type, or use taxonomy, table or prefix")
        texts = canonical.render(values).to_pylist()
        before = np.cumsum(counts) - counts
        narrowest = before * self.groups[0] // max(1, int(counts.sum()))
        levels = [_level(narrowest // (self.groups[0] // number), texts) for number in self.groups] if texts else []
        return Hierarchy(column, True, kind, values, (*levels, TOP), tells_values=True)


def _level(numbers: NDArray[np.int64], texts: list[str]) -> Level:
    starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]]).astype(np.int32)
    ends = np.append(starts[1:], len(texts)) - 1
    return Level(starts, tuple(interval_text(texts[start], texts[end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)))
