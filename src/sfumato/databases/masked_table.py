"""A table that is masked where it is: prepared beside it, verified there, and copied over it by key, some rows at a time, with a ledger.

Masked rows are put into a table like the one that is masked, with its types, checks and indexes, before anything is changed: what does not fit fails
there. From the moment in which the audience is kept out until it is let in again there is a ledger. Each chunk of rows is one transaction with the
ledger's line, so that whoever finds the ledger goes on where it ends, and neither masks a row twice nor leaves one out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.interfaces import Progress
from sfumato.databases.address import Kind
from sfumato.databases.alteration import alteration
from sfumato.databases.connection import Connection
from sfumato.databases.in_place import DIGEST, InPlace, Places, in_place_of, lasting_places
from sfumato.databases.keyed_rows import NUMBER, chunks, free_name, one_row, one_value, same_key
from sfumato.databases.standing import Standing
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import DataError, SfumatoError, UsageError, number_of

_ROW, _GONE = "sfumato_row", "sfumato_gone"
_UNCHECKED = -1
# what a server says where a row, or any row, stands against it
_OF_ROWS = ("database-value", "database-failed")
_RESUME = "sfumato run policy.yaml --resume"
_FACTS = TableColumn("facts", "text", pa.string())
SEEN = "seen"
"""What the ledger says where others could read the table while it was masked in part."""


@dataclass(frozen=True)
class Change:
    """What becomes of a table: its columns, its key, those that are written anew, those that are emptied, and how many rows a transaction takes."""

    columns: Sequence[TableColumn]
    key: Sequence[TableColumn]
    made: Sequence[str]
    emptied: Sequence[str]
    chunk: int

    @property
    def changed(self) -> list[str]:
        """The columns that will hold something else."""
        return [column.name for column in self.columns if column.name in {*self.made, *self.emptied}]

    @property
    def names(self) -> list[str]:
        """The columns of the key."""
        return [column.name for column in self.key]

    @property
    def written(self) -> list[str]:
        """The columns that are written, with values or empty."""
        return [*self.made, *self.emptied]


@dataclass(frozen=True)
class Ledger:
    """What is known of a masking that was begun: how many rows are done, and all that is needed to finish it."""

    done: int
    facts: Mapping[str, Any]

    @property
    def is_begun(self) -> bool:
        """Whether rows may be masked already; else the audience was only kept out."""
        return self.done != _UNCHECKED


class MaskedTable:
    """A table, and how its database masks it where it is."""

    def __init__(self, connection: Connection, kind: Kind, table: TableName) -> None:
        self.connection, self.how = connection, in_place_of(connection, kind)
        self.original = connection.placed(table)
        self.places = lasting_places(connection, table)

    def ledger(self) -> Ledger | None:
        """Return the ledger; None where nobody is masking the table."""
        if self.connection.identity(self.places.ledger) is None:
            return None
        if not self.how.is_ours(self.places.ledger):
            words = f"the table masking_... beside {self.original} has the name of its ledger, and belongs to another user"
            raise UsageError(words, code="in-place-name", hint="run as that user if a run of theirs was killed, else remove it")
        try:
            done, facts = one_row(self.connection, f"SELECT done, facts FROM {self._quoted(self.places.ledger)}", [NUMBER, _FACTS])
            ledger = Ledger(done, json.loads(bytes.fromhex(facts)))
            ledger.facts["policy"], ledger.facts["total"]
        except (DataError, ValueError, TypeError, KeyError):
            words = f"{self.places.ledger} has the name of the ledger of {self.original}, and is none"
            raise UsageError(words, code="in-place-name", hint="remove it, if nobody is masking the table") from None
        self.connection.commit()
        return ledger

    def standing(self) -> Standing:
        """Return what the catalogue says of the table."""
        return self.how.standing(self.original)

    def read(self, columns: Sequence[TableColumn], every: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Read some columns of all rows by one statement, with a digest of every column of the row."""
        self.how.begin()
        values = [self.connection.selected(column, f"s.{self.connection.quoted_name(column.name)}") for column in columns]
        query = f"SELECT {', '.join([*values, self.how.digest('s', every)])} FROM {self._quoted(self.original)} s"
        yield from self.connection.select(query, [*columns, TableColumn(DIGEST, "bigint", pa.int64())])

    def undo(self) -> None:
        """Let the audience in again where nothing has been changed."""
        ledger = self.ledger()
        if ledger is not None:
            with self.connection.transaction():
                self._give_back(ledger)

    def finish(self, progress: Progress) -> int:
        """Copy the rows that are left, look at the whole table, and let the audience in; return how many rows others have deleted meanwhile."""
        self.how.begin()
        ledger = self.ledger()
        if ledger is None:
            raise AssertionError("what is finished was begun")
        if ledger.is_begun:
            self._refuse_altered()
        else:
            self._check_before(ledger.facts)
        with self._told_as_begun():
            return self._finish(ledger, progress)

    def _finish(self, ledger: Ledger, progress: Progress) -> int:
        facts, total = ledger.facts, ledger.facts["total"]
        progress.stage("masking in place", total)
        progress.advance(max(0, ledger.done))
        for start, end in chunks(max(0, ledger.done), total, facts["chunk"]):
            self._keep_out(facts)
            self._copy(facts, start, end)
            progress.advance(end - start)
        self._keep_out(facts)
        with self.connection.transaction():
            self.how.stand_still(self.places.table)
            deleted = self._check_after(facts)
            self._give_back(ledger)
        return deleted

    @contextmanager
    def _told_as_begun(self) -> Iterator[None]:
        """Say of what the server refuses that the table is masked in part meanwhile, and how it is finished."""
        try:
            yield
        except SfumatoError as error:
            if not error.code.startswith("database-"):
                raise
            state = f"{self.original} is masked in part, and its audience is kept out until it is finished"
            if error.code not in _OF_ROWS:
                hint = f"{error.hint}; then {_RESUME}, which finishes it" if error.hint else _RESUME
                raise type(error)(f"{error.message}; {state}", code=error.code, hint=hint) from None
            found = self._constraints()
            named = f": look at {', '.join(found)}" if found else ""
            words = f"something that {self.places.table} has got since its rows were verified stands against them{named}; {state}"
            raise DataError(
                words, code="in-place-stuck", hint=f"remove what stands against it, and run again, which finishes it: {_RESUME}"
            ) from None

    def _constraints(self) -> list[str]:
        """Return what may stand against a row of the table, as far as the server still answers."""
        with suppress(SfumatoError):
            return self.how.constraints(self.places.table)
        return []

    def _check_before(self, facts: Mapping[str, Any]) -> None:
        """Hold the table and what was verified against what was read; where anything of it is another let the audience in again and stop."""
        with self.connection.transaction():
            self.how.stand_still(self.places.table)
            found = self._changed_before(facts)
            if found is None:
                self.connection.do(f"UPDATE {self._quoted(self.places.ledger)} SET done = 0")
        if found is not None:
            self.undo()
            words = f"{found}; nothing has been changed, and its audience is let in as before"
            raise DataError(words, code="in-place-changed", hint="mask it from the beginning when nobody writes to it: sfumato run policy.yaml")

    def _changed_before(self, facts: Mapping[str, Any]) -> str | None:
        """Return what is not as it was when the rows were read and verified, in words; None where everything is."""
        places, own = self.places, _Own.beside(facts["key"])
        if any(self.connection.identity(table) is None for table in (places.keys, places.rows)):
            return f"somebody has removed the rows that were to be copied over those of {self.original}"
        altered = alteration(self.connection.columns(places.rows), self.connection.columns(places.table))
        if altered is not None:
            return f"{self.original} was altered since its rows were read: {altered}"
        staying = one_value(self.connection, f"SELECT COUNT(*) FROM {self._quoted(places.keys)} WHERE {own.gone} = 0")
        if one_value(self.connection, f"SELECT COUNT(*) FROM {self._quoted(places.rows)}") != staying:
            return f"the rows that were to be copied over those of {self.original} are no longer all there"
        rows = one_value(self.connection, f"SELECT COUNT(*) FROM {self._quoted(places.table)}")
        same = one_value(self.connection, f"SELECT COUNT(*) {self._matched(facts)} WHERE {self._unchanged(facts)}")
        return None if rows == same == facts["total"] else f"rows of {self.original} were written, changed or deleted since they were read"

    def _keep_out(self, facts: Mapping[str, Any]) -> None:
        """Stop where somebody was let in meanwhile; rights that were given are taken away before that, and are given back with the others."""
        with self.connection.transaction():
            given, shown = self.how.take_grants(self.places.table), self.how.showing(self.places.table)
            if given or shown:
                told = {**facts, "grants": [*facts["grants"], *given], SEEN: True}
                self.connection.do(f"UPDATE {self._quoted(self.places.ledger)} SET facts = '{_text_of(told)}'")
        if given or shown:
            what = f"because of {', '.join(shown)}" if shown else "by rights that were given to them meanwhile, and that have been taken away again"
            words = f"others could read {self.original}, of which some rows are masked and others are not, {what}"
            hint = "remove that, and run again, which finishes it" if shown else "run again, which finishes it"
            raise DataError(words, code="in-place-shown", hint=f"{hint}: {_RESUME}")

    def _copy(self, facts: Mapping[str, Any], start: int, end: int) -> None:
        """Copy a chunk over the rows whose keys it has, delete those that are left out, and say so in the ledger, in one transaction."""
        own = _Own.beside(facts["key"])
        chosen = f"k.{own.number} >= {start} AND k.{own.number} < {end}"
        with self.connection.transaction():
            # a session whose process is dead may just be ending the same chunk
            self.connection.do(f"UPDATE {self._quoted(self.places.ledger)} SET done = done")
            done = one_value(self.connection, f"SELECT done FROM {self._quoted(self.places.ledger)}")
            if done != start:
                raise UsageError(f"another run is masking {self.original}", code="database-busy", hint="wait until it has ended")
            if self.places.table == self.original:
                # others may still write to it, who need no grants
                one_value(self.connection, f"SELECT COUNT(*) FROM (SELECT 1 {self._matched(facts)} WHERE {chosen} FOR UPDATE OF s) l")
            changed = one_value(self.connection, f"SELECT COUNT(*) {self._matched(facts)} WHERE {chosen} AND NOT ({self._unchanged(facts)})")
            if changed:
                self._refuse_altered()
                raise self._written("have been changed", changed)
            if facts["written"]:
                self.how.update(self.places, facts["written"], facts["touched"], facts["key"], chosen)
            self.connection.delete_joined(self.places.table, self.places.keys, self._same(facts), f"{chosen} AND k.{own.gone} = 1")
            self.connection.do(f"UPDATE {self._quoted(self.places.ledger)} SET done = {end}")

    def _check_after(self, facts: Mapping[str, Any]) -> int:
        """Hold the whole table against the verified rows: no other row may be there, and none may differ."""
        self._refuse_altered()
        table, rows = self._quoted(self.places.table), self._quoted(self.places.rows)
        same = same_key(self.connection, facts["key"], "s", "w")
        new = one_value(self.connection, f"SELECT COUNT(*) FROM {table} s WHERE NOT EXISTS (SELECT 1 FROM {rows} w WHERE {same})")
        if new:
            raise self._written("are new", new)
        columns = self.connection.columns(self.places.table)
        differ = f"{self.how.digest('s', columns)} <> {self.how.digest('w', columns)}"
        changed = one_value(self.connection, f"SELECT COUNT(*) FROM {table} s JOIN {rows} w ON {same} WHERE {differ}")
        if changed:
            raise self._written("have been changed", changed)
        verified, there = (one_value(self.connection, f"SELECT COUNT(*) FROM {each}") for each in (rows, table))
        return int(verified - there)

    def _refuse_altered(self) -> None:
        """Refuse a table whose columns are not those any more with which its rows were verified."""
        found = alteration(self.connection.columns(self.places.rows), self.connection.columns(self.places.table))
        if found is not None:
            words = f"{self.original} was altered since its rows were read and verified: {found}; it is masked in part, and its audience is kept out"
            hint = f"undo that in {self.places.table}, and run again, which finishes it: {_RESUME}; "
            raise DataError(
                words, code="in-place-altered", hint=f"{hint}if it cannot be undone, all rows are in {self.places.rows} as they were verified"
            )

    def _written(self, words: str, rows: int) -> DataError:
        """Return what is said where somebody has written to the table while it was masked."""
        return DataError(
            f"{number_of(rows, 'row')} of {self.original} {words} since it was read, and nobody has verified that; the table is masked in part, "
            "and its audience is kept out",
            code="in-place-written",
            hint=f"delete these rows from {self.places.table} ({self.places.keys} has the keys of the others), and run again",
        )

    def _give_back(self, ledger: Ledger) -> None:
        if self.places.table != self.original and self.connection.identity(self.original) is not None:
            words = f"somebody has made another table {self.original} while it was masked, which is in {self.places.table}"
            raise UsageError(words, code="in-place-name", hint="remove or rename the other table, and run again")
        self.how.give_back(self.places, self.original, ledger.facts["grants"])

    def _matched(self, facts: Mapping[str, Any]) -> str:
        return f"FROM {self._quoted(self.places.table)} s JOIN {self._quoted(self.places.keys)} k ON {self._same(facts)}"

    def _unchanged(self, facts: Mapping[str, Any]) -> str:
        return f"{self.how.digest('s', self.connection.columns(self.places.table))} = k.{_Own.beside(facts['key']).digest}"

    def _same(self, facts: Mapping[str, Any]) -> str:
        return same_key(self.connection, facts["key"])

    def _quoted(self, table: TableName) -> str:
        return self.connection.quoted(table)


