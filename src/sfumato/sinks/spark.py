"""Spark: a folder of Parquet files with one version of the release at a time, or a table of the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Self

import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core.files import PlacePath, PolicyPath, file_errors
from sfumato.core.interfaces import Scan, Source
from sfumato.core.settings import Settings
from sfumato.core.workplace import Workplace
from sfumato.databases.address import SPARK, Address
from sfumato.databases.spark_connection import SparkConnection
from sfumato.databases.spark_files import files_of
from sfumato.databases.spark_release import publish, refuse_place
from sfumato.databases.spark_table import SparkTable
from sfumato.databases.spark_types import as_written, kind_of
from sfumato.registry import find


class Spark(Settings):
    """A folder or a table. One that is there is replaced: the folder gets a new version, and the pointer ``_current`` in it names that."""

    path: Annotated[
        PlacePath | None, Field(min_length=1, description="the folder, hdfs://... or relative to the policy; the version that counts is in _current")
    ] = None
    table: Annotated[str | None, Field(min_length=1, description="the table; one that is there is replaced")] = None
    schema_: Annotated[str | None, Field(alias="schema", min_length=1, description="the schema it goes to; the current one if none is given")] = None
    master: Annotated[str | None, Field(min_length=1, description="where a session is made if none runs; local[*] where it is not given")] = None
    staging: Annotated[PlacePath | None, Field(min_length=1, description="for a table, a folder that all workers share; needed on a cluster")] = None
    record: Annotated[
        PolicyPath | None, Field(description="the file that the record goes to, relative to the policy; none where it is not given")
    ] = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.path is None) == (self.table is None):
            raise ValueError("needs path or table, and not both")
        if self.schema_ is not None and self.table is None:
            raise ValueError("schema is that of a table")
        return self

    @property
    def address(self) -> Address:
        """Spark."""
        return SPARK

    @property
    def table_name(self) -> SparkTable:
        """Which folder or table it is."""
        return SparkTable(self.path, is_path=True) if self.path is not None else SparkTable(str(self.table), self.schema_)

    def places(self) -> Sequence[str]:
        """Return the folder, or the table."""
        return (self.table_name.shown,)

    def identity(self) -> str | None:
        """Return which place it is, whatever it is called; None where it is a table that is new."""
        with self.connected() as connection:
            return connection.identity(self.table_name)

    def refuse_columns(self, names: Sequence[str]) -> str | None:
        """Return which columns have names that are one to Spark, which does not tell letters by their case."""
        known = Counter(name.lower() for name in names)
        double = [name for name in names if known[name.lower()] > 1]
        return f"Spark would take columns for one: {', '.join(double)}" if double else None

    def as_source(self) -> Source:
        """Return the source that reads the release."""
        settings = {"path": self.path, "table": self.table, "schema": self.schema_, "master": self.master, "staging": self.staging}
        source: Source = find("sources", "spark")(**settings)
        return source

    def open(self, schema: pa.Schema) -> SparkWriter:
        """Begin a release that nobody sees."""
        return SparkWriter(self, schema)

    def connected(self) -> SparkConnection:
        """Take the session that runs, or make one."""
        return SparkConnection(self.master, self.staging)


class SparkWriter:
    """A Parquet file here, which Spark gets when it is published."""

    def __init__(self, sink: Spark, schema: pa.Schema) -> None:
        from pyarrow import parquet

        self._sink = sink
        self._schema = pa.schema([pa.field(field.name, kind_of(field)) for field in schema])
        self._connection = sink.connected()
        self._workplace = Workplace()
        self._writer: parquet.ParquetWriter | None = None
        self._written: SparkWritten | None = None
        try:
            refuse_place(self._connection, sink.table_name)
            self._folder = self._connection.private(sink.table_name)
            self._path = self._workplace.folder / "part-00000.parquet"
            with file_errors(self._path, "written"):
                self._writer = parquet.ParquetWriter(str(self._path), self._schema, compression="zstd")
        except BaseException:
            self.abort()
            raise

    @property
    def staging(self) -> Sequence[str]:
        """No private files that nobody would clear away: they lie in folders with locks."""
        return ()

    def write(self, batch: pa.RecordBatch) -> None:
        """Write further rows."""
        if self._writer is not None:
            with file_errors(self._path, "written"):
                self._writer.write_batch(as_written(batch, self._schema))

    def finish(self) -> Source:
        """Write the end of the file, and return the source that reads it back."""
        if self._writer is not None:
            with file_errors(self._path, "written"):
                self._writer.close()
        source: Source = find("sources", "parquet")(path=str(self._path))
        self._written = SparkWritten(source)
        return self._written

    def publish(self) -> Sequence[str]:
        """Let Spark have the file, and put it in its place."""
        files, uri = files_of(self._connection.session, f"{self._folder}/staged")
        files.take(str(self._path), f"{uri}/{self._path.name}")
        publish(self._connection, uri, self._sink.table_name)
        if self._written is not None:
            self._written.source = self._sink.as_source()
        self.abort()
        return self._sink.places()

    def abort(self) -> None:
        """Leave nothing behind."""
        if self._writer is not None:
            # else it would write the end of the file when it is collected
            self._writer.is_open = False
            self._writer = None
        self._workplace.close()
        self._connection.__exit__(None, None, None)


class SparkWritten:
    """What was written: a private file, and as soon as that is published what Spark reads."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def describe(self) -> pa.Schema:
        """Return the columns and their types."""
        return self.source.describe()

    def state(self) -> str:
        """Return a token that changes when the file does."""
        return self.source.state()

    def about(self) -> int | None:
        """Return about how many rows there are."""
        return self.source.about()

    def scan(self) -> Scan | None:
        """Return how a store can read it."""
        return self.source.scan()

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some columns."""
        yield from self.source.batches(columns, coded)
