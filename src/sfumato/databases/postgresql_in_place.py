"""Masking a table of PostgreSQL where it is: everything is prepared in one transaction, whose end also takes the grants of others away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.databases.in_place import Places
from sfumato.databases.keyed_rows import same_key
from sfumato.databases.postgresql import PostgresqlConnection
from sfumato.databases.postgresql_revoking import Revoking
from sfumato.databases.postgresql_rights import granting, kept_private
from sfumato.databases.postgresql_types import quoted, quoted_name
from sfumato.databases.postgresql_unique import unique_indexes
from sfumato.databases.standing import Standing
from sfumato.databases.table import TableColumn, TableName

_TABLE = "SELECT relkind = 'r', pg_has_role(relowner, 'USAGE'), relrowsecurity FROM pg_class WHERE oid = %s"
_COLUMNS = """
SELECT attnum, attname, attnotnull, attgenerated <> '', attidentity = 'a' FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
"""
_CONSTRAINTS = """
SELECT conname::text FROM pg_constraint WHERE conrelid = %(table)s AND contype IN ('c', 'f', 'u', 'x')
UNION SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = %(table)s AND i.indisunique AND NOT i.indisprimary
UNION SELECT tgname::text FROM pg_trigger WHERE tgrelid = %(table)s AND NOT tgisinternal ORDER BY 1
"""
_KEYS = """
SELECT contype, conrelid::regclass::text, conname, conrelid = %(table)s, confrelid = %(table)s, conkey, confkey, confmatchtype FROM pg_constraint
WHERE %(table)s IN (conrelid, confrelid) AND contype IN ('f', 'x') ORDER BY conname
"""
_HANGING = """
SELECT DISTINCT 'the view ' || v.oid::regclass::text FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
    WHERE d.refobjid = %(table)s AND d.classid = 'pg_rewrite'::regclass AND v.oid <> %(table)s
UNION ALL SELECT 'the rule ' || rulename FROM pg_rewrite WHERE ev_class = %(table)s
UNION ALL SELECT 'the trigger ' || tgname FROM pg_trigger WHERE tgrelid = %(table)s AND NOT tgisinternal
UNION ALL SELECT 'its place in ' || inhparent::regclass::text FROM pg_inherits WHERE inhrelid = %(table)s
UNION ALL SELECT 'the table ' || inhrelid::regclass::text || ' that inherits from it' FROM pg_inherits WHERE inhparent = %(table)s
"""

# what is not looked at any more keeps what was found when it was
_UNWATCHED = """
SELECT attname, NULL, NULL FROM pg_attribute WHERE attrelid = %(table)s AND attnum > 0 AND NOT attisdropped AND attstattarget = 0
UNION ALL SELECT NULL, n.nspname, s.stxname FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = s.stxnamespace
    WHERE s.stxrelid = %(table)s AND s.stxstattarget = 0
"""
# of what a table had together with those that inherited from it; before version 15 only columns have that
_OF_PARTS = """
WITH named AS (SELECT nspname, relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE c.oid = %(table)s)
SELECT EXISTS (SELECT FROM pg_stats JOIN named ON (schemaname, tablename) = (nspname, relname) WHERE inherited)
    OR EXISTS (SELECT FROM pg_stats_ext s JOIN named ON (schemaname, tablename) = (nspname, relname) WHERE to_jsonb(s) @> '{"inherited": true}')
