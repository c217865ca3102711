"""What the catalogue of PostgreSQL says of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

from sfumato.databases.address import Address
from sfumato.databases.connection import Catalogue
from sfumato.databases.failures import NO_TABLES, PARTS_CHANGED
from sfumato.databases.postgresql_session import catalogue_session, postgresql_errors
from sfumato.databases.postgresql_types import column_of, quoted
from sfumato.databases.table import ForeignKey, OnDelete, Referring, TableColumn, TableName
from sfumato.errors import DataError, SfumatoError, UsageError, suggestion

COLUMNS = """
WITH RECURSIVE held AS (
    SELECT a.attnum, a.attname, format_type(a.atttypid, a.atttypmod) AS called, a.atttypid AS kind, a.atttypmod AS modifier
    FROM pg_attribute a WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT held.attnum, held.attname, held.called, t.typbasetype, t.typtypmod FROM held JOIN pg_type t ON t.oid = held.kind WHERE t.typtype = 'd'
)
SELECT held.attname, held.called, t.typname, t.typtype, held.modifier
FROM held JOIN pg_type t ON t.oid = held.kind WHERE t.typtype <> 'd' ORDER BY held.attnum
"""
_USABLE = """
SELECT 1 FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE format_type(t.oid, NULL) = %s AND has_type_privilege(t.oid, 'USAGE') AND has_schema_privilege(n.oid, 'USAGE')
"""
_FIND = """
SELECT c.oid, c.relkind, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname = ANY(%s::name[]) ORDER BY array_position(%s::name[], n.nspname) LIMIT 1
"""
_ALL = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname = ANY(%s::name[])
"""
# older servers have no keys by periods
_BY_PERIOD = "coalesce((to_jsonb(c)->>'conperiod')::boolean, false)"
# a key to a table in partitions is there once more for each of these
_FOREIGN_KEYS = f"""
SELECT n.nspname, t.relname,
    (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY k(number, place)
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number),
    (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.confkey) WITH ORDINALITY k(number, place)
        JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.number),
    {_BY_PERIOD}
FROM pg_constraint c JOIN pg_class t ON t.oid = c.confrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE c.contype = 'f' AND c.conrelid = %s AND NOT EXISTS (SELECT FROM pg_constraint p WHERE p.oid = c.conparentid AND p.conrelid = c.conrelid)
ORDER BY c.conname
"""
# nor is one told of a part where it is told of the whole; one that is not enforced, or whose triggers are switched off, does nothing
_REFERRING = f"""
SELECT n.nspname, t.relname, c.confrelid,
    (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY k(number, place)
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number),
    (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.confkey) WITH ORDINALITY k(number, place)
        JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.number),
    c.confdeltype,
    (SELECT array_agg(CASE WHEN l.oid IS NOT NULL THEN format('%%I.%%I', s.nspname, l.collname) END ORDER BY k.place)
        FROM unnest(c.confkey) WITH ORDINALITY k(number, place) JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.number
        LEFT JOIN pg_collation l ON l.oid = a.attcollation LEFT JOIN pg_namespace s ON s.oid = l.collnamespace),
    t.relkind <> 'p', o.relkind <> 'p', {_BY_PERIOD}
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace JOIN pg_class o ON o.oid = c.confrelid
WHERE c.contype = 'f' AND c.confrelid = ANY(%(tables)s::oid[])
    AND NOT EXISTS (SELECT FROM pg_constraint p WHERE p.oid = c.conparentid AND p.confrelid = ANY(%(tables)s::oid[]))
    AND EXISTS (
        WITH RECURSIVE parts AS (SELECT c.oid, c.confrelid
            UNION ALL SELECT p.oid, p.confrelid FROM parts JOIN pg_constraint p ON p.conparentid = parts.oid)
        SELECT FROM parts JOIN pg_trigger g ON g.tgconstraint = parts.oid AND g.tgrelid = parts.confrelid AND (g.tgtype::integer & 8) <> 0
        WHERE g.tgenabled IN ('A', CASE current_setting('session_replication_role') WHEN 'replica' THEN 'R' ELSE 'O' END)
    )
ORDER BY n.nspname, t.relname, c.conname, c.confrelid
"""
_UNSTEADY = """
WITH RECURSIVE parts AS (SELECT %s::oid AS number UNION SELECT inhrelid FROM pg_inherits JOIN parts ON inhparent = number)
SELECT FROM pg_class JOIN parts ON oid = number WHERE relkind NOT IN ('r', 'p', 'm') OR relrowsecurity LIMIT 1
"""
_PARTS = """
WITH RECURSIVE parts AS (SELECT i, inhrelid FROM pg_inherits i WHERE inhparent = %s
    UNION SELECT i, i.inhrelid FROM pg_inherits i JOIN parts ON i.inhparent = parts.inhrelid)
SELECT i::text FROM parts ORDER BY 1
"""
_BYTEWISE = """
SELECT a.attname::text FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation
WHERE a.attrelid = %s AND a.atttypid IN ('text'::regtype, 'varchar'::regtype) AND c.collisdeterministic
"""
_READABLE = """
SELECT attname::text FROM pg_attribute
WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped AND has_column_privilege(attrelid, attnum, 'SELECT')
"""
# RESTRICT too looks when the statement has come to its end, though never later
_ON_DELETE: Mapping[str, OnDelete] = {"a": "held", "r": "held", "c": "deleted", "n": "emptied", "d": "emptied"}
_ACTING = """
SELECT 'trigger', tgname FROM pg_trigger
WHERE tgrelid = %(table)s AND NOT tgisinternal AND tgenabled IN ('O', 'A') AND (tgtype::integer & %(bit)s) <> 0
UNION ALL SELECT 'rule', rulename FROM pg_rewrite WHERE ev_class = %(table)s AND ev_type = %(event)s AND ev_enabled IN ('O', 'A')
ORDER BY 1, 2
"""
_TRIGGER_BITS, _RULE_EVENTS = {"INSERT": 4, "DELETE": 8}, {"INSERT": "3", "DELETE": "4"}
_MASKED = """
SELECT FROM pg_description d JOIN pg_class l ON l.oid = d.objoid JOIN pg_class t ON t.oid = %(table)s
WHERE d.classoid = 'pg_class'::regclass AND d.objsubid = 0 AND d.description = %(mark)s AND starts_with(l.relname::text, 'masking_')
AND pg_has_role(l.relowner, t.relowner, 'USAGE')
"""
_PRIMARY_KEY = """
SELECT a.attname::text FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY k(number, place), pg_attribute a
WHERE i.indrelid = %s AND i.indisprimary AND a.attrelid = i.indrelid AND a.attnum = k.number AND k.place <= i.indnkeyatts
ORDER BY k.place
"""


