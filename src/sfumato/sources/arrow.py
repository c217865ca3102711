"""Arrow IPC files and streams, also called Feather: columns with types, read batch by batch."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from sfumato.core.arrow_messages import FarBytes, NoMessageError, files_in
from sfumato.core.column_types import damage_is, plain_schema, refuse_damaged_text
from sfumato.core.files import file_errors, unchanged
from sfumato.core.nested_types import refuse_unreadable
from sfumato.core.nested_values import as_described
from sfumato.core.table_files import TableFiles
from sfumato.errors import DataError

_MAGIC = b"ARROW1"
_ROWS = 1 << 18


class Arrow(TableFiles):
    """An Arrow IPC file or stream, or several of one table. Those that follow each other in one file are one, if they have the same schema.

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
                    within = _files(handle)
                    with pa.ipc.open_file(pa.PythonFile(within[0])) as reader:
                        yield reader.schema, self._files(within, reader.schema)
                else:
                    with pa.ipc.open_stream(handle) as stream:
                        yield stream.schema, self._streams(handle, stream)

    def _files(self, files: Sequence[_Within], first: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read files that follow each other: the footer of the last one tells of itself alone."""
        for file in files:
            file.seek(0)
            with pa.ipc.open_file(pa.PythonFile(file)) as reader:
                self._refuse_other(reader.schema, first)
                yield from (reader.get_batch(number) for number in range(reader.num_record_batches))

    def _streams(self, handle: BinaryIO, first: pa.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
        """Read a stream and those that a writer that was started again has appended to it: they would be lost without a word."""
        yield from first
        while handle.read(1):
            handle.seek(-1, os.SEEK_CUR)
            with pa.ipc.open_stream(handle) as further:
                self._refuse_other(further.schema, first.schema)
                yield from further

    def _refuse_other(self, schema: pa.Schema, first: pa.Schema) -> None:
        if not schema.equals(first):
            words = f"{self.path} holds a further stream of Arrow with another schema than the first"
            raise DataError(words, code="arrow-schema-changed", hint="let each schema have a file of its own")

    def _schema(self, schema: pa.Schema) -> pa.Schema:
        return plain_schema(schema, self.path)

    def _damaged(self) -> DataError:
        return DataError(f"{self.path} is damaged or no Arrow file", code="arrow-damaged", hint="write the file again")


class _Within(io.RawIOBase):
    """A stretch of a file, as if it were one of its own: what Arrow's footer says counts from where it begins."""

    def __init__(self, handle: BinaryIO, start: int, end: int) -> None:
        self._number, self._start, self._size, self._place = handle.fileno(), start, end - start, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        self._place = place + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        return self._place

    def read(self, number: int = -1) -> bytes:
        left = max(self._size - self._place, 0)
        found = os.pread(self._number, left if number < 0 else min(number, left), self._start + self._place)
        self._place += len(found)
        return found


def _files(handle: BinaryIO) -> list[_Within]:
    """Return the files that follow each other in one; all of it where anything else is there, which Arrow refuses."""
    size = os.fstat(handle.fileno()).st_size
    try:
        found = files_in(FarBytes.of_file(handle))
    except NoMessageError:
        found = []
    whole = [(0, size)] if len(found) < 2 or found[-1][1] != size else found
    return [_Within(handle, start, end) for start, end in whole]
