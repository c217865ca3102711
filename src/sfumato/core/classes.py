"""Classes: sizes and sensitive histograms of equivalence classes. All that a promise ever sees.

They come equally from a search's frequencies and from the text of a written file. Where the policy names a subject, a size is the number
of different people, and a histogram counts each person once for each value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many people of each class have each sensitive value: sparse, sorted by class, then by value.

    Entry ``i`` says that ``counts[i]`` people of class ``class_of[i]`` have the value ``values[i]``. Class ``c`` owns the entries
    ``offsets[c]`` to ``offsets[c + 1]``.
    """

    number: int
    class_of: NDArray[np.int64]
    values: NDArray[np.int64]
    counts: NDArray[np.int64]

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where each class begins among the entries."""
        return np.searchsorted(self.class_of, np.arange(self.number + 1))

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """How many (person, value) pairs each class has."""
        return np.bincount(self.class_of, self.counts, minlength=self.number).astype(np.int64)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Each entry's part of its class."""
        shares: NDArray[np.float64] = self.counts / self.totals[self.class_of]
        return shares

    def sum_by_class(self, entries: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up one number an entry to one a class."""
        return np.bincount(self.class_of, entries, minlength=self.number).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Classes:
    """Equivalence classes, as sparse rows (class, sensitive values, person, number of rows).

    ``references`` is, for each sensitive column, how many people of the table as read have each value; ``ladders`` are the hierarchies of
    those columns whose values are leaf codes.

    >>> Classes.of_sizes(3, 1).sizes.tolist()
    [3, 1]
    """

    number: int
    class_of: NDArray[np.int32]
    counts: NDArray[np.int64]
    sensitive: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    subject: NDArray[np.int64] | None = None
    references: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    ladders: Mapping[str, Hierarchy] = field(default_factory=dict)

    @classmethod
    def of_sizes(cls, *sizes: int) -> Classes:
        """Return classes of these sizes, without sensitive values."""
        return cls(len(sizes), np.arange(len(sizes), dtype=np.int32), np.array(sizes, np.int64))

    @classmethod
    def of_histograms(cls, column: str, *histograms: Sequence[int], reference: Sequence[int] | None = None) -> Classes:
        """Return one class a histogram of one sensitive column; the reference is their sum where none is given.

        >>> Classes.of_histograms("illness", [2, 1], [0, 4]).sizes.tolist()
        [3, 4]
        """
        table = np.array(histograms, np.int64)
        class_of, values = np.nonzero(table)
        return cls(
            number=len(table),
            class_of=class_of.astype(np.int32),
            counts=table[class_of, values],
            sensitive={column: values.astype(np.int32)},
            references={column: table.sum(axis=0) if reference is None else np.array(reference, np.int64)},
        )

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """How many rows each class has."""
        return np.bincount(self.class_of, self.counts, minlength=self.number).astype(np.int64)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many people each class has; rows where the policy names no subject."""
        if self.subject is None:
            return self.rows
        keys = distinct_keys(self.class_of, self.subject)
        return np.bincount(self.class_of[keys], minlength=self.number).astype(np.int64)

    @cached_property
    def _histograms(self) -> dict[str, Histogram]:
        return {}

    def histogram(self, column: str) -> Histogram:
        """Return how many people of each class have each value of a sensitive column."""
        if column not in self._histograms:
            self._histograms[column] = self._count(column)
        return self._histograms[column]

    def _count(self, column: str) -> Histogram:
        values = self.sensitive[column].astype(np.int64)
        class_of, counts = self.class_of.astype(np.int64), self.counts
        if self.subject is not None:
            once = distinct_keys(self.class_of, values, self.subject)
            class_of, values, counts = class_of[once], values[once], np.ones(len(once), np.int64)
        # one sorted key is several times faster than sorting by class, then by value
        span = int(values.max(initial=0)) + 1
        key = class_of * span + values
        order = np.argsort(key)
        key = key[order]
        first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]][: len(key)])
        totals = np.add.reduceat(counts[order], first) if len(first) else counts[:0]
        return Histogram(self.number, *np.divmod(key[first], span), totals)

    def reference(self, column: str) -> NDArray[np.float64]:
        """Return the share of each value of a sensitive column in the table as read."""
        counts = self.references[column]
        shares: NDArray[np.float64] = counts / max(1, counts.sum())
        return shares

    def joined(self, columns: Sequence[str]) -> tuple[Classes, NDArray[np.int32]]:
        """Return the finer classes that other sensitive columns make, and the class that each belongs to.

        What is known of one sensitive value may tell about another: with it joined to the quasi-identifiers these are the classes.
        """
        keys = [self.class_of, *(self.sensitive[column] for column in columns)]
        order = np.lexsort(tuple(reversed(keys)))
        changed = np.zeros(len(order), bool)
        for key in keys:
            sorted_key = key[order]
            changed[1:] |= sorted_key[1:] != sorted_key[:-1]
        finer = np.empty(len(order), np.int32)
        finer[order] = np.cumsum(changed)
        number = int(finer.max(initial=-1)) + 1
        belongs = np.empty(number, np.int32)
        belongs[finer] = self.class_of
        return Classes(number, finer, self.counts, self.sensitive, self.subject, self.references, self.ladders), belongs


def distinct_keys(*keys: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the places of the first of each distinct tuple of keys, sorted by the keys."""
    order = np.lexsort(tuple(reversed(keys)))
    if not len(order):
        return order
    changed = np.zeros(len(order), bool)
    changed[0] = True
    for key in keys:
        sorted_key = key[order]
        changed[1:] |= sorted_key[1:] != sorted_key[:-1]
    return order[changed]
