"""PostgreSQL: rows come and go by ADBC, in binary form. A release is made, written, read back and published in one transaction.

Nobody sees anything of it before, and a process that dies leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from types import TracebackType
from typing import Any

import pyarrow as pa

from sfumato.databases.address import Address
from sfumato.databases.failures import CHANGED, LOCKED, REFERRED_TO, Failure, busy, computed_by
from sfumato.databases.left_copy import Mark
from sfumato.databases.needed_rights import Need
from sfumato.databases.own_types import own_type
from sfumato.databases.postgresql_catalogue import PostgresqlCatalogue
from sfumato.databases.postgresql_meanwhile import Meanwhile
from sfumato.databases.postgresql_order import keeps_order
from sfumato.databases.postgresql_replacing import granting_again, refuse_taken, refuse_used, replacing, state_of
from sfumato.databases.postgresql_retaining import PostgresqlRetaining
from sfumato.databases.postgresql_rights import kept_private, missing_rights
from sfumato.databases.postgresql_session import VALUES, stated, while_reading, working_session
from sfumato.databases.postgresql_types import bytewise, called, is_padded, is_written, plain, quoted, quoted_name, range_of, selected, typed
from sfumato.databases.postgresql_withheld import ROWS, withheld
from sfumato.databases.private_names import is_copy
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import UnreachableError

# what a session that has lost its process holds is free in a moment
_TRIES, _PAUSE = 25, 0.2
# what somebody puts back while it is deleted is deleted with the next one
_DELETIONS = 5
_REFUSED = {"23": REFERRED_TO}
# what is held and was not there, or not in this file of the server's, in the state that is seen
_REWRITTEN = """
SELECT count(*) FROM pg_locks l LEFT JOIN pg_class c ON c.oid = l.relation
WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND (c.oid IS NULL OR (c.relfilenode <> 0 AND c.relfilenode <> pg_relation_filenode(c.oid)))
"""
# a role that others have may be theirs too, and so may its tables: only what is the user's own was made by a run of the user
# cells are there before the copy that they are of, and where their run died between the two they are there alone
_LEFT = """
WITH own AS (
    SELECT c.relname::text AS name, coalesce(obj_description(c.oid, 'pg_class'), '') AS mark
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND starts_with(c.relname::text, %(beginning)s::text) AND c.relkind = 'r'
    AND c.relowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)
)
SELECT c.name, c.mark FROM own c JOIN own k ON k.name = c.name || '_cells'
UNION ALL SELECT left(k.name, -6), k.mark FROM own k WHERE right(k.name, 6) = '_cells' AND left(k.name, -6) NOT IN (SELECT name FROM own)
ORDER BY 1
"""


class PostgresqlConnection(PostgresqlCatalogue):
    """A connection to PostgreSQL, in one transaction until it is committed.

    What the catalogue says of tables that are there, and what this connection does, are two sessions.
    """

    def __init__(self, address: Address, password: str | None) -> None:
        super().__init__(address, password)
        self._password = password
        self._awaited: dict[TableName, dict[str, str]] = {}

    def __enter__(self) -> PostgresqlConnection:
        """Begin."""
        return self

    @cached_property
    def retaining(self) -> PostgresqlRetaining:
        """How it retains."""
        return PostgresqlRetaining(self)

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
        return working_session(self._address, self._password)

    def see_what_is_shown(self) -> None:
        """Let row-level security show what it shows."""
        self.do("SET row_security = on")
        self.commit()

    def one_state(self, tables: Sequence[TableName], writing: bool = False) -> None:
        """Begin a transaction that sees the database in one state, in which nobody has emptied or rewritten tables since.

        A state is that of the moment in which the first statement begins, and tables are held when it ends: where somebody was in between, a later
        state is seen.
        """
        for _ in range(_TRIES):
            self.do(f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ{'' if writing else ' READ ONLY'}")
            self.hold(tables)
            (batch,) = self.select(_REWRITTEN, [TableColumn("n", "bigint", pa.int64())])
            if not batch.column(0)[0].as_py():
                return
            self.undo()
        raise LOCKED.error(self._address.shown)

    def hold(self, tables: Sequence[TableName]) -> None:
        """Let nobody empty or rewrite tables while they are read; before anything is read of them.

        Who empties a table does so in all states of it, also in one that somebody began to see before: a table that is emptied and filled again in
        one transaction would have no rows. Whoever asks for a plan holds all that it would read until the end of the transaction: views cannot be
        locked where one table beneath them cannot, or may be read in part only.
        """
        for table in tables:
            if columns := self.readable(table):
                self._planned(f"EXPLAIN SELECT {', '.join(map(quoted_name, columns))} FROM {quoted(self.placed(table))}")

    def read(self, table: TableName, columns: Sequence[TableColumn], order: str | None = None, limit: int | None = None) -> Iterator[pa.RecordBatch]:
        """Read some columns by one statement, which sees the table in one state."""
        names = ", ".join(selected(column) for column in columns) or "NULL"
        ordered = f" ORDER BY {quoted_name(order)}" if order else ""
        self.hold([table])
        limited = f" LIMIT {limit}" if limit is not None else ""
        yield from self.select(f"SELECT {names} FROM {quoted(self.placed(table))}{ordered}{limited}", columns, reading=table)

    def select(self, query: str, columns: Sequence[TableColumn], reading: TableName | None = None) -> Iterator[pa.RecordBatch]:
        """Return what a query gives, as columns of these types."""
        wanted = pa.schema([(column.name, column.kind) for column in columns])
        with self._errors(query, _computing(reading)), stated(self._connection) as cursor:
            cursor.execute(query)
            yield from (typed(batch, wanted, columns) for batch in self._fetched(cursor, reading))

    def _fetched(self, cursor: Any, reading: TableName | None) -> Iterator[pa.RecordBatch]:
        """Yield what a statement gives; the driver's own reader gives what goes wrong on the way a code, that of Arrow none."""
        reader = cursor.fetch_record_batch()
        reader = getattr(getattr(cursor, "_results", None), "reader", reader)
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            except (OSError, pa.ArrowException) as error:
                raise while_reading(self._address.shown, error, _computing(reading)) from None
            yield batch

    def staged_name(self, table: TableName) -> TableName:
        """Return a name in the schema of the table: what is not committed is seen by nobody there."""
        return TableName(f"sfumato_{secrets.token_hex(8)}", self._schema_of(table))

    def made_columns(self, schema: pa.Schema) -> list[TableColumn]:
        """Return how the columns of a table that was made from a schema are read: decimals by their text."""
        kinds = [plain(pa.nulls(0, field.type)).type for field in schema]
        return [self._made_column(field, kind) for field, kind in zip(schema, kinds, strict=True)]

    def _made_column(self, field: pa.Field, kind: pa.DataType) -> TableColumn:
        own = self._own_type(field) or ""
        # ranges are read as they were written, which has the digits that their column has
        as_text = pa.types.is_decimal(kind) or self._written(field) is not None
        return TableColumn(field.name, own, kind, as_text, is_padded(own))

    def create(self, table: TableName, schema: pa.Schema) -> None:
        """Make a table, which nobody sees before it is committed."""
        written = {field.name: self._written(field) for field in schema}
        made = {field.name: called(field) if written[field.name] is not None else self._own_type(field) or called(field) for field in schema}
        columns = ", ".join(f"{quoted_name(name)} {kind}" for name, kind in made.items())
        self.do(f"CREATE TABLE {quoted(table)} ({columns})")
        self._awaited[table] = {name: kind for name, kind in written.items() if kind is not None}

    def _written(self, field: pa.Field) -> str | None:
        """Return the type of a column whose values come as text in place of their own form; None where they do not."""
        own = self._own_type(field)
        return range_of(field) or (own if own is not None and is_written(field, own) else None)

    def _own_type(self, field: pa.Field) -> str | None:
        """Return the type that a column has in the table that it comes from, where this user may have it too."""
        own = own_type(field, "postgresql", self._address)
        return own if own is not None and self.may_use(own) else None

    def load(self, table: TableName, batch: pa.RecordBatch) -> None:
        """Copy further rows into a table."""
        narrow = pa.RecordBatch.from_arrays([plain(column) for column in batch.columns], names=batch.schema.names)
        with self._errors(), stated(self._connection) as cursor:
            cursor.adbc_ingest(table.name, narrow, mode="append", db_schema_name=table.schema)

    def hold_secret(self, row: pa.RecordBatch) -> str:
        """Make a temporary table of one row of bytes; ``COPY`` brings it, of which no log has more than the statement."""
        name = f"sfumato_{secrets.token_hex(8)}"
        self.do(f"CREATE TEMPORARY TABLE {name} ({', '.join(f'{quoted_name(column)} bytea' for column in row.schema.names)})")
        table = TableName(name, "pg_temp")
        self.load(table, row)
        return quoted(table)

    def hold_texts(self, row: pa.RecordBatch) -> str:
        """Make a temporary table of one row of texts, in bulk."""
        table = TableName(f"sfumato_{secrets.token_hex(8)}", "pg_temp")
        self.do(f"CREATE TEMPORARY TABLE {quoted_name(table.name)} ({', '.join(f'{quoted_name(column)} text' for column in row.schema.names)})")
        self.load(table, row)
        return quoted(table)

    def loaded(self, table: TableName) -> None:
        """Make ranges, and values of types that only servers have, of the texts that came for them; all else is there as soon as it has come."""
        awaited = self._awaited.pop(table, {})
        if awaited:
            changes = (f"ALTER COLUMN {quoted_name(name)} TYPE {kind} USING {quoted_name(name)}::{kind}" for name, kind in awaited.items())
            self.put(f"ALTER TABLE {quoted(table)} {', '.join(changes)}")

    def without(self, table: TableName, column: str) -> None:
        """Take a column away from a table."""
        self.do(f"ALTER TABLE {quoted(table)} DROP COLUMN {quoted_name(column)}")

    def publish(self, staged: TableName, table: TableName) -> None:
        """Let the staged table take the place of another, with its grants, comments and indexes; all of it is seen at once."""
        self.publish_all([(staged, table)])

    def publish_all(self, tables: Sequence[tuple[TableName, TableName]]) -> None:
        """Let staged tables take the places of others; the transaction makes one step of it."""
        for staged, table in tables:
            self._publish(staged, table, TableName(table.name, self._schema_of(table)))

    def _publish(self, staged: TableName, table: TableName, target: TableName) -> None:
        # runs that end at once take their turns
        self.do(f"SELECT pg_advisory_xact_lock({lock_of_work(f'publish {target}')})")
        self.refuse_used(table)
        names, old = self._names_of(staged), self._find(target)
        # before anything is asked of what hangs on it
        state = None if old is None else state_of(self.facts, old[0])
        statements = replacing(self.facts, staged, table, target, old, names)
        if old is not None:
            self._hold_alone(target, old, state)
        for statement in statements:
            self.do(statement)
        for statement in granting_again(self.facts, old[0], target, names) if old is not None else ():
            self.do(statement)

    def _hold_alone(self, table: TableName, found: tuple[int, str, str], state: str | None) -> None:
        """Wait until nobody reads a table any more; refuse where it has changed since it was looked at."""
        self.do(f"LOCK TABLE {quoted(table)} IN ACCESS EXCLUSIVE MODE")
        if self._find(table) != found or state_of(self.facts, found[0]) != state:
            raise CHANGED.error(self._address.shown)

    def refuse_used(self, table: TableName, names: Sequence[str] | None = None) -> None:
        """Refuse a table that could not be replaced."""
        target = TableName(table.name, self._schema_of(table))
        old = self._find(target)
        if old is not None:
            refuse_used(self.facts, table, old, names)
        else:
            refuse_taken(self.facts, table, target, self._address.shown)

    def missing_rights(self, needs: Sequence[Need]) -> list[Need]:
        """Ask the catalogue."""
        return missing_rights(self.facts, needs, self._address.shown)

    def _names_of(self, staged: TableName) -> list[str]:
        """Return the columns of a staged table, which this session alone sees."""
        name = quoted(staged).replace("'", "''")
        query = f"SELECT attname::text FROM pg_attribute WHERE attrelid = '{name}'::regclass AND attnum > 0 AND NOT attisdropped"
        return [name for batch in self.select(query, [TableColumn("name", "text", pa.string())]) for name in batch.column(0).to_pylist()]

    def quoted_name(self, name: str) -> str:
        """Return a name as SQL writes it."""
        return quoted_name(name)

    def quoted(self, table: TableName) -> str:
        """Return the name of a table as SQL writes it."""
        return quoted(table)

    def selected(self, column: TableColumn, name: str | None = None) -> str:
        """Return a column as a query selects it, where it goes by another name than its own by that."""
        return selected(column, name)

    def private_name(self, name: str, beside: TableName) -> TableName:
        """Return a name in the schema of the other table; only its owner has any right to what is made there."""
        return self.beside(name, beside)

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
        self.do(f"SELECT pg_advisory_lock({lock_of_work(name)})")
        self.commit()

    def disclaim(self, name: str) -> None:
        """Give the lock back."""
        self.do(f"SELECT pg_advisory_unlock({lock_of_work(name)})")
        self.commit()

    def left_behind(self, beginning: str, beside: TableName) -> dict[TableName, str]:
        """Return the private copies of this user in the schema of a table whose names begin so and whose locks nobody holds, and their marks."""
        schema = self._schema_of(beside)
        found = self._rows(_LEFT, {"schema": schema, "beginning": beginning})
        copies = {name: comment for name, comment in found if is_copy(name) and Mark.is_one(comment)}
        # whoever takes a lock here gives it back at the end of the statement: it is a transaction
        free = [name for name in copies if self._rows("SELECT pg_try_advisory_xact_lock(%s::bigint)", [lock_of_work(name)])[0][0]]
        return {TableName(name, schema): copies[name] for name in free}

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
        """Delete rows of a table whose keys are chosen; again where some are there then, which somebody may have put back meanwhile."""
        held, number = quoted(self.placed(table)), 0
        counting = f"SELECT count(*) FROM {held} s JOIN {quoted(keys)} k ON {same} WHERE {chosen}"
        for _ in range(_DELETIONS):
            with self._errors("", _REFUSED), stated(self._connection) as cursor:
                cursor.execute(withheld(f"DELETE FROM {held} s USING {quoted(keys)} k WHERE {same} AND {chosen}", counted=True))
            # as the server counts them: rows that came since somebody counted would go unnoticed
            number += self._number(ROWS)
            if not self._number(counting):
                return number
        words = f"rows of {table} are still there however often they are deleted: a trigger, a rule or a row policy keeps them"
        raise UnreachableError(words, code="database-undeleted", hint="take it away, or delete the rows yourself")

    def _number(self, query: str) -> int:
        return int(next(self.select(query, [TableColumn("n", "bigint", pa.int64())])).column(0)[0].as_py())

    def commit(self) -> None:
        """Let what was done last."""
        with self._errors():
            self._connection.commit()

    def meanwhile(self, statements: Sequence[str]) -> Meanwhile | None:
        """Let a second session carry statements out that sees what this transaction sees, which must be one that sees one state."""
        (batch,) = self.select("SELECT pg_export_snapshot()", [TableColumn("snapshot", "text", pa.string())])
        return Meanwhile(self._address, self._password, batch.column(0)[0].as_py(), statements)

    def leaves_order(self, statement: str, table: TableName, memory: int) -> bool:
        """Say whether the server would hand the rows of a table on in their order, with so much memory for what it joins to them."""
        return keeps_order(json.loads(self._planned(f"EXPLAIN (FORMAT JSON) {statement}"))[0]["Plan"], table.name, memory)

    def _planned(self, statement: str) -> str:
        """Return the first line of a plan."""
        with self._errors(statement), stated(self._connection) as cursor:
            # a plan cannot be read by COPY, by which the driver reads all else
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            cursor.execute(statement)
            return str(cursor.fetchone()[0])

    def do(self, statement: str, reading: TableName | None = None) -> None:
        """Let the server do something; what it cannot compute meanwhile is told of the table that is read."""
        with self._errors(statement, _computing(reading)), stated(self._connection) as cursor:
            cursor.execute(statement)

    def put(self, statement: str, reading: TableName | None = None) -> None:
        """Let the server write rows, or make what looks at them; where it refuses them its log is not told what is in them."""
        self.do(withheld(statement), reading)


def _computing(table: TableName | None) -> Mapping[str, Failure]:
    return {} if table is None else {VALUES: computed_by(table)}


def lock_of_work(name: str) -> int:
    """Return the number of the lock of those who work."""
    return int.from_bytes(hashlib.sha256(f"sfumato work {name}".encode()).digest()[:8], "big", signed=True)
