"""Rows that are alike in some columns, for masks that work within groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.canonical import as_text
from sfumato.core.chance import random_bytes
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.kernels.permutation import permute
from sfumato.core.whose import Subject
from sfumato.core.windows import windows


def row_groups(
    columns: pa.RecordBatch, names: Sequence[str], every: Mapping[str, str | float] = MappingProxyType({})
) -> tuple[NDArray[np.int32], int]:
    """Return the group of each row by the values of some columns, a missing value being one, and how many there are.

    Columns in ``every`` are divided into windows of that length, and rows of one window are alike.

    >>> row_groups(pa.RecordBatch.from_pydict({"ward": ["A", None, "A"]}), ["ward"])[0].tolist()
    [0, 1, 0]
    >>> row_groups(pa.RecordBatch.from_pydict({"age": [17, 23, 19]}), ["age"], {"age": 10})[0].tolist()
    [0, 1, 0]
    """
    if not names:
        return np.zeros(columns.num_rows, np.int32), min(1, columns.num_rows)
    codes, sizes = [], []
    for name in names:
        column = columns.column(name)
        coded = as_text(windows(column, every[name], name) if name in every else column).dictionary_encode()
        codes.append(coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False))
        sizes.append(len(coded.dictionary) + 1)
    groups, firsts = group_columns(codes, sizes)
    return groups, len(firsts)


def people_of(columns: pa.RecordBatch, subject: Subject | None) -> NDArray[np.int32]:
    """Return whose each row is, by number; where nothing says so, everybody has one row. Rows of nobody are one person's."""
    if subject is None:
        return np.arange(columns.num_rows, dtype=np.int32)
    return row_groups(pa.RecordBatch.from_arrays([as_text(subject.people(columns))], [subject.name]), [subject.name])[0]


def parts_of_people(groups: NDArray[np.integer[Any]], whose: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return which part of its person's rows in its group each row is: what it adds where people's means are added up.

    >>> parts_of_people(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])).tolist()
    [0.5, 0.5, 1.0, 1.0]
    """
    pairs, _ = group_columns([groups + 1, whose], [int(groups.max(initial=0)) + 2, int(whose.max(initial=0)) + 1])
    return 1 / np.bincount(pairs)[pairs] if len(pairs) else np.empty(0)


def rows_among_few(groups: NDArray[np.int32], whose: NDArray[np.int32], people: int) -> int:
    """Return how many rows are in groups of fewer than so many people.

    >>> rows_among_few(np.array([0, 0, 1, 1, 1]), np.arange(5), 3)
    2
    """
    pairs = np.unique(np.stack([groups, whose]), axis=1)
    sizes = np.bincount(pairs[0])
    return int((sizes[groups] < people).sum())


def chance(number: int) -> NDArray[np.uint64]:
    """Return random numbers of the operating system, which nobody can foresee from others of them."""
    return np.frombuffer(random_bytes(8 * number), np.uint64)


def permuted(number: int, starts: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the numbers from 0 in a random order, or those of each stretch that begins at ``starts`` in one of their own."""
    places = np.arange(number, dtype=np.int64)
    numbers = np.frombuffer(random_bytes(4 * number), np.uint32)
    permute(places, np.append(starts if starts is not None else [0], number).astype(np.int64), numbers)
    return places
