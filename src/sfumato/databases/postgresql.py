"""PostgreSQL: rows come and go by ADBC, in binary form. A release is made, written, read back and published in one transaction.

Nobody sees anything of it before, and a process that dies leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode

import pyarrow as pa

from sfumato.databases.address import Address
from sfumato.databases.failures import FULL, GONE, LOCKED, NO_DATABASE, NO_RIGHT, REFUSED, VALUE, busy, of_code
from sfumato.databases.postgresql_rights import kept_private
from sfumato.databases.postgresql_types import bytewise, called, column_of, plain, quoted, quoted_name, range_of, selected, typed
from sfumato.databases.table import ForeignKey, TableColumn, TableName
from sfumato.errors import DataError, UnreachableError, UsageError, suggestion

_LOCK = "10s"
# what a session that has lost its process holds is free in a moment
_TRIES, _PAUSE = 25, 0.2
_FAILURES = {
    "08": GONE,
    "57P": GONE,
    "28": REFUSED,
    "3D000": NO_DATABASE,
    "42501": NO_RIGHT,
    "53100": FULL,
    "55P03": LOCKED,
    "40P01": LOCKED,
    "22": VALUE,
}
_COLUMNS = """
WITH RECURSIVE held AS (
    SELECT a.attnum, a.attname, format_type(a.atttypid, a.atttypmod) AS called, a.atttypid AS kind, a.atttypmod AS modifier
    FROM pg_attribute a WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT held.attnum, held.attname, held.called, t.typbasetype, t.typtypmod FROM held JOIN pg_type t ON t.oid = held.kind WHERE t.typtype = 'd'
)
SELECT held.attname, held.called, t.typname, t.typtype, held.modifier
FROM held JOIN pg_type t ON t.oid = held.kind WHERE t.typtype <> 'd' ORDER BY held.attnum
"""
_FIND = """
SELECT c.oid, c.relkind, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND CASE WHEN %s::text IS NULL THEN pg_table_is_visible(c.oid) ELSE n.nspname = %s END
"""
_ALL = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND CASE WHEN %s::text IS NULL THEN pg_table_is_visible(c.oid) AND n.nspname NOT IN ('pg_catalog', 'information_schema') ELSE n.nspname = %s END
"""
# what hangs on a table and would be lost with it
DEPENDENT = """
SELECT DISTINCT 'the view ' || v.oid::regclass::text FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
    WHERE d.refobjid = %(table)s AND d.classid = 'pg_rewrite'::regclass AND v.oid <> %(table)s
UNION ALL SELECT 'a foreign key of ' || conrelid::regclass::text FROM pg_constraint WHERE confrelid = %(table)s AND conrelid <> %(table)s
UNION ALL SELECT 'the trigger ' || tgname FROM pg_trigger WHERE tgrelid = %(table)s AND NOT tgisinternal
UNION ALL SELECT 'the row policy ' || polname FROM pg_policy WHERE polrelid = %(table)s
UNION ALL SELECT 'the publication ' || p.pubname FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid WHERE r.prrelid = %(table)s
"""
# a key to a table in partitions is there once more for each of these
_FOREIGN_KEYS = """
SELECT n.nspname, t.relname,
    (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY k(number, place)
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number),
    (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.confkey) WITH ORDINALITY k(number, place)
        JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.number)
FROM pg_constraint c JOIN pg_class t ON t.oid = c.confrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE c.contype = 'f' AND c.conrelid = %s AND NOT EXISTS (SELECT FROM pg_constraint p WHERE p.oid = c.conparentid AND p.conrelid = c.conrelid)
ORDER BY c.conname
"""
_PRIMARY_KEY = """
SELECT a.attname::text FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY k(number, place), pg_attribute a
WHERE i.indrelid = %s AND i.indisprimary AND a.attrelid = i.indrelid AND a.attnum = k.number ORDER BY k.place
"""
_GRANTS = """
SELECT CASE WHEN g.grantee = 0 THEN NULL ELSE pg_get_userbyid(g.grantee) END, g.privilege_type, g.is_grantable, g.attname FROM (
    SELECT a.*, NULL AS attname, c.relowner FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = %(table)s
    UNION ALL SELECT a.*, t.attname, c.relowner FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) a
        WHERE c.oid = %(table)s AND NOT t.attisdropped
) g WHERE g.grantee <> g.relowner
"""


