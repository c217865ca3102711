from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import DataError, PolicyError
from sfumato.hierarchies.quantile import Quantile


def test_groups_hold_about_equally_many_rows_on_every_level() -> None:
    generator = np.random.default_rng(3)
    values, counts = np.unique(np.round(np.exp(generator.normal(8, 1, 20_000)), 0).astype(int), return_counts=True)

    ladder = Quantile(groups=[100, 20, 10, 5]).build("income", pa.array(values), counts)

    for number, level in zip([100, 20, 10, 5], ladder.levels, strict=False):
        rows = np.add.reduceat(counts, level.starts)
        assert len(rows) == number
        assert abs(rows - 20_000 / number).max() <= 40


def test_a_frequent_value_is_never_divided() -> None:
    ladder = Quantile(groups=[4]).build("visits", pa.array([0, 1, 2]), np.array([97, 2, 1]))

    assert ladder.levels[0].labels == ("0", "[1, 2]")


@pytest.mark.parametrize("groups", [[4, 3], [2, 4], [0], [10, 10], [], [2_000_000]], ids=str)
def test_numbers_that_do_not_nest_are_refused(groups: list[int]) -> None:
    with pytest.raises(PolicyError):
        Quantile(groups=groups)


def test_words_have_no_quantiles() -> None:
    with pytest.raises(DataError):
        Quantile().build("name", pa.array(["Ada", "Bo"]), np.ones(2, np.int64))
