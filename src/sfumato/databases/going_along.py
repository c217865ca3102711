"""What goes along with rows that are deleted: rows of other tables that foreign keys delete or empty, and of tables that refer to these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sfumato.databases.connection import Connection
from sfumato.databases.keyed_rows import one_value, same_key
from sfumato.databases.table import Referring, TableName
from sfumato.errors import UnreachableError, number_of

Chain = tuple[Referring, ...]
"""Foreign keys by which rows are reached: each refers to the table of the one before it, the first to that from which rows are deleted."""

_BECOMES: tuple[Literal["deleted", "emptied"], ...] = ("deleted", "emptied")
_HINT = "retain those tables first, or delete what refers to the rows yourself"


@dataclass(frozen=True)
class Gone:
    """How many rows of a table go along, or lose what they refer by."""

    table: TableName
    rows: int
    becomes: Literal["deleted", "emptied"]

    def __str__(self) -> str:
        """Return it as a record says it."""
        what = "deleted with them" if self.becomes == "deleted" else "changed with them, in the columns by which they refer to them"
        return f"{number_of(self.rows, 'row')} of {self.table} {what}"


class GoingAlong:
    """The foreign keys by which other rows go along with those of a table; it refuses what is not accepted, or cannot be deleted at all."""

    def __init__(self, connection: Connection, table: TableName, accepted: bool) -> None:
        self._connection, self._table = connection, connection.placed(table)
        self._chains: list[Chain] = []
        self._own: list[Referring] = []
        refusing: list[TableName] = []
        for chain in self._found(self._table, ()):
            if len(chain) == 1 and chain[0].table == self._table:
                self._own.append(chain[0])
            elif chain[-1].on_delete in ("refused", "held"):
                refusing.append(chain[-1].table)
            else:
                self._chains.append(chain)
        if refusing:
            words = (
                f"rows of {table} cannot be deleted: foreign keys of {_listed(refusing)} refer to them, or to rows that would be deleted with them"
            )
            raise UnreachableError(words, code="retention-referenced", hint=_HINT)
        if self._chains and not accepted:
            words = (
                f"with rows of {table} others would be deleted or changed, by foreign keys of {_listed([chain[-1].table for chain in self._chains])}"
            )
            raise UnreachableError(words, code="retention-cascade", hint=f"{_HINT}; or retention: {{cascade: accept}}, and these are counted")

    def _found(self, table: TableName, before: Chain) -> Iterator[Chain]:
        for key in self._connection.referring(table):
            chain = (*before, key)
            yield chain
            if key.on_delete != "deleted" or (not before and key.table == self._table):
                continue
            if key.table in (self._table, *(each.table for each in before)):
                words = f"the foreign keys of {_listed([each.table for each in chain])} delete rows in a circle, and nobody can say which would go"
                raise UnreachableError(words, code="retention-cascade", hint=_HINT)
            yield from self._found(key.table, chain)

    @property
    def tables(self) -> list[TableName]:
        """The other tables whose rows go along."""
        return list(dict.fromkeys(chain[-1].table for chain in self._chains))

    def refuse_own(self, keys: TableName, key: Sequence[str], at_once: bool) -> None:
        """Refuse rows to which others of the same table refer that stay, or that go later; ``at_once`` says that one statement deletes all."""
        for own in self._own:
            held = own.on_delete == "held" and at_once
            if own.on_delete != "emptied" and self._referring(own, keys, key, staying=own.on_delete == "deleted" or held):
                words = f"rows of {self._table} refer to others of it that are to be deleted, by its own foreign key"
                hint = "delete what refers to the rows, or let the key empty it (ON DELETE SET NULL)"
                raise UnreachableError(words, code="retention-referenced", hint=hint)

    def counted(self, keys: TableName, key: Sequence[str]) -> list[Gone]:
        """Count the rows that go along with those whose keys are written down."""
        found = []
        for table in self.tables:
            for becomes in _BECOMES:
                chains = [chain for chain in self._chains if chain[-1].table == table and chain[-1].on_delete == becomes]
                if chains:
                    self._refuse_hidden(table)
                    reached = " OR ".join(self._reached(chain, keys, key) for chain in chains)
                    rows = one_value(self._connection, f"SELECT COUNT(*) FROM {self._connection.quoted(table)} g WHERE {reached}")
                    found.append(Gone(table, int(rows), becomes))
        for own in self._own:
            if own.on_delete == "emptied":
                found.append(Gone(self._table, self._referring(own, keys, key, staying=True), "emptied"))
        return [gone for gone in found if gone.rows]

    def _refuse_hidden(self, table: TableName) -> None:
        if self._connection.hides_rows(table):
            words = f"row-level security hides rows of {table} from the user, and foreign keys delete or change them all the same"
            raise UnreachableError(words, code="retention-cascade", hint="a user that row-level security lets see everything (BYPASSRLS)")

    def _reached(self, chain: Chain, keys: TableName, key: Sequence[str]) -> str:
        """Return the condition that a row ``g`` is reached by a chain from a row whose key is written down."""
        quoted, condition = self._connection.quoted, ""
        names = [*(f"t{place}" for place in range(len(chain) - 1)), "g"]
        for place, link in enumerate(chain):
            to = "s" if place == 0 else names[place - 1]
            joined = self._joined(link, names[place], to)
            if place == 0:
                tables = f"{quoted(self._table)} s JOIN {quoted(keys)} k ON {same_key(self._connection, key)}"
                condition = f"EXISTS (SELECT 1 FROM {tables} WHERE {joined})"
            else:
                condition = f"EXISTS (SELECT 1 FROM {quoted(chain[place - 1].table)} {to} WHERE {joined} AND {condition})"
        return condition

    def _referring(self, own: Referring, keys: TableName, key: Sequence[str], staying: bool) -> int:
        """Count rows of the table itself that refer to rows whose keys are written down; ``staying`` only those whose keys are not."""
        quoted = self._connection.quoted
        condition = self._reached((own,), keys, key)
        if staying:
            condition += f" AND NOT EXISTS (SELECT 1 FROM {quoted(keys)} o WHERE {same_key(self._connection, key, 'g', 'o')})"
        return int(one_value(self._connection, f"SELECT COUNT(*) FROM {quoted(self._table)} g WHERE {condition}"))

    def _joined(self, link: Referring, one: str, other: str) -> str:
        named = self._connection.quoted_name
        pairs = zip(link.columns, link.referred, strict=True)
        return " AND ".join(f"{one}.{named(column)} = {other}.{named(referred)}" for column, referred in pairs)


def _listed(tables: Sequence[TableName]) -> str:
    return ", ".join(sorted({str(table) for table in tables}))
