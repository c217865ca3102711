"""Spark: a table or view of its catalogue, Parquet files that it reads, or a data frame of the program that runs.

A frame is computed anew whenever somebody looks at it. So its rows are read once, into private files; all that a run does is done with these rows.
Where the sink is Spark too, they stay there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Self

import pyarrow as pa
from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from sfumato.core.column_types import plain_schema
from sfumato.core.files import PlacePath
from sfumato.core.interfaces import Identified, Scan, Source
from sfumato.core.nested_types import is_readable, refuse_unreadable
from sfumato.core.settings import Settings
from sfumato.databases.address import SPARK, Address
from sfumato.databases.local_copy import LocalCopy
from sfumato.databases.located import Located
from sfumato.databases.spark_connection import SparkConnection
from sfumato.databases.spark_copy import beginning, copied
from sfumato.databases.spark_session import by_connect
from sfumato.databases.spark_table import SparkTable
from sfumato.databases.table import TableColumn


class Spark(Settings):
    """Rows that Spark sees. Cost: one pass over the columns of the table, and one copy of them; a second or so a query, however small."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    path: Annotated[
        PlacePath | None, Field(min_length=1, description="Parquet files, a folder of them or one of a release; hdfs://... or relative to the policy")
    ] = None
    table: Annotated[str | None, Field(min_length=1, description="the table or view")] = None
    schema_: Annotated[str | None, Field(alias="schema", min_length=1, description="the schema it is in; the current one where none is given")] = None
    master: Annotated[str | None, Field(min_length=1, description="where a session is made if none runs; local[*] where it is not given")] = None
    staging: Annotated[PlacePath | None, Field(min_length=1, description="a folder that all workers share; needed on a cluster")] = None
    frame: Annotated[Any, Field(exclude=True, description="a data frame of Spark, from Python")] = None

    _columns: list[TableColumn] | None = PrivateAttr(None)
    _copy: LocalCopy | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if [self.path, self.table, self.frame].count(None) != 2:
            raise ValueError("needs path or table, and not both")
        if isinstance(self.frame, str | int | float | bool | list | dict):
            raise ValueError("frame is given from Python, as sfumato.run(policy, data=frame)")
        if self.schema_ is not None and self.table is None:
            raise ValueError("schema is that of a table")
        return self

    def describe(self) -> pa.Schema:
        """Return the columns and their types."""
        return plain_schema_of([column.field for column in self._described()], str(self.table_name))

    def identity(self) -> str | None:
        """Return which place it is, whatever it is called."""
        with self.connected() as connection:
            return connection.identity(self.table_name)

    def reads(self, sink: Identified) -> bool:
        """Return whether it is a view, or a data frame, that reads the files of a sink."""
        if not isinstance(sink, Located) or sink.address.kind != self.address.kind:
            return False
        with self.connected() as connection, sink.connected() as other:
            return connection.reads(self.table_name, other, sink.table_name)

    def state(self) -> str:
        """Return a token that stays: what was read does not change."""
        return str(self.table_name)

    def about(self) -> int | None:
        """Return nothing: Spark would have to count."""
        return None

    def scan(self) -> Scan:
        """Return the place, of which nothing is read yet."""
        return Scan("spark", (self.table_name.shown,))

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some columns of the copy, which is made the first time."""
        refuse_unreadable(self.describe(), columns, str(self.table_name))
        yield from self._copied().batches(columns, coded)

    def beginning(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Ask Spark for some rows; take those of the copy, where there is one."""
        if self._copy is not None:
            yield from self.batches(columns)
            return
        refuse_unreadable(self.describe(), columns, str(self.table_name))
        wanted = [column for name in columns for column in self._described() if column.name == name]
        with self.connected() as connection:
            yield beginning(connection, self.table_name, wanted, rows)

    @property
    def address(self) -> Address:
        """Spark."""
        return SPARK

    @property
    def table_name(self) -> SparkTable:
        """Which table, path or frame it is."""
        if self.frame is not None:
            return SparkTable("the data frame", frame=self.frame)
        return SparkTable(self.path, is_path=True) if self.path is not None else SparkTable(str(self.table), self.schema_)

    def connected(self) -> SparkConnection:
        """Take the session that runs, or make one."""
        if ".connect." in type(self.frame).__module__:
            raise by_connect()
        return SparkConnection(self.master, self.staging)

    def _described(self) -> list[TableColumn]:
        if self._columns is None:
            with self.connected() as connection:
                self._columns = connection.columns(self.table_name)
        return self._columns

    def _copied(self) -> Source:
        if self._copy is None:
            columns = [column for column in self._described() if is_readable(column.field)]
            with self.connected() as connection:
                schema = pa.schema([column.field for column in columns])
                self._copy = LocalCopy(schema, copied(connection, self.table_name, columns))
        return self._copy.source


def plain_schema_of(fields: Sequence[pa.Field], name: str) -> pa.Schema:
    """Return fields as a schema; refuse two of one name."""
    plain_schema(pa.schema([(field.name, pa.string()) for field in fields]), name)
    return pa.schema(fields)
