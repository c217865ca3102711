"""A sink that appends to an archive: a release becomes a batch of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sfumato.databases.archive import Archive
from sfumato.databases.connection import Connection
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import UsageError
from sfumato.sinks.sql import Sql, SqlWriter


@dataclass(frozen=True, eq=False)
class ArchiveSink:
    """Appends a batch of so many source rows; ``check`` looks at the whole archive before anybody else sees it, and may refuse.

    ``delete`` deletes the rows of the source in the same transaction, where it can be done there.
    """

    sink: Sql
    batch: str
    rows: int
    source: str
    check: Callable[[Connection, TableName, Sequence[TableColumn]], None]
    delete: Callable[[Connection], None] | None = None

    @property
    def record(self) -> str | None:
        """The file that the record of this batch goes to: that of the sink, with the batch in its name."""
        return record_of_batch(self.sink, self.batch)

    def places(self) -> Sequence[str]:
        """Return the archive."""
        return self.sink.places()

    def open(self, schema: pa.Schema) -> ArchiveWriter:
        """Begin a table that nobody sees."""
        connection = self.sink.connected()
        try:
            # this session may go on for a moment when its process is dead: the next run waits until it is gone
            connection.claim(f"append {connection.placed(self.sink.table_name)}")
            if connection.identity(self.sink.table_name) is not None and connection.hides_rows(self.sink.table_name):
                words = (
                    f"row-level security hides rows of the archive {self.sink.table_name} from this user, of which promises are to hold as a whole"
                )
                raise UsageError(words, code="archive-rows-hidden", hint="a user that sees all rows (BYPASSRLS, or the owner without FORCE)")
        except BaseException:
            connection.__exit__(None, None, None)
            raise
        return ArchiveWriter(connection, self.sink.table_name, schema, self.places(), self)


def record_of_batch(sink: Sql, batch: str) -> str | None:
    """Return the file that the record of a batch goes to; None where there is none."""
    if sink.record is None:
        return None
    path = Path(sink.record)
    return str(path.with_name(f"{path.stem}.{batch.replace('/', '_')}{path.suffix}"))


class ArchiveWriter(SqlWriter):
    """A staged table that goes into an archive."""

    def __init__(self, connection: Connection, table: TableName, schema: pa.Schema, places: Sequence[str], sink: ArchiveSink) -> None:
        super().__init__(connection, table, schema, places)
        self._sink = sink

    def publish(self) -> Sequence[str]:
        """Append the rows, in an order that says nothing, with their line in the ledger; all of it is seen at once."""
        connection, names = self._connection, self._schema.names
        archive = Archive(connection, self._table, self._sink.source)
        archive.prepare(names, self._staged)
        archive.refuse_without_transactions()
        columns = connection.made_columns(self._schema)
        with connection.transaction():
            archive.append(self._staged, names, self._sink.batch, self._sink.rows, self._rows, "written" if self._sink.delete is None else "deleted")
            archive.refuse_altered(self._staged, columns, self._sink.batch)
            self._sink.check(connection, archive.table, columns)
            if self._sink.delete is not None:
                self._sink.delete(connection)
            connection.drop_staged(self._staged)
        connection.__exit__(None, None, None)
        return self._places
