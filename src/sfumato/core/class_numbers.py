"""Equivalence classes apart from their rows: each has a number, in the order in which a release shows them, and is written once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.publication import GENERALISED
from sfumato.errors import DataError

CLASS_ID = "class_id"
"""The column that links a row to its class."""

CLASS_SIZE = "class_size"
"""The column of a class that says how many rows it has."""


def parts_of(schema: pa.Schema) -> tuple[pa.Schema, pa.Schema]:
    """Return the schema of the classes and that of the rows as which a release is written."""
    generalised = [field for field in schema if GENERALISED in (field.metadata or {})]
    others = [field for field in schema if GENERALISED not in (field.metadata or {})]
    number = pa.field(CLASS_ID, pa.int64())
    return pa.schema([number, *generalised, pa.field(CLASS_SIZE, pa.int64())]), pa.schema([number, *others])


def refused_classes(classes: str | None, names: Sequence[str]) -> str | None:
    """Return what is wrong with a release of some columns whose classes go somewhere; None where nothing is."""
    own = [name for name in (CLASS_ID, CLASS_SIZE) if name in names] if classes is not None else []
    return f"{' and '.join(own)} would be there twice: with classes the tables have columns of that name" if own else None


class ClassNumbers:
    """Numbers the classes of a release as it comes, from 1 on; its rows come class by class."""

    def __init__(self, schema: pa.Schema) -> None:
        self.classes, self.rows = parts_of(schema)
        self._names = self.classes.names[1:-1]
        self._last: list[object] | None = None
        self._shown: list[pa.RecordBatch] = []
        self._sizes: list[int] = []

    def numbered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with the numbers of their classes in place of what these show."""
        plain = pa.RecordBatch.from_arrays([_decoded(batch.column(name)) for name in self._names], names=self._names)
        begins = self._begins(plain)
        before = len(self._sizes)
        numbers = before + np.cumsum(begins)
        self._shown.append(plain.take(pa.array(np.flatnonzero(begins))))
        self._sizes += [0] * int(begins.sum())
        for number, size in zip(*np.unique(numbers, return_counts=True), strict=True):
            self._sizes[int(number) - 1] += int(size)
        if batch.num_rows:
            self._last = [plain.column(name)[-1].as_py() for name in self._names]
        return pa.RecordBatch.from_arrays([pa.array(numbers), *(batch.column(name) for name in self.rows.names[1:])], schema=self.rows)

    def shown(self) -> pa.RecordBatch:
        """Return all classes, each with its number, what it shows and how many rows it has."""
        types = [pa.field(field.name, _plain(field.type)) for field in self.classes][1:-1]
        (shown,) = pa.Table.from_batches(self._shown, pa.schema(types)).combine_chunks().to_batches() or [
            pa.RecordBatch.from_pylist([], pa.schema(types))
        ]
        columns = [pa.array(np.arange(1, len(self._sizes) + 1)), *shown.columns, pa.array(self._sizes, pa.int64())]
        return pa.RecordBatch.from_arrays(columns, names=self.classes.names)

    def _begins(self, plain: pa.RecordBatch) -> NDArray[np.bool_]:
        """Return at which rows a class begins."""
        changed = np.zeros(plain.num_rows, bool)
        for column in plain.columns:
            codes = column.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
            changed[1:] |= codes[1:] != codes[:-1]
        if plain.num_rows:
            changed[0] = self._last != [column[0].as_py() for column in plain.columns]
        return changed


class ClassLinks:
    """Puts what classes show beside their rows again, and holds the two against each other. ``names`` are the columns that are wanted, in order."""

    def __init__(self, classes: pa.Table, names: Sequence[str], where: str) -> None:
        self._classes, self._names, self._where = classes.combine_chunks(), names, where
        self._numbers = classes.column(CLASS_ID).combine_chunks()
        self._counts = np.zeros(classes.num_rows, np.int64)
        shown = [name for name in classes.column_names if name not in (CLASS_ID, CLASS_SIZE)]
        if len(self._numbers.unique()) < classes.num_rows or self._numbers.null_count:
            raise self._apart("a class has no number of its own")
        if classes.group_by(shown).aggregate([]).num_rows < classes.num_rows:
            raise self._apart("two classes show the same")

    def linked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with what their classes show."""
        places = pc.index_in(batch.column(CLASS_ID), value_set=self._numbers)
        if places.null_count:
            raise self._apart("a row has a class that is not there")
        self._counts += np.bincount(places.to_numpy(), minlength=len(self._counts))
        shown = [
            batch.column(name) if name in batch.schema.names else self._classes.column(name).combine_chunks().take(places) for name in self._names
        ]
        return pa.RecordBatch.from_arrays(shown, names=list(self._names))

    def end(self) -> None:
        """Say that all rows have come: every class must have had as many as it says."""
        if self._classes.column(CLASS_SIZE).to_pylist() != self._counts.tolist():
            raise self._apart("a class has another number of rows than it says")

    def _apart(self, what: str) -> DataError:
        return DataError(f"{self._where}: the classes are not those of the rows: {what}", code="classes-apart", hint="run again: one run writes both")


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
