"""A connection that writes down what it is asked to do, and does nothing: what a run would let a server do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType

import pyarrow as pa

from sfumato.databases.address import Address
from sfumato.databases.inside import Layout
from sfumato.databases.located import inside_of
from sfumato.databases.table import TableColumn, TableName

_STAGING = {"mysql": "sfumato_staging"}
_PRIVATE = {"postgresql": ("rows", "classes", "labels", "staged"), "mysql": ("rows", "cells", "classes", "labels", "staged")}


class Script:
    """Gathers statements. Tables of a run have names that chance makes; here they are called by what they are for."""

    def __init__(self, address: Address) -> None:
        self.statements: list[str] = []
        self._address = address
        self._names = iter(_PRIVATE[address.kind])

    def __enter__(self) -> Script:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Do nothing."""

    def do(self, statement: str) -> None:
        """Note a statement."""
        self.statements.append(statement)

    def select(self, query: str, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Note a query, which gives one row of missing values."""
        self.statements.append(query)
        kinds = [pa.null() if column.kind is None else column.kind for column in columns]
        yield pa.RecordBatch.from_arrays([pa.nulls(1, kind) for kind in kinds], names=[column.name for column in columns])

    def staged_name(self, table: TableName) -> TableName:
        """Return what a private table is for."""
        return TableName(f"sfumato_{next(self._names)}", _STAGING.get(self._address.kind, table.schema))

    def placed(self, table: TableName) -> TableName:
        """Return the name of a table with that of its database."""
        return TableName(table.name, table.schema or self._address.database)

    def reserve(self, table: TableName, columns: Sequence[str]) -> None:
        """Do nothing: nobody else would make such a table."""

    def load(self, table: TableName, batch: pa.RecordBatch) -> None:
        """Note that rows come."""
        self.statements.append(f"-- {', '.join(batch.schema.names)} of {table} are loaded in bulk")

    def loaded(self, table: TableName) -> None:
        """Do nothing."""

    def publish(self, staged: TableName, table: TableName) -> None:
        """Note that the release takes its place."""
        self.statements.append(f"-- {staged} takes the place of {table} in one step, with its grants, comments and indexes")

    def commit(self) -> None:
        """Note the end."""
        if self._address.kind == "postgresql":
            self.statements.append("COMMIT")


def spark_steps(source: TableName, target: TableName, counted: Sequence[str]) -> list[str]:
    """Return what a run lets Spark do: it is given plans, not statements."""
    steps = (
        f"{source} is copied to private Parquet files, each row with the key of its cell and a number by chance",
        f"the copy is grouped by {', '.join(counted)} and by what is watched; these cells are read",
        "the values of columns that are kept are counted, all at once",
        "the class of each key and the texts of each class are sent to the workers",
        "copy and classes are joined, dealt out to files by chance and sorted by it, and written to private Parquet files",
        "these are grouped by what they show, and the copy by its keys; both are read, and compared",
        f"the files take the place of {target}, and everything else is removed",
    )
    return [f"-- {step}" for step in steps]


def script(address: Address, layout: Layout, target: TableName, columns: Sequence[tuple[str, int | None]]) -> list[str]:
    """Return the statements of a run, in their order; ``columns`` are those of the release, each with its place among the texts, if it is one."""
    written = Script(address)
    inside = inside_of(written, address.kind, layout, target)
    texts = [name for name, place in columns if place is not None]
    inside.take()
    list(inside.cells())
    for column in layout.printed:
        inside.occurrences(column)
    keys = pa.int64() if address.kind == "postgresql" else pa.string()
    classes = pa.RecordBatch.from_arrays([pa.nulls(0, keys), pa.nulls(0, pa.int32())], names=["sfumato_key", "class"])
    inside.decide(classes, pa.RecordBatch.from_arrays([pa.nulls(0, pa.string())] * len(texts), names=texts))
    staged = inside.stage(target, columns)
    list(inside.shown(staged, texts))
    list(inside.counted_again())
    inside.publish(staged, target)
    return written.statements
