"""Several tables in one dump: one file under a private name, to which each table is added when those before it are whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import pyarrow as pa

from sfumato.core.compression import Compression, compressing, compression_of
from sfumato.core.interfaces import Source
from sfumato.core.staging import StagedFile
from sfumato.databases.dump_script import Dialect, script_of
from sfumato.sinks._dumped import Dumped


class DumpsTogether:
    """The file of several tables; it takes its place when all of them are verified."""

    def __init__(self, path: str, dialect: Dialect, compression: Compression) -> None:
        self.path, self.dialect = path, dialect
        self.compression = compression_of(path, compression)

    @cached_property
    def file(self) -> StagedFile:
        """The file, begun where the first table is written."""
        file = StagedFile(self.path)
        content = self.compressor(file)
        content.write(script_of(self.dialect).beginning)
        self.complete(file, content)
        return file

    def compressor(self, file: StagedFile) -> Any:
        """Return what a part of the file is written to; a compressed file may have several parts, each whole."""
        return compressing(file.file, self.compression) if self.compression != "none" else file.file

    def complete(self, file: StagedFile, content: Any) -> None:
        """End a part of the file, and bring it to the disk."""
        if self.compression != "none":
            with file.errors():
                content.close()
        file.sync()

    def publish(self) -> None:
        """Let the file take its place."""
        self.file.publish()

    def close(self) -> None:
        """Leave nothing behind that was not published."""
        if "file" in vars(self):
            self.file.abort()


class TableOfDumps:
    """One table of a dump that nobody can see yet."""

    def __init__(self, together: DumpsTogether, table: str, schema: pa.Schema, kinds: Mapping[str, pa.DataType]) -> None:
        self._together, self._table, self._kinds = together, table, kinds
        self._script = script_of(together.dialect)
        try:
            self._content = together.compressor(together.file)
            self._put(self._script.table(table, schema))
        except BaseException:
            self.abort()
            raise

    @property
    def staging(self) -> Sequence[str]:
        """The private file."""
        return (str(self._together.file.path),)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write further rows."""
        self._put(self._script.rows(self._table, batch))

    def finish(self) -> Source:
        """End the table and return the source that reads it back."""
        self._put(self._script.end())
        together = self._together
        together.complete(together.file, self._content)
        source = Dumped(path=str(together.file.path), table=self._table, dialect=together.dialect, compression=together.compression)
        return source.remember(self._kinds)

    def publish(self) -> Sequence[str]:
        """Do nothing: the file takes its place when all tables are ready."""
        return (self._together.path,)

    def abort(self) -> None:
        """Remove the file, with all of its tables."""
        if self._together.compression != "none" and "_content" in vars(self):
            with suppress(OSError, ValueError):
                self._content.close()
        self._together.close()

    def _put(self, content: bytes) -> None:
        with self._together.file.errors():
            self._content.write(content)
