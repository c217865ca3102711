"""The numbers of many groups, and what each person adds to a group, all groups at once. A private part of ``aggregate``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PeopleOfGroups:
    """Numbers that stand group by group, within a group by size: sums of floats hang on the order of what is added, and must not on that of rows.

    >>> each = PeopleOfGroups(np.array([1, 1, 1, 4]), np.array([7, 7, 8, 9]), np.array([1.0, 2, 3, 5]))
    >>> each.present.tolist(), each.people.tolist(), each.own_totals.tolist(), each.totals(each.numbers).tolist()
    ([1, 4], [2, 1], [3.0, 3.0, 5.0], [6.0, 5.0])
    """

    groups: NDArray[np.int32]
    whose: NDArray[np.int32]
    numbers: Numbers

    @cached_property
    def starts(self) -> Places:
        """Where the numbers of each group begin."""
        return np.flatnonzero(np.append(True, self.groups[1:] != self.groups[:-1]))

    @cached_property
    def present(self) -> NDArray[np.int32]:
        """The groups that have a number."""
        return self.groups[self.starts]

    @cached_property
    def counts(self) -> Places:
        """How many numbers each of them has."""
        return np.diff(np.append(self.starts, len(self.groups)))

    def totals(self, numbers: Numbers) -> Numbers:
        """Return what numbers that stand as these do add up to in each group."""
        return np.asarray(np.add.reduceat(numbers, self.starts))

    def largest(self, numbers: Numbers) -> Numbers:
        """Return the largest of such numbers in each group."""
        return np.asarray(np.maximum.reduceat(numbers, self.starts))

    @cached_property
    def medians(self) -> Numbers:
        """The number in the middle of each group, or the mean of the two there."""
        lower, upper = self.starts + (self.counts - 1) // 2, self.starts + self.counts // 2
        return np.asarray((self.numbers[lower] + self.numbers[upper]) / 2)

    @cached_property
    def person(self) -> Places:
        """For each number the place of its person among the people of all groups, who stand group by group."""
        order = np.lexsort((self.whose, self.groups))
        groups, whose = self.groups[order], self.whose[order]
        changes = np.append(False, (groups[1:] != groups[:-1]) | (whose[1:] != whose[:-1]))
        places = np.empty(len(order), np.int64)
        places[order] = np.cumsum(changes)
        return places

    @cached_property
    def people_starts(self) -> Places:
        """Where the people of each group begin."""
        return np.asarray(np.minimum.reduceat(self.person, self.starts))

    @cached_property
    def people(self) -> Places:
        """How many people each group has."""
        return np.diff(np.append(self.people_starts, self.person.max() + 1))

    @cached_property
    def own_totals(self) -> Numbers:
        """What the numbers of each person in a group add up to."""
        return np.asarray(np.bincount(self.person, self.numbers), np.float64)

    @cached_property
    def own_means(self) -> Numbers:
        """The mean of each person's numbers in a group."""
        return self.own_totals / np.bincount(self.person)

    def is_dominated(self, limit: float) -> NDArray[np.bool_]:
        """Return in which groups one person makes up more than a part of the sizes of what all of them add.

        What somebody takes away again adds nothing up: large numbers that cancel out would hide who makes up the rest.
        """
        sizes = self._by_size(np.abs(self.own_totals))
        largest: NDArray[np.bool_] = sizes[self.people_starts + self.people - 1] > limit * np.add.reduceat(sizes, self.people_starts)
        return largest

    def kth_smallest(self, sign: float, k: int) -> Numbers:
        """Return the kth smallest number among people, each with the smallest of their own; of numbers times -1 the kth largest. NaN for fewer."""
        own = np.full(len(self.own_totals), np.inf)
        np.minimum.at(own, self.person, sign * self.numbers)
        there = self.people >= k
        found = np.full(len(self.people), np.nan)
        found[there] = sign * self._by_size(own)[self.people_starts[there] + k - 1]
        return found

    def _by_size(self, numbers: Numbers) -> Numbers:
        """Return numbers of people sorted within each group."""
        group = np.repeat(np.arange(len(self.people)), self.people)
        return numbers[np.lexsort((numbers, group))]
