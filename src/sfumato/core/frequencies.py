"""Frequencies: how often each combination of leaf codes occurs, and with which sensitive values and people.

Searches work on these, so rows never leave the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.dealing import Dealing
from sfumato.core.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Distinct combinations of quasi-identifiers, and sparse rows (combination, sensitive values, person, number of rows).

    ``combinations`` has one row a distinct combination and one column a quasi-identifier. ``combination``, ``sensitive``, ``subject`` and
    ``counts`` run side by side, one entry a distinct (combination, sensitive values, subject). ``references`` is, for each sensitive
    column, how many people (rows where no subject is named) of the table as read have each value; ``ladders`` are the hierarchies of those
    sensitive columns whose values are leaf codes.
    """

    combinations: NDArray[Any]
    combination: NDArray[np.int32]
    counts: NDArray[np.int64]
    sensitive: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    subject: NDArray[np.int64] | None = None
    references: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    ladders: Mapping[str, Hierarchy] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of rows of the table."""
        return int(self.counts.sum())

    @cached_property
    def combination_rows(self) -> NDArray[np.int64]:
        """How many rows each combination has."""
        return np.bincount(self.combination, self.counts, minlength=len(self.combinations)).astype(np.int64)

    def renumbered(self, numbers: NDArray[np.int32], combinations: NDArray[Any]) -> Frequencies:
        """Return the frequencies of other combinations, of which each of ours is the one that its number says; -1 is left out."""
        of_row = numbers[self.combination]
        rows = np.flatnonzero(of_row >= 0)
        return replace(
            self,
            combinations=combinations,
            combination=of_row[rows],
            counts=self.counts[rows],
            sensitive={name: codes[rows] for name, codes in self.sensitive.items()},
            subject=None if self.subject is None else self.subject[rows],
        )

    def part(self, members: NDArray[np.int64]) -> Frequencies:
        """Return the frequencies of some combinations alone."""
        return self.renumbered(self._numbered(members), self.combinations[members])

    def entries_of(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the entries of some combinations, in the order in which they stand in that part."""
        return np.flatnonzero(self._numbered(members)[self.combination] >= 0)

    def _numbered(self, members: NDArray[np.int64]) -> NDArray[np.int32]:
        numbers = np.full(len(self.combinations), -1, np.int32)
        numbers[members] = np.arange(len(members))
        return numbers

    def dealt(self, dealing: Dealing, number: int) -> Classes:
        """Return the classes that come about when the rows of each entry are dealt out; what is not dealt is left out."""
        return Classes(
            number=number,
            class_of=dealing.class_of,
            counts=dealing.rows,
            sensitive={name: codes[dealing.entry] for name, codes in self.sensitive.items()},
            subject=None if self.subject is None else self.subject[dealing.entry],
            references=self.references,
            ladders=self.ladders,
        )

    def classes(self, class_of: NDArray[np.int32]) -> Classes:
        """Return the classes that come about when each combination is put into a class; -1 is left out."""
        of_row = class_of[self.combination]
        kept = np.flatnonzero(of_row >= 0)
        places = slice(None) if len(kept) == len(of_row) else kept
        return Classes(
            number=int(class_of.max(initial=-1)) + 1,
            class_of=of_row[places],
            counts=self.counts[places],
            sensitive={name: codes[places] for name, codes in self.sensitive.items()},
            subject=None if self.subject is None else self.subject[places],
            references=self.references,
            ladders=self.ladders,
        )
