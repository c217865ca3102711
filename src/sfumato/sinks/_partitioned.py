"""Parquet in folders called after values: ``ward=A/part-000000.parquet``. A private part of the sink ``parquet``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.canonical import as_text
from sfumato.core.files import file_errors
from sfumato.core.hive_folders import folder_name
from sfumato.core.interfaces import Source
from sfumato.core.staged_folder import StagedFolder
from sfumato.core.staging import sync_folder
from sfumato.errors import DataError, UnreachableError
from sfumato.registry import find

_HELD = 64 << 20
_OVERHEAD = 1 << 12
_MOST_FOLDERS = 10_000
_LONGEST_NAME = 255
_BESIDE = re.compile(r"_SUCCESS|_metadata|_common_metadata|\..*\.crc")
_OWN = re.compile(r"part-[0-9]{6}\.parquet")


@dataclass(eq=False)
class _Partition:
    """The rows of one folder that wait to be written, where each stood in the release, and the same of its files."""

    folders: tuple[str, ...]
    waiting: list[pa.Table] = field(default_factory=list)
    places: list[NDArray[np.int64]] = field(default_factory=list)
    size: int = 0
    files: list[NDArray[np.int64]] = field(default_factory=list)


class PartitionedWriter:
    """A folder of Parquet files that nobody can see yet.

    Rows wait in memory, up to 64 megabytes of them; beyond that the folder with the most is written, in a file of its own each time. Within
    a folder the order is that of the release.
    """

    def __init__(self, path: str, compression: str, partition_by: Sequence[str], schema: pa.Schema) -> None:
        _refuse_other_folders(Path(path))
        self._path = path
        self._compression = compression
        self._by = list(partition_by)
        types = [column.type.value_type if pa.types.is_dictionary(column.type) else column.type for column in schema]
        self._schema = pa.schema([pair for pair in zip(schema.names, types, strict=True) if pair[0] not in self._by])
        self._partitions: dict[tuple[str | None, ...], _Partition] = {}
        self._rows = 0
        self._held = 0
        self._folder = StagedFolder(path)

    @property
    def staging(self) -> Sequence[str]:
        """The private folder."""
        return (str(self._folder.path),)

    @property
    def order(self) -> NDArray[np.int64]:
        """The place among the rows that were written of each one that is read back: folder by folder, in the order of their names."""
        files = sorted((part.folders, number, places) for part in self._partitions.values() for number, places in enumerate(part.files))
        return np.concatenate([places for _, _, places in files]) if files else np.empty(0, np.int64)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take further rows."""
        try:
            for values, rows in _groups([as_text(_plain(batch.column(name))) for name in self._by]):
                self._add(values, batch, rows)
            self._rows += batch.num_rows
            while self._held > _HELD:
                self._write_out(max(self._partitions.values(), key=lambda part: part.size))
        except DataError:
            self.abort()
            raise

    def finish(self) -> Source:
        """Write what waits, sync everything and return the source that reads it back."""
        for part in self._partitions.values():
            self._write_out(part)
        if not self._partitions:
            self._write_file(self._folder.path / _file_name(0), self._without_rows())
        with self._folder.errors():
            for folder, _, _ in os.walk(self._folder.path):
                sync_folder(Path(folder))
        source: Source = find("sources", "parquet")(path=str(self._folder.path))
        return source

    def publish(self) -> Sequence[str]:
        """Rename the folder to its final name."""
        self._folder.publish()
        return (self._path,)

    def abort(self) -> None:
        """Remove the folder."""
        self._partitions = {}
        self._folder.abort()

    def _add(self, values: tuple[str | None, ...], batch: pa.RecordBatch, rows: NDArray[np.int64]) -> None:
        part = self._partitions.get(values)
        if part is None:
            part = self._partitions[values] = self._opened(values)
        table = pa.Table.from_batches([batch.select(self._schema.names).take(pa.array(rows))]).cast(self._schema)
        part.waiting.append(table)
        part.places.append(rows + self._rows)
        part.size += table.nbytes + _OVERHEAD
        self._held += table.nbytes + _OVERHEAD

    def _opened(self, values: tuple[str | None, ...]) -> _Partition:
        """Return a new folder's rows, of which there are none yet."""
        if len(self._partitions) >= _MOST_FOLDERS:
            raise _refused(f"{', '.join(self._by)} would make more than {_MOST_FOLDERS:,} folders", "partition by columns that have fewer values")
        folders = tuple(folder_name(name, value) for name, value in zip(self._by, values, strict=True))
        if max(map(len, folders)) > _LONGEST_NAME:
            named = self._by[max(range(len(folders)), key=lambda place: len(folders[place]))]
            raise _refused(f"the column {named} has a value that is too long to be the name of a folder", "partition by another column")
        with self._folder.errors():
            try:
                self._folder.path.joinpath(*folders[:-1]).mkdir(parents=True, exist_ok=True)
                self._folder.path.joinpath(*folders).mkdir()
            except FileExistsError:
                what = f"two values of {', '.join(self._by)} have one name on this disk: perhaps they differ in upper and lower case only"
                raise _refused(what, "partition by another column, or write to another disk") from None
        return _Partition(folders)

    def _write_out(self, part: _Partition) -> None:
        if not part.waiting:
            return
        path = self._folder.path.joinpath(*part.folders) / _file_name(len(part.files))
        self._write_file(path, pa.concat_tables(part.waiting))
        part.files.append(np.concatenate(part.places))
        self._held -= part.size
        part.waiting, part.places, part.size = [], [], 0

    def _write_file(self, path: Path, table: pa.Table) -> None:
        from pyarrow import parquet

        with self._folder.errors(), path.open("xb") as file:
            parquet.write_table(table, file, compression=self._compression)
            file.flush()
            os.fsync(file.fileno())

    def _without_rows(self) -> pa.Table:
        """Return a table that says at least which columns there are."""
        return pa.schema([*self._schema, *((name, pa.string()) for name in self._by)]).empty_table()


def _groups(columns: Sequence[pa.Array]) -> Iterator[tuple[tuple[str | None, ...], NDArray[np.int64]]]:
    """Yield the combinations of values, and the rows that have each, in their order."""
    if not len(columns[0]):
        return
    coded = [column.dictionary_encode(null_encoding="encode") for column in columns]
    keys = np.zeros(len(columns[0]), np.int64)
    for column in coded:
        # numbered anew each time, so that many columns do not outgrow the numbers
        keys = np.unique(keys * len(column.dictionary) + column.indices.to_numpy(), return_inverse=True)[1]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        yield tuple(column.dictionary[column.indices[int(rows[0])].as_py()].as_py() for column in coded), rows


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _file_name(number: int) -> str:
    return f"part-{number:06d}.parquet"


def _refused(what: str, hint: str) -> DataError:
    return DataError(what, code="sink-partition", hint=hint)


def _refuse_other_folders(target: Path) -> None:
    """Refuse to replace what is no folder of Parquet files in folders called after values."""
    with file_errors(target, "written"):
        if not target.exists():
            return
        if target.is_dir() and not target.is_symlink() and all(_belongs(path, target) for path in target.rglob("*")):
            return
    raise UnreachableError(
        f"{target} is there and holds something else than Parquet files in folders called key=value; it is not replaced",
        code="sink-not-dataset",
        hint="name another folder, or remove this one first",
    )


def _belongs(path: Path, target: Path) -> bool:
    if path.is_symlink():
        return False
    if path.is_dir():
        return "=" in path.name
    if _BESIDE.fullmatch(path.name):
        return True
    return _OWN.fullmatch(path.name) is not None if path.parent == target else path.suffix == ".parquet"
