"""Aggregate: all rows of a group show one number or value that stands for the group, and never for fewer than k people.

A plain minimum is somebody's own value, a sum of which one person makes up most nearly so, and the mode of a group of different values anybody's.
What is told here is told of k people: extremes from the kth person inwards, the median as the mean of k or more people in the middle, the mode where
k people share it, sums and means where no person makes up more than a part of them: that of the sizes of what each adds with all rows together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from sfumato.core.canonical import ValueType, as_text
from sfumato.core.grouped_mask import GroupedMask, KeptDecimals, missing, one_as_list, told_apart
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.mask import Card, MaskContext, Told, Way
from sfumato.core.number_columns import added_prints, as_column, numbers_of, told_exactly, with_decimals
from sfumato.core.row_groups import parts_of_people, people_of
from sfumato.masking._people_of_groups import PeopleOfGroups

Function = Literal["sum", "median", "average", "max", "min", "count", "mode"]
_OF_ANYTHING = ("count", "mode")
_MOST_DIGITS = 38
_ADDED_UP = ("sum", "average", "count", "median")
Numbers = NDArray[np.float64]


class Aggregate(GroupedMask):
    """Replaces every value by an aggregate of its group, or of the whole table where no columns make groups.

    A group with fewer than k people, or in which one of them would show, has no value: the run stops, or it is removed. Where neither the mask nor a
    promise names k it is 2. Extremes are told from the kth person inwards; the median is the mean of the k people in the middle, of one more where as
    many are to be left over on both sides, and of two more at a time until nobody makes up more than ``dominance`` of it: with ``k: 2`` of three
    people where their number is odd, else of two who have the same number or of four. Where the policy names a ``subject``, each stands there with
    the mean of their own rows. ``plain`` gives the plain aggregates instead, and plan and record
    say what they reveal. Cost: one sort; holds the column in memory.
    """

    types_with_any_settings: ClassVar[tuple[ValueType, ...]] = ()

    function: Annotated[Function, Field(description="sum, median, average, max, min, count or mode")]
    by: Annotated[
        list[str], BeforeValidator(one_as_list), Field(description="the columns whose values make the groups; all rows are one where there are none")
    ] = []
    k: Annotated[
        int | None,
        Field(ge=2, description="the fewest people of whom anything is told; that of the policy's k_anonymity where it is not given, without one 2"),
    ] = None
    dominance: Annotated[float, Field(gt=0, le=1, description="the largest part of a sum or mean that one person may make up")] = 0.5
    minimum: Annotated[float | None, Field(description="the smallest number that min and max may tell")] = None
    maximum: Annotated[float | None, Field(description="the largest number that min and max may tell")] = None
    decimals: KeptDecimals = None
    plain: Annotated[bool, Field(description="whether plain aggregates are told, whoever they show")] = False

    @model_validator(mode="after")
    def _bounds(self) -> Aggregate:
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError("has a minimum that is larger than its maximum")
        return self

    @property
    def card(self) -> Card:
        """Which rows are looked at, and what is told of them, depends on the settings."""
        return Card(
            deterministic=True,
            uniqueness="lossy",
            changes_type=self.function == "count",
            scope=self.scope,
            of_groups=True,
            types=() if self.function in _OF_ANYTHING else ("integer", "decimal"),
            reveals=_PLAIN[self.function] if self.plain else "A number that stands for k people or more of each group.",
        )

    @property
    def alike(self) -> Sequence[str]:
        """The columns that make groups."""
        return self.by

    @property
    def way(self) -> Way | None:
        """How it tells of a group: by what adds up, or by one of its values; numbers of people tell of no value."""
        return None if self.function == "count" else "adding" if self.function in ("sum", "average") else "choosing"

    @property
    def warnings(self) -> Sequence[str]:
        """What a plain aggregate reveals."""
        return [f"plain {self.function}: {_PLAIN[self.function][0].lower()}{_PLAIN[self.function][1:-1]}"] if self.plain else []

    def refused(self, people: int) -> tuple[str, str]:
        """Return that it is the group that is refused, not the value."""
        k = self.k or people
        few = f"fewer than {k} people of the group share a value" if self.function == "mode" else f"groups of fewer than {k} people"
        if self.function in ("sum", "average", "median"):
            few += f", or in which one person makes up more than {self.dominance:g} of it"
        reasons = [] if self.plain else [few]
        reasons += ["no number that the column can hold, or numbers of more than 15 digits together"] if self.function not in _OF_ANYTHING else []
        return f"of which aggregate tells nothing ({'; or '.join(reasons)})", "larger groups, by fewer columns"

    def output_type(self, original: pa.DataType) -> pa.DataType:
        """Return whole numbers for counts, decimals of more digits for sums of some, what holds decimals on request, else the type that it was."""
        if self.function == "count":
            return pa.int64()
        if self.function != "mode":
            original = with_decimals(original, self.decimals)
        # three times 999.99 has a digit more than each
        wider = self.function == "sum" and pa.types.is_decimal(original) and original.precision < _MOST_DIGITS
        return pa.decimal128(_MOST_DIGITS, original.scale) if wider else original

    def apply_and_locate(self, columns: pa.RecordBatch, context: MaskContext) -> tuple[pa.Array, Mapping[str, NDArray[np.bool_]]]:
        """Return the aggregate of each row's group, and apart the rows whose groups are refused, and those that hold no number."""
        made = self.apply(columns, context)
        return made, {"": missing(made)} if self.function in _OF_ANYTHING else told_apart(made, columns.column(context.column))

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the aggregate of each row's group."""
        column = columns.column(context.column)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        column = column.cast(self.output_type(column.type)) if self.function == "sum" and pa.types.is_decimal(column.type) else column
        groups, number = self.groups(columns)
        people = people_of(columns, context.subject)
        if self.function == "mode":
            return self._modes(column, groups, people, number, self._least(context))
        found, _ = self._of_groups(column, groups, people, number, self._least(context))
        return (
            pa.array(np.nan_to_num(found).astype(np.int64), mask=np.isnan(found))
            if self.function == "count"
            else as_column(found, pa.nulls(0, with_decimals(column.type, self.decimals)) if self.decimals else column, self.decimals)
        )

    def told(self, columns: pa.RecordBatch, context: MaskContext) -> Told | None:
        """Return the groups whose sum, mean or number is told, and the rows that have a told extreme or mode.

        Plain ones are told anyway, of however few, but must not undo others that are not; numbers of people tell no value that they could.
        """
        if self.plain and self.function == "count":
            return None
        column, nobody = columns.column(context.column), np.zeros(columns.num_rows, bool)
        groups, number = self.groups(columns)
        people, least, of = people_of(columns, context.subject), self._least(context), frozenset([context.column])
        if self.function == "mode":
            modes = self._modes(column, groups, people, number, least)
            there = (modes.is_valid().to_numpy(zero_copy_only=False)) & column.is_valid().to_numpy(zero_copy_only=False)
            known = there & (added_prints(column) == added_prints(modes))
            return Told(of, added_prints(column), np.full(len(groups), -1), least, known, one_of=np.where(there, groups, -1))
        found, added = self._of_groups(column, groups, people, number, least)
        told = np.where(added, groups, -1)
        if self.function == "count":
            return Told(frozenset(), np.zeros(len(groups), np.uint64), told, least, nobody)
        if self.function in _ADDED_UP:
            shares = parts_of_people(told, people) if self.function == "median" else 1.0
            alone = _alone(told, people) if self.plain else nobody
            dominance = None if self.plain else self.dominance
            return Told(of, added_prints(column, shares), np.where(alone, -1, told), least, alone, dominance=dominance)
        extremes = np.where(np.isnan(found), -1, groups)
        side = 1 if self.function == "max" else -1
        return Told(of, added_prints(column), np.full(len(groups), -1), least, numbers_of(column) == found, one_of=extremes, side=side)

    def _least(self, context: MaskContext) -> int:
        return 1 if self.plain else self.k or context.people

    def _of_groups(
        self, column: pa.Array, groups: NDArray[np.int32], people: NDArray[np.int32], number: int, k: int
    ) -> tuple[Numbers, NDArray[np.bool_]]:
        """Return what each row may tell of its group, NaN where that is nothing, and whether its own value is part of it."""
        # adding zero takes the sign of minus zero away
        numbers = np.ones(len(column)) if self.function == "count" else numbers_of(column) + 0.0
        told, added = np.full(number, np.nan), np.zeros(len(column), bool)
        order = np.lexsort((numbers, groups))
        known = order[~np.isnan(numbers[order])]
        if len(known):
            each = PeopleOfGroups(groups[known], people[known], numbers[known])
            # what no float holds is nothing that could be told
            with np.errstate(over="ignore", invalid="ignore"):
                found, is_added = self._told(each, k)
                # the last digits would be others than those of the sum
                sizes = (each.largest if self.function in ("min", "max") else each.totals)(np.abs(each.numbers))
            most = np.inf if self.function == "count" else told_exactly(column)
            told[each.present] = np.where((sizes >= most) | (each.people < k), np.nan, found)
            added[known] = is_added & ~np.isnan(told[each.groups])
        return np.where(np.isnan(numbers), np.nan, told[groups]) if number else np.empty(0), added

    def _told(self, each: PeopleOfGroups, k: int) -> tuple[Numbers, NDArray[np.bool_]]:
        """Return what may be told of each group, NaN where that is nothing, and which numbers are part of it."""
        everybody = np.ones(len(each.numbers), bool)
        if self.function == "count":
            return each.counts.astype(np.float64), everybody
        if self.function in ("sum", "average"):
            totals = each.totals(each.numbers)
            found = totals if self.function == "sum" else totals / each.counts
            return np.where(not self.plain and each.is_dominated(self.dominance), np.nan, found), everybody
        if self.function == "median":
            return self._medians(each, k)
        found = each.kth_smallest(1.0 if self.function == "min" else -1.0, k)
        return found if self.plain else np.clip(found, self.minimum, self.maximum), everybody

    def _medians(self, each: PeopleOfGroups, k: int) -> tuple[Numbers, NDArray[np.bool_]]:
        """Return the means of the people in the middle of each group, and whose numbers these are made of."""
        found, middle = np.full(len(each.people), np.nan), np.zeros(len(each.own_means), bool)
        for group in np.flatnonzero(each.people >= k).tolist():
            begin = each.people_starts[group]
            means = each.own_means[begin : begin + each.people[group]]
            places = _middle(means, k, 1.0 if self.plain else self.dominance)
            if len(places):
                found[group] = means[places].mean()
                middle[begin + places] = True
        return (each.medians if self.plain else found), middle[each.person]

    def _modes(self, column: pa.Array, groups: NDArray[np.int32], people: NDArray[np.int32], number: int, k: int) -> pa.Array:
        """Return the value that most people of each group have, if k have it; of several the first in the order of texts."""
        coded = as_text(column).dictionary_encode()
        ranks = np.argsort(np.argsort(np.array(coded.dictionary.to_pylist(), object))) if len(coded.dictionary) else np.empty(0, np.int64)
        codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        width = [number, len(coded.dictionary)]
        _, once = group_columns([groups, codes, people], [*width, int(people.max(initial=0)) + 1])
        shared, firsts_of = group_columns([groups[once], codes[once]], width)
        counts = np.bincount(shared, minlength=len(firsts_of))
        pairs = groups[once][firsts_of], codes[once][firsts_of]
        places = np.full(number, -1, np.int64)
        for place in np.lexsort((-ranks[pairs[1]], counts)).tolist():
            if counts[place] >= k:
                places[pairs[0][place]] = pairs[1][place]
        firsts = np.zeros(len(coded.dictionary), np.int64)
        firsts[codes[::-1]] = np.arange(len(codes))[::-1]
        rows = np.append(firsts, 0)[places][groups] if number else np.empty(0, np.int64)
        return column.take(pa.array(rows, mask=places[groups] < 0 if number else None))


