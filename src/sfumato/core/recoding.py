"""Recoding: the decision of a search. It says which class each combination goes to and what each class publishes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.dealing import Dealing
from sfumato.core.frequencies import Frequencies


@dataclass(frozen=True, eq=False)
class Recoding:
    """Which class each combination belongs to, and the interval of leaf codes that each class publishes in each column.

    ``class_of`` has one entry a combination of the frequencies; -1 is suppressed. ``lows`` and ``highs`` have one row a class and one
    column a quasi-identifier. A search with boxes gives any interval; a full-domain search gives the nodes of ``levels``, one a column.

    Where boxes overlap, rows of one combination go to several classes: ``dealing`` says how many of each frequency entry go to which, and
    ``class_of`` is only one of them. A combination is suppressed whole or not at all.
    """

    kind: Literal["boxes", "full_domain"]
    class_of: NDArray[np.int32]
    lows: NDArray[np.int32]
    highs: NDArray[np.int32]
    levels: tuple[int, ...] | None = None
    dealing: Dealing | None = None

    @property
    def number(self) -> int:
        """The number of classes."""
        return len(self.lows)

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        """Which combinations are left out."""
        return self.class_of < 0

    def classes(self, frequencies: Frequencies) -> Classes:
        """Return the classes that come about."""
        if self.dealing is None:
            return frequencies.classes(self.class_of)
        return frequencies.dealt(self.dealing, self.number)

    def by_combination(self, frequencies: Frequencies) -> Recoding:
        """Return the recoding for whoever knows only the combinations: what is dealt are their rows, whatever their sensitive values."""
        if self.dealing is None:
            return self
        dealing = Dealing.of(frequencies.combination[self.dealing.entry], self.dealing.class_of, self.dealing.rows)
        return replace(self, dealing=dealing)

    def class_of_rows(self, combination_of_row: NDArray[np.integer], entry_of_row: Callable[[], NDArray[np.integer]]) -> NDArray[np.int32]:
        """Return the class of each row, -1 where it is left out; rows that go to several are dealt out by chance.

        Rows that were not counted have the number of combinations, or of entries, in place of one.
        """
        if self.dealing is None:
            class_of: NDArray[np.int32] = np.append(self.class_of, np.int32(-1))[combination_of_row]
            return class_of
        return self.dealing.class_of_rows(entry_of_row())

    def renumbered(self, numbers: NDArray[np.int32], lows: NDArray[np.int32], highs: NDArray[np.int32]) -> Recoding:
        """Return the recoding with other classes, of which each of ours is the one that its number says."""
        # suppressed combinations have class -1, which picks the last entry
        class_of = np.append(numbers, np.int32(-1))[self.class_of]
        dealing = None if self.dealing is None else self.dealing.renumbered(numbers)
        return replace(self, class_of=class_of, lows=lows, highs=highs, dealing=dealing)


def nothing_to_recode(frequencies: Frequencies) -> Recoding:
    """Return the recoding of a table without quasi-identifiers: one class, which publishes nothing."""
    empty = np.empty((1, 0), np.int32)
    return Recoding("boxes", np.zeros(len(frequencies.combinations), np.int32), empty, empty)


def joined(frequencies: Frequencies, parts: Iterable[tuple[NDArray[np.int64], Recoding]]) -> Recoding:
    """Return one recoding of boxes from several, each of some combinations alone: ``frequencies.part(members)``; all others are suppressed."""
    class_of = np.full(len(frequencies.combinations), -1, np.int32)
    lows, highs, dealt, number = [], [], [], 0
    for members, part in parts:
        class_of[members] = np.where(part.suppressed, -1, part.class_of + number)
        if part.dealing is not None:
            entries = frequencies.entries_of(members)
            dealt.append((entries[part.dealing.entry], part.dealing.class_of + number, part.dealing.rows))
        lows.append(part.lows)
        highs.append(part.highs)
        number += part.number
    dealing = Dealing.of(*(np.concatenate(line) for line in zip(*dealt, strict=True))) if dealt else None
    return Recoding("boxes", class_of, np.concatenate(lows), np.concatenate(highs), dealing=dealing)
