"""Masking a table where it is: what each database does in its own way.

Nobody of its audience may read a table of which some rows are masked and some are not. PostgreSQL takes their grants away and gives them back; on
MySQL and MariaDB, where rights may be those to a whole database, the table is elsewhere meanwhile, in the database for what is staged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sfumato.databases.address import Kind
from sfumato.databases.connection import Catalogue
from sfumato.databases.standing import Standing
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import UnreachableError

DIGEST = "sfumato_digest"
"""What is read beside the columns of a row: a number by which it is known whether somebody has changed it since."""

_OPEN = "that has not come to its end: some of its rows may be masked and others not"


@dataclass(frozen=True)
class Places:
    """Where the table is while it is masked, the ledger, the keys of its rows, and the masked rows that are copied over them."""

    table: TableName
    ledger: TableName
    keys: TableName
    rows: TableName

    @property
    def private(self) -> tuple[TableName, ...]:
        """The tables that are there only as long as the table is being masked."""
        return self.ledger, self.keys, self.rows


class InPlace(Protocol):
    """How a database masks a table where it is."""

    long_text: str
    """What a column of long texts is called."""

    def begin(self) -> None:
        """Let rows be written as text in one way, whatever the settings of the user are."""
        ...

    def standing(self, table: TableName) -> Standing:
        """Return what the catalogue says of a table."""
        ...

    def holds_text(self, column: TableColumn) -> bool:
        """Return whether a column holds texts as they are."""
        ...

    def typed(self, column: TableColumn, expression: str) -> str:
        """Return a value as one of a column's type."""
        ...

    def assigned(self, column: TableColumn, expression: str) -> str:
        """Return a value as it is put into a column; one that is too long fails and is never cut."""
        ...

    def digest(self, alias: str, columns: Sequence[TableColumn]) -> str:
        """Return the number that tells a row from what it was."""
        ...

    def drafts(self, lasting: Places) -> Places:
        """Return where things are made before the audience is kept out; a process that dies then leaves nothing behind."""
        ...

    def make_like(self, made: TableName, table: TableName) -> None:
        """Make an empty table with the columns, checks and indexes of another."""
        ...

    def settle(self, table: TableName) -> None:
        """Say that a private table is filled."""
        ...

    def take_grants(self, table: TableName) -> list[Any]:
        """Take away what others may do with a table, as far as that keeps them out, and return it as the ledger keeps it."""
        ...

    def showing(self, table: TableName) -> list[str]:
        """Return what shows the table to others, or keeps its rows elsewhere, whatever its grants are, in words."""
        ...

    def withhold(self, drafts: Places, lasting: Places) -> None:
        """Keep the audience out, and let the drafts last; all of it or nothing."""
        ...

    def update(self, places: Places, made: Sequence[str], touched: Sequence[str], key: Sequence[str], chosen: str) -> None:
        """Copy masked values over the rows whose keys are chosen."""
        ...

    def constraints(self, table: TableName) -> list[str]:
        """Return the names of the constraints, unique indexes and triggers of a table, which may stand against a row; but for its primary key."""
        ...

    def is_ours(self, table: TableName) -> bool:
        """Return whether a private table is the user's own: what a ledger says is granted and deleted, and anybody may make a table of its name."""
        ...

    def stand_still(self, table: TableName) -> None:
        """Let nobody write to the table as long as the transaction lasts."""
        ...

    def give_back(self, places: Places, original: TableName, grants: Sequence[Any]) -> None:
        """Let the audience in again, and remove the ledger and what was private, in one step."""
        ...


def lasting_places(connection: Any, table: TableName) -> Places:
    """Return where things are while a table is masked."""
    original = connection.placed(table)
    told = f"masking_{hashlib.sha256(str(original).encode()).hexdigest()[:24]}"
    ledger, keys, rows = (connection.beside(f"{told}{part}", original) for part in ("", "_keys", "_rows"))
    return Places(connection.kept_as(f"{told}_table", original), ledger, keys, rows)


def refuse_half_masked(connection: Catalogue, table: TableName) -> None:
    """Refuse to have anything to do with a table of which only some rows are masked."""
    if not hasattr(connection, "kept_as"):
        return
    if connection.identity(lasting_places(connection, table).ledger) is not None:
        raise half_masked(table)
    is_masked_as_another = getattr(connection, "is_masked_as_another", None)
    if is_masked_as_another is not None and is_masked_as_another(table):
        words = f"{table} was called otherwise when a run began to mask it in place, and {_OPEN}"
        hint = "give it back its name and its schema, and run the policy that masks it once more: sfumato run policy.yaml --resume"
        raise UnreachableError(words, code="in-place-open", hint=hint)


def half_masked(table: TableName) -> UnreachableError:
    """Return what is said of a table whose masking has not come to its end."""
    words = f"{table} is being masked in place, and {_OPEN}"
    return UnreachableError(
        words, code="in-place-open", hint="run the policy that masks it once more, which finishes it: sfumato run policy.yaml --resume"
    )


def in_place_of(connection: Any, kind: Kind) -> InPlace:
    """Return how the database of a connection masks a table where it is."""
    if kind == "mysql":
        from sfumato.databases.mysql_in_place import MysqlInPlace

        return MysqlInPlace(connection)
    from sfumato.databases.postgresql_in_place import PostgresqlInPlace

    return PostgresqlInPlace(connection)
