"""Parquet files: columns with types, read in batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
from pydantic import PrivateAttr

from sfumato.core.column_types import damage_is, plain_schema, refuse_damaged_text
from sfumato.core.file_set import fixed_part, is_several
from sfumato.core.files import file_errors, unchanged
from sfumato.core.hive_folders import keys_of
from sfumato.core.nested_types import nested_type, refuse_unreadable
from sfumato.core.nested_values import as_described
from sfumato.core.table_files import TableFiles
from sfumato.errors import DataError

if TYPE_CHECKING:
    from pyarrow import parquet

_ROWS = 1 << 16
_BYTES = 16 << 20


class Parquet(TableFiles):
    """A Parquet file, or several of one table. Folders called ``key=value`` are columns of text.

    Cost: one pass over the columns asked for, in batches of about 16 megabytes and at most 65,536 rows.
    """

    _keys: dict[str, str | None] = PrivateAttr(default_factory=dict)

    def parts(self) -> list[Self]:
        """Return one source a file, with what the folders above it say."""
        parts = super().parts()
        if is_several(self.path):
            for part in parts:
                part._keys = part._keys_below(fixed_part(self.path))
        return parts

    def file_schema(self) -> pa.Schema:
        """Return the columns and their types as one file declares them, dictionaries as what they hold, and those of its folders."""
        with self._opened() as file:
            schema = self._schema(file)
        double = [name for name in self._keys if name in schema.names]
        if double:
            raise self._called_twice(double)
        return pa.schema([*schema, *((name, pa.string()) for name in self._keys)])

    def file_about(self) -> int:
        """Return how many rows one file says it has."""
        with self._opened() as file:
            return int(file.metadata.num_rows)

    def file_batches(self, columns: Sequence[str], coded: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns of one file, those of ``coded`` that hold text as dictionaries."""
        schema = self.file_schema()
        refuse_unreadable(schema, columns, self.path)
        stored = [name for name in columns if name not in self._keys]
        dictionaries = [name for name in coded if _is_text(schema.field(name)) and name not in self._keys]
        wanted = pa.schema([_field(schema.field(name), name in dictionaries) for name in stored])
        with unchanged(self.path), self._opened(dictionaries) as file:
            for batch in file.iter_batches(batch_size=_batch_rows(file), columns=stored):
                for read in as_described(refuse_damaged_text(batch, self.path), wanted, _ROWS):
                    yield self._with_keys(read, columns, coded) if len(stored) < len(columns) else read

    def _with_keys(self, batch: pa.RecordBatch, columns: Sequence[str], coded: Sequence[str]) -> pa.RecordBatch:
        """Return the batch with the columns that the folders say."""
        arrays = []
        for name in columns:
            if name not in self._keys:
                arrays.append(batch.column(name))
                continue
            value = pa.array([self._keys[name]], pa.string()).dictionary_encode()
            repeated = value.take(pa.array(np.zeros(batch.num_rows, np.int32)))
            arrays.append(repeated if name in coded else repeated.dictionary_decode())
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _keys_below(self, root: Path) -> dict[str, str | None]:
        try:
            pairs = keys_of(Path(self.path).relative_to(root).parts[:-1])
        except UnicodeError:
            raise DataError(
                f"{self.path} lies in a folder whose name is not UTF-8 in percent signs", code="file-encoding", hint="rename the folder"
            ) from None
        keys = dict(pairs)
        if len(keys) < len(pairs):
            raise self._called_twice(sorted({key for key, _ in pairs if [name for name, _ in pairs].count(key) > 1}))
        return keys

    def _called_twice(self, names: Sequence[str]) -> DataError:
        return DataError(
            f"{self.path} has columns that its folders name again: {', '.join(names)}",
            code="column-duplicate",
            hint="rename them: a policy speaks of columns by name",
        )

    @contextmanager
    def _opened(self, dictionaries: Sequence[str] = ()) -> Iterator[parquet.ParquetFile]:
        """Open the file."""
        from pyarrow import parquet

        options = {"read_dictionary": list(dictionaries), "pre_buffer": False}
        with (
            file_errors(self.path),
            Path(self.path).open("rb") as handle,
            damage_is(self._damaged()),
            parquet.ParquetFile(handle, **options) as file,
        ):
            yield file

    def _schema(self, file: parquet.ParquetFile) -> pa.Schema:
        schema = file.schema_arrow
        return pa.schema([_field(field) for field in plain_schema(schema, self.path)])

    def _damaged(self) -> DataError:
        return DataError(f"{self.path} is damaged or no Parquet file", code="parquet-damaged", hint="write the file again")


def _field(field: pa.Field, coded: bool = False) -> pa.Field:
    return field.with_type(pa.dictionary(pa.int32(), field.type)) if coded else field


def _is_text(field: pa.Field) -> bool:
    return bool(pa.types.is_string(field.type) or pa.types.is_large_string(field.type)) and nested_type(field) is None


def _batch_rows(file: parquet.ParquetFile) -> int:
    """Return how many rows a batch may have, so that rows with large cells come in small batches."""
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    widest = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=1.0)
    return max(1, min(_ROWS, int(_BYTES / max(1.0, widest))))
