"""Shuffle: the values of the column change places, so that no row keeps its own but by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sfumato.core.dealt import dealt
from sfumato.core.grouped_mask import GroupedMask
from sfumato.core.mask import Card, MaskContext, Told, Way
from sfumato.core.number_columns import added_prints
from sfumato.core.row_groups import chance, permuted
from sfumato.key_material import named

_REVEALS = "All values and their frequencies; in a group of rows, which values these have; a rare value still says that somebody has it."


class Shuffle(GroupedMask):
    """Deals the values of a column out anew among the rows, or among those that are alike in other columns.

    All values stay in the column, and so do their frequencies; how they go with other columns is lost, but for those that move ``together``: columns
    whose shuffles share that name are dealt out as one, so that town, postcode and country of a row stay those of one row. Missing values then move
    with the others. A row that is alone in its group could only get its own value back: it has a value that cannot be shuffled. Cost: holds the
    column in memory.
    """

    within: Annotated[list[str], Field(description="the columns in which rows must be alike to exchange values; all rows where there are none")] = []
    repetition: Annotated[bool, Field(description="whether a value may be dealt out several times, and another not at all")] = False

    together: Annotated[
        str | None,
        Field(
            min_length=1,
            description="a name that the shuffles of several columns share, whose rows then move as one; by itself where it is not given",
        ),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _in_one_order(cls, given: Any) -> Any:
        """Return the settings with the columns of groups in one order, where others must have the same: [ward, day] make those of [day, ward]."""
        within = given.get("within") if isinstance(given, dict) and given.get("together") is not None else None
        return {**given, "within": sorted(within)} if isinstance(within, list) and all(isinstance(name, str) for name in within) else given

    @property
    def card(self) -> Card:
        """Which rows are mixed depends on the settings."""
        told = f"{_REVEALS[:-1]}; which values of the columns of {named(self.together or '', 'its set')} belong to one row."
        return Card(
            deterministic=False,
            uniqueness="lossy" if self.repetition else "preserved",
            changes_type=False,
            scope=self.scope,
            perturbs=True,
            nulls="kept" if self.together is None else "masked",
            reveals=_REVEALS if self.together is None else told,
        )

    @property
    def alike(self) -> Sequence[str]:
        """The columns that make groups."""
        return self.within

    @property
    def way(self) -> Way:
        """How it tells of a group."""
        return "moving"

    def refused(self, people: int) -> tuple[str, str]:
        """Return that it is the row's being alone that is refused, not the value."""
        del people
        if not self.within:
            return "with a value that shuffle cannot take (there is no other row to exchange it with)", "a source with more rows"
        words = f"with a value that shuffle cannot take (no other row is alike in {', '.join(self.within)}, to exchange it with)"
        return words, "larger groups, within fewer columns"

    def told(self, columns: pa.RecordBatch, context: MaskContext) -> Told | None:
        """Return the groups that exchange values: they are shown, though not whose they are, and so is what they add up to."""
        groups, number = self.groups(columns)
        added = added_prints(columns.column(context.column))
        # who is alone keeps nothing that could be shown
        shown = np.where(np.bincount(groups, minlength=number)[groups] > 1, groups, -1).astype(np.int64)
        return Told(frozenset([context.column]), added, shown, context.people, np.zeros(len(groups), bool), mixed=True)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the values in another order."""
        return self.apply_or_refuse(columns, context)[0]

    def apply_or_refuse(self, columns: pa.RecordBatch, context: MaskContext) -> tuple[pa.Array, NDArray[np.bool_]]:
        """Return the values in another order, and the rows that are alone; one that gets a missing value is not refused."""
        values = columns.column(context.column)
        groups, number = self.groups(columns)
        sizes = np.bincount(groups, minlength=number)
        if self.together is None:
            source = self._source(groups, sizes)
        else:
            source = context.moved.order(self.together, context.column, groups, lambda: self._source(groups, sizes))
        alone = sizes[groups] == 1 if (sizes == 1).any() else np.zeros(len(groups), bool)
        return dealt(values, source, alone if alone.any() else None), alone

    def _source(self, groups: NDArray[np.int32], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each row the row of its group whose value it gets."""
        drawn = self._drawn(sizes)
        if len(sizes) <= 1:
            return drawn
        order = np.argsort(groups, kind="stable")
        source = np.empty(len(order), np.int64)
        source[order] = order[drawn]
        return source

    def _drawn(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each place, groups being together, the place of the same group whose value it gets."""
        starts, total = np.cumsum(sizes) - sizes, int(sizes.sum())
        if not self.repetition:
            return permuted(total, starts)
        return np.repeat(starts, sizes) + (chance(total) % np.repeat(sizes, sizes).astype(np.uint64)).astype(np.int64)
