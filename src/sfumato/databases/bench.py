"""A bench in a database: private tables that are made of queries and dropped when they are done with, all gone with the session.

What is done on it is plain SQL over whole numbers, which every database reads alike; what differs is asked for here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import pyarrow as pa

from sfumato.databases.table import TableColumn


@runtime_checkable
class Bench(Protocol):
    """What a database does with cells that are too many to be read."""

    def kept_cells(self) -> str:
        """Keep the cells as a table; return how a query names it. It has their keys, rows and prints, and the values ``c0``, ``c1`` and so on."""
        ...

    def value(self, place: int, name: str) -> str:
        """Return a kept value, called so, as a query selects it to be read."""
        ...

    def value_key(self, place: int, name: str) -> str:
        """Return the key of a kept value, called so: the same for the same value, and for a missing one."""
        ...

    @property
    def key(self) -> TableColumn:
        """How keys are read."""
        ...

    def decided_classes(self) -> str:
        """The table of what was decided: the class of each key that is published."""
        ...

    def whole(self, expression: str) -> str:
        """Return a sum as a whole number."""
        ...

    def keep(self, query: str) -> str:
        """Make a table of a query; return how a query names it."""
        ...

    def bring(self, table: pa.Table) -> str:
        """Make a table of rows that are here; return how a query names it."""
        ...

    def forget(self, table: str) -> None:
        """Drop a table."""
        ...

    def ask(self, query: str, columns: Sequence[TableColumn], large: bool = False) -> Iterator[pa.RecordBatch]:
        """Return what a query gives, in its order; what may be ``large`` some rows at a time."""
        ...
