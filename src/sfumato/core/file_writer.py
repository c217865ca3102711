"""A sink's file that nobody can see yet: what the writers of all formats do alike."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from sfumato.core.compression import Compression, compressing, compression_of
from sfumato.core.staging import StagedFile


class FileWriter:
    """A file under a private name."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = StagedFile(path)

    @property
    def staging(self) -> Sequence[str]:
        """The private file."""
        return (str(self._file.path),)

    def publish(self) -> Sequence[str]:
        """Rename the file to its final name."""
        self._file.publish()
        return (self._path,)

    def abort(self) -> None:
        """Remove the file."""
        self._file.abort()


class TextWriter(FileWriter):
    """A file of text, compressed as its name or the policy says."""

    def __init__(self, path: str, compression: Compression) -> None:
        super().__init__(path)
        self._compression = compression_of(path, compression)
        self._compressor = compressing(self._file.file, self._compression) if self._compression != "none" else None

    def _put(self, content: bytes | memoryview) -> None:
        with self._file.errors():
            (self._compressor or self._file.file).write(content)

    def _end(self) -> None:
        """Bring everything to the disk."""
        if self._compressor is not None:
            with self._file.errors():
                self._compressor.close()
        self._file.sync()

    def abort(self) -> None:
        """Remove the file."""
        if self._compressor is not None:
            # what it still holds is thrown away with the file
            with suppress(OSError, ValueError):
                self._compressor.close()
        super().abort()


class TableWriter(FileWriter):
    """A file whose columns have types, written by a writer of Arrow's. Its own classes begin ``_writer``."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        super().__init__(path)
        # a schema's metadata could tell about the source: only names and types go into the file
        types = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
        self._schema = pa.schema(list(zip(schema.names, types, strict=True)))
        self._writer: Any = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Write further rows."""
        with self._file.errors(self.abort):
            self._writer.write_table(pa.Table.from_batches([batch]).cast(self._schema))

    def _end(self) -> None:
        """Write the end of the file and bring everything to the disk."""
        with self._file.errors(self.abort):
            self._writer.close()
        self._file.sync()
