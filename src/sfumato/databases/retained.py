"""Rows of a table that have grown old: found by their time, known by their keys, read for a batch, and deleted some at a time.

The keys of a batch are written down before anything is done with its rows. They are what is read, and those whose rows were read, and no others, are
what is deleted: a row that was not there for a moment is not archived, and stays. A key goes in the same transaction as its row, so that whoever
finds the list again goes on where it ends. The time of a row stands beside its key: a new row that somebody has given an old key meanwhile is
another, and stays. A list is worked through by the columns that it has, whatever a policy says later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.databases.connection import Connection, KeepsHistory
from sfumato.databases.going_along import GoingAlong, Gone, together
from sfumato.databases.keyed_rows import NUMBER, are_comparable, chunks, free_name, one_value, same_key
from sfumato.databases.private_names import is_list_of_keys
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import DataError, SfumatoError, UnreachableError, suggestion

_AT_ONCE = 1000
"""How many numbers a statement names."""


@dataclass(frozen=True)
class Deleted:
    """How many rows were deleted, how many of those that were to be had gone before, or had another time, and what of other tables went along."""

    rows: int = 0
    missing: int = 0
    along: tuple[Gone, ...] = ()

    def __add__(self, other: Deleted) -> Deleted:
        """Return both together."""
        return Deleted(self.rows + other.rows, self.missing + other.missing, together(self.along, other.along))


class Retained:
    """A table from which old rows are taken."""

    def __init__(self, connection: Connection, table: TableName, time: str, key: Sequence[str] | None, archive: str, cascade: bool = False) -> None:
        self._connection, self._table, self._archive = connection, table, archive
        columns = {column.name: column for column in connection.columns(table)}
        self._time = _known(columns, time, table)
        if not (pa.types.is_date(self._time.kind) or pa.types.is_timestamp(self._time.kind)):
            words = f"column {time} of {table} is of type {self._time.called}, and when a row was made is told by a day or an instant"
            raise DataError(words, code="retention-time", hint="name a column of type date or timestamp")
        for each in connection.retaining.reached(table):
            self._refuse_undeleted(table if each.alike and not each.in_part else each.table)
        names = list(key or connection.primary_key(table))
        if not names:
            words = f"{table} has no primary key, and rows are deleted by their keys"
            raise UnreachableError(
                words, code="retention-key", hint="give it one, or say retention: {key: [...]} with columns that tell its rows apart"
            )
        self._along, self._accepted = GoingAlong(connection, table, cascade), cascade
        for other in self._along.deleting:
            self._refuse_undeleted(other)
        self._key = [_known(columns, name, table) for name in names]
        self._refuse_not_unique()

    def _refuse_not_unique(self) -> None:
        """Refuse a key that nothing keeps unique: a row with the key of an archived one may come meanwhile, and would be deleted with it."""
        unique = self._connection.retaining.unique_keys(self._table)
        if unique is not None and not any(names <= set(self._kept) for names in unique):
            words = f"no unique constraint of {self._table} is on columns of its key ({', '.join(self._names)}), and rows are deleted by their keys"
            raise UnreachableError(words, code="retention-key", hint="CREATE UNIQUE INDEX on them, or name columns of one in retention: {key: [...]}")

    def _refuse_undeleted(self, table: TableName) -> None:
        """Refuse a table that keeps what is deleted, or that could not have it back."""
        if isinstance(self._connection, KeepsHistory) and self._connection.keeps_history(table):
            words = f"{table} keeps the history of its rows, system versioning, and with it all that would be deleted"
            raise UnreachableError(words, code="database-undeleted", hint="ALTER TABLE ... DROP SYSTEM VERSIONING, which removes the history too")
        engine = self._connection.retaining.without_transactions(table)
        if engine is not None:
            words = f"{table} is of the engine {engine}, which has no transactions: rows that are deleted cannot be had back where a run dies"
            raise UnreachableError(words, code="retention-engine", hint="ALTER TABLE ... ENGINE = InnoDB")

    def earliest(self, after: datetime | None = None) -> datetime | None:
        """Return the time of the oldest row, or of the oldest not before an instant; None where there is none."""
        name = f"s.{self._named(self._time.name)}"
        found = self._one(f"SELECT MIN({name}) FROM {self._quoted()} s WHERE {self._in_calendar(name, after or datetime.min)}", self._time)
        if found is None or isinstance(found, datetime):
            return None if found is None else found.replace(tzinfo=None)
        return datetime(found.year, found.month, found.day)

    def without_time(self) -> int:
        """Return how many rows have no time, or one beyond the calendar, such as infinity: they never grow old."""
        name = f"s.{self._named(self._time.name)}"
        beyond = f"{name} IS NULL OR NOT ({self._in_calendar(name, datetime.min)})"
        return int(self._one(f"SELECT COUNT(*) FROM {self._quoted()} s WHERE {beyond}", NUMBER))

    def rows(self, first: datetime, end: datetime) -> int:
        """Return how many rows are of a period."""
        return int(self._one(f"SELECT COUNT(*) FROM {self._quoted()} s WHERE {self._within(first, end)}", NUMBER))

    def begin(self, batch: str, first: datetime, end: datetime) -> TableName:
        """Write down the keys of a period's rows, and return where."""
        keys = self.keys_of(batch)
        self.forget(keys)
        names = ", ".join(f"s.{self._named(column.name)}" for column in self._key)
        kept = ", ".join(f"s.{self._named(name)}" for name in self._kept)
        number = free_name(NUMBER.name, self._kept)
        query = f"SELECT ROW_NUMBER() OVER () AS {number}, {kept} FROM {self._quoted()} s WHERE {self._within(first, end)}"
        self._connection.retaining.create_from(keys, query)
        self._connection.keep_private(keys)
        self._connection.retaining.mark(keys, self._connection.retaining.reached(self._table))
        self._connection.do(f"CREATE INDEX {self._named(f'{keys.name}_n')} ON {self._connection.quoted(keys)} ({number})")
        self._connection.commit()
        twice = f"SELECT COUNT(*) FROM (SELECT 1 FROM {self._connection.quoted(keys)} s GROUP BY {names} HAVING COUNT(*) > 1) d"
        if int(self._one(twice, NUMBER)):
            self.forget(keys)
            raise self._not_apart("several rows of {table} have the same key, and would be deleted together")
        held = f"{self._quoted()} s JOIN {self._connection.quoted(keys)} k ON {same_key(self._connection, self._names)}"
        without = " OR ".join(f"{self._named(column.name)} IS NULL" for column in self._key)
        if self._one(f"SELECT COUNT(*) FROM {held}", NUMBER) > self._one(f"SELECT COUNT(*) FROM {self._connection.quoted(keys)}", NUMBER):
            self.forget(keys)
            raise self._not_apart("rows of {table} that are not old enough have the same keys as some that are, and would be deleted with them")
        if self._one(f"SELECT COUNT(*) FROM {self._connection.quoted(keys)} WHERE {without}", NUMBER):
            self.forget(keys)
            raise self._not_apart("rows of {table} have no key, and could not be deleted by it")
        try:
            # a table may have become a part of this one meanwhile
            self._refuse_elsewhere()
            self._along.refuse_own(keys, self._names)
        except BaseException:
            self.forget(keys)
            raise
        return keys

    def going_along(self, keys: TableName) -> list[Gone]:
        """Return how many rows of other tables go with those whose keys are written down, or are changed with them."""
        return self._along.counted(keys, self._written_down(keys))

    @property
    def tables_along(self) -> list[TableName]:
        """The other tables whose rows would go with those of this one, or be changed with them."""
        return self._along.tables

    @property
    def looks_at_each(self) -> bool:
        """Whether rows of one batch that refer to each other are refused."""
        return self._along.looks_at_each

    @property
    def acting(self) -> list[str]:
        """What acts by itself when rows are deleted."""
        along = [f"{name} of {table}" for table in self._along.deleting for name in self._connection.acting(table, "DELETE")]
        return [*self._connection.retaining.acting(self._table, self._along.reached), *along]

    def _not_apart(self, words: str) -> DataError:
        return DataError(
            words.format(table=self._table), code="retention-key", hint="name columns in retention: {key: [...]} that tell its rows apart"
        )

    def keys_of(self, batch: str) -> TableName:
        """Return where the keys of a batch are written down."""
        return self._connection.private_name(f"{self._beginning}{_told(self._archive)}{_told(batch)}", self._table)

    @property
    def _beginning(self) -> str:
        """How the names of all lists of this table begin."""
        return f"retained_{hashlib.sha256(str(self._connection.placed(self._table)).encode()).hexdigest()[:16]}_"

    def forget_all_but(self, batches: Sequence[str]) -> None:
        """Remove the lists that runs which died have left, of batches that never came to be; refuse where there are lists for another archive."""
        self._refuse_elsewhere()
        kept = {self.keys_of(batch).name for batch in batches}
        for table in self._lists():
            if table.name not in kept:
                self.forget(table)

    def _lists(self) -> list[TableName]:
        """Return the lists of this user that begin with the name of this table."""
        return [table for table in self._connection.beginning_with(self._beginning, self._table) if is_list_of_keys(table.name)]

    def _refuse_elsewhere(self) -> None:
        """Refuse where there are lists of keys of rows of this table that another run has made, which may have archived them."""
        others = [*(table.name for table in self._lists() if not self._is_of_this_way(table.name)), *self._by_other_names()]
        others += filter(is_list_of_keys, self._connection.retaining.of_others(self._beginning, self._table))
        if others:
            words = (
                f"a run that archives rows of {self._table} elsewhere, by another address or name or as another user has not ended: "
                "they may be archived already"
            )
            hint = (
                "run retain as that user, with the source and the sink that it had, and the table under the name that it had; or drop its list, a "
                "table retained_... among what runs keep for themselves, if none of the rows whose keys it holds is archived"
            )
            raise DataError(words, code="retention-elsewhere", hint=hint)

    def _by_other_names(self) -> list[str]:
        """Return the lists of keys that are of rows of this table, whatever it was called, or by way of what, when they were written down."""
        retaining = self._connection.retaining
        found = set(retaining.lists_of(self._table, retaining.reached(self._table)))
        marked = {keys.name: (keys, tables) for keys, tables in retaining.marked_lists(self._table).items() if keys.name not in found}
        others = [name for name in (*found, *marked) if is_list_of_keys(name) and not self._is_of_this_way(name)]
        return [name for name in others if name in found or self._has_come_here(*marked[name])]

    def _is_of_this_way(self, name: str) -> bool:
        return name.startswith(f"{self._beginning}{_told(self._archive)}")

    def _has_come_here(self, keys: TableName, tables: Sequence[TableName]) -> bool:
        """Return whether this table has rows of a list, key and time, that are no longer in the tables that they were of: somebody has moved them."""
        try:
            held = [self._held_by(table, keys) for table in (self._table, *tables)]
            if held[0] is None:
                return False
            moved = " AND NOT ".join(condition for condition in held if condition is not None)
            with self._connection.transaction():
                return bool(self._one(f"SELECT COUNT(*) FROM {self._connection.quoted(keys)} k WHERE {moved}"))
        except SfumatoError as error:
            if error.code not in ("table-missing", "database-changed", "database-failed"):
                raise
            # a list that is gone belongs to a run that has come to its end; texts under rules that do not go together nobody can tell apart
            return error.code == "database-failed"

    def _held_by(self, table: TableName, keys: TableName) -> str | None:
        """Return the condition that a table has a row with a key ``k`` of a list; none where it has not the columns for that."""
        known = {column.name: column for column in self._connection.columns(table)}
        listed = self._connection.columns(keys)[1:]
        if not all(column.name in known and are_comparable(known[column.name], column) for column in listed):
            return None
        same = same_key(self._connection, [column.name for column in listed])
        return f"EXISTS (SELECT 1 FROM {self._connection.quoted(self._connection.placed(table))} s WHERE {same})"

    def has(self, keys: TableName) -> bool:
        """Return whether keys are written down there, by this user where the server says by whom."""
        return keys in self._connection.beginning_with(keys.name, self._table)

    def refuse_altered(self, batch: str) -> None:
        """Refuse to finish a batch whose rows are not told any more by what was written down of them: they would stay, and be archived once more."""
        keys, known = self.keys_of(batch), {column.name: column.called for column in self._connection.columns(self._table)}
        altered = [column.name for column in self._connection.columns(keys)[1:] if known.get(column.name) != column.called]
        held = self._held_by(self._table, keys)
        # a wider type has the same values; a narrower one has cut them
        if held is None or (altered and self._one(f"SELECT COUNT(*) FROM {self._connection.quoted(keys)} k WHERE NOT {held}")):
            words = (
                f"batch {batch} is in the archive, and columns of {self._table} by which its rows are to be deleted have been renamed or altered "
                f"since: {', '.join(altered)}"
            )
            hint = "give them back the names and types that they had, run retain, which finishes the batch, and alter them then"
            raise DataError(words, code="retention-altered", hint=hint)

    def read(self, keys: TableName, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Read the numbers that rows have in the list of their keys, and some columns of these rows."""
        selected = ", ".join(self._connection.selected(column, f"s.{self._named(column.name)}") for column in columns)
        joined = f"{self._quoted()} s JOIN {self._connection.quoted(keys)} k ON {self._same(keys)}"
        yield from self._connection.select(f"SELECT k.{self._number(keys)}, {selected} FROM {joined}", [NUMBER, *columns])

    def keep_only(self, keys: TableName, read: NDArray[np.int64]) -> int:
        """Strike the keys of rows that were not read from a list that was just made, and return how many there were."""
        number, listed = self._number(keys), self._connection.quoted(keys)
        if len(np.unique(read)) < len(read):
            raise self._not_apart("several rows of {table} have the same key, and would be deleted together")
        last = int(self._one(f"SELECT COALESCE(MAX({number}), 0) FROM {listed}"))
        unread = np.setdiff1d(np.arange(1, last + 1), read)
        for start, end in chunks(0, len(unread), _AT_ONCE):
            self._connection.do(f"DELETE FROM {listed} WHERE {number} IN ({', '.join(map(str, unread[start:end].tolist()))})")
        if len(unread):
            # those that are back already may refer to others of the batch, and would go with them
            self._along.refuse_own(keys, self._names)
        return len(unread)

    def delete(self, keys: TableName, many: int) -> Deleted:
        """Delete the rows whose keys are written down, so many in a transaction; all in one where some refer to others."""
        number, listed = self._number(keys), self._connection.quoted(keys)
        deleted, last = Deleted(), int(self._one(f"SELECT COALESCE(MAX({number}), 0) FROM {listed}"))
        first = int(self._one(f"SELECT COALESCE(MIN({number}), 1) FROM {listed}"))
        for start, end in chunks(first, last + 1, max(many, last) if self._along.at_once else many):
            chosen = f"k.{number} >= {start} AND k.{number} < {end}"
            with self._connection.transaction():
                deleted += self._delete_chosen(self._connection, keys, chosen)
                self._connection.do(f"DELETE FROM {listed} WHERE {number} >= {start} AND {number} < {end}")
        return deleted

    def delete_within(self, keys: TableName, connection: Connection) -> Deleted:
        """Delete all rows whose keys are written down, and these, in the transaction of another session."""
        deleted = self._delete_chosen(connection, keys, "1 = 1")
        connection.do(f"DELETE FROM {connection.quoted(keys)}")
        return deleted

    def _delete_chosen(self, connection: Connection, keys: TableName, chosen: str) -> Deleted:
        """Delete rows by chosen keys; fail, so that it is undone, where more rows have these than were written down, or others went along unasked."""
        listed = int(one_value(connection, f"SELECT COUNT(*) FROM {connection.quoted(keys)} k WHERE {chosen}"))
        deleted = connection.delete_joined(self._table, keys, self._same(keys), chosen)
        if deleted > listed:
            words = f"more rows of {self._table} have the keys of a batch than were archived; those that were last deleted are there again"
            hint = "give the rows that came meanwhile another key, and see that it is unique; then run again"
            raise DataError(words, code="retention-key", hint=hint)
        if not self._connection.retaining.others_write:
            return Deleted(deleted, listed - deleted)
        return self._looked_at(keys, chosen, deleted, listed)

    def _looked_at(self, keys: TableName, chosen: str, deleted: int, listed: int) -> Deleted:
        """Look, before it is committed, at what a deletion has taken along, by the eyes of others, to whom all of it is still there.

        Who would make a foreign key now, or a row that refers to one that is deleted, waits until the transaction ends: nothing has gone along, or
        will, but what is seen here. Whoever asked before could be too early, and to lock the rows first is more than the right to delete them allows.
        """
        ask = self._connection.retaining.seen_by_others
        along, names = GoingAlong(self._connection, self._table, self._accepted, ask), self._written_down(keys)
        along.refuse_own_taken(keys, names)
        if along.takes_own:
            # a server does not count those that went along with others of the batch
            joined = f"{self._quoted()} s JOIN {self._connection.quoted(keys)} k ON {same_key(self._connection, names)}"
            deleted = max(deleted, ask(f"SELECT COUNT(*) FROM {joined} WHERE {chosen}"))
        return Deleted(deleted, listed - deleted, tuple(along.counted(keys, names, chosen)))

    def forget(self, keys: TableName) -> None:
        """Remove the list of keys."""
        self._connection.do(f"DROP TABLE IF EXISTS {self._connection.quoted(keys)}")
        self._connection.commit()

    def _in_calendar(self, name: str, first: datetime) -> str:
        return f"{name} >= {self._written(first)} AND {name} <= {self._written(datetime.max)}"

    def _within(self, first: datetime, end: datetime) -> str:
        name = f"s.{self._named(self._time.name)}"
        return f"{name} >= {self._written(first)} AND {name} < {self._written(end)}"

    def _written(self, bound: datetime) -> str:
        """Return a bound of the calendar, which is nothing of the data, as SQL writes it."""
        return f"DATE '{bound.date().isoformat()}'" if pa.types.is_date(self._time.kind) else f"TIMESTAMP '{bound.isoformat(' ')}'"

    @property
    def _names(self) -> list[str]:
        return [column.name for column in self._key]

    @property
    def _kept(self) -> list[str]:
        """What is written down of a row: its key and its time."""
        return list(dict.fromkeys([*self._names, self._time.name]))

    def _same(self, keys: TableName) -> str:
        return same_key(self._connection, self._written_down(keys))

    def _written_down(self, keys: TableName) -> list[str]:
        """Return the columns of a list: those of the key and the time that it was made with, behind the number of the row."""
        return [column.name for column in self._connection.columns(keys)[1:]]

    def _number(self, keys: TableName) -> str:
        """Return what a list calls the numbers of its rows."""
        return self._connection.columns(keys)[0].name

    def _quoted(self) -> str:
        return self._connection.quoted(self._connection.placed(self._table))

    def _named(self, name: str) -> str:
        return self._connection.quoted_name(name)

    def _one(self, query: str, column: TableColumn = NUMBER) -> Any:
        return one_value(self._connection, query, column)


def _told(name: str) -> str:
    """Return the beginning of a hash, of which the names of lists are made."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def _known(columns: dict[str, TableColumn], name: str, table: TableName) -> TableColumn:
    if name not in columns:
        raise DataError(f"{table} has no column {name}", code="retention-column", hint=suggestion(name, columns))
    return columns[name]
