"""A release in two tables of a database: equivalence classes, each once, and the rows with the numbers of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import pyarrow as pa

from sfumato.core.class_numbers import ClassNumbers
from sfumato.core.interfaces import Source
from sfumato.databases.class_tables import ClassTables, Held
from sfumato.databases.connection import Connection
from sfumato.databases.table import TableName

_ROW = "sfumato_row"


class ClassTablesWriter:
    """Two tables that nobody sees yet, and that take their places in one step."""

    def __init__(self, connection: Connection, rows: TableName, classes: TableName, schema: pa.Schema, places: Sequence[str]) -> None:
        self._connection, self._tables, self._schema, self._places = connection, (classes, rows), schema, places
        self._numbers = ClassNumbers(schema)
        self._written = 0
        try:
            self._classes, self._rows = connection.staged_name(classes), connection.staged_name(rows)
            connection.create(self._classes, self._numbers.classes)
            connection.create(self._rows, pa.schema([pa.field(_ROW, pa.int64()), *self._numbers.rows]))
        except BaseException:
            self.abort()
            raise

    @property
    def staging(self) -> Sequence[str]:
        """No private files: what is staged is in the database."""
        return ()

    def write(self, batch: pa.RecordBatch) -> None:
        """Load further rows; classes wait until all of theirs are known."""
        numbered = self._numbers.numbered(batch)
        places = pa.array(np.arange(self._written, self._written + batch.num_rows))
        self._connection.load(self._rows, pa.RecordBatch.from_arrays([places, *numbered.columns], names=[_ROW, *numbered.schema.names]))
        self._written += batch.num_rows

    def finish(self) -> Source:
        """Load the classes, and return the source that reads back what the server has of both."""
        self._connection.loaded(self._rows)
        self._connection.load(self._classes, self._numbers.shown())
        self._connection.loaded(self._classes)
        return ClassTables(lambda: nullcontext(self._connection), self._held, self._schema.names)

    def publish(self) -> Sequence[str]:
        """Let both tables take their places."""
        self._connection.without(self._rows, _ROW)
        self._connection.publish_all(list(zip((self._classes, self._rows), self._tables, strict=True)))
        self._connection.commit()
        self._connection.__exit__(None, None, None)
        return self._places

    def abort(self) -> None:
        """Undo everything."""
        self._connection.__exit__(None, None, None)

    def _held(self, connection: Connection) -> tuple[Held, Held]:
        return (
            Held(self._classes, connection.made_columns(self._numbers.classes)),
            Held(self._rows, connection.made_columns(self._numbers.rows), _ROW),
        )
