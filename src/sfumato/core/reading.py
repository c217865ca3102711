"""Reading: a source read once, its columns as codes into dictionaries of distinct values.

Codes are kept in the narrowest integers that hold them, so that ten million rows of eight columns take about a hundred megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.interfaces import Progress, Source
from sfumato.core.kernels.fingerprint import fingerprints
from sfumato.core.nested_types import is_readable
from sfumato.core.whose import Subject, Writings

_UNIFY_EVERY = 1 << 20


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """The distinct values of a column in the order in which they were met, and the code of each row; -1 is null."""

    values: pa.Array
    codes: NDArray[Any]

    def counts(self) -> NDArray[np.int64]:
        """Return how many rows have each value; the last entry counts the nulls."""
        return self._counted

    @cached_property
    def _counted(self) -> NDArray[np.int64]:
        shifted = np.zeros(len(self.values) + 1, np.int64)
        step = 1 << 22
        for start in range(0, len(self.codes), step):
            part = self.codes[start : start + step].astype(np.int64) + 1
            shifted += np.bincount(part, minlength=len(shifted))
        return np.append(shifted[1:], shifted[0])


@dataclass(frozen=True, eq=False)
class Reading:
    """What was read: the number of rows, coded columns, one fingerprint a row for each group of further columns, and one of whose it is.

    ``strangers`` is how many rows have a subject that is not of the type that it has by the policy, ``writings`` are the first texts that say whose
    rows are.
    """

    rows: int
    columns: dict[str, CodedColumn]
    prints: dict[str, NDArray[np.uint64]]
    people: NDArray[np.uint64] | None = None
    strangers: int = 0
    writings: pa.Array | None = None


def read(
    source: Source,
    coded: Sequence[str],
    printed: Mapping[str, Sequence[str]],
    progress: Progress,
    beside: Callable[[pa.RecordBatch], None] | None = None,
    further: Sequence[str] = (),
    subject: Subject | None = None,
) -> Reading:
    """Read some columns as codes and fingerprint groups of others row by row.

    ``beside`` is shown each batch as it passes, with the ``further`` columns that only it needs.
    """
    builders = {name: _Builder() for name in coded}
    prints: dict[str, list[NDArray[np.uint64]]] = {name: [] for name in printed}
    whose: list[NDArray[np.uint64]] = []
    writings = Writings()
    others = {name for columns in printed.values() for name in columns} | ({subject.name} if subject else set())
    others -= {*coded, *further}
    dictionaries = {*coded, *repeating(source, sorted(others))} - set(further)
    rows = strangers = 0
    # a reader of no column may not know how many rows there are
    names = list(dict.fromkeys([*coded, *further, *sorted(others)])) or [field.name for field in source.describe() if is_readable(field)][:1]
    for batch in source.batches(names, [name for name in names if name in dictionaries]):
        for name, builder in builders.items():
            builder.add(batch.column(name))
        for name, columns in printed.items():
            prints[name].append(fingerprints([batch.column(column) for column in columns], batch.num_rows))
        if subject is not None:
            known = subject.people(batch)
            whose.append(fingerprints([known], batch.num_rows))
            strangers += subject.strangers(batch, known)
            writings.add(known)
        if beside is not None:
            beside(batch)
        rows += batch.num_rows
        progress.advance(batch.num_rows)
    joined = {name: _joined(parts) for name, parts in prints.items()}
    people = _joined(whose) if subject is not None else None
    return Reading(rows, {name: builder.finish() for name, builder in builders.items()}, joined, people, strangers, writings.found)


def _joined(parts: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def repeating(source: Source, names: Sequence[str]) -> list[str]:
    """Return the columns whose values repeat often in the first rows: they are smaller and quicker as codes."""
    if not names:
        return []
    for batch in source.batches(names):
        if batch.num_rows:
            columns = [batch.column(name) for name in names]
            return [name for name, column in zip(names, columns, strict=True) if len(column.unique()) * 20 < batch.num_rows]
    return []


class _Builder:
    """Gathers the dictionary arrays of one column into one dictionary."""

    def __init__(self) -> None:
        self._values: pa.Array | None = None
        self._waiting: list[pa.DictionaryArray] = []
        self._waiting_rows = 0
        self._codes: list[NDArray[Any]] = []

    def add(self, column: pa.Array) -> None:
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        self._waiting.append(_compact(column))
        self._waiting_rows += len(column)
        if self._waiting_rows >= _UNIFY_EVERY:
            self._unify()

    def finish(self) -> CodedColumn:
        self._unify()
        values = self._values if self._values is not None else pa.array([], pa.string())
        codes = np.concatenate(self._codes) if self._codes else np.empty(0, np.int8)
        self._codes = []
        return CodedColumn(values, codes)

    def _unify(self) -> None:
        if not self._waiting:
            return
        if self._values is not None:
            nothing = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), self._values)
            self._waiting.insert(0, nothing)
        # the first chunk's dictionary comes first in the unified one, so codes given out before stay right
        unified = pa.chunked_array(self._waiting).unify_dictionaries()
        self._values = unified.chunk(0).dictionary
        width = _narrowest(len(self._values))
        for chunk in unified.chunks:
            if len(chunk):
                indices = chunk.indices
                filled = indices.fill_null(-1) if indices.null_count else indices
                self._codes.append(filled.to_numpy(zero_copy_only=False).astype(width))
        self._waiting, self._waiting_rows = [], 0


def _compact(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return the column with 32-bit codes and without null in its dictionary, which some writers put there."""
    if column.dictionary.null_count or not pa.types.is_int32(column.indices.type):
        return column.dictionary_decode().dictionary_encode()
    return column


def _narrowest(size: int) -> type[np.signedinteger[Any]]:
    for kind in (np.int8, np.int16):
        if size <= np.iinfo(kind).max:
            return kind
    return np.int32


def take_text(values: pa.Array, codes: NDArray[Any]) -> pa.Array:
    """Return the values that codes stand for; -1 is null."""
    return pc.take(values, pa.array(codes, mask=codes < 0))
