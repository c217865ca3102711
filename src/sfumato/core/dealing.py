"""Dealing: how many rows of each frequency entry go to each class, where rows that are alike go to several.

LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity" (2006), relaxed partitioning. Which rows these are is left to chance, of
the operating system: nothing of a row but its combination and its sensitive values says where it goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.chance import random_bytes

Chance = Callable[[int], bytes]


@dataclass(frozen=True, eq=False)
class DealtCells:
    """Which stretch of the rows of each cell goes to which class: rows ``first`` to ``last``, counted from 1 in an order left to chance."""

    cell: NDArray[np.int64]
    class_of: NDArray[np.int32]
    first: NDArray[np.int64]
    last: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dealing:
    """Sparse triples (entry of the frequencies, class, number of rows), sorted by entry, then by class; entries that are suppressed have none.

    >>> Dealing.of(np.array([1, 0, 1]), np.array([2, 0, 2]), np.array([3, 4, 1])).rows.tolist()
    [4, 4]
    """

    entry: NDArray[np.int64]
    class_of: NDArray[np.int32]
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, entry: NDArray[np.integer], class_of: NDArray[np.integer], rows: NDArray[np.integer]) -> Dealing:
        """Return a dealing from triples in any order; those of one entry and class become one."""
        span = int(class_of.max(initial=0)) + 1
        keys = entry.astype(np.int64) * span + class_of
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        firsts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]][: len(keys)])
        totals = np.add.reduceat(rows[order].astype(np.int64), firsts) if len(firsts) else np.empty(0, np.int64)
        entries, classes = np.divmod(keys[firsts], span)
        return cls(entries, classes.astype(np.int32), totals)

    def renumbered(self, numbers: NDArray[np.int32]) -> Dealing:
        """Return the dealing to other classes, of which each of ours is the one that its number says."""
        return Dealing.of(self.entry, numbers[self.class_of], self.rows)

    def of_entries(self, entries: NDArray[np.int64]) -> Dealing:
        """Return the dealing of frequencies of which ours were a part: entry ``i`` was their entry ``entries[i]``."""
        return Dealing.of(entries[self.entry], self.class_of, self.rows)

    def in_proportion(self, rows_of_entry: NDArray[np.integer]) -> Dealing:
        """Return the dealing of another number of rows of each entry, in the same proportions; of the same number, the same dealing.

        >>> Dealing.of(np.array([0, 0]), np.array([0, 1]), np.array([6, 2])).in_proportion(np.array([4])).rows.tolist()
        [3, 1]
        """
        ends = np.cumsum(self.rows)
        begins = np.searchsorted(self.entry, self.entry)
        ends -= np.r_[0, ends][begins]
        whole = np.bincount(self.entry, self.rows, minlength=len(rows_of_entry)).astype(np.int64)[self.entry]
        ends = (2 * ends * rows_of_entry[self.entry] + whole) // (2 * whole)
        rows = np.diff(ends, prepend=0)
        # the first class of an entry has no other before it
        rows = np.where(begins == np.arange(len(ends)), ends, rows)
        there = rows > 0
        return Dealing(self.entry[there], self.class_of[there], rows[there])

    def class_of_rows(self, entry_of_row: NDArray[np.integer], chance: Chance = random_bytes) -> NDArray[np.int32]:
        """Deal rows out at random, exactly as many as it says; -1 where the entry has no class. ``chance`` returns so many random bytes."""
        number = max(int(entry_of_row.max(initial=-1)), int(self.entry.max(initial=-1))) + 1
        of_entry = np.full(number, -1, np.int32)
        of_entry[self.entry] = self.class_of
        class_of: NDArray[np.int32] = of_entry[entry_of_row]
        apart = np.bincount(self.entry, minlength=number) > 1
        rows = np.flatnonzero(apart[entry_of_row])
        if len(rows):
            ties = np.frombuffer(chance(8 * len(rows)), np.uint64)
            dealt = apart[self.entry]
            class_of[rows[np.lexsort((ties, entry_of_row[rows]))]] = np.repeat(self.class_of[dealt], self.rows[dealt])
        return class_of

    def of_cells(self, entry_of_cell: NDArray[np.integer], rows_of_cell: NDArray[np.integer], chance: Chance = random_bytes) -> DealtCells:
        """Deal out the rows of cells, of which an entry may have several, for whoever can number the rows of a cell and not see them.

        How many rows of a cell go to a class is left to chance, as if the rows themselves were dealt; suppressed cells are left out.
        """
        number = max(int(entry_of_cell.max(initial=-1)), int(self.entry.max(initial=-1))) + 1
        classes = np.bincount(self.entry, minlength=number)
        # only entries of several classes need their rows one by one
        several = np.flatnonzero(classes[entry_of_cell] > 1)
        whole = np.flatnonzero(classes[entry_of_cell] == 1)
        of_entry = np.full(number, -1, np.int32)
        of_entry[self.entry] = self.class_of
        cells = np.repeat(several, rows_of_cell[several])
        class_of = self.class_of_rows(entry_of_cell[cells], chance)
        counted = Dealing.of(
            np.append(cells, whole),
            np.append(class_of, of_entry[entry_of_cell[whole]]),
            np.append(np.ones(len(cells), np.int64), rows_of_cell[whole]),
        )
        ends = np.cumsum(counted.rows)
        before = np.r_[0, ends][np.searchsorted(counted.entry, counted.entry)]
        return DealtCells(counted.entry, counted.class_of, ends - counted.rows - before + 1, ends - before)
