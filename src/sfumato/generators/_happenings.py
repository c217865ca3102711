"""When things happen: a stream's time runs faster by night, when little happens, than by day."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.generators._rows import Codes, Rows

START = 1_772_409_600_000
"""The first instant of Monday, 2 March 2026, in milliseconds since 1970."""
_DAY_MILLISECONDS = 86_400_000

# how much happens at each hour of the day
DAY = (2, 1.5, 1, 1, 1.5, 3, 6, 9, 11, 12, 12, 11, 10, 11, 11, 10, 9, 8, 7, 6, 5, 4, 3.5, 3)
EVENING = (4, 2.5, 2, 2, 2.5, 4, 6, 8, 9, 9.5, 9.5, 9.5, 9.5, 10, 10.5, 11, 12, 12.5, 12, 11, 9.5, 8, 6.5, 5)
RUSH = (1, 0.7, 0.5, 0.5, 1, 3, 8, 14, 12, 9, 8, 9, 10, 9, 8.5, 10, 13, 15, 13, 9, 6, 4, 3, 2)


class Happenings(Rows):
    """Rows that are a stream by nature: they have times, and people come again, whether that is asked for or not."""

    def chunks(self, rows: int | None, seed: int, times: bool = True) -> Iterator[pa.Table]:
        """Yield the rows chunk by chunk."""
        del times
        return super().chunks(rows, seed)


def moments(random: np.random.Generator, numbers: Codes, a_second: float, rhythm: tuple[float, ...]) -> pa.Array:
    """Return when each record happens, as text in UTC; ``a_second`` is how many do on average.

    >>> moments(np.random.default_rng(1), np.array([0, 400_000]), 10.0, DAY).to_pylist()
    ['2026-03-02T00:00:00.169Z', '2026-03-02T12:14:16.729Z']
    """
    days, within = np.divmod((numbers + random.random(len(numbers))) / (a_second * 86_400.0), 1.0)
    hours, shares = _passed(rhythm)
    milliseconds = START + days.astype(np.int64) * _DAY_MILLISECONDS + (np.interp(within, shares, hours) * 3_600_000).astype(np.int64)
    instants = pa.array(milliseconds, pa.timestamp("ms", tz="UTC"))
    return pc.binary_join_element_wise(pc.strftime(instants, format="%Y-%m-%dT%H:%M:%S"), "Z", "")


@cache
def _passed(rhythm: tuple[float, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the hours of a day, and how much of what happens in it has happened by then."""
    passed = np.concatenate([[0.0], np.cumsum(rhythm)])
    return np.arange(25, dtype=np.float64), passed / passed[-1]


def ranked(number: int, exponent: float, evenness: float) -> NDArray[np.float64]:
    """Return weights of so many things from the most frequent to the rarest (Zipf, Mandelbrot).

    >>> ranked(3, 1.0, 0.0).round(2).tolist()
    [1.0, 0.5, 0.33]
    """
    weights: NDArray[np.float64] = np.power(np.arange(1, number + 1) + evenness, -exponent, dtype=np.float64)
    return weights


def drawn(random: np.random.Generator, borders: NDArray[np.float64], number: int) -> Codes:
    """Draw by weights of which the borders, their running sum up to 1, are known."""
    return np.minimum(np.searchsorted(borders, random.random(number), side="right"), len(borders) - 1)


def borders_of(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the running sum of weights, up to 1."""
    total: NDArray[np.float64] = np.cumsum(weights)
    borders: NDArray[np.float64] = total / total[-1]
    return borders
