"""Retention: what each database does in its own way when rows go from a table to an archive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from sfumato.databases.reached import Reached
from sfumato.databases.table import Referring, TableColumn, TableName

PRINTED = (TableColumn("n", "bigint", pa.int64()), TableColumn("print", "text", pa.string()))
"""How a number of rows and the sum of their fingerprints are read."""


class Retaining(Protocol):
    """How a database retains."""

    @property
    def others_write(self) -> bool:
        """Whether anybody else may write, or make foreign keys, while rows are retained."""
        ...

    def reached(self, table: TableName) -> list[Reached]:
        """Return all tables whose rows are deleted with those of a table or a view; refuse a view of which the server does not say it."""
        ...

    def parts(self, table: TableName) -> list[TableName]:
        """Return all tables whose rows a foreign key deletes that deletes rows of a table, itself among them."""
        ...

    def acting(self, table: TableName, reached: Sequence[Reached]) -> list[str]:
        """Return what acts by itself when rows of a table are deleted that are those of others: triggers and rules."""
        ...

    def may_keep(self, link: Referring) -> bool:
        """Return whether a trigger of a table may keep rows of it that a foreign key deletes or changes."""
        ...

    def seen_by_others(self, query: str) -> int:
        """Return the one number that a query gives to a session that sees nothing of what this one, or another, has not committed."""
        ...

    def is_ours(self, table: TableName) -> bool:
        """Return whether a table is the user's own, as far as the server says whose it is, and nothing acts by itself on its rows or hides them."""
        ...

    def unique_keys(self, table: TableName) -> list[frozenset[str]] | None:
        """Return which columns the server itself keeps unique; None where it cannot, or where nobody else writes meanwhile."""
        ...

    def without_transactions(self, table: TableName) -> str | None:
        """Return the engine of a table whose changes cannot be undone; empty where nobody knows it, as that of a view; None where they can."""
        ...

    def of_others(self, beginning: str, table: TableName) -> list[str]:
        """Return the names, beginning so, of what other users keep for themselves about a table, as far as this one may see it."""
        ...

    def mark(self, keys: TableName, reached: Sequence[Reached]) -> None:
        """Note at a list of keys which tables its rows are of."""
        ...

    def lists_of(self, table: TableName, reached: Sequence[Reached]) -> list[str]:
        """Return the names of lists, as far as this user may see them, whose marks say that their rows are of one of the tables that are reached."""
        ...

    def marked_lists(self, table: TableName) -> dict[TableName, list[TableName]]:
        """Return the lists of this user, and for each those tables of which its mark says that its rows are of them, as far as they are still there.

        Rows of a table that has gone may be in this one, and those of a table that is there too where a name is all that is known of it.
        """
        ...

    def columns_now(self, table: TableName) -> list[TableColumn]:
        """Return the columns of a table as the session that works sees it, which may have just made it."""
        ...

    def is_name(self, text: str, name: str) -> str:
        """Return the condition that a text is the name of a table, as the server tells names of tables apart."""
        ...

    def compare_by_bytes(self, table: TableName) -> None:
        """Let the texts of a table be equal where their bytes are, also in its keys."""
        ...

    def create_from(self, table: TableName, query: str) -> None:
        """Make a table of what a query gives, as it is in one moment, and wait for nobody who changes rows meanwhile."""
        ...

    def settle(self) -> None:
        """Let happen now what waits for the end of the transaction, such as triggers that are deferred."""
        ...

    def rows_print(self, table: TableName, columns: Sequence[TableColumn], chosen: str) -> list[object]:
        """Return how many rows ``t`` of a table are chosen, and the sum of the fingerprints of their values, which is the same in any order."""
        ...
