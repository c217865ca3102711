"""What goes along with rows that are deleted: rows of other tables that foreign keys delete or empty, and of tables that refer to these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from sfumato.databases.connection import Connection
from sfumato.databases.found_rows import rows_of, same_reference
from sfumato.databases.keyed_rows import one_value, same_key
from sfumato.databases.table import Referring, TableName
from sfumato.errors import UnreachableError, number_of

Chain = tuple[Referring, ...]
"""Foreign keys by which rows are reached: each refers to the table of the one before it, the first to one from which rows are deleted."""

_BECOMES: tuple[Literal["deleted", "emptied"], ...] = ("deleted", "emptied")
_HINT = "retain those tables first, or delete what refers to the rows yourself"
_ALL = "1 = 1"


@dataclass(frozen=True)
class Gone:
    """How many rows of a table go along, or lose what they refer by; ``at_most`` so many where a trigger may keep some as they are."""

    table: TableName
    rows: int
    becomes: Literal["deleted", "emptied"]
    at_most: bool = False

    def __str__(self) -> str:
        """Return it as a record says it."""
        what = "deleted with them" if self.becomes == "deleted" else "changed with them, in the columns by which they refer to them"
        return f"{'at most ' if self.at_most else ''}{number_of(self.rows, 'row')} of {self.table} {what}"


class GoingAlong:
    """The foreign keys by which other rows go along with those of a table; it refuses what is not accepted, or cannot be deleted at all.

    Rows are counted as ``ask`` sees them, which gives the one number of a query; as the connection itself does where none is given.
    """

    def __init__(self, connection: Connection, table: TableName, accepted: bool, ask: Callable[[str], int] | None = None) -> None:
        self._connection, self._table = connection, connection.placed(table)
        self._ask = ask or partial(one_value, connection)
        self.reached = connection.retaining.reached(self._table)
        self._held = [each.table for each in self.reached]
        self._chains: list[Chain] = []
        self._own: list[Referring] = []
        self._threads: dict[TableName, list[Referring]] = {}
        refusing: list[TableName] = []
        for chain in self._found(self._held, ()):
            # what lies within a period no condition of equality finds
            if len(chain) == 1 and chain[0].table in self._held and not chain[0].by_period:
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
        self._refuse_beneath_view()
        self._refuse_changing_along()
        if self._chains and not accepted:
            words = (
                f"with rows of {table} others would be deleted or changed, by foreign keys of {_listed([chain[-1].table for chain in self._chains])}"
            )
            raise UnreachableError(words, code="retention-cascade", hint=f"{_HINT}; or retention: {{cascade: accept}}, and these are counted")

    def _found(self, tables: Sequence[TableName], before: Chain) -> Iterator[Chain]:
        for key in self._connection.referring(tables):
            chain = (*before, key)
            if before and key.table == key.to == before[-1].table and key.on_delete == "deleted":
                # answers to a comment, and answers to these: as many keys as a thread is long
                known = self._threads.setdefault(key.table, [])
                known += [key] if key not in known else []
                continue
            yield chain
            if key.on_delete != "deleted" or (not before and key.table in self._held):
                continue
            if key.table in (*self._held, *(each.table for each in before)):
                words = f"the foreign keys of {_listed([each.table for each in chain])} delete rows in a circle, and nobody can say which would go"
                raise UnreachableError(words, code="retention-cascade", hint=_HINT)
            yield from self._found(self._connection.retaining.parts(key.table), chain)

    def _refuse_changing_along(self) -> None:
        """Refuse keys of further tables to columns that are emptied: whether these are emptied too, and how many rows, nobody could say."""
        emptied = [chain[-1] for chain in self._chains if chain[-1].on_delete == "emptied"]
        emptied += [own for own in self._own if own.on_delete == "emptied"]
        for link in emptied:
            further = [key.table for key in self._connection.referring([link.table]) if {*key.referred} & {*link.columns}]
            if further:
                words = f"with rows of {self._table} columns of {link.table} would be emptied to which foreign keys of {_listed(further)} refer"
                raise UnreachableError(words, code="retention-cascade", hint=_HINT)

    def _refuse_beneath_view(self) -> None:
        """Refuse keys that act beneath a view: its columns may have other names there, so that nobody can say which rows would go along."""
        acting = [*(chain[-1].table for chain in self._chains), *(own.table for own in self._own if own.on_delete in _BECOMES)]
        if all(each.alike for each in self.reached):
            return
        # what is left refuses to let rows go to which others refer, and the server asks
        self._own = []
        if acting:
            words = (
                f"with rows of the view {self._table} others would be deleted or changed that cannot be counted, by foreign keys of {_listed(acting)}"
            )
            raise UnreachableError(words, code="retention-cascade", hint=f"name the table beneath the view as the source, or {_HINT}")

    @property
    def tables(self) -> list[TableName]:
        """The other tables whose rows go along."""
        return list(dict.fromkeys(chain[-1].table for chain in self._chains))

    @property
    def deleting(self) -> list[TableName]:
        """The other tables of which rows are deleted."""
        return list(dict.fromkeys(chain[-1].table for chain in self._chains if chain[-1].on_delete == "deleted"))

    @property
    def takes_own(self) -> bool:
        """Whether rows of the table itself go along with others of it, which may be rows that are to be deleted later."""
        return any(own.on_delete == "deleted" for own in self._own)

    @property
    def at_once(self) -> bool:
        """Whether one statement deletes all: rows that may take others of them along, or nobody could count them, and rows that refer to others."""
        return any(own.on_delete in ("deleted", "held") for own in self._own)

    @property
    def looks_at_each(self) -> bool:
        """Whether the server refuses to delete rows of the table to which others of it refer, though these be deleted with them."""
        return any(own.on_delete == "refused" for own in self._own)

    def refuse_own(self, keys: TableName, key: Sequence[str]) -> None:
        """Refuse rows to which others of the same table refer that stay; or that go too, where the server looks at each row by itself."""
        for own in self._own:
            if own.on_delete != "emptied" and self._referring(own, keys, key, staying=own.on_delete != "refused"):
                raise self._referred(looked_at_singly=own.on_delete == "refused")

    def refuse_own_taken(self, keys: TableName, key: Sequence[str]) -> None:
        """Refuse where rows of the same table that stay would go with others, by what the server does and not by what it refuses."""
        for own in self._own:
            if own.on_delete == "deleted" and self._referring(own, keys, key, staying=True):
                raise self._referred()

    def _referred(self, looked_at_singly: bool = False) -> UnreachableError:
        words = f"rows of {self._table} refer to others of it that are to be deleted, by its own foreign key"
        hint = "delete what refers to the rows, or let the key empty it (ON DELETE SET NULL)"
        if looked_at_singly:
            words += ", and the server looks at each row by itself, also at those of one batch"
            hint = "empty what refers to the rows, or let the key do so, or delete it (ON DELETE SET NULL or CASCADE, which DuckDB does not have)"
        return UnreachableError(words, code="retention-referenced", hint=hint)

    def counted(self, keys: TableName, key: Sequence[str], chosen: str = _ALL) -> list[Gone]:
        """Count the rows that go along with those whose keys ``k`` are written down, and chosen."""
        found = []
        for table in self.tables:
            for becomes in _BECOMES:
                chains = [chain for chain in self._chains if chain[-1].table == table and chain[-1].on_delete == becomes]
                if chains:
                    self._refuse_hidden(table)
                    found.append(Gone(table, self._counted(chains, keys, key, chosen), becomes, self._may_stay(chains)))
        for own in self._own:
            if own.on_delete == "emptied":
                found.append(Gone(own.table, self._referring(own, keys, key, staying=True, chosen=chosen), "emptied", self._may_stay([(own,)])))
        return [gone for gone in found if gone.rows]

    def _counted(self, chains: Sequence[Chain], keys: TableName, key: Sequence[str], chosen: str) -> int:
        last, named = chains[0][-1], list[str]()
        reached = " OR ".join(self._reached(chain, keys, key, chosen, named) for chain in chains)
        if last.on_delete == "emptied":
            # what is deleted as well is none that is changed
            deleting = [chain for chain in self._chains if chain[-1].table == last.table and chain[-1].on_delete == "deleted"]
            reached = " AND NOT ".join(f"({each})" for each in (reached, *(self._reached(chain, keys, key, chosen, named) for chain in deleting)))
        before = f"WITH RECURSIVE {', '.join(named)} " if named else ""
        return int(self._ask(f"{before}SELECT COUNT(*) FROM {self._rows_of(last.table, last.spares_heirs)} g WHERE {reached}"))

    def _may_stay(self, chains: Sequence[Chain]) -> bool:
        """Return whether something on the way may keep rows, with which those stay that refer to them."""
        return any(self._connection.retaining.may_keep(link) for link in dict.fromkeys(link for chain in chains for link in chain))

    def _refuse_hidden(self, table: TableName) -> None:
        if self._connection.hides_rows(table):
            words = f"row-level security hides rows of {table} from the user, and foreign keys delete or change them all the same"
            raise UnreachableError(words, code="retention-cascade", hint="a user that row-level security lets see everything (BYPASSRLS)")

    def _reached(self, chain: Chain, keys: TableName, key: Sequence[str], chosen: str, named: list[str], row: str = "g") -> str:
        """Return the condition that a row is reached by a chain from a row whose key is written down, and chosen.

        Queries that it takes from are put to those that are ``named`` before the whole.
        """
        *before, link = chain

        def directly(row: str) -> str:
            to = f"t{len(before)}" if before else "s"
            tables, joined = f"{self._rows_of(link.to, link.to_itself)} {to}", self._joined(link, row, to)
            if before:
                return f"EXISTS (SELECT 1 FROM {tables} WHERE {joined} AND {self._reached(tuple(before), keys, key, chosen, named, to)})"
            tables += f" JOIN {self._connection.quoted(keys)} k ON {same_key(self._connection, key)}"
            return f"EXISTS (SELECT 1 FROM {tables} WHERE {joined} AND {chosen})"

        threads = self._threads.get(link.table, []) if link.on_delete == "deleted" else []
        if not threads:
            return directly(row)
        columns = ", ".join(f"c.{self._connection.quoted_name(name)}" for name in dict.fromkeys(name for own in threads for name in own.referred))
        rows = f"{self._rows_of(link.table, link.spares_heirs)} c"
        begun, name = f"SELECT {columns} FROM {rows} WHERE {directly('c')}", f"thread{len(named)}"
        answers = " OR ".join(self._joined(own, "c", "r") for own in threads)
        named.append(f"{name} AS ({begun} UNION SELECT {columns} FROM {rows} JOIN {name} r ON {answers})")
        return " OR ".join((f"({directly(row)}", *(f"EXISTS (SELECT 1 FROM {name} r WHERE {self._joined(own, row, 'r')})" for own in threads))) + ")"

    def _referring(self, own: Referring, keys: TableName, key: Sequence[str], staying: bool, chosen: str = _ALL) -> int:
        """Count rows of the table itself that refer to rows whose keys are written down; ``staying`` only those whose keys are not."""
        if own.on_delete in _BECOMES:
            self._refuse_hidden(own.table)
        quoted = self._connection.quoted
        condition = self._reached((own,), keys, key, chosen, [])
        if staying:
            condition += f" AND NOT EXISTS (SELECT 1 FROM {quoted(keys)} o WHERE {same_key(self._connection, key, 'g', 'o')})"
        return int(self._ask(f"SELECT COUNT(*) FROM {self._rows_of(own.table, own.spares_heirs)} g WHERE {condition}"))

    def _rows_of(self, table: TableName, without_heirs: bool) -> str:
        return rows_of(self._connection, table, without_heirs)

    def _joined(self, link: Referring, one: str, other: str) -> str:
        return same_reference(self._connection, link, one, other)


def together(some: Sequence[Gone], others: Sequence[Gone]) -> tuple[Gone, ...]:
    """Return what went along with two parts of a batch.

    >>> bills = TableName("bills")
    >>> [gone.rows for gone in together([Gone(bills, 2, "deleted")], [Gone(bills, 3, "deleted"), Gone(bills, 1, "emptied")])]
    [5, 1]
    """
    found: dict[tuple[TableName, str], Gone] = {}
    for gone in (*some, *others):
        known = found.get((gone.table, gone.becomes), replace(gone, rows=0))
        found[gone.table, gone.becomes] = replace(gone, rows=known.rows + gone.rows, at_most=known.at_most or gone.at_most)
    return tuple(found.values())


def _listed(tables: Sequence[TableName]) -> str:
    return ", ".join(sorted({str(table) for table in tables}))