def _text_of(facts: Mapping[str, Any]) -> str:
    """Return facts as the ledger has them: a text of which no server takes anything for its own."""
    return json.dumps(facts).encode().hex()


@dataclass(frozen=True)
class _Own:
    """What the columns of the list of keys are called that stand beside the key: the number of a row, whether it goes, and its digest."""

    number: str
    gone: str
    digest: str

    @classmethod
    def beside(cls, key: Sequence[str]) -> _Own:
        return cls(*(free_name(name, key) for name in ("n", "gone", "digest")))


def _written_meanwhile(table: TableName) -> DataError:
    words = f"rows of {table} were written, changed or deleted while it was read and verified; nothing has been changed"
    return DataError(words, code="in-place-changed", hint="run again when nobody writes to it")


class Draft:
    """Masked rows on their way: they come in any order with the keys of their originals, and are put into a table like that of these."""

    def __init__(self, masked: MaskedTable, change: Change, schema: pa.Schema) -> None:
        self._masked, self._connection, self._change = masked, masked.connection, change
        self._how: InPlace = masked.how
        self._drafts: Places = Places(masked.original, *self._how.drafts(masked.places).private)
        self._arrived = self._connection.staged_name(masked.original)
        self._total = 0
        fields = [pa.field(_ROW, pa.int64()), pa.field(_GONE, pa.int16()), pa.field(DIGEST, pa.int64())]
        fields += [pa.field(f"k{place}", column.kind) for place, column in enumerate(change.key)]
        fields += [pa.field(f"c{place}", schema.field(name).type) for place, name in enumerate(change.made)]
        self._schema = pa.schema(fields)
        self._connection.create(self._arrived, self._schema)

    def load(self, keys: pa.RecordBatch, digests: pa.Array, made: Sequence[pa.Array] | None) -> None:
        """Take further rows; those without values are left out of the release."""
        rows, many = np.arange(self._total, self._total + keys.num_rows), keys.num_rows
        gone = np.full(many, 0 if made is not None else 1, np.int16)
        values = made if made is not None else [pa.nulls(many, field.type) for field in list(self._schema)[3 + keys.num_columns :]]
        arrays = [pa.array(rows), pa.array(gone), digests, *keys.columns, *values]
        self._connection.load(self._arrived, pa.RecordBatch.from_arrays(arrays, names=self._schema.names))
        self._total += many

    def fill(self) -> None:
        """Write the keys down, and put the rows into a table like the one that is masked; what does not fit there is refused."""
        connection, change, drafts = self._connection, self._change, self._drafts
        connection.loaded(self._arrived)
        self._how.settle(self._arrived)
        names = ", ".join(f"s.{connection.quoted_name(name)}" for name in change.names)
        joined = f"{connection.quoted(drafts.table)} s JOIN {connection.quoted(self._arrived)} t ON {self._same('s')}"
        own = _Own.beside(change.names)
        keys = f"SELECT t.{_ROW} AS {own.number}, t.{_GONE} AS {own.gone}, t.{DIGEST} AS {own.digest}, {names} FROM {joined}"
        connection.do(f"CREATE TABLE {connection.quoted(drafts.keys)} AS {keys}")
        connection.do(f"CREATE INDEX {connection.quoted_name(f'{drafts.keys.name}_n')} ON {connection.quoted(drafts.keys)} ({own.number})")
        self._how.make_like(drafts.rows, drafts.table)
        columns = ", ".join(connection.quoted_name(column.name) for column in change.columns)
        values = ", ".join(self._value(column) for column in change.columns)
        try:
            connection.put(f"INSERT INTO {connection.quoted(drafts.rows)} ({columns}) SELECT {values} FROM {joined} WHERE t.{_GONE} = 0")
        except SfumatoError as error:
            if error.code not in _OF_ROWS:
                raise
            words = (
                f"{drafts.table} cannot hold what would be published in {', '.join(change.changed)}: a text too long, a check or a type stands "
                "against it; nothing has been changed"
            )
            raise DataError(
                words, code="in-place-misfit", hint="look at the lengths, types, checks and unique indexes of its columns, or publish a copy"
            ) from None
        for table in (drafts.keys, drafts.rows):
            self._how.settle(table)
        self._refuse_lost(own.gone)

    def _refuse_lost(self, gone: str) -> None:
        """Refuse what others have deleted since it was read, and has no keys or no values now: verification would blame the run."""
        keys, rows = (self._connection.quoted(table) for table in (self._drafts.keys, self._drafts.rows))
        here = one_value(self._connection, f"SELECT COUNT(*) FROM {keys}")
        filled = one_value(self._connection, f"SELECT COUNT(*) + (SELECT COUNT(*) FROM {rows}) FROM {keys} WHERE {gone} = 1")
        if (here, filled) != (self._total, self._total):
            raise _written_meanwhile(self._drafts.table)

    def described(self, names: Sequence[str]) -> pa.Schema:
        """Return some columns as the table will have them."""
        return pa.schema([column.field for column in self._picked(names)])

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the masked rows as the table will have them, in the order in which they came."""
        connection, columns = self._connection, self._picked(names)
        values = ", ".join(connection.selected(column, f"w.{connection.quoted_name(column.name)}") for column in columns)
        joined = f"{connection.quoted(self._arrived)} t JOIN {connection.quoted(self._drafts.rows)} w ON {self._same('w')}"
        yield from connection.select(f"SELECT {values} FROM {joined} WHERE t.{_GONE} = 0 ORDER BY t.{_ROW}", columns)

    def begin(self, facts: Mapping[str, Any], standing: Standing) -> None:
        """Write the ledger and keep the audience out; from here on the masking is finished, by this run or the next."""
        connection, drafts = self._connection, self._drafts
        self._refuse_collisions(standing)
        self._try_statements(standing)
        # rights are those of the moment in which nobody is waited for any more
        self._how.stand_still(drafts.table)
        grants, shown = self._how.take_grants(drafts.table), self._how.showing(drafts.table)
        if shown:
            words = f"{', '.join(shown)} came to {drafts.table} while it was read and verified, and others could see it by that"
            raise DataError(f"{words}; nothing has been changed", code="in-place-changed", hint="remove that, and run again")
        if self._masked.standing() != standing:
            words = f"{drafts.table} was altered, or something that hangs on it was, while it was read and verified; nothing has been changed"
            raise DataError(words, code="in-place-changed", hint="run again when nobody changes it")
        told = {
            **facts,
            "grants": grants,
            "total": self._total,
            "chunk": self._change.chunk,
            "key": self._change.names,
            "written": self._change.written,
            "touched": sorted(standing.touched),
        }
        connection.drop_staged(self._arrived)
        connection.do(f"CREATE TABLE {connection.quoted(drafts.ledger)} (done bigint, facts {self._how.long_text})")
        connection.do(f"INSERT INTO {connection.quoted(drafts.ledger)} VALUES ({_UNCHECKED}, '{_text_of(told)}')")
        self._how.withhold(drafts, self._masked.places)

    def _refuse_collisions(self, standing: Standing) -> None:
        """Refuse values that a row would get while another still has them, in columns where each may be there once; and rows that others refer to."""
        connection, drafts = self._connection, self._drafts
        old, new = connection.quoted(drafts.table), connection.quoted(drafts.rows)
        key = [connection.quoted_name(name) for name in self._change.names]
        for index in standing.unique:
            if not set(index.columns) & set(self._change.written):
                continue
            if any(one_value(connection, query) for query in index.collisions(new, old, key)):
                words = (
                    f"rows of {drafts.table} would get values of {', '.join(index.columns)} that other rows have, and the unique index {index.name} "
                    "stands against it"
                )
                raise DataError(f"{words}; nothing has been changed", code="in-place-unique", hint="drop the index, or publish a copy")
        gone = f"{_Own.beside(self._change.names).gone} = 1"
        if standing.referring and one_value(connection, f"SELECT COUNT(*) FROM {connection.quoted(drafts.keys)} WHERE {gone}"):
            words = (
                f"rows of {drafts.table} would be left out, and foreign keys of {', '.join(standing.referring)} refer to it; nothing has been changed"
            )
            raise DataError(words, code="in-place-referenced", hint="suppression_limit: 0, or publish a copy")

    def _try_statements(self, standing: Standing) -> None:
        """Let the server change and delete no row of the table: what it would refuse whatever a row holds is refused now."""
        connection, change, drafts = self._connection, self._change, self._drafts
        try:
            if change.written:
                self._how.update(drafts, change.written, sorted(standing.touched), change.names, "1 = 0")
            connection.delete_joined(drafts.table, drafts.keys, same_key(connection, change.names), "1 = 0")
        except SfumatoError as error:
            if error.code not in _OF_ROWS:
                raise
            words = f"the server lets no row of {drafts.table} be changed or deleted; nothing has been changed"
            hint = "on PostgreSQL a publication needs a REPLICA IDENTITY of the table; or publish a copy"
            raise DataError(words, code="in-place-refused", hint=hint) from None

    def _picked(self, names: Sequence[str]) -> list[TableColumn]:
        return [column for name in names for column in self._change.columns if column.name == name]

    def _value(self, column: TableColumn) -> str:
        if column.name in self._change.emptied:
            return "NULL"
        if column.name in self._change.made:
            return self._how.assigned(column, f"t.c{list(self._change.made).index(column.name)}")
        return f"s.{self._connection.quoted_name(column.name)}"

    def _same(self, alias: str) -> str:
        named = self._connection.quoted_name
        pairs = ((f"{alias}.{named(column.name)}", self._how.typed(column, f"t.k{place}")) for place, column in enumerate(self._change.key))
        return " AND ".join(f"{one} = {other}" for one, other in pairs)
