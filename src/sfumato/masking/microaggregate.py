"""Microaggregate: numbers are put into groups of at least k that are as alike as they can be, and show the mean of their group.

A mean of which one person makes up most is nearly that person's own: there are no such groups, and larger ones instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.grouped_mask import GroupedMask, KeptDecimals, told_apart
from sfumato.core.mask import Card, MaskContext, Told, Way
from sfumato.core.number_columns import added_prints, as_column, numbers_of, told_exactly, with_decimals
from sfumato.core.row_groups import parts_of_people, people_of
from sfumato.masking._least_error import with_least_error
from sfumato.masking._undominated import in_the_middle, undominated


class Microaggregate(GroupedMask):
    """Replaces each number by the mean or median of a group of near ones, of k or more people, so that the sum of squared errors is the least.

    Hansen and Mukherjee (2003). With a subject, each person's own mean is grouped, and all rows of the person show the group's. No group is made in
    which one person would make up more than ``dominance`` of what is told: groups have k to 2k - 1 people, and more where that needs them, as any two
    different numbers do. With the mean the error is the least of all partitions of the sorted numbers that keep the limit; with the median groups are
    sought without it, and take in their neighbours until they keep it. Where nothing does, as with one who has more than all others together, they
    and those beside them, k people or more, have no value, nor has a group of rows with fewer than k people: the run stops, or they are removed.
    Cost: one sort and 3k steps a value, or three divided by ``dominance`` where that is more; holds the column in memory.
    """

    k: Annotated[
        int | None, Field(ge=2, description="the fewest people of a group; that of the policy's k_anonymity where it is not given, without one 2")
    ] = None
    centre: Annotated[
        Literal["mean", "median"],
        Field(description="what stands for a group: the mean of all, or of the k in its middle"),
    ] = "mean"
    dominance: Annotated[float, Field(gt=0, le=1, description="the largest part of what is told of a group that one person may make up")] = 0.5
    within: Annotated[list[str], Field(description="the columns in which rows must be alike to be grouped; all rows where there are none")] = []
    decimals: KeptDecimals = None

    @property
    def card(self) -> Card:
        """Which rows are looked at depends on the settings."""
        return Card(
            deterministic=True,
            uniqueness="lossy",
            changes_type=False,
            scope=self.scope,
            types=("integer", "decimal"),
            reveals="About where each number stands; the mean of k or more people's, of which nobody's own is told and nobody makes up most.",
        )

    @property
    def alike(self) -> Sequence[str]:
        """The columns that make groups."""
        return self.within

    @property
    def way(self) -> Way:
        """How it tells of a group."""
        return "ordering"

    def refused(self, people: int) -> tuple[str, str]:
        """Return that it is the group that is refused, not the value."""
        few = f"groups of fewer than {self.k or people} people, or in which one person makes up more than {self.dominance:g}, however large"
        why = f"{few}; or a number of more than 15 digits"
        return f"of which microaggregate tells nothing ({why})", "larger groups, within fewer columns, or top_bottom_code before it"

    def apply_and_locate(self, columns: pa.RecordBatch, context: MaskContext) -> tuple[pa.Array, Mapping[str, NDArray[np.bool_]]]:
        """Return the centre of each value's group, and apart the rows whose groups are refused, and those that hold no number."""
        made = self.apply(columns, context)
        return made, told_apart(made, columns.column(context.column))

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the centre of each value's group."""
        column = columns.column(context.column)
        like = pa.nulls(0, self.output_type(column.type)) if self.decimals else column
        return as_column(self._found(columns, context)[0], like, self.decimals)

    def output_type(self, original: pa.DataType) -> pa.DataType:
        """Return what holds decimals that are asked for, else the type that it was."""
        return with_decimals(original, self.decimals)

    def told(self, columns: pa.RecordBatch, context: MaskContext) -> Told | None:
        """Return the groups whose mean is told, or that of their middle; people's own means are added up."""
        groups = self._found(columns, context)[1]
        added = added_prints(columns.column(context.column), parts_of_people(groups, people_of(columns, context.subject)))
        return Told(frozenset([context.column]), added, groups, self.k or context.people, np.zeros(len(groups), bool), dominance=self.dominance)

    def _found(self, columns: pa.RecordBatch, context: MaskContext) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the centre of each row's group, NaN where there is none, and the group, -1 where the row is no part of what is told of it."""
        # adding zero takes the sign of minus zero away
        numbers = numbers_of(columns.column(context.column)) + 0.0
        people = people_of(columns, context.subject)
        alike, number = self.groups(columns)
        centres, groups = np.full(len(numbers), np.nan), np.full(len(numbers), -1, np.int64)
        known = np.flatnonzero(~np.isnan(numbers))
        # by size: sums of floats hang on the order of what is added, and must not on that of the rows
        order = known[np.lexsort((numbers[known], alike[known]))]
        made, most = 0, told_exactly(columns.column(context.column))
        for rows in np.split(order, np.cumsum(np.bincount(alike[order], minlength=number))[:-1]):
            _, whose = np.unique(people[rows], return_inverse=True)
            sizes = np.bincount(whose)
            if len(sizes) >= (self.k or context.people) and np.abs(numbers[rows]).max() < most:
                # by a power of two, which changes no digit: a sum may be more than a float holds where a mean is not
                power = math.frexp(np.abs(numbers[rows]).max())[1]
                means = np.bincount(whose, np.ldexp(numbers[rows], -power)) / sizes
                sequence = np.argsort(means, kind="stable")
                places = np.argsort(sequence, kind="stable")[whose]
                told, group = self._centres(means[sequence], self.k or context.people)
                centres[rows] = np.ldexp(told, power)[places]
                groups[rows] = np.where(group >= 0, made + group, -1)[places]
                made += len(means)
        return centres, groups

    def _centres(self, values: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the centre of each sorted number's group, and the group of those it is the mean of: all, or those in the middle."""
        # a median as such would be somebody's own value
        most = k if self.centre == "median" else None
        bounds, dominated = with_least_error(values, k, self.dominance if most is None else 1.0)
        if most is not None:
            # what is told of a group is not told of its ends, and which partition is best no longer follows from its parts
            bounds, dominated = undominated(values, bounds, self.dominance, most)
        sizes, middle = np.diff(bounds), in_the_middle(bounds, most)
        counts = np.add.reduceat(middle.astype(np.int64), bounds[:-1])
        parts = np.add.reduceat(np.where(middle, values, 0.0), bounds[:-1]) / counts
        told = np.where(dominated, -1, np.arange(len(sizes)))
        return np.repeat(np.where(dominated, np.nan, parts), sizes), np.where(middle, np.repeat(told, sizes), -1)