class PostgresqlCatalogue:
    """A session that is asked what the catalogue says. Tables without a schema are looked for where the user's sessions look."""

    def __init__(self, address: Address, password: str | None) -> None:
        self._address = address
        self._errors = partial(postgresql_errors, address.shown)
        self._catalogue, self._path = catalogue_session(address, password)

    def columns(self, table: TableName) -> list[TableColumn]:
        """Return the columns of a table or a view, those of a domain as what they are made of.

        Where the user may read some of them only, these: the others are as if they were not there, as they are to users of MySQL and MariaDB.
        """
        found, _, _ = self._found(table)
        columns, readable = [column_of(*row) for row in self._rows(COLUMNS, [found])], {name for (name,) in self._rows(_READABLE, [found])}
        return [column for column in columns if column.name in readable] or columns

    def may_use(self, kind: str) -> bool:
        """Say whether the user may make columns of a type, which has its schema before its name where somebody has made it."""
        return "." not in kind or bool(self._rows(_USABLE, [kind]))

    def identity(self, table: TableName) -> str | None:
        """Return when the server was started and on which of its files the table is."""
        found = self._find(table)
        if found is None:
            return None
        ((began, database),) = self._rows("SELECT pg_postmaster_start_time(), oid FROM pg_database WHERE datname = current_database()", [])
        return f"{began}/{database}/{found[0]}"

    def primary_key(self, table: TableName) -> tuple[str, ...]:
        """Return the columns of the primary key."""
        return tuple(name for (name,) in self._rows(_PRIMARY_KEY, [self._found(table)[0]]))

    def has_places(self, table: TableName) -> bool:
        """Return whether every row of a table has a place of its own: those of a view have none, and those of parts are places in them.

        Who may read only some columns may not read places.
        """
        found, kind, _ = self._found(table)
        parted = "SELECT WHERE EXISTS (SELECT FROM pg_inherits WHERE inhparent = %s) OR NOT has_table_privilege(%s::oid, 'SELECT')"
        return kind in ("r", "m") and not self._rows(parted, [found, found])

    def reads_alike(self, table: TableName) -> bool:
        """Return whether one transaction reads the same rows twice: a view may hang on chance or the clock, a foreign table on another server.

        So may rules of row-level security.
        """
        return not self._rows(_UNSTEADY, [self._found(table)[0]])

    def parts(self, table: TableName) -> list[str]:
        """Return what tells the partitions of a table, and all that inherits from it, from others that it may have later."""
        return [part for (part,) in self._rows(_PARTS, [self._found(table)[0]])]

    def refuse_other_parts(self, table: TableName, parts: Sequence[str]) -> None:
        """Refuse a table that has other parts by now: some of its rows may have been read once and not a second time."""
        if self.parts(table) != parts:
            raise PARTS_CHANGED.error(self._address.shown)

    def readable(self, table: TableName) -> list[str]:
        """Return the columns that the user may read; none of a table that is not there for this session, because another has just made it."""
        found = self._find(table)
        return [] if found is None else [name for (name,) in self._rows(_READABLE, [found[0]])]

    def bytewise(self, table: TableName) -> set[str]:
        """Return the columns of texts that are equal where their bytes are and nowhere else, as they stand."""
        return {name for (name,) in self._rows(_BYTEWISE, [self._found(table)[0]])}

    def foreign_keys(self, table: TableName) -> list[ForeignKey]:
        """Return the foreign keys; views have none."""
        rows = self._rows(_FOREIGN_KEYS, [self._found(table)[0]])
        return [
            ForeignKey(tuple(columns), TableName(other, schema), tuple(referred), by_period) for schema, other, columns, referred, by_period in rows
        ]

    def reads(self, table: TableName, other: Catalogue, replaced: TableName) -> bool:
        """Return that it does not: a table on which a view hangs is not replaced, whoever reads it."""
        del table, other, replaced
        return False

    def about(self, table: TableName) -> int | None:
        """Return what the planner thinks; None where it has never looked."""
        found, _, _ = self._found(table)
        ((number,),) = self._rows("SELECT reltuples::bigint FROM pg_class WHERE oid = %s", [found])
        return number if number >= 0 else None

    def placed(self, table: TableName) -> TableName:
        """Return the name of a table with that of its schema; that of one which is there, or the first one."""
        if table.schema is not None:
            return table
        found = self._find(table)
        return TableName(table.name, found[2] if found is not None else self._schema_of(table))

    def beside(self, name: str, table: TableName) -> TableName:
        """Return a name in the schema of the other table."""
        return TableName(name, self.placed(table).schema)

    def beginning_with(self, name: str, table: TableName) -> list[TableName]:
        """Return the tables of this user in the schema of the other one whose names begin so."""
        schema = self.placed(table).schema
        query = "SELECT tablename FROM pg_tables WHERE schemaname = %s AND starts_with(tablename::text, %s::text) AND tableowner = current_user"
        return [TableName(found, schema) for (found,) in self._rows(query, [schema, name])]

    def is_own(self, table: TableName) -> bool:
        """Return whether the very user owns a table, and not a role that the user has."""
        query = "SELECT relowner = (SELECT oid FROM pg_roles WHERE rolname = current_user) FROM pg_class WHERE oid = %s"
        return bool(self._rows(query, [self._found(table)[0]])[0][0])

    def is_masked_as_another(self, table: TableName) -> bool:
        """Return whether a ledger of its owner says of a table that it is masked in part, whatever the table was called then."""
        found = self._find(table)
        return found is not None and bool(self._rows(_MASKED, {"table": found[0], "mark": self.ledger_mark(table)}))

    def ledger_mark(self, table: TableName) -> str:
        """Return what the ledger of a table that is masked in place has as its comment: which table of which database it is, by no name."""
        ((database,),) = self._rows("SELECT oid FROM pg_database WHERE datname = current_database()", [])
        return f"sfumato masks the table {self._found(table)[0]} of the database {database}"

    def referring(self, tables: Sequence[TableName]) -> list[Referring]:
        """Return the foreign keys that refer to tables."""
        numbers = {self._found(table)[0]: table for table in tables}
        rows = self._rows(_REFERRING, {"tables": list(numbers)})
        return [
            Referring(TableName(name, schema), tuple(own), numbers[to], tuple(referred), _ON_DELETE[kind], tuple(collations), *kept)
            for schema, name, to, own, referred, kind, collations, *kept in rows
        ]

    def acting(self, table: TableName, event: Literal["DELETE", "INSERT"]) -> list[str]:
        """Return the triggers that are not disabled, and the rules."""
        values = {"table": self._found(table)[0], "bit": _TRIGGER_BITS[event], "event": _RULE_EVENTS[event]}
        return [f"the {what} {name}" for what, name in self._rows(_ACTING, values)]

    def hides_rows(self, table: TableName) -> bool:
        """Let the server plan to read it, once with what row-level security allows and once without: the second fails where that hides anything.

        It is so for views too, whoever's rights these have.
        """
        planned = f"EXPLAIN SELECT 1 FROM {quoted(self.placed(table))}"
        self.shown_rows(planned)
        try:
            with self._errors():
                self._catalogue.execute(planned)
        except SfumatoError as error:
            if error.code != "database-rights":
                raise
            return True
        return False

    def shown_rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return what a query gives of the rows that row-level security allows, and of what others have committed."""
        with self._errors(query):
            self._catalogue.execute("SET row_security = on")
            try:
                rows: list[tuple[Any, ...]] = self._catalogue.execute(query).fetchall()
                return rows
            finally:
                self._catalogue.execute("SET row_security = off")

    def _find(self, table: TableName) -> tuple[int, str, str] | None:
        """Return the number of a table, what it is, and its schema; None where there is none."""
        schemas = self._schemas(table)
        found = self._rows(_FIND, [table.name, schemas, schemas])
        return found[0] if found else None

    def _found(self, table: TableName) -> tuple[int, str, str]:
        found = self._find(table)
        if found is None:
            known = [name for (name,) in self._rows(_ALL, [self._schemas(table)])]
            raise DataError(
                f"{self._address.shown} has no table {table}", code="table-missing", hint=suggestion(table.name, known) if known else NO_TABLES
            )
        return found

    def _schemas(self, table: TableName) -> list[str]:
        """Return where a table is looked for."""
        return self._path if table.schema is None else [table.schema]

    def _schema_of(self, table: TableName) -> str:
        schemas = self._schemas(table)
        if not schemas:
            raise UsageError(
                f"{self._address.shown} has no schema in which this user could make tables", code="database-rights", hint="schema: public"
            )
        return schemas[0]

    def facts(self, query: str, values: Any) -> list[tuple[Any, ...]]:
        """Return what the catalogue says."""
        return self._rows(query, values)

    def number_of(self, table: TableName) -> int:
        """Return the number by which the catalogue knows a table; an error where there is none."""
        return self._found(table)[0]

    def _rows(self, query: str, values: Any) -> list[tuple[Any, ...]]:
        with self._errors():
            rows: list[tuple[Any, ...]] = self._catalogue.execute(query, values).fetchall()
        return rows
