"""The equivalence classes of a written release, by the text of its quasi-identifiers.

Rows are grouped by sorting, not in the way in which combinations were counted for the search: two roads to the same place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.reading import CodedColumn


@dataclass(frozen=True, eq=False)
class TextClasses:
    """The class of each row, and the rows in the order of their classes: class ``c`` begins at ``order[starts[c]]``."""

    class_of: NDArray[np.int32]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of_columns(cls, columns: Sequence[CodedColumn], rows: int) -> TextClasses:
        """Group rows by their codes in all columns."""
        return cls.of_codes([column.codes for column in columns], [len(column.values) for column in columns], rows)

    @classmethod
    def of_codes(cls, columns: Sequence[NDArray[Any]], sizes: Sequence[int], rows: int) -> TextClasses:
        """Group rows by columns of codes below their sizes; -1 is a value of its own."""
        key, span = np.zeros(rows, np.int64), 1
        for codes, size in zip(columns, sizes, strict=True):
            if span * (size + 1) >= 2**62:
                _, key = np.unique(key, return_inverse=True)
                span = int(key.max(initial=0)) + 1
            key *= size + 1
            key += codes
            key += 1
            span *= size + 1
        order = np.argsort(key)
        sorted_key = key[order]
        changed = np.r_[True, sorted_key[1:] != sorted_key[:-1]][:rows]
        class_of = np.empty(rows, np.int32)
        class_of[order] = np.cumsum(changed) - 1
        return cls(class_of, order, np.flatnonzero(changed))

    @property
    def number(self) -> int:
        """The number of classes."""
        return len(self.starts)
