"""Columns that are not counted: in a private file until they are written, then in the order of the release.

Few bytes are put in order in memory, narrow rows by DuckDB's external sort, and wide ones are fetched one by one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.files import file_errors, unreachable
from sfumato.core.kernels.fingerprint import value_prints
from sfumato.core.workplace import Workplace

if TYPE_CHECKING:
    from sfumato.stores.duckdb import Duckdb

_BATCH = 1 << 17
_BATCH_BYTES = 32 << 20
_IN_MEMORY = 128 << 20
# rows of so many bytes are fetched one by one
_WIDE = 2048
_AT_ONCE = 256


class Spill:
    """Columns that are not counted, in a private file until they are written."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.path = path
        self.names = list(names)
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self._file: pa.NativeFile | None = None
        self._looked_at: dict[str, list[pa.Array]] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Write the spilled columns of a batch."""
        if not self.names:
            return
        part = batch.select(self.names)
        with file_errors(self.path, "written"):
            self._begun(part.schema).write_batch(part)

    def _begun(self, schema: pa.Schema) -> pa.ipc.RecordBatchFileWriter:
        if self._writer is None:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))
            self._file = pa.OSFile(str(self.path), "wb")
            self._writer = pa.ipc.new_file(self._file, schema)
        return self._writer

    def close(self, described: pa.Schema) -> None:
        """Finish the file; where no batch came, with the types of the columns as the source describes them."""
        if self.names:
            with file_errors(self.path, "written"):
                self._begun(pa.schema([described.field(name) for name in self.names]))
        if self._writer is not None and self._file is not None:
            with file_errors(self.path, "written"):
                self._writer.close()
                self._file.close()

    @cached_property
    def schema(self) -> pa.Schema:
        """The types of the spilled columns."""
        if self._writer is None:
            return pa.schema([])
        with pa.ipc.open_file(pa.OSFile(str(self.path))) as reader:
            return reader.schema

    def prints(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the rows of one spilled column that have a value, and a fingerprint of each."""
        if self._writer is None:
            return np.empty(0, np.int64), np.empty(0, np.uint64)
        if self.path.stat().st_size > _BATCH_BYTES:
            columns = self._columns([name])[name]
        else:
            if name not in self._looked_at:
                # opening the file costs more than reading what is small, and there may be thousands of columns
                first = self.names.index(name)
                self._looked_at = self._columns(self.names[first : first + _AT_ONCE])
            columns = self._looked_at[name]
        if not columns:
            return np.empty(0, np.int64), np.empty(0, np.uint64)
        known = np.concatenate([column.is_valid().to_numpy(zero_copy_only=False) for column in columns])
        return np.flatnonzero(known), np.concatenate([value_prints(column.drop_null()) for column in columns])

    def _columns(self, names: Sequence[str]) -> dict[str, list[pa.Array]]:
        places = [self.schema.get_field_index(name) for name in names]
        with pa.ipc.open_file(pa.OSFile(str(self.path)), options=pa.ipc.IpcReadOptions(included_fields=places)) as reader:
            batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
        return {name: [batch.column(name) for batch in batches] for name in names}

    def batch_rows(self, rows: int) -> int:
        """Return how many rows are written at once: fewer where they are wide."""
        if self._writer is None:
            return _BATCH
        return max(1, min(_BATCH, _BATCH_BYTES * rows // max(1, self.path.stat().st_size)))

    def ordered(self, link: NDArray[np.int64], rows: int, size: int, store: Duckdb, workplace: Workplace) -> Iterator[pa.RecordBatch]:
        """Yield the spilled rows in the order of the release, in batches of the size in which it is written."""
        if self._writer is None:
            return
        if self.path.stat().st_size <= _IN_MEMORY:
            with pa.ipc.open_file(pa.OSFile(str(self.path))) as reader:
                table = reader.read_all().combine_chunks()
            for start in range(0, len(link), size):
                yield from table.take(link[start : start + size]).combine_chunks().to_batches()
            return
        if self.path.stat().st_size > _WIDE * rows:
            for start in range(0, len(link), size):
                yield self._picked(link[start : start + size])
            return
        place = np.full(rows, -1, np.int64)
        place[link] = np.arange(len(link))
        yield from _sorted_by_duckdb(self, place, size, store, workplace)

    def _picked(self, rows: NDArray[np.int64]) -> pa.RecordBatch:
        """Return some rows, each fetched from where it lies: quicker than sorting where rows are wide, and it needs no memory for the others."""
        # mapped anew each time: what was touched before is given back
        with pa.memory_map(str(self.path)) as file, pa.ipc.open_file(file) as reader:
            batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
            starts = np.cumsum([0, *(batch.num_rows for batch in batches)])
            order = np.argsort(rows)
            borders = np.searchsorted(rows[order], starts)
            pieces = [
                batch.take(pa.array(rows[order][first:last] - start))
                for batch, start, first, last in zip(batches, starts[:-1], borders[:-1], borders[1:], strict=True)
                if first < last
            ]
            table = pa.Table.from_batches(pieces).combine_chunks()
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        return table.take(pa.array(back)).combine_chunks().to_batches()[0]

    def placed(self, place: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        """Yield the spilled rows with their place in the release, without those that are left out."""
        with pa.ipc.open_file(pa.OSFile(str(self.path))) as reader:
            start = 0
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                places = place[start : start + batch.num_rows]
                start += batch.num_rows
                # names of columns may differ by case only, or be any word: DuckDB sees none of them
                plain = pa.RecordBatch.from_arrays(batch.columns, names=[f"c{place}" for place in range(batch.num_columns)])
                numbered = plain.append_column("place", pa.array(places))
                yield numbered if places.min(initial=0) >= 0 else numbered.filter(pa.array(places >= 0))


def _sorted_by_duckdb(spill: Spill, place: NDArray[np.int64], size: int, store: Duckdb, workplace: Workplace) -> Iterator[pa.RecordBatch]:
    import duckdb

    schema = pa.schema([(f"c{number}", kind) for number, kind in enumerate(spill.schema.types)]).append(pa.field("place", pa.int64()))
    spilled_rows = pa.RecordBatchReader.from_batches(schema, spill.placed(place))
    folder = workplace.folder / "duckdb"
    folder.mkdir(mode=0o700, exist_ok=True)
    configuration: dict[str, Any] = {"memory_limit": f"{store.memory}B", "threads": store.threads, "temp_directory": str(folder)}
    try:
        with duckdb.connect(":memory:", config=configuration) as connection:
            connection.register("spilled_rows", spilled_rows)
            result = connection.sql('SELECT * FROM spilled_rows ORDER BY "place"')
            for batch in _rebatched(result.to_arrow_reader(size), size):
                yield pa.RecordBatch.from_arrays(batch.columns[:-1], names=spill.names)
    except duckdb.OutOfMemoryException:
        raise MemoryError from None
    except duckdb.IOException as error:
        raise unreachable(folder, OSError(errno.ENOSPC if "space" in str(error).lower() else errno.EIO, ""), "written") from None


def _rebatched(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Yield batches of exactly the size in which a release is written, the last one shorter."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        while rows >= size:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, size).combine_chunks().to_batches()[0]
            waiting = table.slice(size).to_batches()
            rows -= size
    if rows:
        yield pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]
