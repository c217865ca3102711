"""The rows of a frame, brought here in one state and in bounded pieces, where the work is not done inside Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from sfumato.core.column_types import refuse_damaged_text
from sfumato.databases.spark_connection import SparkConnection
from sfumato.databases.spark_files import files_of
from sfumato.databases.spark_session import spark_errors
from sfumato.databases.spark_table import SparkTable
from sfumato.databases.spark_types import bytewise, typed
from sfumato.databases.table import TableColumn

_ROWS = 1 << 17


def copied(connection: SparkConnection, table: SparkTable, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
    """Let the workers write the rows to files of bounded size, and read these one after another."""
    yield from in_pieces(connection.session, chosen(connection, table, columns), columns, f"{connection.private()}/copy", str(table))


def in_pieces(session: Any, frame: Any, columns: Sequence[TableColumn], folder: str, table: str) -> Iterator[pa.RecordBatch]:
    """Return a frame in bounded pieces and in its order, by way of a private folder."""
    with spark_errors(table):
        frame.write.option("maxRecordsPerFile", _ROWS).parquet(folder)
    files, uri = files_of(session, folder)
    # the workers number their files in the order of the rows
    for name in files.names(uri):
        if name.endswith(".parquet"):
            with spark_errors(table):
                # a file on its own is one task, and its rows come in their order
                part = session.read.option("__globPaths__", "false").parquet(f"{uri}/{name}").coalesce(1).toArrow()
            yield refuse_damaged_text(typed(part, columns), table)


def beginning(connection: SparkConnection, table: SparkTable, columns: Sequence[TableColumn], rows: int) -> pa.RecordBatch:
    """Return some rows."""
    with spark_errors(str(table)):
        found = chosen(connection, table, columns).limit(rows).toArrow()
    return refuse_damaged_text(typed(found, columns), str(table))


def chosen(connection: SparkConnection, table: SparkTable, columns: Sequence[TableColumn]) -> Any:
    """Return a frame of some columns, under short names."""
    from pyspark.sql import functions

    places = {column.name: f"s{place}" for place, column in enumerate(connection.columns(table))}
    picked = [bytewise(column, functions.col(places[column.name])).alias(f"c{place}") for place, column in enumerate(columns)]
    return connection.frame(table).select(*picked)
