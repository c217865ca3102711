"""What a store finds that looks at a staged release where it is: combinations of what is shown, and cells of the source, with fingerprints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.interfaces import Progress, Source


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows of a source that are alike in the counted columns, as cells: their values, and how many rows each has.

    ``columns`` has one dictionary a counted column: its values, and the place among them of each cell's, -1 where it is missing.
    """

    columns: Mapping[str, tuple[pa.Array, NDArray[np.int32]]]
    rows: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Examined:
    """What is staged, and what the private copy of the source holds, both looked at after the release was written.

    ``shown`` has a row for each combination of texts and of watched values in the release; ``rows`` and ``prints`` how many rows have it, and the sum
    of the fingerprints of what is kept in them. ``cell_rows`` and ``cell_prints`` are the same of the cells, counted again; ``class_of`` is the class
    that was decided for each of them, -1 where it is suppressed.
    """

    shown: pa.Table
    rows: NDArray[np.int64]
    prints: Sequence[int]
    cells: Cells
    cell_rows: NDArray[np.int64]
    cell_prints: Sequence[int]
    class_of: NDArray[np.int32]


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
