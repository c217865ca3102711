"""Microaggregate: numbers are put into groups of at least k that are as alike as they can be, and show the mean of their group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.grouped_mask import GroupedMask
from sfumato.core.kernels.microaggregation import shortest_path
from sfumato.core.mask import Card, MaskContext, Told
from sfumato.core.number_columns import added_prints, as_column, numbers_of, told_exactly
from sfumato.core.row_groups import parts_of_people, people_of


class Microaggregate(GroupedMask):
    """Replaces each number by the mean or median of a group of near ones, of k to 2k - 1 people, so that the sum of squared errors is the least.

    Hansen and Mukherjee (2003). With a subject, each person's own mean is grouped, and all rows of the person show the group's. A group of rows with
    fewer than k people has no value. Cost: one sort and 2k steps a value; holds the column in memory.
    """

    k: Annotated[int | None, Field(ge=2, description="the fewest people of a group; that of the policy's k_anonymity where it is not given")] = None
    centre: Annotated[
        Literal["mean", "median"],
        Field(description="what stands for a group: the mean of all, or of the k in its middle"),
    ] = "mean"
    within: Annotated[list[str], Field(description="the columns in which rows must be alike to be grouped; all rows where there are none")] = []
    decimals: Annotated[int | None, Field(ge=0, le=15, description="how many decimals are kept; as many as the column has where it is not given")] = (
        None
    )

    @property
    def card(self) -> Card:
        """Which rows are looked at depends on the settings."""
        return Card(
            deterministic=True,
            uniqueness="lossy",
            changes_type=False,
            scope=self.scope,
            types=("integer", "decimal"),
            reveals="About where each number stands; the mean of k or more people's, of which nobody's own is told.",
        )

    @property
    def alike(self) -> Sequence[str]:
        """The columns that make groups."""
        return self.within

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the centre of each value's group."""
        return as_column(self._found(columns, context)[0], columns.column(context.column), self.decimals)

    def told(self, columns: pa.RecordBatch, context: MaskContext) -> Told | None:
        """Return the groups whose mean is told, or that of their middle; people's own means are added up."""
        groups = self._found(columns, context)[1]
        added = added_prints(columns.column(context.column), parts_of_people(groups, people_of(columns, context.subject)))
        return Told(frozenset([context.column]), added, groups, self.k or context.people, np.zeros(len(groups), bool))

    def _found(self, columns: pa.RecordBatch, context: MaskContext) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the centre of each row's group, NaN where there is none, and the group, -1 where the row is no part of what is told of it."""
        numbers = numbers_of(columns.column(context.column))
        people = people_of(columns, context.subject)
        alike, number = self.groups(columns)
        centres, groups = np.full(len(numbers), np.nan), np.full(len(numbers), -1, np.int64)
        known = np.flatnonzero(~np.isnan(numbers))
        order = known[np.argsort(alike[known], kind="stable")]
        made, most = 0, told_exactly(columns.column(context.column))
        for rows in np.split(order, np.cumsum(np.bincount(alike[order], minlength=number))[:-1]):
            _, whose = np.unique(people[rows], return_inverse=True)
            sizes = np.bincount(whose)
            if len(sizes) >= (self.k or context.people) and np.abs(numbers[rows]).max() < most:
                means = np.bincount(whose, numbers[rows]) / sizes
                sequence = np.argsort(means, kind="stable")
                places = np.argsort(sequence, kind="stable")[whose]
                bounds = _bounds(means[sequence], self.k or context.people)
                told, middle = self._centres(means[sequence], bounds, self.k or context.people)
                centres[rows] = told[places]
                groups[rows] = np.where(middle, made + np.repeat(np.arange(len(bounds) - 1), np.diff(bounds)), -1)[places]
                made += len(bounds) - 1
        return centres, groups

    def _centres(self, values: NDArray[np.float64], bounds: NDArray[np.int64], k: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the centre of each number's group, and which numbers it is the mean of: all, or for the median the k or k + 1 in the middle."""
        sizes = np.diff(bounds)
        middle = np.ones(len(values), bool)
        if self.centre == "median":
            # a median as such would be somebody's own value
            beyond = (sizes - k) // 2
            place = np.arange(len(values)) - np.repeat(bounds[:-1], sizes)
            middle = (place >= np.repeat(beyond, sizes)) & (place < np.repeat(sizes - beyond, sizes))
        counts = np.add.reduceat(middle.astype(np.int64), bounds[:-1])
        # divided before they are added: a sum may be more than a float holds where a mean is not
        parts = np.add.reduceat(np.where(middle, values, 0.0) / np.repeat(counts, sizes), bounds[:-1])
        return np.repeat(parts, sizes), middle


def _bounds(values: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return where the groups of sorted numbers begin, and where the last one ends."""
    cost, before = np.empty(len(values) + 1), np.empty(len(values) + 1, np.int64)
    # squares of large numbers, and their differences, would be more than a float holds
    apart = values / 2 - values[0] / 2
    shortest_path(apart / (apart[-1] or 1.0), k, cost, before)
    ends = [len(values)]
    while ends[-1]:
        ends.append(int(before[ends[-1]]))
    return np.array(ends[::-1])
