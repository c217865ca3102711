"""Arrow IPC files and streams, also called Feather: columns with types, read batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from sfumato.core.column_types import damage_is, plain_schema, refuse_damaged_text
from sfumato.core.files import file_errors, unchanged
from sfumato.core.nested_types import refuse_unreadable
from sfumato.core.nested_values import as_described
from sfumato.core.table_files import TableFiles
from sfumato.errors import DataError

_MAGIC = b"ARROW1"
_ROWS = 1 << 18


class Arrow(TableFiles):
    """An Arrow IPC file or stream, or several of one table; streams that follow each other in one file are one, if they have the same schema.

    Cost: one pass over the whole file, whatever columns are asked for, one of its batches at a time.
    """

    def file_schema(self) -> pa.Schema:
        """Return the columns of one file and their types; dictionaries count as what they hold."""
        with self._opened() as (schema, _):
            return self._schema(schema)

    def file_batches(self, columns: Sequence[str], coded: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns of one file."""
        del coded
        with unchanged(self.path), self._opened() as (schema, batches):
            known = self._schema(schema)
            refuse_unreadable(known, columns, self.path)
            wanted = pa.schema([known.field(name) for name in columns])
            for batch in batches:
                # before anything is made of it: a damaged file may point anywhere
                refuse_damaged_text(batch, self.path)
                yield from as_described(batch.select(list(columns)), wanted, _ROWS)

    @contextmanager
    def _opened(self) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        """Open the file, or the stream."""
        with file_errors(self.path), Path(self.path).open("rb") as handle:
            is_file = handle.read(len(_MAGIC)) == _MAGIC
            handle.seek(0)
            with damage_is(self._damaged()):
                if is_file:
                    with pa.ipc.open_file(handle) as reader:
                        yield reader.schema, (reader.get_batch(number) for number in range(reader.num_record_batches))
                else:
                    with pa.ipc.open_stream(handle) as stream:
                        yield stream.schema, self._streams(handle, stream)

    def _streams(self, handle: BinaryIO, first: pa.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
        """Read a stream and those that a writer that was started again has appended to it: they would be lost without a word."""
        yield from first
        while handle.read(1):
            handle.seek(-1, os.SEEK_CUR)
            with pa.ipc.open_stream(handle) as further:
                if not further.schema.equals(first.schema):
                    words = f"{self.path} holds a further stream of Arrow with another schema than the first"
                    raise DataError(words, code="arrow-schema-changed", hint="let each schema have a file of its own")
                yield from further

    def _schema(self, schema: pa.Schema) -> pa.Schema:
        return plain_schema(schema, self.path)

    def _damaged(self) -> DataError:
        return DataError(f"{self.path} is damaged or no Arrow file", code="arrow-damaged", hint="write the file again")
