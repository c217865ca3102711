"""Swap: some rows exchange their values, with others far away or, by rank, with neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core import canonical
from sfumato.core.by_chance import generator
from sfumato.core.dealt import dealt
from sfumato.core.grouped_mask import GroupedMask
from sfumato.core.mask import Card, MaskContext, Told, Way
from sfumato.core.number_columns import added_prints
from sfumato.core.row_groups import permuted


class Swap(GroupedMask):
    """Lets a part of the rows exchange their values in pairs; nobody can tell which rows did, but for one that is alone in its group.

    The ``share`` is that of all rows: where a group has too few for a whole pair, chance decides whether one exchanges. With ``rank`` only values
    exchange places that stand near each other among all of them (rank swapping): what the column says of others is disturbed less. Cost: holds the
    column in memory.
    """

    share: Annotated[float, Field(gt=0, le=1, description="the part of the rows that exchange their values")] = 0.2
    rank: Annotated[
        float | None,
        Field(gt=0, le=1, description="how far apart exchanged values may stand when sorted, as a part of all; any where it is not given"),
    ] = None
    within: Annotated[list[str], Field(description="the columns in which rows must be alike to exchange values; all rows where there are none")] = []

    @property
    def card(self) -> Card:
        """Which rows are mixed depends on the settings."""
        return Card(
            deterministic=False,
            uniqueness="preserved",
            changes_type=False,
            scope=self.scope,
            perturbs=True,
            in_part=True,
            reveals="All values and their frequencies; rows that did not exchange show their own value, and by rank the others one near it.",
        )

    @property
    def alike(self) -> Sequence[str]:
        """The columns that make groups."""
        return self.within

    @property
    def way(self) -> Way:
        """How it tells of a group."""
        return "swapping"

    def told(self, columns: pa.RecordBatch, context: MaskContext) -> Told | None:
        """Return the groups that exchange values: they are shown, though not whose they are, and so is what they add up to."""
        groups, _ = self.groups(columns)
        added = added_prints(columns.column(context.column))
        return Told(frozenset([context.column]), added, groups.astype(np.int64), context.people, np.zeros(len(groups), bool), mixed=True)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the values, some of them exchanged."""
        values = columns.column(context.column)
        groups, number = self.groups(columns)
        source = np.arange(len(values))
        order = np.argsort(groups, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(groups, minlength=number))[:-1]):
            first, second = self._pairs(rows, values)
            source[first], source[second] = second, first
        return dealt(values, source)

    def _pairs(self, rows: NDArray[np.int64], values: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows that exchange, and with whom."""
        if self.rank is None:
            (taken,) = self._taken(np.array([len(rows)]))
            chosen = rows[permuted(len(rows))[:taken]]
            return chosen[::2], chosen[1::2]
        # blocks of neighbours among all rows, in each of which as many exchange as their part allows
        ordered = rows[_order(values.take(pa.array(rows)))]
        block = max(2, int(self.rank * len(rows)))
        starts = np.arange(0, len(ordered), block)
        mixed = ordered[permuted(len(ordered), starts)]
        sizes = np.diff(np.append(starts, len(ordered)))
        within = np.arange(len(ordered)) - np.repeat(starts, sizes)
        chosen = mixed[within < np.repeat(self._taken(sizes), sizes)]
        return chosen[::2], chosen[1::2]

    def _taken(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many rows of stretches of these sizes exchange: their share on average, which need not be a whole number of pairs."""
        pairs = np.floor(sizes * self.share / 2 + generator().random(len(sizes))).astype(np.int64)
        return 2 * np.minimum(pairs, sizes // 2)


def _order(values: pa.Array) -> NDArray[np.int64]:
    """Return the order of values: that of numbers or dates where they are such, else that of texts."""
    kind = canonical.infer(values)
    order: NDArray[np.int64] = pc.sort_indices(canonical.parse(values, kind)).to_numpy().astype(np.int64)
    return order
