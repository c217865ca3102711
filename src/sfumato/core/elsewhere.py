"""Frequencies that are too many to hold: they stay where the rows are, as a table of codes, and are cut there until the fragments fit.

A fragment is some combinations; it has a number. What is cut are intervals of the codes of one column, by counts of its values alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.frequencies import Frequencies

if TYPE_CHECKING:
    from sfumato.core.interfaces import Progress
    from sfumato.core.problem import Problem

LEFT_OUT = -1
"""The fragment of combinations that are suppressed."""


@dataclass(frozen=True, eq=False)
class Fragment:
    """Some combinations: how many rows and entries of the frequencies they have, and the smallest and the largest code of each column."""

    number: int
    rows: int
    entries: int
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Projection:
    """One column of a fragment, as the frequencies of its codes and of the sensitive values beside them; each stands for so many entries."""

    fragment: int
    frequencies: Frequencies
    entries: NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """How a fragment is cut: each part is some intervals of the codes of one column, both ends included, and becomes a fragment of its own."""

    fragment: int
    place: int
    parts: Sequence[Sequence[tuple[int, int]]]


@dataclass(frozen=True, eq=False)
class Piece:
    """What is read of a fragment: the keys of its cells, their combinations and sensitive values, and how many rows each has."""

    fragment: int
    keys: pa.Array
    rows: NDArray[np.int64]
    codes: NDArray[np.int32]
    sensitive: Mapping[str, NDArray[np.int32]]


class Elsewhere(Protocol):
    """The table of codes."""

    def fragments(self) -> list[Fragment]:
        """Return what there is to search, in the order of the numbers."""
        ...

    def projections(self, places: Mapping[int, int]) -> Iterator[Projection]:
        """Return one column each of some fragments, by their numbers; all are counted by one statement."""
        ...

    def everybody(self) -> Frequencies:
        """Return all that is not left out as one combination."""
        ...

    def cut(self, cuts: Sequence[Cut], left_out: bool = False) -> None:
        """Cut fragments; where parts are left out, the first of each stays and all others are suppressed."""
        ...

    def pieces(self, in_pieces: Sequence[int]) -> Iterator[Piece]:
        """Read all fragments, each in one piece, but for those that do not fit."""
        ...

    def decide(self, keys: pa.Array, class_of: NDArray[np.int32]) -> None:
        """Keep the classes of some cells until they are staged."""
        ...

    def sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of rows that combinations have, and how many combinations have each."""
        ...

    def suppressed(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the combinations that are left out, and how many rows each has."""
        ...


@dataclass(frozen=True, eq=False)
class FrequenciesElsewhere(Frequencies):
    """What is held of frequencies that are kept elsewhere. Of their ``table`` at most so many entries are read at once.

    Before the search one combination stands for all. After it each class is one, and so is each combination that is left out; ``sizes`` and
    ``numbers`` then tell how many rows the combinations of the table have.
    """

    table: Elsewhere | None = None
    most: int = 0
    sizes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


@runtime_checkable
class DividingSearch(Protocol):
    """A search that can be done fragment by fragment, with the same result."""

    @property
    def undivided(self) -> str | None:
        """Why it cannot be, with its settings, as a clause; None where it can."""
        ...

    def divide(self, problem: Problem, table: Elsewhere, most: int, progress: Progress) -> list[Fragment]:
        """Cut until every fragment has at most so many entries; return those that have more and cannot be cut: each is one class."""
        ...
