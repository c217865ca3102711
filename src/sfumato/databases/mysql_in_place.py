"""Masking a table of MySQL or MariaDB where it is: one ``RENAME TABLE`` takes it out of everybody's sight, and one puts it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sfumato.databases.failures import CHANGED
from sfumato.databases.in_place import Places
from sfumato.databases.keyed_rows import same_key
from sfumato.databases.mysql import MysqlConnection
from sfumato.databases.mysql_digest import row_digest
from sfumato.databases.mysql_engines import engine_without_transactions
from sfumato.databases.mysql_foreign_keys import unseen_keys
from sfumato.databases.mysql_types import may_repeat, quoted, quoted_name, text_of
from sfumato.databases.standing import Standing
from sfumato.databases.table import TableColumn, TableName
from sfumato.databases.unique_index import Part, UniqueIndex
from sfumato.errors import DataError

_DOUBLED = 1291
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
_TABLE = "SELECT table_type FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
_COLUMNS = "SELECT column_name, is_nullable, extra FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
_UNIQUE = """
SELECT index_name, COALESCE(column_name, ''), sub_part FROM information_schema.statistics
WHERE table_schema = %s AND table_name = %s AND non_unique = 0 AND index_name <> 'PRIMARY' ORDER BY index_name, seq_in_index
"""
_REFERRING = """
SELECT table_schema, table_name, referenced_column_name FROM information_schema.key_column_usage
WHERE referenced_table_schema = %s AND referenced_table_name = %s ORDER BY 1, 2
"""
_CONSTRAINTS = """
SELECT constraint_name FROM information_schema.table_constraints
WHERE table_schema = %s AND table_name = %s AND constraint_type <> 'PRIMARY KEY' ORDER BY 1
"""
_OVERLAPS = "WITHOUT OVERLAPS"
# what has a limit is a table of its own, of which the server makes an index where it is joined
_APART = f" LIMIT {2**64 - 1}"
_TRIGGERS = "SELECT trigger_name FROM information_schema.triggers WHERE event_object_schema = %s AND event_object_table = %s"

_HAS_HISTOGRAMS = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'information_schema' AND table_name = 'COLUMN_STATISTICS'"
_HISTOGRAMS = "SELECT column_name FROM information_schema.column_statistics WHERE schema_name = %s AND table_name = %s"


class MysqlInPlace:
    """How MySQL and MariaDB mask a table where it is."""

    long_text = "longtext"

    def __init__(self, connection: MysqlConnection) -> None:
        self._connection = connection

    def begin(self) -> None:
        """Let a key of zero be zero, and see what others have written."""
        self._connection.do("SET SESSION sql_mode = 'STRICT_ALL_TABLES,ANSI_QUOTES,NO_AUTO_VALUE_ON_ZERO'")
        self._connection.do("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")

    def standing(self, table: TableName) -> Standing:
        """Ask the catalogue."""
        connection, place = self._connection, self._connection.placed(table)
        names = [place.schema, place.name]
        # each question finds what is there when it is asked
        engine, found = engine_without_transactions(connection, place), connection.facts(_TABLE, names)
        if not found:
            raise CHANGED.error(connection.shown)
        kind = found[0][0]
        columns = [tuple(map(text_of, row)) for row in connection.facts(_COLUMNS, names)]
        hanging = [f"the trigger {text_of(name)}" for (name,) in connection.facts(_TRIGGERS, names)]
        hanging += [] if text_of(kind) == "BASE TABLE" else [f"that it is a {text_of(kind).lower()}"]
        hanging += [f"its engine {engine}, which has no transactions"] if engine else []
        unique: dict[str, list[tuple[str, int | None]]] = {}
        for index, column, length in connection.facts(_UNIQUE, names):
            unique.setdefault(text_of(index), []).append((text_of(column), length))
        hanging += [f"the unique index {index} of an expression" for index, of in unique.items() if "" in dict(of)]
        hanging += ["its periods that may not overlap"] if self._has_periods(place) else []
        referring: dict[str, list[str]] = {}
        for schema, other, column in connection.facts(_REFERRING, names):
            referring.setdefault(f"{text_of(schema)}.{text_of(other)}", []).append(text_of(column))
        foreign = frozenset(name for key in connection.foreign_keys(table) for name in key.columns)
        referring |= unseen_keys(connection, place, bool(referring or foreign))
        return Standing(
            connection.primary_key(table),
            frozenset(name for name, empty, _ in columns if empty == "NO"),
            frozenset(name for name, _, more in columns if "GENERATED" in more.upper().replace("DEFAULT_GENERATED", "")),
            frozenset(name for name, _, more in columns if "on update" in more.lower()),
            [_unique_index(name, of) for name, of in unique.items()],
            foreign,
            referring,
            sorted(hanging),
        )

    def _has_periods(self, table: TableName) -> bool:
        """Return whether a key has a period of MariaDB's: two rows differ in it and stand against each other all the same."""
        ((_, definition, *_),) = self._connection.facts(f"SHOW CREATE TABLE {quoted(table)}", [])
        return _OVERLAPS in text_of(definition).upper()

    def holds_text(self, column: TableColumn) -> bool:
        """Return whether it is one of the types of text."""
        return column.called.lower().split("(")[0].split(" ")[0] in _TEXTS

    def typed(self, column: TableColumn, expression: str) -> str:
        """Leave it as it is, for types are compared by their values; a fraction of four bytes was brought by its shortest text."""
        return f"CAST({expression} AS FLOAT)" if column.kind == pa.float32() else expression

    def assigned(self, column: TableColumn, expression: str) -> str:
        """Leave it as it is: the server refuses what does not fit."""
        del column
        return expression

    def digest(self, alias: str, columns: Sequence[TableColumn]) -> str:
        """Hash the bytes of the row."""
        return row_digest(alias, columns)

    def drafts(self, lasting: Places) -> Places:
        """Return private names whose locks this session holds."""
        names = [self._connection.staged_name(lasting.table) for _ in range(3)]
        for name in names:
            self._connection.reserve(name, [])
        return Places(lasting.table, *names)

    def make_like(self, made: TableName, table: TableName) -> None:
        """Let the server copy the definition, which has no foreign keys and triggers then."""
        if self._connection.refused_with(f"CREATE TABLE {quoted(made)} LIKE {quoted(table)}", [_DOUBLED]):
            names = [column.name for column in self._connection.columns(table) if may_repeat(column)]
            words = f"{table} lists values in the type of {', '.join(names)} that the collation takes for equal, and no table like it can be made"
            raise DataError(f"{words}; nothing has been changed", code="in-place-misfit", hint="a collation that tells them apart, or publish a copy")

    def settle(self, table: TableName) -> None:
        """Do nothing: the engine looks at tables itself."""
        del table

    def take_grants(self, table: TableName) -> list[Any]:
        """Return nothing: rights go by the name, and are in force again when that is the table's again."""
        del table
        return []

    def showing(self, table: TableName) -> list[str]:
        """Return nothing: views go by the name, which nothing has meanwhile."""
        del table
        return []

    def withhold(self, drafts: Places, lasting: Places) -> None:
        """Rename the table and the drafts by one statement."""
        self._connection.rename([(drafts.table, lasting.table), *zip(drafts.private, lasting.private, strict=True)])
        # a server that has not looked at tables lately takes them for empty, and looks through all of one for each row of another
        tables = (lasting.keys, lasting.rows, lasting.table)
        self._connection.do(f"ANALYZE NO_WRITE_TO_BINLOG TABLE {', '.join(map(quoted, tables))}")

    def update(self, places: Places, made: Sequence[str], touched: Sequence[str], key: Sequence[str], chosen: str) -> None:
        """Join the rows with their keys and with what they become; what the server would touch gets the value that it has."""
        of = dict.fromkeys(made, "w") | {name: "s" for name in touched if name not in made}
        values = ", ".join(f"s.{quoted_name(name)} = {alias}.{quoted_name(name)}" for name, alias in of.items())
        # in this order: the list has no index of keys
        keyed = f"{quoted(places.keys)} k STRAIGHT_JOIN {quoted(places.rows)} w ON {same_key(self._connection, key, 'w', 'k')}"
        joined = f"{keyed} STRAIGHT_JOIN {quoted(places.table)} s ON {same_key(self._connection, key)}"
        self._connection.do(f"UPDATE {joined} SET {values} WHERE {chosen}")

    def constraints(self, table: TableName) -> list[str]:
        """Ask the catalogue."""
        place = self._connection.placed(table)
        found = [self._connection.facts(query, [place.schema, place.name]) for query in (_CONSTRAINTS, _TRIGGERS)]
        return [text_of(name) for rows in found for (name,) in rows]

    def is_ours(self, table: TableName) -> bool:
        """Return that it is: the user's database for what is staged is nobody else's."""
        del table
        return True

    def stand_still(self, table: TableName) -> None:
        """Do nothing: where the table is nobody else looks."""
        del table

    def give_back(self, places: Places, original: TableName, grants: Sequence[Any]) -> None:
        """Rename the table back, and the rest to names that the next run would clear away too."""
        del grants
        self._forget_histograms(places.table)
        # somebody may have removed one: the table comes back all the same
        there = [table for table in places.private if self._connection.identity(table) is not None]
        away = [self._connection.staged_name(original) for _ in there]
        for name in away:
            self._connection.reserve(name, [])
        self._connection.rename([(places.table, original), *zip(there, away, strict=True)])
        for name in away:
            self._connection.do(f"DROP TABLE IF EXISTS {quoted(name)}")

    def _forget_histograms(self, table: TableName) -> None:
        """Drop what MySQL has kept of old values to plan by: who may read a column may read that too. What MariaDB keeps, only its keepers may."""
        if not self._connection.facts(_HAS_HISTOGRAMS, []):
            return
        columns = [text_of(name) for (name,) in self._connection.facts(_HISTOGRAMS, [table.schema, table.name])]
        if columns:
            self._connection.do(f"ANALYZE TABLE {quoted(table)} DROP HISTOGRAM ON {', '.join(map(quoted_name, columns))}")


def _unique_index(name: str, columns: Sequence[tuple[str, int | None]]) -> UniqueIndex:
    """Return an index of columns, or of the beginnings of texts."""
    parts = tuple(Part(quoted_name(column) if length is None else f"LEFT({quoted_name(column)}, {length})") for column, length in columns)
    apart = _APART if any(length is not None for _, length in columns) else ""
    return UniqueIndex(name, tuple(column for column, _ in columns), parts, apart=apart)