"""


class PostgresqlInPlace:
    """How PostgreSQL masks a table where it is."""

    long_text = "text"

    def __init__(self, connection: PostgresqlConnection) -> None:
        self._connection = connection

    def begin(self) -> None:
        """Do nothing: all sessions write values in one way."""

    def standing(self, table: TableName) -> Standing:
        """Ask the catalogue."""
        connection, oid = self._connection, self._connection.number_of(table)
        ((plain, owned, by_row),) = connection.facts(_TABLE, [oid])
        columns = connection.facts(_COLUMNS, [oid])
        names = {number: name for number, name, *_ in columns}
        hanging = self.showing(table)
        hanging += ["that it is no plain table"] * (not plain) + ["its row security"] * by_row
        hanging += ["that it belongs to another user"] * (not owned)
        unique = unique_indexes(connection.facts, oid)
        hanging += [f"the unique index {name}, of which it is not known what is equal in it" for name in unique.unclear]
        foreign: set[str] = set()
        whole: list[tuple[str, ...]] = []
        referring: dict[str, list[str]] = {}
        for kind, of, name, ours, theirs, key, referred, matching in connection.facts(_KEYS, {"table": oid}):
            if kind == "x":
                hanging.append(f"the exclusion constraint {name}")
                continue
            if ours:
                foreign |= {names[number] for number in key}
                whole += [tuple(names[number] for number in key)] if matching == "f" else []
            if theirs:
                referring[of] = [*referring.get(of, ()), *(names[number] for number in referred)]
        return Standing(
            connection.primary_key(table),
            frozenset(name for _, name, needed, _, _ in columns if needed),
            frozenset(name for _, name, _, made, _ in columns if made),
            frozenset(),
            unique.known,
            frozenset(foreign),
            referring,
            sorted(hanging),
            frozenset(name for _, name, _, _, numbered in columns if numbered),
            whole,
        )

    def holds_text(self, column: TableColumn) -> bool:
        """Texts of one length are filled with blanks, and not what was put into them."""
        return str(column.kind) == "string" and not column.as_text and not column.padded

    def typed(self, column: TableColumn, expression: str) -> str:
        """Cast the value."""
        return f"CAST({expression} AS {column.called})"

    def assigned(self, column: TableColumn, expression: str) -> str:
        """Cast the value but for texts, which a cast would cut."""
        return expression if self.holds_text(column) else self.typed(column, expression)

    def digest(self, alias: str, columns: Sequence[TableColumn]) -> str:
        """Hash the text of the whole row, columns of types among them that nobody here can read."""
        del columns
        return f"hashtextextended(ROW({alias}.*)::text, 0)"

    def drafts(self, lasting: Places) -> Places:
        """Nobody sees what is not committed: things are where they will be."""
        return lasting

    def make_like(self, made: TableName, table: TableName) -> None:
        """Let the server copy the definition, and look at once at what it would look at in the end."""
        self._connection.do(f"CREATE TABLE {quoted(made)} (LIKE {quoted(table)} INCLUDING CONSTRAINTS INCLUDING INDEXES)")
        self._connection.do("SET CONSTRAINTS ALL IMMEDIATE")

    def settle(self, table: TableName) -> None:
        """Let the planner look at it."""
        self._connection.do(f"ANALYZE {quoted(table)}")

    def take_grants(self, table: TableName) -> list[Any]:
        """Revoke what others may do, on the table and on columns, and return what that was."""
        return Revoking(self._connection, table).revoke()

    def showing(self, table: TableName) -> list[str]:
        """Ask for views, rules and triggers, and for tables that show it as a part of theirs, or theirs as a part of it."""
        return sorted(name for (name,) in self._connection.facts(_HANGING, {"table": self._connection.number_of(table)}))

    def withhold(self, drafts: Places, lasting: Places) -> None:
        """Let nobody read what is private, and commit."""
        del lasting
        mark = self._connection.ledger_mark(drafts.table)
        self._connection.do(f"COMMENT ON TABLE {quoted(drafts.ledger)} IS '{mark}'")
        for table in drafts.private:
            self._connection.do(kept_private(table))
        self._connection.commit()

    def update(self, places: Places, made: Sequence[str], touched: Sequence[str], key: Sequence[str], chosen: str) -> None:
        """Join the rows with their keys and with what they become."""
        del touched
        values = ", ".join(f"{quoted_name(name)} = w.{quoted_name(name)}" for name in made)
        joined = f"{quoted(places.keys)} k JOIN {quoted(places.rows)} w ON {same_key(self._connection, key, 'w', 'k')}"
        self._connection.put(f"UPDATE {quoted(places.table)} s SET {values} FROM {joined} WHERE {same_key(self._connection, key)} AND {chosen}")

    def constraints(self, table: TableName) -> list[str]:
        """Ask the catalogue."""
        return [name for (name,) in self._connection.facts(_CONSTRAINTS, {"table": self._connection.number_of(table)})]

    def is_ours(self, table: TableName) -> bool:
        """Ask who owns it; to have the owner's role is not enough."""
        return self._connection.is_own(table)

    def stand_still(self, table: TableName) -> None:
        """Lock the table against all who write."""
        self._connection.do(f"LOCK TABLE {quoted(table)} IN SHARE ROW EXCLUSIVE MODE")

    def give_back(self, places: Places, original: TableName, grants: Sequence[Any]) -> None:
        """Grant again what is in the ledger to those who are still there, and drop the rest, in the transaction that is going on."""
        self._sample_anew(original)
        there = {name for (name,) in self._connection.facts("SELECT rolname FROM pg_roles", [])} | {None}
        for grant in grants:
            if grant[0] in there:
                self._connection.do(granting(original, grant))
        for table in places.private:
            self._connection.do(f"DROP TABLE IF EXISTS {quoted(table)}")

    def _sample_anew(self, table: TableName) -> None:
        """Let the planner look at the masked rows: what it has kept of the old ones, common values and bounds, who may read a column may read too."""
        unwatched = [
            f"ALTER TABLE {quoted(table)} ALTER COLUMN {quoted_name(column)} SET STATISTICS"
            if column is not None
            else f"ALTER STATISTICS {quoted(TableName(name, schema))} SET STATISTICS"
            for column, schema, name in self._connection.facts(_UNWATCHED, {"table": self._connection.number_of(table)})
        ]
        for altered in unwatched:
            self._connection.do(f"{altered} -1")
        self._sample_as_parts(table)
        self._connection.do(f"ANALYZE {quoted(table)}")
        for altered in unwatched:
            self._connection.do(f"{altered} 0")

    def _sample_as_parts(self, table: TableName) -> None:
        """Let the planner look anew at what it has kept of the table and those that once inherited from it, which it does only where there is one."""
        ((is_kept,),) = self._connection.facts(_OF_PARTS, {"table": self._connection.number_of(table)})
        if is_kept:
            part = quoted(self._connection.staged_name(table))
            for statement in (f"CREATE TABLE {part} () INHERITS ({quoted(table)})", f"ANALYZE {quoted(table)}", f"DROP TABLE {part}"):
                self._connection.do(statement)
