"""Microaggregate: numbers are put into groups of at least k that are as alike as they can be, and show the mean of their group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.kernels.microaggregation import shortest_path
from sfumato.core.mask import Card, MaskContext, Operation
from sfumato.core.number_columns import as_column, numbers_of
from sfumato.core.row_groups import people_of, row_groups


class Microaggregate(Operation):
    """Replaces each number by the mean or median of a group of near ones, of k to 2k - 1 people, so that the sum of squared errors is the least.

    Hansen and Mukherjee (2003). With a subject, each person's own mean is grouped, and all rows of the person show the group's. A group of rows with
    fewer than k people has no value. Cost: one sort and 2k steps a value; holds the column in memory.
    """

    k: Annotated[int | None, Field(ge=2, description="the fewest people of a group; that of the policy's k_anonymity where it is not given")] = None
    centre: Annotated[Literal["mean", "median"], Field(description="what stands for all values of a group")] = "mean"
    within: Annotated[list[str], Field(description="the columns in which rows must be alike to be grouped; all rows where there are none")] = []
    decimals: Annotated[int | None, Field(ge=0, le=15, description="how many decimals are kept; as many as the column has where it is not given")] = (
        None
    )

    @property
    def card(self) -> Card:
        """Which rows are looked at depends on the settings."""
        return Card(
            deterministic=True,
            reversible=False,
            uniqueness="lossy",
            changes_type=False,
            nulls="kept",
            scope="group" if self.within else "table",
            types=("integer", "decimal"),
            reveals="About where each number stands; the mean of k or more people's, of which nobody's own is told.",
        )

    @property
    def reads(self) -> Sequence[str]:
        """The columns that make groups."""
        return self.within

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the centre of each value's group."""
        column = columns.column(context.column)
        numbers = numbers_of(column)
        groups, number = row_groups(columns, self.within)
        people = people_of(columns, context.subject)
        k = self.k or context.people
        found = np.full(len(numbers), np.nan)
        valid = ~np.isnan(numbers)
        for group in range(number):
            rows = np.flatnonzero((groups == group) & valid) if number > 1 or not valid.all() else np.arange(len(numbers))
            found[rows] = self._centres(numbers[rows], people[rows], k)
        return as_column(found, column, self.decimals)

    def _centres(self, numbers: NDArray[np.float64], people: NDArray[np.int32], k: int) -> NDArray[np.float64]:
        _, whose = np.unique(people, return_inverse=True)
        sizes = np.bincount(whose)
        if len(sizes) < k:
            return np.full(len(numbers), np.nan)
        means = np.bincount(whose, numbers) / sizes
        order = np.argsort(means, kind="stable")
        return self._of_sorted(means[order], k)[np.argsort(order, kind="stable")][whose]

    def _of_sorted(self, values: NDArray[np.float64], k: int) -> NDArray[np.float64]:
        cost, before = np.empty(len(values) + 1), np.empty(len(values) + 1, np.int64)
        shortest_path(values - values[0], k, cost, before)
        ends = [len(values)]
        while ends[-1]:
            ends.append(int(before[ends[-1]]))
        bounds = np.array(ends[::-1])
        sizes = np.diff(bounds)
        if self.centre == "mean":
            centres = np.add.reduceat(values, bounds[:-1]) / sizes
        else:
            centres = (values[bounds[:-1] + (sizes - 1) // 2] + values[bounds[:-1] + sizes // 2]) / 2
        return np.repeat(centres, sizes)