def _alone(groups: NDArray[np.int64], people: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return the rows of people who are alone in their group, so that its plain total is their own."""
    rows = np.flatnonzero(groups >= 0)
    found = np.zeros(len(groups), bool)
    if len(rows):
        pairs = np.unique(np.stack([groups[rows], people[rows]]), axis=1)
        found[rows] = np.bincount(pairs[0])[groups[rows]] == 1
    return found


def _middle(values: Numbers, k: int, limit: float) -> NDArray[np.intp]:
    """Return who stand in the middle: k people, or one more where as many are left over on both sides.

    Where one of them makes up more than ``limit`` of their numbers, and these differ, one more on each side, until nobody does; none where all are
    too few. The mean of two different numbers tells each of the two the other's.

    >>> [np.sort(np.array(each)[_middle(np.array(each), 2, 0.5)]).tolist() for each in ([7.0, 9, 1, 8], [5.0, 1, 9, 5], [1.0, 2])]
    [[1.0, 7.0, 8.0, 9.0], [5.0, 5.0], []]
    """
    order, number = np.argsort(values, kind="stable"), len(values)
    sizes = np.abs(values[order])
    firsts = np.arange((number - k) // 2, -1, -1)
    lasts = number - 1 - firsts
    narrow = np.sort(sizes[firsts[0] : lasts[0] + 1]).sum()
    totals = narrow + np.append(0.0, np.cumsum(sizes[firsts[1:]] + sizes[lasts[1:]]))
    kept = np.maximum(sizes[firsts], sizes[lasts]) <= limit * totals
    kept |= values[order[firsts]] == values[order[lasts]]
    return order[firsts[kept.argmax()] : lasts[kept.argmax()] + 1] if kept.any() else order[:0]


_PLAIN: dict[str, str] = {
    "sum": "The whole value of somebody who is alone in a group, and nearly that of somebody who makes up most of it.",
    "average": "The whole value of somebody who is alone in a group, and nearly that of somebody who makes up most of it.",
    "median": "Somebody's own value.",
    "min": "Somebody's own value, the smallest of the group.",
    "max": "Somebody's own value, the largest of the group.",
    "mode": "A value that somebody has, in small groups perhaps one person alone.",
    "count": "How many there are, perhaps one.",
}
