"""Rows of a column taken in any order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.dealt import dealt

VALUES = st.lists(st.none() | st.text(max_size=30) | st.just("more than twelve bytes, so that it does not stand in a view"), min_size=1, max_size=40)


@given(VALUES, st.integers(0, 2**32 - 1), st.integers(0, 5))
def test_rows_are_taken_as_arrow_takes_them(values: list[str | None], seed: int, skipped: int) -> None:
    column = pa.array(values, pa.string())[min(skipped, len(values) - 1) :]
    rows = np.random.default_rng(seed).integers(0, len(column), 50)
    found = dealt(column, rows)

    found.validate(full=True)
    assert found.type == pa.string()
    assert found.equals(column.take(pa.array(rows)))


def test_nothing_is_made_of_nothing_and_numbers_stay_numbers() -> None:
    assert dealt(pa.array([], pa.string()), np.empty(0, np.int64)).to_pylist() == []
    assert dealt(pa.array([1, None, 3]), np.array([2, 0, 1])).to_pylist() == [3, 1, None]
    assert dealt(pa.array(["a", "b"]), np.array([1, 0]), np.array([True, False])).to_pylist() == [None, "a"]
