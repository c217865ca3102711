"""Arrow IPC files: the types of the columns are kept, generalised columns are text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import pyarrow as pa
from pydantic import Field

from sfumato.core.file_writer import TableWriter
from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Source
from sfumato.core.settings import Settings
from sfumato.registry import find


class Arrow(Settings):
    """An Arrow IPC file."""

    path: Annotated[PolicyPath, Field(description="the file, relative to the policy")]

    def places(self) -> Sequence[str]:
        """Return the file."""
        return (self.path,)

    def nests(self, name: str) -> bool:
        """Return that lists, structures and maps have their types."""
        del name
        return True

    def reader(self, path: str, names: Sequence[str] | None) -> Source:
        """Return the source that reads a file as it is written here."""
        del names
        source: Source = find("sources", "arrow")(path=path)
        return source

    def open(self, schema: pa.Schema) -> ArrowWriter:
        """Begin a file under a private name."""
        return ArrowWriter(self, schema)


class ArrowWriter(TableWriter):
    """An Arrow IPC file that nobody can see yet."""

    def __init__(self, sink: Arrow, schema: pa.Schema) -> None:
        super().__init__(sink.path, schema)
        with self._file.errors(self.abort):
            self._writer = pa.ipc.new_file(self._file.file, self._schema)

    def finish(self) -> Source:
        """Write the end of the file, sync it and return the source that reads it back."""
        self._end()
        source: Source = find("sources", "arrow")(path=str(self._file.path))
        return source

    def abort(self) -> None:
        """Remove the file."""
        if self._writer is not None:
            # its end is thrown away with the file
            with suppress(OSError, ValueError):
                self._writer.close()
        super().abort()
