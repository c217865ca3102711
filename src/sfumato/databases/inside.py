"""Work inside a database: rows are copied, counted, recoded and checked there, and only what is told of many of them leaves it.

Rows that are alike in the counted columns make a cell, and a cell is known by a key, a number or a text that the server computes from their values.
Searches see cells; what they decide goes back as two small tables, the class of each key and the text of each class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from sfumato.databases.table import TableColumn, TableName

KEY, ROWS, PRINT = "sfumato_key", "sfumato_rows", "sfumato_print"
"""What is selected beside the columns of a policy: the key of a cell, a number of rows, and the sum of the fingerprints of their other values."""


@dataclass(frozen=True)
class Layout:
    """The columns of a table that is worked on: those that are counted, and those that are published as they are. Some are both."""

    table: TableName
    counted: Sequence[TableColumn]
    kept: Sequence[TableColumn]

    @property
    def watched(self) -> list[TableColumn]:
        """The columns that are counted and published."""
        return [column for column in self.kept if column in self.counted]

    @property
    def printed(self) -> list[TableColumn]:
        """The columns that are published and not counted: all that is looked at of them is a fingerprint."""
        return [column for column in self.kept if column not in self.counted]


class Inside(Protocol):
    """What a database does with a table of its own. Everything is private to the session until it is published, and gone with it."""

    def take(self) -> None:
        """Copy the table in one state into a private one, in an order that chance decides."""
        ...

    def cells(self) -> Iterator[pa.RecordBatch]:
        """Return the key, the number of rows and the counted values of each cell."""
        ...

    def occurrences(self, column: TableColumn) -> tuple[int, int]:
        """Return how many distinct values a kept column has, and how many of them stand in one row alone."""
        ...

    def decide(self, classes: pa.RecordBatch, labels: pa.RecordBatch) -> None:
        """Take the class of each key that is published, and the texts of each class."""
        ...

    def stage(self, target: TableName, columns: Sequence[tuple[str, int | None]]) -> TableName:
        """Write the release where nobody sees it, and return its name; each column with the place of its text among a class's, if it is one."""
        ...

    def shown(self, staged: TableName, texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return what is staged: texts and watched values, and for each combination of them rows and fingerprints."""
        ...

    def counted_again(self) -> Iterator[pa.RecordBatch]:
        """Return key, rows and fingerprints of each cell as the private copy has them now."""
        ...

    def publish(self, staged: TableName, target: TableName) -> None:
        """Let the staged table take its place, and remove everything else."""
        ...

    def close(self) -> None:
        """Leave nothing behind."""
        ...


def labels_named(labels: pa.RecordBatch) -> pa.RecordBatch:
    """Return texts under names that no server has trouble with, numbered by class."""
    numbers = pa.array(range(labels.num_rows), pa.int32())
    return pa.RecordBatch.from_arrays([numbers, *labels.columns], names=["class", *(f"t{place}" for place in range(labels.num_columns))])


def listed(parts: Iterable[str]) -> str:
    """Return parts of a statement with commas between them."""
    return ", ".join(parts)
