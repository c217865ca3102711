"""Columns whose rows move together: one order of rows, drawn once, for all columns that share it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


class MovedTogether:
    """Remembers the order that the first column of a set was given until each of the others has taken it.

    A column that asks again is masked anew, and so gets another order: nothing of one pass is to be known from the next.
    """

    def __init__(self) -> None:
        self._orders: dict[str, tuple[NDArray[np.int32], NDArray[np.int64], set[str]]] = {}

    def order(self, name: str, column: str, groups: NDArray[np.int32], draw: Callable[[], NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return for each row the row whose value it gets; the same for all columns of a name that are of the same groups.

        >>> moved, groups = MovedTogether(), np.zeros(2, np.int32)
        >>> moved.order("places", "town", groups, lambda: np.array([1, 0])).tolist()
        [1, 0]
        >>> moved.order("places", "country", groups, lambda: np.array([0, 1])).tolist()
        [1, 0]
        """
        known = self._orders.get(name)
        if known is None or column in known[2] or not np.array_equal(known[0], groups):
            known = self._orders[name] = groups, draw(), set()
        known[2].add(column)
        return known[1]