class PostgresqlConnection:
    """A connection to PostgreSQL, in one transaction until it is committed."""

    def __init__(self, address: Address, password: str | None) -> None:
        self._address, self._password = address, password
        self._ranges: dict[TableName, dict[str, str]] = {}
        psycopg, self._dbapi = _drivers()
        with self._errors():
            # what the catalogue says of tables that are there, and what this connection does, are two sessions
            self._catalogue: Any = psycopg.connect(self._uri(), autocommit=True)

    def __enter__(self) -> PostgresqlConnection:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it; what was not committed is undone."""
        if "_connection" in vars(self):
            with suppress(Exception):
                self._connection.rollback()
            with suppress(Exception):
                self._connection.close()
        self._catalogue.close()

    @cached_property
    def _connection(self) -> Any:
        """The session in which rows come and go, opened where some do."""
        with self._errors():
            connection = self._dbapi.connect(self._uri())
            with connection.cursor() as cursor:
                # a session waits while other tables are worked on
                for setting in (f"SET lock_timeout = '{_LOCK}'", "SET TimeZone = 'UTC'", "SET idle_in_transaction_session_timeout = 0"):
                    cursor.execute(setting)
            connection.commit()
        return connection

    def columns(self, table: TableName) -> list[TableColumn]:
        """Return the columns of a table or a view, those of a domain as what they are made of."""
        found, _, _ = self._found(table)
        return [column_of(*row) for row in self._rows(_COLUMNS, [found])]

    def identity(self, table: TableName) -> str | None:
        """Return when the server was started and on which of its files the table is."""
        found = self._rows(_FIND, [table.name, table.schema, table.schema])
        if not found:
            return None
        ((began, database),) = self._rows("SELECT pg_postmaster_start_time(), oid FROM pg_database WHERE datname = current_database()", [])
        return f"{began}/{database}/{found[0][0]}"

    def has_places(self, table: TableName) -> bool:
        """Return whether every row of a table has a place of its own: those of a view have none, and those of parts are places in them."""
        found, kind, _ = self._found(table)
        return kind in ("r", "m") and not self._rows("SELECT FROM pg_inherits WHERE inhparent = %s", [found])

    def primary_key(self, table: TableName) -> tuple[str, ...]:
        """Return the columns of the primary key."""
        return tuple(name for (name,) in self._rows(_PRIMARY_KEY, [self._found(table)[0]]))

    def foreign_keys(self, table: TableName) -> list[ForeignKey]:
        """Return the foreign keys; views have none."""
        rows = self._rows(_FOREIGN_KEYS, [self._found(table)[0]])
        return [ForeignKey(tuple(columns), TableName(other, schema), tuple(referred)) for schema, other, columns, referred in rows]

    def one_state(self) -> None:
        """Begin a transaction that sees the database as it is when its first statement begins."""
        self.do("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def about(self, table: TableName) -> int | None:
        """Return what the planner thinks; None where it has never looked."""
        found, _, _ = self._found(table)
        ((number,),) = self._rows("SELECT reltuples::bigint FROM pg_class WHERE oid = %s", [found])
        return number if number >= 0 else None

    def read(self, table: TableName, columns: Sequence[TableColumn], order: str | None = None, limit: int | None = None) -> Iterator[pa.RecordBatch]:
        """Read some columns by one statement, which sees the table in one state."""
        names = ", ".join(selected(column) for column in columns) or "NULL"
        ordered = f" ORDER BY {quoted_name(order)}" if order else ""
        yield from self.select(f"SELECT {names} FROM {quoted(table)}{ordered}{f' LIMIT {limit}' if limit is not None else ''}", columns)

    def select(self, query: str, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Return what a query gives, as columns of these types."""
        wanted = pa.schema([(column.name, column.kind) for column in columns])
        with self._errors(), self._connection.cursor() as cursor:
            cursor.execute(query)
            yield from (typed(batch, wanted, columns) for batch in self._fetched(cursor))

    def _fetched(self, cursor: Any) -> Iterator[pa.RecordBatch]:
        """Yield what a statement gives; what goes wrong on the way comes as an error of a file, whose words are the server's."""
        reader = cursor.fetch_record_batch()
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            except (OSError, pa.ArrowException) as error:
                found = re.search(r"SQLSTATE:? ?([0-9A-Z]{5})", str(error))
                code = found[1] if found else None
                raise of_code(code, _FAILURES).error(self._address.shown, f"SQLSTATE {code}" if code else "") from None
            yield batch

    def staged_name(self, table: TableName) -> TableName:
        """Return a name in the schema of the table: what is not committed is seen by nobody there."""
        return TableName(f"sfumato_{secrets.token_hex(8)}", self._schema_of(table))

    def made_columns(self, schema: pa.Schema) -> list[TableColumn]:
        """Return how the columns of a table that was made from a schema are read: decimals by their text."""
        kinds = [plain(pa.nulls(0, field.type)).type for field in schema]
        return [
            TableColumn(field.name, "", kind, as_text=pa.types.is_decimal(kind) or range_of(field) is not None)
            for field, kind in zip(schema, kinds, strict=True)
        ]

    def create(self, table: TableName, schema: pa.Schema) -> None:
        """Make a table, which nobody sees before it is committed."""
        columns = ", ".join(f"{quoted_name(field.name)} {called(field)}" for field in schema)
        self.do(f"CREATE TABLE {quoted(table)} ({columns})")
        ranges = {field.name: kind for field in schema if (kind := range_of(field)) is not None}
        if ranges:
            self._ranges[table] = ranges

    def load(self, table: TableName, batch: pa.RecordBatch) -> None:
        """Copy further rows into a table."""
        narrow = pa.RecordBatch.from_arrays([plain(column) for column in batch.columns], names=batch.schema.names)
        with self._errors(), self._connection.cursor() as cursor:
            cursor.adbc_ingest(table.name, narrow, mode="append", db_schema_name=table.schema)

    def hold_secret(self, row: pa.RecordBatch) -> str:
        """Make a temporary table of one row of bytes; ``COPY`` brings it, of which no log has more than the statement."""
        name = f"sfumato_{secrets.token_hex(8)}"
        self.do(f"CREATE TEMPORARY TABLE {name} ({', '.join(f'{quoted_name(column)} bytea' for column in row.schema.names)})")
        table = TableName(name, "pg_temp")
        self.load(table, row)
        return quoted(table)

    def loaded(self, table: TableName) -> None:
        """Make ranges of the texts that came for them; all else is there as soon as it has come."""
        ranges = self._ranges.pop(table, {})
        if ranges:
            changes = (f"ALTER COLUMN {quoted_name(name)} TYPE {kind} USING {quoted_name(name)}::{kind}" for name, kind in ranges.items())
            self.do(f"ALTER TABLE {quoted(table)} {', '.join(changes)}")

    def without(self, table: TableName, column: str) -> None:
        """Take a column away from a table."""
        self.do(f"ALTER TABLE {quoted(table)} DROP COLUMN {quoted_name(column)}")

    def publish(self, staged: TableName, table: TableName) -> None:
        """Let the staged table take the place of another, with its grants, comments and indexes; all of it is seen at once."""
        self.publish_all([(staged, table)])

    def publish_all(self, tables: Sequence[tuple[TableName, TableName]]) -> None:
        """Let staged tables take the places of others; the transaction makes one step of it."""
        for staged, table in tables:
            self._replace(staged, table)

    def _replace(self, staged: TableName, table: TableName) -> None:
        schema = self._schema_of(table)
        old = self._rows(_FIND, [table.name, schema, schema])
        restored: list[str] = []
        if old:
            ((oid, kind, _),) = old
            if kind != "r":
                raise UsageError(f"{table} is no plain table", code="sink-not-table", hint="name another table, or remove it yourself")
            hanging = [name for (name,) in self._rows(DEPENDENT, {"table": oid})]
            if hanging:
                words = f"{table} cannot be replaced: {', '.join(sorted(hanging))} would be lost with it"
                raise UsageError(words, code="sink-table-used", hint="name another table, or remove what hangs on it yourself")
            restored = self._restoring(oid, TableName(table.name, schema))
            self.do(f"DROP TABLE {quoted(TableName(table.name, schema))}")
        self.do(f"ALTER TABLE {quoted(staged)} RENAME TO {quoted_name(table.name)}")
        for statement in restored:
            self.do(statement)

    def quoted_name(self, name: str) -> str:
        """Return a name as SQL writes it."""
        return quoted_name(name)

    def quoted(self, table: TableName) -> str:
        """Return the name of a table as SQL writes it."""
        return quoted(table)

    def selected(self, column: TableColumn, name: str | None = None) -> str:
        """Return a column as a query selects it, where it goes by another name than its own by that."""
        return selected(column, name)

    def placed(self, table: TableName) -> TableName:
        """Return the name of a table with that of its schema; that of one which is there, or the first one."""
        if table.schema is not None:
            return table
        found = self._rows(_FIND, [table.name, None, None])
        return TableName(table.name, found[0][2] if found else self._schema_of(table))

    def private_name(self, name: str, beside: TableName) -> TableName:
        """Return a name in the schema of the other table; only its owner has any right to what is made there."""
        return self.beside(name, beside)

    def beside(self, name: str, table: TableName) -> TableName:
        """Return a name in the schema of the other table."""
        return TableName(name, self.placed(table).schema)

    def beginning_with(self, name: str, table: TableName) -> list[TableName]:
        """Return the tables in the schema of the other one whose names begin so."""
        schema = self.placed(table).schema
        query = "SELECT tablename FROM pg_tables WHERE schemaname = %s AND starts_with(tablename::text, %s::text)"
        return [TableName(found, schema) for (found,) in self._rows(query, [schema, name])]

    def kept_as(self, name: str, table: TableName) -> TableName:
        """Return the table itself: it stays where it is."""
        del name
        return self.placed(table)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is done within it; undo it where it fails."""
        try:
            yield
        except BaseException:
            with suppress(Exception):
                self._connection.rollback()
            raise
        self.commit()

    def drop_staged(self, table: TableName) -> None:
        """Remove a staged table within the transaction."""
        self.do(f"DROP TABLE {quoted(table)}")

    def counted(self, table: TableName, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Group a table by the bytes of some columns."""
        names = [bytewise(column, quoted_name(column.name)) for column in columns]
        places = ", ".join(str(place + 1) for place in range(len(names)))
        query = f"SELECT {', '.join([*names, 'count(*)'])} FROM {quoted(table)} GROUP BY {places}"
        return self.select(query, [*columns, TableColumn("sfumato_rows", "bigint", pa.int64())])

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Hold a lock as long as the session lives; refuse where another has it."""
        for _ in range(_TRIES):
            ((free,),) = self._rows("SELECT pg_try_advisory_lock(hashtextextended(%s::text, 0::bigint))", [f"sfumato {name}"])
            if free:
                break
            time.sleep(_PAUSE)
        else:
            raise busy(self._address.shown)
        yield

    def claim(self, name: str) -> None:
        """Hold a lock in the session that works: it may go on for a moment when its process is dead, and others wait so long."""
        self.do(f"SELECT pg_advisory_lock({_work(name)})")
        self.commit()

    def disclaim(self, name: str) -> None:
        """Give the lock back."""
        self.do(f"SELECT pg_advisory_unlock({_work(name)})")
        self.commit()

    def left_behind(self, beginning: str, beside: TableName) -> list[TableName]:
        """Return the private copies in the schema of a table whose names begin so and whose locks nobody holds."""
        schema = self._schema_of(beside)
        # whoever takes a lock here gives it back at the end of the statement: it is a transaction
        query = (
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s "
            "AND starts_with(c.relname::text, %s::text) AND c.relkind = 'r' AND NOT c.relname LIKE %s AND pg_has_role(c.relowner, 'USAGE')"
        )
        names = [name for (name,) in self._rows(query, [schema, beginning, r"%\_cells"])]
        return [TableName(name, schema) for name in names if self._rows("SELECT pg_try_advisory_xact_lock(%s::bigint)", [_work(name)])[0][0]]

    def comment_of(self, table: TableName) -> str:
        """Return what is written beside a table."""
        return str(self._rows("SELECT obj_description(%s::oid, 'pg_class'::name)", [self._found(table)[0]])[0][0])

    def remove_left(self, table: TableName) -> None:
        """Remove a private copy and its cells; where that cannot be now the next run does it."""
        with suppress(Exception):
            self._catalogue.execute(f"DROP TABLE IF EXISTS {quoted(table)}, {quoted(TableName(f'{table.name}_cells', table.schema))}")

    def keep_private(self, table: TableName) -> None:
        """Take all rights to a table from everybody but its owner: new tables may be given some by default."""
        self.do(kept_private(table))

    def undo(self) -> None:
        """Undo what was not committed."""
        with suppress(Exception):
            self._connection.rollback()

    def delete_joined(self, table: TableName, keys: TableName, same: str, chosen: str) -> int:
        """Delete rows of a table whose keys are chosen."""
        held = quoted(self.placed(table))
        counting = f"SELECT count(*) FROM {held} s JOIN {quoted(keys)} k ON {same} WHERE {chosen}"
        number = self._number(counting)
        self.do(f"DELETE FROM {held} s USING {quoted(keys)} k WHERE {same} AND {chosen}")
        if self._number(counting):
            words = f"rows of {table} are still there after they were deleted: a trigger, a rule or a row policy keeps them"
            raise UsageError(words, code="database-undeleted", hint="take it away, or delete the rows yourself")
        return number

    def _number(self, query: str) -> int:
        return int(next(self.select(query, [TableColumn("n", "bigint", pa.int64())])).column(0)[0].as_py())

    def referring(self, table: TableName) -> list[str]:
        """Return the other tables whose foreign keys keep rows of a table from being deleted."""
        query = (
            "SELECT DISTINCT conrelid::regclass::text FROM pg_constraint WHERE contype = 'f' AND confrelid = %s "
            "AND conrelid <> confrelid AND confdeltype IN ('a', 'r') ORDER BY 1"
        )
        return [name for (name,) in self._rows(query, [self._found(table)[0]])]

    def commit(self) -> None:
        """Let what was done last."""
        with self._errors():
            self._connection.commit()

    def _restoring(self, oid: int, table: TableName) -> list[str]:
        """Return the statements that give a new table what the old one had beside its rows: indexes, grants and comments."""
        target = quoted(table)
        # rights that are given by default to new tables are not those that the old one had
        statements = [kept_private(table)]
        statements += [definition for (definition,) in self._rows("SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s", [oid])]
        for grantee, privilege, grantable, column in self._rows(_GRANTS, {"table": oid}):
            who = "PUBLIC" if grantee is None else quoted_name(grantee)
            what = privilege if column is None else f"{privilege} ({quoted_name(column)})"
            statements.append(f"GRANT {what} ON {target} TO {who}{' WITH GRANT OPTION' if grantable else ''}")
        for column, words in self._rows(
            "SELECT a.attname, quote_literal(d.description) FROM pg_description d LEFT JOIN pg_attribute a ON a.attrelid = d.objoid "
            "AND a.attnum = d.objsubid AND d.objsubid > 0 WHERE d.objoid = %s AND d.classoid = 'pg_class'::regclass",
            [oid],
        ):
            what = f"TABLE {target}" if column is None else f"COLUMN {target}.{quoted_name(column)}"
            statements.append(f"COMMENT ON {what} IS {words}")
        return statements

    def _found(self, table: TableName) -> tuple[int, str, str]:
        found = self._rows(_FIND, [table.name, table.schema, table.schema])
        if not found:
            known = [name for (name,) in self._rows(_ALL, [table.schema, table.schema])]
            raise DataError(f"{self._address.shown} has no table {table}", code="table-missing", hint=suggestion(table.name, known))
        oid, kind, schema = found[0]
        return oid, kind, schema

    def _schema_of(self, table: TableName) -> str:
        if table.schema is not None:
            return table.schema
        ((schema,),) = self._rows("SELECT current_schema()", [])
        if schema is None:
            raise UsageError(
                f"{self._address.shown} has no schema in which this user could make tables", code="database-rights", hint="schema: public"
            )
        return str(schema)

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

    def do(self, statement: str) -> None:
        """Let the server do something."""
        with self._errors(), self._connection.cursor() as cursor:
            cursor.execute(statement)

    def _uri(self) -> str:
        address = self._address
        secret = f":{quote(self._password, safe='')}" if self._password is not None else ""
        who = f"{quote(address.user, safe='')}{secret}@" if address.user else ""
        options = {"connect_timeout": "10", **address.options}
        return f"postgresql://{who}{address.host}:{address.port}/{quote(address.database, safe='')}?{urlencode(options)}"

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what the driver says into our errors: its own words may quote a value."""
        import adbc_driver_manager
        import psycopg

        try:
            yield
        except (psycopg.Error, adbc_driver_manager.Error) as error:
            code = error.sqlstate
            failure = of_code(code, _FAILURES) if code else _without_code(error)
            raise failure.error(self._address.shown, f"SQLSTATE {code}" if code else "") from None


def _work(name: str) -> int:
    """Return the number of the lock of those who work."""
    return int.from_bytes(hashlib.sha256(f"sfumato work {name}".encode()).digest()[:8], "big", signed=True)


def _drivers() -> tuple[Any, Any]:
    try:
        import psycopg
        from adbc_driver_postgresql import dbapi
    except ImportError:
        words = "PostgreSQL needs the libraries psycopg and adbc-driver-postgresql"
        raise UnreachableError(words, code="sql-missing", hint="pip install 'sfumato[sql]'") from None
    return psycopg, dbapi


def _without_code(error: Exception) -> Any:
    """Return the failure of a connection that was never made: libpq gives no code, but says whether the server answered."""
    said = str(error)
    refused = "authentication failed" in said or "no password supplied" in said or "no pg_hba.conf entry" in said or "role" in said
    return REFUSED if refused else NO_DATABASE if "does not exist" in said else GONE
