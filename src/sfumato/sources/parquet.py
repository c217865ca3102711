"""Parquet files: columns with types, read in batches of bounded size.

Only flat columns are known: a list, a structure or a map has no place in a table of people and values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.core.column_types import damage_is, plain_schema, refuse_damaged_text
from sfumato.core.files import file_errors, unchanged
from sfumato.core.table_files import TableFiles
from sfumato.errors import DataError

if TYPE_CHECKING:
    from pyarrow import parquet

_ROWS = 1 << 16
_BYTES = 16 << 20


class Parquet(TableFiles):
    """A Parquet file, or several of one table.

    Cost: one pass over the columns asked for, in batches of about 16 megabytes and at most 65,536 rows.
    """

    def file_schema(self) -> pa.Schema:
        """Return the columns and their types as one file declares them; dictionaries count as what they hold."""
        with self._opened() as file:
            return self._schema(file)

    def file_about(self) -> int:
        """Return how many rows one file says it has."""
        with self._opened() as file:
            return int(file.metadata.num_rows)

    def file_batches(self, columns: Sequence[str], coded: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns of one file, those of ``coded`` that hold text as dictionaries."""
        schema = self.file_schema()
        dictionaries = [name for name in coded if pa.types.is_string(schema.field(name).type)]
        wanted = pa.schema([_field(schema.field(name), name in dictionaries) for name in columns])
        with unchanged(self.path), self._opened(dictionaries) as file:
            for batch in file.iter_batches(batch_size=_batch_rows(file), columns=list(columns)):
                yield refuse_damaged_text(_as_described(batch, wanted), self.path)

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
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        kind = pa.string()
    return pa.field(field.name, pa.dictionary(pa.int32(), kind) if coded else kind)


def _batch_rows(file: parquet.ParquetFile) -> int:
    """Return how many rows a batch may have, so that rows with large cells come in small batches."""
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    widest = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=1.0)
    return max(1, min(_ROWS, int(_BYTES / max(1.0, widest))))


def _as_described(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the columns in the order and the types that were asked for."""
    if not schema.names:
        return batch
    return pa.RecordBatch.from_arrays([batch.column(field.name).cast(field.type) for field in schema], schema=schema)
