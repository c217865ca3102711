"""Rows by the chunk: what every generator shares.

A chunk has a random stream of its own, made from the seed and the chunk's number, and is always generated whole. So the same seed gives the
same rows in any order of asking, the first thousand rows are the same however many follow, and memory holds one chunk.
"""

from __future__ import annotations

import io
import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.settings import Settings

CHUNK = 50_000
_AT_ONCE = 1_000
Codes = NDArray[np.int64]


class Rows(Settings):
    """Invented rows about invented people, as a table, as CSV text or as JSON lines."""

    def table(self, rows: int, seed: int, times: bool = False) -> pa.Table:
        """Return the rows at once."""
        return pa.concat_tables(self.chunks(rows, seed, times))

    def csv(self, rows: int | None, seed: int, times: bool = False) -> Iterator[str]:
        """Return the rows as CSV text, the header first; a missing value is an empty field. None is rows without end."""
        from pyarrow.csv import WriteOptions, write_csv

        options = WriteOptions(include_header=False, quoting_style="none")
        for number, chunk in enumerate(self.chunks(rows, seed, times)):
            if number == 0:
                yield ",".join(chunk.column_names) + "\n"
            text = io.BytesIO()
            write_csv(chunk, text, options)
            yield text.getvalue().decode()

    def json_lines(self, rows: int | None, seed: int, times: bool = False) -> Iterator[str]:
        """Return the rows as JSON lines, some at a time; numbers are numbers, and a missing value is null. None is rows without end."""
        for chunk in self.chunks(rows, seed, times):
            for batch in chunk.to_batches(max_chunksize=_AT_ONCE):
                yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())

    @abstractmethod
    def chunk(self, random: np.random.Generator, numbers: Codes) -> dict[str, pa.Array]:
        """Return the columns of one chunk, whose rows have these numbers, from 0."""

    def again(self, random: np.random.Generator, columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """Return what is found of people who come again: in a stream the same ones do."""
        del random
        return columns

    def chunks(self, rows: int | None, seed: int, times: bool = False) -> Iterator[pa.Table]:
        """Yield the rows chunk by chunk; with ``times`` as a stream: people come again and again, and a column ``at`` says when."""
        # no rows still have columns
        for first in count(0, CHUNK) if rows is None else range(0, max(1, rows), CHUNK):
            random = np.random.default_rng([seed % 2**64, first // CHUNK])
            numbers = np.arange(first, first + CHUNK)
            chunk = pa.table(self._visits(random, numbers, seed) if times else self.chunk(random, numbers))
            yield chunk if rows is None else chunk.slice(0, min(CHUNK, rows - first))

    def _visits(self, random: np.random.Generator, numbers: Codes, seed: int) -> dict[str, pa.Array]:
        from sfumato.generators._happenings import DAY, moments

        # the people of a stream are those of the table's first chunk
        people = self.chunk(np.random.default_rng([seed % 2**64, 0]), np.arange(CHUNK))
        chosen = pa.array(choose_freely(random, long_tail(CHUNK, 500.0), len(numbers)))
        found = self.again(random, {name: values.take(chosen) for name, values in people.items()})
        return {"at": moments(random, numbers, 2.0, DAY)} | found


def choose(random: np.random.Generator, weights: NDArray[np.float64], given: Codes) -> Codes:
    """Draw one category a row, by the line of weights that the row is given.

    >>> choose(np.random.default_rng(0), np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1, 0, 1])).tolist()
    [1, 0, 1]
    """
    lines, categories = weights.shape
    borders = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    # line i covers the numbers from i to i + 1: one search finds the category within the right line
    ladder = (borders + np.arange(lines)[:, None]).ravel()
    found = np.searchsorted(ladder, given + random.random(len(given)), side="right") - given * categories
    chosen: Codes = np.minimum(found, categories - 1)
    return chosen


def choose_freely(random: np.random.Generator, weights: NDArray[np.float64], number: int) -> Codes:
    """Draw one category a row, by the same weights for all."""
    return choose(random, weights[None, :], np.zeros(number, np.int64))


def texts(categories: Sequence[str], codes: Codes) -> pa.Array:
    """Return the category of each row in words."""
    return pa.array(categories, pa.string()).take(pa.array(codes))


def long_tail(number: int, evenness: float = 10.0) -> NDArray[np.float64]:
    """Return weights like the sizes of towns: a few large ones, many small ones, in no order.

    >>> weights = long_tail(1000)
    >>> bool(weights.max() > 50 * np.median(weights))
    True
    """
    ranks = np.random.default_rng(number).permutation(number)
    weights: NDArray[np.float64] = 1.0 / (ranks.astype(np.float64) + evenness)
    return weights
