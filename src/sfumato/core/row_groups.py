"""Rows that are alike in some columns, for masks that work within groups."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.canonical import as_text
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.kernels.permutation import permute


def row_groups(columns: pa.RecordBatch, names: Sequence[str]) -> tuple[NDArray[np.int32], int]:
    """Return the group of each row by the values of some columns, a missing value being one, and how many there are.

    >>> row_groups(pa.RecordBatch.from_pydict({"ward": ["A", None, "A"]}), ["ward"])[0].tolist()
    [0, 1, 0]
    """
    if not names:
        return np.zeros(columns.num_rows, np.int32), min(1, columns.num_rows)
    codes, sizes = [], []
    for name in names:
        coded = as_text(columns.column(name)).dictionary_encode()
        codes.append(coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False))
        sizes.append(len(coded.dictionary) + 1)
    groups, firsts = group_columns(codes, sizes)
    return groups, len(firsts)


def people_of(columns: pa.RecordBatch, subject: str | None) -> NDArray[np.int32]:
    """Return whose each row is, by number; where nothing says so, everybody has one row. Rows of nobody are one person's."""
    if subject is None:
        return np.arange(columns.num_rows, dtype=np.int32)
    return row_groups(columns, [subject])[0]


def rows_among_few(columns: pa.RecordBatch, names: Sequence[str], subject: str | None, people: int) -> int:
    """Return how many rows are in groups of fewer than so many people.

    >>> rows_among_few(pa.RecordBatch.from_pydict({"ward": ["A", "A", "B", "B", "B"]}), ["ward"], None, 3)
    2
    """
    groups, number = row_groups(columns, names)
    pairs = np.unique(np.stack([groups, people_of(columns, subject)]), axis=1)
    sizes = np.bincount(pairs[0], minlength=number)
    return int((sizes[groups] < people).sum())


def chance(number: int) -> NDArray[np.uint64]:
    """Return random numbers of the operating system, which nobody can foresee from others of them."""
    return np.frombuffer(secrets.token_bytes(8 * number), np.uint64)


def permuted(number: int, starts: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the numbers from 0 in a random order, or those of each stretch that begins at ``starts`` in one of their own."""
    places = np.arange(number, dtype=np.int64)
    numbers = np.frombuffer(secrets.token_bytes(4 * number), np.uint32)
    permute(places, np.append(starts if starts is not None else [0], number).astype(np.int64), numbers)
    return places
