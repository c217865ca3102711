"""Shuffle: the values of the column change places, so that no row keeps its own but by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.dealt import dealt
from sfumato.core.grouped_mask import GroupedMask
from sfumato.core.mask import Card, MaskContext, Told
from sfumato.core.number_columns import added_prints
from sfumato.core.row_groups import chance, permuted


class Shuffle(GroupedMask):
    """Deals the values of a column out anew among the rows, or among those that are alike in other columns.

    All values stay in the column, and so do their frequencies; how they go with other columns is lost. A row that is alone in its group could only
    get its own value back: it has a value that cannot be shuffled. Cost: holds the column in memory.
    """

    within: Annotated[list[str], Field(description="the columns in which rows must be alike to exchange values; all rows where there are none")] = []
    repetition: Annotated[bool, Field(description="whether a value may be dealt out several times, and another not at all")] = False

    @property
    def card(self) -> Card:
        """Which rows are mixed depends on the settings."""
        return Card(
            deterministic=False,
            uniqueness="lossy" if self.repetition else "preserved",
            changes_type=False,
            scope=self.scope,
            perturbs=True,
            reveals="All values and their frequencies; in a group of rows, which values these have; a rare value still says that somebody has it.",
        )

    @property
    def alike(self) -> Sequence[str]:
        """The columns that make groups."""
        return self.within

    def told(self, columns: pa.RecordBatch, context: MaskContext) -> Told | None:
        """Return the groups that exchange values: they are shown, though not whose they are, and so is what they add up to."""
        groups, _ = self.groups(columns)
        added = added_prints(columns.column(context.column))
        return Told(frozenset([context.column]), added, groups.astype(np.int64), context.people, np.zeros(len(groups), bool), mixed=True)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the values in another order."""
        values = columns.column(context.column)
        if not self.within:
            return dealt(values, self._drawn(np.array([len(values)])), np.array([True]) if len(values) == 1 else None)
        groups, number = self.groups(columns)
        sizes = np.bincount(groups, minlength=number)
        drawn = self._drawn(sizes)
        order = np.argsort(groups, kind="stable")
        source = np.empty(len(order), np.int64)
        source[order] = order[drawn]
        return dealt(values, source, sizes[groups] == 1)

    def _drawn(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each place, groups being together, the place of the same group whose value it gets."""
        starts, total = np.cumsum(sizes) - sizes, int(sizes.sum())
        if not self.repetition:
            return permuted(total, starts)
        return np.repeat(starts, sizes) + (chance(total) % np.repeat(sizes, sizes).astype(np.uint64)).astype(np.int64)
