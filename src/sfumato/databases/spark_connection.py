"""What Spark does for a run: its catalogue, its frames, and private folders that its workers can write to."""

from __future__ import annotations

import secrets
from types import TracebackType
from typing import Any

import pyarrow as pa

from sfumato.core.workplace import Workplace
from sfumato.databases.connection import Catalogue
from sfumato.databases.spark_files import Private, files_of
from sfumato.databases.spark_session import is_local, session_of, spark_errors
from sfumato.databases.spark_table import SparkTable, columns_of, frame_of, identity_of, reads_files_of
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import UsageError


class SparkConnection:
    """The session, and what was made in it for one run."""

    def __init__(self, master: str | None, staging: str | None) -> None:
        self._staging = staging
        self._private: list[Private | Workplace] = []
        self._held: list[str] = []
        self.session = session_of(master)

    def __enter__(self) -> SparkConnection:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Remove what was private; the session stays."""
        while self._held:
            self.session.catalog.dropTempView(self._held.pop())
        while self._private:
            self._private.pop().close()

    def columns(self, table: TableName) -> list[TableColumn]:
        """Return the columns of a table, in their order."""
        return columns_of(self.session, as_spark(table))

    def identity(self, table: TableName) -> str | None:
        """Return what tells a table from all others."""
        return identity_of(self.session, as_spark(table))

    def reads(self, table: TableName, other: Catalogue, replaced: TableName) -> bool:
        """Return whether the files that a table is read from are those of another place."""
        return isinstance(other, SparkConnection) and reads_files_of(self.session, as_spark(table), as_spark(replaced))

    def about(self, table: TableName) -> int | None:
        """Return nothing: Spark would have to count."""
        del table
        return None

    def frame(self, table: TableName) -> Any:
        """Return the rows under short names, ``s0`` and so on: no name of a column gives trouble then."""
        frame = frame_of(self.session, as_spark(table))
        return frame.toDF(*(f"s{place}" for place in range(len(frame.columns))))

    def hold_secret(self, row: pa.RecordBatch) -> str:
        """Make a view of one row of bytes, which goes with the run; no plan shows what is in it."""
        return self._view(row)

    def hold_texts(self, row: pa.RecordBatch) -> str:
        """Make a view of one row of texts."""
        return self._view(row)

    def _view(self, row: pa.RecordBatch) -> str:
        name = f"sfumato_{secrets.token_hex(8)}"
        with spark_errors("the private tables"):
            self.session.createDataFrame(pa.Table.from_batches([row])).createOrReplaceTempView(name)
        self._held.append(name)
        return name

    def left_by_the_dead(self, target: SparkTable) -> str | None:
        """Take the folder beside the path that a release goes to as a dead run has left it, and return where it is; None where none would be."""
        if not target.is_path:
            return None
        files, uri = files_of(self.session, target.name)
        return self._kept(files.private(uri, keep=True)) if files.has_left(uri) else None

    def leave(self) -> None:
        """Let others have the private folders, with what is in them."""
        while self._private:
            left = self._private.pop()
            left.close() if isinstance(left, Workplace) else left.leave()

    def private(self, target: TableName | None = None) -> str:
        """Make a folder for this run alone, beside the path that a release goes to, in ``staging``, or on this machine; return where it is."""
        if isinstance(target, SparkTable) and target.is_path:
            files, uri = files_of(self.session, target.name)
            return self._kept(files.private(uri))
        if self._staging is not None:
            files, uri = files_of(self.session, self._staging)
            return self._kept(files.private(f"{uri}/{secrets.token_hex(8)}"))
        if not is_local(self.session):
            raise UsageError(
                "the workers of Spark are on other machines, and nothing says which folder they and this one share",
                code="spark-staging",
                hint="staging: hdfs:///tmp/sfumato, or another folder that all of them can write to",
            )
        workplace = Workplace()
        self._private.append(workplace)
        return f"file:{workplace.folder.absolute()}"

    def _kept(self, private: Private) -> str:
        self._private.append(private)
        return private.uri


def as_spark(table: TableName) -> SparkTable:
    """Return the name of a table as one of Spark."""
    return table if isinstance(table, SparkTable) else SparkTable(table.name, table.schema)
