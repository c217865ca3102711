"""What a store finds that looks at a staged release where it is: combinations of what is shown, and cells of the source, with fingerprints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.interfaces import Progress, Source

PUBLISHED = "sfumato_published"
"""What stands beside the columns of which a masked one was made: what it became."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows of a source that are alike in the counted columns, as cells: their values, how many rows each has, and the sum of their fingerprints.

    ``columns`` has one dictionary a counted column: its values, and the place among them of each cell's, -1 where it is missing. A fingerprint is
    that of what is kept of a row and not counted.
    """

    columns: Mapping[str, tuple[pa.Array, NDArray[np.int32]]]
    rows: NDArray[np.int64]
    prints: NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Dealt:
    """Cells whose rows went to several classes: as they were, and as they were dealt out, each a part of the cell that ``cell_of`` says."""

    whole: Cells
    cells: Cells
    class_of: NDArray[np.int32]
    cell_of: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Examined:
    """What is staged, looked at after it was written, and the cells of the source that it was made of.

    ``shown`` has a row for each combination of texts and of watched values in the release; ``rows`` and ``prints`` how many rows have it, and the sum
    of their fingerprints. ``parts`` returns the cells, some at a time, with the class that was decided for each, -1 where it is suppressed.
    Where rows of one cell go to several classes, ``dealt`` says how many and which.
    """

    shown: pa.Table
    rows: NDArray[np.int64]
    prints: NDArray[np.uint64]
    parts: Callable[[], Iterator[tuple[Cells, NDArray[np.int32]]]]
    dealt: Dealt | None = None


@runtime_checkable
class Examining(Protocol):
    """A staged release that is looked at where it is: none of its rows is read."""

    @property
    def written(self) -> Source:
        """The source that reads what was published."""
        ...

    def examined(self, progress: Progress) -> Examined:
        """Look at all of it."""
        ...

    def pairs(self, column: str) -> Iterator[pa.RecordBatch]:
        """Return what a masked column was made of and what it became (``PUBLISHED``), each combination once, with its number of rows (the last)."""
        ...

    def values(self, column: str) -> tuple[int, int]:
        """Return how many distinct values a masked column has in the release, and how many of them stand in one row alone."""
        ...

    def fewest(self, column: str) -> int:
        """Return the smallest number of distinct values that a masked column has in any class."""
        ...
