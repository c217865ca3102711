"""What the parts that know MySQL and MariaDB ask of a connection to one of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from sfumato.databases.table import TableColumn, TableName


class Session(Protocol):
    """A connection that asks the catalogue and lets the server do something."""

    @property
    def shown(self) -> str:
        """What the server is called in messages."""
        ...

    @property
    def place(self) -> str:
        """Which server it is, whatever it is called."""
        ...

    @property
    def user(self) -> str:
        """As whom the server knows us."""
        ...

    @property
    def staging(self) -> str:
        """The database in which releases are written, which is made where it is not there."""
        ...

    def placed(self, table: TableName) -> TableName:
        """Return the name of a table with that of its database."""
        ...

    def columns(self, table: TableName) -> list[TableColumn]:
        """Return the columns of a table."""
        ...

    def staged_name(self, table: TableName) -> TableName:
        """Return a private name."""
        ...

    def reserve(self, table: TableName, columns: Sequence[str]) -> None:
        """Let nobody take what will have a private name for what a dead process left behind."""
        ...

    def facts(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return what the catalogue says."""
        ...

    def do(self, statement: str) -> None:
        """Let the server do something."""
        ...

    def refused_with(self, statement: str, numbers: Collection[int]) -> int:
        """Let the server do something; return the number of its error where it is one of these, and zero where it is done."""
        ...
