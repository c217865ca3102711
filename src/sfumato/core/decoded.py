"""A block of a stream's bytes as rows, with what could not be read: each record of the block is one or the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class UnreadableError(Exception):
    """A record that cannot be read, with the code of what is wrong and the column that is to blame where one is; it never leaves the reader.

    ``remains`` are its fields that can be read all the same, None where nobody can tell which it has.
    """

    def __init__(self, code: str, column: str | None = None, remains: Mapping[str, Any] | None = None) -> None:
        super().__init__(code)
        self.code, self.column, self.remains = code, column, remains


@dataclass(frozen=True)
class Poison:
    """A record that could not be read: its place among the records of its block, why, and where its bytes are. Never a value.

    ``column`` is the column that is to blame where one is, as the policy calls it; never a name that it does not know.
    """

    place: int
    code: str
    start: int
    length: int
    column: str | None = None


@dataclass(frozen=True, eq=False)
class Decoded:
    """The rows of a block in their order, the place of each among its records, how many records there were, and those that are no rows.

    ``remains`` have what can be read of the poison that has fields, in columns like those of the rows, and ``remains_of`` whose they are.
    """

    rows: pa.RecordBatch
    places: NDArray[np.int64]
    records: int
    poison: Sequence[Poison] = field(default=())
    remains: pa.RecordBatch | None = None
    remains_of: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
