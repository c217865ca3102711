"""Work inside a database: rows are copied, counted, recoded and checked there, and only what is told of many of them leaves it.

Rows that are alike in the counted columns make a cell, and a cell is known by a key, a number or a text that the server computes from their values.
Where no column is counted, because a policy only masks, all rows are one cell and one class.
Searches see cells; what they decide goes back as two small tables, the class of each key and the text of each class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import pyarrow as pa

from sfumato.databases.table import TableColumn, TableName

KEY, ROWS, PRINT = "sfumato_key", "sfumato_rows", "sfumato_print"
"""What is selected beside the columns of a policy: the key of a cell, a number of rows, and the sum of the fingerprints of their other values."""

NUMBER, FIRST, LAST = "sfumato_number", "first_row", "last_row"
"""The number of a row among those of its cell, in an order left to chance, and which of them go to a class."""


@dataclass(frozen=True)
class Computed:
    """A column as it is published that the server computes from others; ``sql`` writes it over columns as something refers to them."""

    column: TableColumn
    reads: Sequence[str]
    sql: Callable[[Callable[[str], str]], str]


@dataclass(frozen=True)
class Layout:
    """The columns of a table that is worked on: those that are counted, those that are published as they are, and those that are computed.

    Some are counted and kept. ``read`` are what computed ones need and what nobody sees; ``pads`` is what they need beside, tables of one row;
    ``texts`` are those of the policy that are in one of them. ``subject``, which is counted, says whose a row is. Where rows of one cell may go to
    several classes they are ``numbered``, by chance.
    """

    table: TableName
    counted: Sequence[TableColumn]
    kept: Sequence[TableColumn]
    computed: Sequence[Computed] = ()
    read: Sequence[TableColumn] = ()
    pads: str | None = None
    texts: Sequence[str] = ()
    subject: TableColumn | None = None
    numbered: bool = False

    @cached_property
    def copied(self) -> list[TableColumn]:
        """The columns that are copied as they are."""
        return list(dict.fromkeys([*self.kept, *self.read, *([self.subject] if self.subject is not None else [])]))

    @property
    def identity(self) -> list[TableColumn]:
        """What tells this layout from others: its columns, and as types of further ones the text of what is computed, and texts of the policy."""
        computed = (TableColumn(each.column.name, each.sql(str), None) for each in self.computed)
        numbered = [TableColumn(NUMBER, "", None)] if self.numbered else []
        return [*self.counted, *self.copied, *computed, *(TableColumn("", text, None) for text in self.texts), *numbered]

    @property
    def watched(self) -> list[TableColumn]:
        """The columns that are counted and published."""
        return [column for column in self.kept if column in self.counted]

    @property
    def printed(self) -> list[TableColumn]:
        """The columns that are published as they are and not counted: all that is looked at of them is a fingerprint."""
        return [column for column in self.kept if column not in self.counted]

    def prints(self, refer: Callable[[str], str]) -> list[tuple[TableColumn, str]]:
        """Return what fingerprints are of, over the columns of the source or of its copy: kept values, and what others become."""
        kept = [(column, refer(column.name)) for column in self.printed]
        return kept + [(each.column, each.sql(refer)) for each in self.computed]

    @property
    def released(self) -> list[TableColumn]:
        """What fingerprints are of, as columns of the release."""
        return [*self.printed, *(each.column for each in self.computed)]

    def dealt(self, row: str, decided: str) -> str:
        """Return what more than the key a row and its class must have in common."""
        return f" AND {row}.{NUMBER} BETWEEN {decided}.{FIRST} AND {decided}.{LAST}" if self.numbered else ""

    def beside(self, tables: str) -> str:
        """Return tables of a query, with that of the pads where there is one."""
        return f"{tables} CROSS JOIN {self.pads}" if self.pads else tables


@dataclass(frozen=True, eq=False)
class Decided:
    """Which class the rows of each key go to, as batches of ``KEY`` and ``class``, and how many lines these are.

    Where the layout numbers rows, each line is about those from ``FIRST`` to ``LAST``.
    """

    schema: pa.Schema
    rows: int
    batches: Callable[[], Iterator[pa.RecordBatch]]

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> Decided:
        """Return what one batch says."""
        return cls(batch.schema, batch.num_rows, lambda: iter([batch]))


class Inside(Protocol):
    """What a database does with a table of its own. Everything is private to the session until it is published, and gone with it."""

    def take_up(self) -> bool:
        """Go on with the private copy that an earlier run has left, of the same table, columns and release; say whether there is one."""
        ...

    def take(self) -> None:
        """Copy the table in one state into a private one; remove those that dead runs have left."""
        ...

    def cells(self, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Return the key, the number of rows, the sum of fingerprints and the counted values of each cell; one more than ``most`` of them at most."""
        ...

    def occurrences(self, column: TableColumn) -> tuple[int, int]:
        """Return how many distinct values a kept column has, and how many of them stand in one row alone; in those of one person, with a subject."""
        ...

    def decide(self, classes: Decided, labels: pa.RecordBatch) -> None:
        """Take the class of each key that is published, and the number and the texts of each class, as ``labels_of_classes`` has them."""
        ...

    def stage(self, target: TableName, columns: Sequence[tuple[str, int | None]]) -> TableName:
        """Write the release where nobody sees it, and return its name; each column with the place of its text among a class's, if it is one."""
        ...

    def dealt(self) -> Iterator[pa.RecordBatch]:
        """Return the key and the class, the number of rows and the sum of fingerprints of what is published of the copy, where rows are numbered."""
        ...

    def shown(self, staged: TableName, texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return what is staged: texts and watched values, and for each combination of them rows and fingerprints."""
        ...

    def publish(self, staged: TableName, target: TableName) -> None:
        """Let the staged table take its place, and remove everything else."""
        ...

    def close(self) -> None:
        """Leave nothing behind."""
        ...


@runtime_checkable
class Computing(Inside, Protocol):
    """A database that computes columns of the release from others."""

    def pairs(self, computed: Computed) -> Iterator[pa.RecordBatch]:
        """Return what a computed column is made of and what it becomes in rows that are published, each combination once, with its number of rows."""
        ...

    def values(self, staged: TableName, column: TableColumn) -> tuple[int, int]:
        """Return how many distinct values a column of the release has, and how many of them stand in one row alone."""
        ...

    def fewest(self, staged: TableName, texts: Sequence[str], column: TableColumn) -> int:
        """Return the fewest distinct values that a column has in what shows the same texts; a missing one is a value of its own."""
        ...


def limited(most: int | None) -> str:
    """Return what ends a query of which more than so many rows are too many; one more tells that."""
    return "" if most is None else f" LIMIT {most + 1}"


def labels_of_classes(number: int, texts: Sequence[pa.Array]) -> pa.RecordBatch:
    """Return the texts of so many classes under names that no server has trouble with, numbered by class; there may be classes without any text.

    >>> labels_of_classes(1, []).to_pylist()
    [{'class': 0}]
    """
    numbers = pa.array(range(number), pa.int32())
    return pa.RecordBatch.from_arrays([numbers, *texts], names=["class", *(f"t{place}" for place in range(len(texts)))])


def grouped_by(parts: Sequence[str]) -> str:
    """Return what groups a query; by nothing, all rows are one group, and no row is none, as with any other columns.

    >>> grouped_by(["a", "b"]), grouped_by([])
    (' GROUP BY a, b', ' HAVING count(*) > 0')
    """
    return f" GROUP BY {listed(parts)}" if parts else " HAVING count(*) > 0"


def listed(parts: Iterable[str]) -> str:
    """Return parts of a statement with commas between them."""
    return ", ".join(parts)
