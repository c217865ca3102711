"""Microaggregation under a limit of dominance, against all partitions of small and skewed tables."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from sfumato.core.mask import MaskContext
from sfumato.core.whose import Subject
from sfumato.masking.microaggregate import Microaggregate

SKEWED = [68, 69, 70, 98, 99, 100, 312, 475, 578, 670, 783]


def error(values: Any) -> float:
    return float(((np.array(values) - np.mean(values)) ** 2).sum())


def least_error(values: list[float], k: int, limit: float) -> float:
    """Return the least error of all partitions into groups of k or more of which none is dominated; infinity where there is none."""
    values = sorted(values)
    least = [0.0] + [float("inf")] * len(values)
    for end in range(k, len(values) + 1):
        for begin in range(end - k + 1):
            sizes = [abs(value) for value in values[begin:end]]
            if max(sizes) <= limit * sum(sizes):
                least[end] = min(least[end], least[begin] + error(values[begin:end]))
    return least[-1]


def table(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64], int, float]:
    """Return skewed numbers, whose they are, k and a limit."""
    draw = np.random.default_rng(seed)
    number = int(draw.integers(6, 45))
    values = np.round(draw.lognormal(3, draw.choice([0.5, 1, 2]), number))
    signs = draw.choice([1, -1], number, p=[[1, 0], [0.9, 0.1], [0.5, 0.5], [0, 1]][seed % 4])
    return values * signs, draw.integers(0, number, number), int(draw.integers(2, 6)), float(draw.choice([0.5, 0.5, 0.7, 0.3, 1]))


def grouped(values: Any, k: int, limit: float, people: Any = None) -> list[float | None]:
    columns = {"x": pa.array(values, pa.float64())} | ({} if people is None else {"who": pa.array([f"p{one}" for one in people])})
    context = MaskContext("x", subject=None if people is None else Subject("who"))
    return list(Microaggregate(k=k, dominance=limit, decimals=9).apply(pa.RecordBatch.from_pydict(columns), context).to_pylist())


def test_a_limit_of_dominance_costs_no_more_than_it_must() -> None:
    found = grouped(SKEWED, 3, 0.5)

    # {68 ... 312}, of which 312 is less than half, and {475 578 670 783}
    assert sum((old - new) ** 2 for old, new in zip(SKEWED, found, strict=True) if new is not None) == pytest.approx(97_600.714_286)
    assert None not in found


@pytest.mark.parametrize("seeds", [range(start, start + 100) for start in range(0, 400, 100)], ids=str)
def test_no_partition_within_the_limit_has_smaller_errors(seeds: range) -> None:
    for seed in seeds:
        values, _, k, limit = table(seed)
        found, least = grouped(values, k, limit), least_error(values.tolist(), k, limit)

        assert (None in found) == (least == float("inf"))
        if None not in found:
            assert sum((values - np.array(found)) ** 2) == pytest.approx(least, rel=1e-6, abs=1e-3)


def test_no_partition_of_people_within_the_limit_has_smaller_errors() -> None:
    for seed in range(200):
        values, people, k, limit = table(seed)
        means = {one: float(values[people == one].mean()) for one in people.tolist()}
        found = dict(zip(people.tolist(), grouped(values, k, limit, people), strict=True))
        least = least_error(list(means.values()), k, limit)

        assert (None in found.values()) == (least == float("inf"))
        if None not in found.values():
            assert sum((means[one] - (found[one] or 0.0)) ** 2 for one in means) == pytest.approx(least, rel=1e-6, abs=1e-3)


def test_whoever_has_more_than_all_others_is_left_out_with_as_few_as_there_may_be() -> None:
    assert grouped([1, 2, 3, 4, 5, 6, 900], 3, 0.5) == [2.5] * 4 + [None] * 3
    assert grouped([-900, -6, -5, -4, -3, -2, -1], 3, 0.5) == [None] * 3 + [-2.5] * 4
    # those who are left are fewer than k
    assert grouped([-900, 1, 1, 1, 900_000], 2, 0.5) == [None] * 5


def test_means_are_those_of_their_numbers_however_large_they_are() -> None:
    batch = pa.RecordBatch.from_pydict({"pay": [4.0, 6.0, 8.0]})
    assert Microaggregate(k=3).apply(batch, MaskContext("pay")).to_pylist() == [6.0] * 3
    large = pa.RecordBatch.from_pydict({"pay": [1.6e308] * 6, "who": list("aabbcc")})
    context = MaskContext("pay", subject=Subject("who"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Microaggregate(k=3).apply(large, context).to_pylist() == [1.6e308] * 6
