"""MySQL and MariaDB: rows come by a cursor that the server feeds, and go by ``LOAD DATA``; a table takes another's place by ``RENAME TABLE``.

Changes of tables are not undone with a transaction here. So a release is written in a database of its own, ``sfumato_staging_`` and the user's name,
under a name whose lock the session holds as long as it lives: what has no lock is what a dead process left behind, and the next one removes it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import pyarrow as pa

from sfumato.core.files import file_errors
from sfumato.core.workplace import Workplace
from sfumato.databases.address import Address
from sfumato.databases.bulk_text import bulk_text
from sfumato.databases.connection import Catalogue
from sfumato.databases.failures import ALTERED, NO_TABLES, REFERRED_TO, TOO_FAR, Failure, busy, computed_by
from sfumato.databases.left_copy import BEGINNING
from sfumato.databases.mysql_foreign_keys import REFERRED, TOO_DEEP
from sfumato.databases.mysql_primary_keys import do_without_keys
from sfumato.databases.mysql_publishing import publish
from sfumato.databases.mysql_referring import referring
from sfumato.databases.mysql_replacing import TRIGGERED, is_replaced, refused_replacing
from sfumato.databases.mysql_retaining import MysqlRetaining
from sfumato.databases.mysql_rights import missing_rights
from sfumato.databases.mysql_session import SECONDS, SETTINGS, WHILE_READING, driver, mysql_errors, opened
from sfumato.databases.mysql_types import LONGEST_ROW, called, column_of, is_time, longest, made_kind, quoted, quoted_name, selected, text_of, typed
from sfumato.databases.mysql_views import reads
from sfumato.databases.needed_rights import Need
from sfumato.databases.own_types import own_type
from sfumato.databases.private_names import is_copy, is_staged, staging_of
from sfumato.databases.table import ForeignKey, Referring, TableColumn, TableName
from sfumato.errors import DataError, SfumatoError, UnreachableError, UsageError, suggestion

_ROWS = 1 << 16
_LAST_OF_NAMES = 0xFFFF
_PATIENCE = 5
_SHORT = 255
_COLUMNS = """
SELECT column_name, column_type, data_type, numeric_precision, numeric_scale FROM information_schema.columns
WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position
"""
_FOREIGN_KEYS = """
SELECT constraint_name, referenced_table_schema, referenced_table_name, column_name, referenced_column_name FROM information_schema.key_column_usage
WHERE table_schema = %s AND table_name = %s AND referenced_table_name IS NOT NULL ORDER BY constraint_name, ordinal_position
"""
_PRIMARY_KEY = """
SELECT column_name FROM information_schema.key_column_usage
WHERE table_schema = %s AND table_name = %s AND constraint_name = 'PRIMARY' ORDER BY ordinal_position
"""
_NO_COLUMNS = "make a view anew that names a table or a column which is gone, or whose collation is another by now; or GRANT SELECT on the table"


class MysqlConnection:
    """A connection to MySQL or MariaDB."""

    def __init__(self, address: Address, password: str | None) -> None:
        self._address, self.shown = address, address.shown
        self._long: dict[TableName, list[str]] = {}
        self._workplace: Workplace | None = None
        self._file: Path | None = None
        self._staged: list[TableName] = []
        self._makes_tables = False
        self._opened = partial(opened, address, password)
        self.another = partial(MysqlConnection, address, password)
        with self._errors():
            self._connection = self._opened()
            self.do(SETTINGS)

    def __enter__(self) -> MysqlConnection:
        """Begin."""
        return self

    @cached_property
    def retaining(self) -> MysqlRetaining:
        """How it retains."""
        return MysqlRetaining(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Remove what was staged and not published, and close."""
        try:
            for table in self._staged:
                self._drop(table)
        except Exception:  # noqa: BLE001 - whatever it was, what was staged must go
            # an interrupt leaves a session that answers nothing any more: it is ended by another, which removes what it has made
            with suppress(Exception):
                self._end()
        with suppress(Exception):
            self._connection.close()
        if self._workplace is not None:
            self._workplace.close()

    def _end(self) -> None:
        """End the session by another one, and remove what it has staged."""
        with self._opened() as other, other.cursor() as cursor:
            with suppress(driver().Error):
                cursor.execute(f"KILL CONNECTION {self._connection.thread_id()}")
            cursor.execute(f"SET lock_wait_timeout = {SECONDS}")
            for table in self._staged:
                cursor.execute(f"DROP TABLE IF EXISTS {quoted(table)}")

    def give_in(self) -> None:
        """End the session, whatever it is doing; another thread may wait for it."""
        with suppress(Exception), self._opened() as other, other.cursor() as cursor:
            cursor.execute(f"KILL CONNECTION {self._connection.thread_id()}")

    def columns(self, table: TableName) -> list[TableColumn]:
        """Return the columns of a table or a view."""
        _refuse_names([table.name])
        rows = self._rows(_COLUMNS, [self._schema_of(table), table.name])
        if not rows:
            known = [
                name for (name,) in self._rows("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", [self._schema_of(table)])
            ]
            if table.name in map(text_of, known):
                raise DataError(f"{self._address.shown} shows no columns of {table}", code="table-missing", hint=_NO_COLUMNS)
            hint = suggestion(table.name, known) if known else NO_TABLES
            raise DataError(f"{self._address.shown} has no table {table}", code="table-missing", hint=hint)
        return [column_of(*row) for row in rows]

    def identity(self, table: TableName) -> str | None:
        """Return where the server is, and the database and name of the table."""
        _refuse_names([table.name])
        query = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
        found = self._rows(query, [self._schema_of(table), table.name])
        return f"{self.place}/{text_of(found[0][0])}/{text_of(found[0][1])}" if found else None

    def reads(self, table: TableName, other: Catalogue, replaced: TableName) -> bool:
        """Let the server say which tables it holds while a view is read."""
        return isinstance(other, MysqlConnection) and other.identity(replaced) is not None and reads(self, table, other, replaced)

    @cached_property
    def place(self) -> str:
        """Which server it is, whatever it is called."""
        ((host, port, folder),) = self._rows("SELECT @@hostname, @@port, @@datadir", [])
        return f"{host}/{port}/{folder}"

    def about(self, table: TableName) -> int | None:
        """Return what the storage engine thinks."""
        query = "SELECT table_rows FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
        rows = self._rows(query, [self._schema_of(table), table.name])
        return int(rows[0][0]) if rows and rows[0][0] is not None else None

    def staged_name(self, table: TableName) -> TableName:
        """Return a name in the database for what is staged."""
        _refuse_names([table.name])
        return TableName(f"sfumato_{secrets.token_hex(8)}", self.staging)

    def placed(self, table: TableName) -> TableName:
        """Return the name of a table with that of its database."""
        return TableName(table.name, self._schema_of(table))

    def primary_key(self, table: TableName) -> tuple[str, ...]:
        """Return the columns of the primary key."""
        return tuple(text_of(name) for (name,) in self._rows(_PRIMARY_KEY, [self._schema_of(table), table.name]))

    def foreign_keys(self, table: TableName) -> list[ForeignKey]:
        """Return the foreign keys; views have none, nor have tables whose engine knows none."""
        found: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
        for row in self._rows(_FOREIGN_KEYS, [self._schema_of(table), table.name]):
            name, schema, other, column, referred = map(text_of, row)
            found.setdefault((name, schema, other), []).append((column, referred))
        return [
            ForeignKey(tuple(column for column, _ in pairs), TableName(other, schema), tuple(referred for _, referred in pairs))
            for (_, schema, other), pairs in found.items()
        ]

    def one_state(self, tables: Sequence[TableName]) -> None:
        """Begin a transaction that sees all tables of InnoDB as they are now; those of other engines are seen when they are read."""
        del tables
        self.do("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        self.do("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")

    def _schema_of(self, table: TableName) -> str:
        return table.schema or self._address.database

    def read(self, table: TableName, columns: Sequence[TableColumn], order: str | None = None, limit: int | None = None) -> Iterator[pa.RecordBatch]:
        """Read some columns by one statement, some rows at a time."""
        names = ", ".join(selected(column) for column in columns) or "NULL"
        ordered = f" ORDER BY {quoted_name(order)}" if order else ""
        query = f"SELECT {names} FROM {quoted(self.placed(table))}{ordered}{f' LIMIT {limit}' if limit is not None else ''}"
        yield from self.select(query, columns, reading=table)

    def select(self, query: str, columns: Sequence[TableColumn], reading: TableName | None = None) -> Iterator[pa.RecordBatch]:
        """Return what a query gives, as columns of these types; ``reading`` is a table or a view that is named where it computes what is no value."""
        wanted = pa.schema([(column.name, column.kind) for column in columns])
        with self._errors(query, _computing(reading)), self._connection.cursor(driver().cursors.SSCursor) as cursor:
            cursor.execute(query)
            while rows := cursor.fetchmany(_ROWS):
                yield typed(rows, wanted, columns)

    def made_columns(self, schema: pa.Schema) -> list[TableColumn]:
        """Return how the columns of a table that was made from a schema are read."""
        own = self._own_types(schema)
        types = [own.get(field.name) or called(field) for field in schema]
        return [TableColumn(field.name, kind, made_kind(field), as_text=is_time(kind)) for field, kind in zip(schema, types, strict=True)]

    def create(self, table: TableName, schema: pa.Schema) -> None:
        """Make a table in the database for what is staged."""
        own = self._own_types(schema)
        self._long[table] = [field.name for field in schema if field.name not in own and called(field) == "longtext"]
        # a timestamp of which nothing is said would never be missing
        columns = ", ".join(f"{quoted_name(field.name)} {own.get(field.name) or called(field)} NULL" for field in schema)
        self.reserve(table, schema.names)
        self.do(f"CREATE TABLE {quoted(table)} ({columns}) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")

    def _own_types(self, schema: pa.Schema) -> dict[str, str]:
        """Return the types that columns have in the tables that they come from; texts without a length where all would be longer than a row."""
        found = {field.name: own for field in schema if (own := own_type(field, "mysql", self._address)) is not None}
        return found if longest(found.values()) <= LONGEST_ROW else {name: own for name, own in found.items() if "char" not in own}

    @cached_property
    def unlogged(self) -> str:
        """What says that a table is of an engine that keeps no log, where the server has one; the one that is written faster where it has two."""
        engines = {
            text_of(name).lower() for (name,) in self._rows("SELECT engine FROM information_schema.engines WHERE support IN ('YES', 'DEFAULT')", [])
        }
        return "ENGINE = MyISAM" if "myisam" in engines else "ENGINE = Aria TRANSACTIONAL = 0 ROW_FORMAT = DYNAMIC" if "aria" in engines else ""

    def collations(self, table: TableName) -> set[str]:
        """Return the rules by which the server compares the columns of a table."""
        query = "SELECT DISTINCT collation_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
        return {text_of(name) for (name,) in self._rows(query, [self._schema_of(table), table.name]) if name is not None}

    def refuse_names(self, columns: Sequence[str]) -> None:
        """Refuse names that no server has."""
        _refuse_names(columns)

    def refuse_other_types(self, table: TableName, columns: Sequence[TableColumn]) -> None:
        """Refuse a table of which some columns are of other types by now."""
        types = {column.name: column.called for column in self.columns(table)}
        if any(types.get(column.name) != column.called for column in columns):
            raise ALTERED.error(self.shown)

    def left_behind(self, beginning: str) -> list[TableName]:
        """Return the staged tables whose names begin so and whose locks nobody held; they are ours now."""
        left = []
        for table in self.beginning_with(beginning, TableName("")):
            if not is_copy(table.name):
                continue
            ((free,),) = self._rows("SELECT GET_LOCK(%s, 0)", [lock_of_staged(table)])
            if free:
                self._staged.append(table)
                left.append(table)
        return left

    def give_up(self, table: TableName) -> None:
        """Remove a staged table that is of no use."""
        self.do(f"DROP TABLE IF EXISTS {quoted(table)}")

    def leave(self, table: TableName) -> None:
        """Leave a staged table to those whose it is."""
        self._rows("SELECT RELEASE_LOCK(%s)", [lock_of_staged(table)])
        self._staged.remove(table)

    def made_at(self, table: TableName) -> str:
        """Return when a table was made or last altered; nothing for a view."""
        query = "SELECT create_time FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
        return " ".join(str(made) for (made,) in self._rows(query, [self._schema_of(table), table.name]))

    def comment_of(self, table: TableName) -> str:
        """Return what is written beside a table."""
        query = "SELECT table_comment FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
        return text_of(self._rows(query, [self._schema_of(table), table.name])[0][0])

    def rows_of(self, table: TableName) -> int:
        """Return how many rows a table has."""
        return int(self._rows(f"SELECT COUNT(*) FROM {quoted(table)}", [])[0][0])

    @cached_property
    def started(self) -> int:
        """When the server was started, to ten seconds."""
        ((_, uptime),) = self._rows("SHOW GLOBAL STATUS LIKE 'Uptime'", [])
        ((now,),) = self._rows("SELECT UNIX_TIMESTAMP()", [])
        return round((int(now) - int(uptime)) / 10)

    def reserve(self, table: TableName, columns: Sequence[str]) -> None:
        """Hold the lock of a table that will be staged, so that nobody takes it for what a dead process left behind; such tables are removed."""
        _refuse_names(columns)
        self._make_staging()
        self._clear_dead()
        self._rows("SELECT GET_LOCK(%s, 0)", [lock_of_staged(table)])
        self._staged.append(table)

    def _make_staging(self) -> None:
        """Make the database for what is staged, where there is none: also to find it there the statement would wait for all who write into it."""
        if not self._makes_tables:
            do_without_keys(self)
            self._makes_tables = True
        if not self._rows("SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", [self.staging]):
            self.do(f"CREATE DATABASE IF NOT EXISTS {quoted_name(self.staging)}")

    @cached_property
    def _is_mariadb(self) -> bool:
        return "MariaDB" in text_of(self._rows("SELECT VERSION()", [])[0][0])

    @cached_property
    def user(self) -> str:
        """As whom the server knows us."""
        return text_of(self._rows("SELECT CURRENT_USER()", [])[0][0])

    @cached_property
    def staging(self) -> str:
        """The database in which releases are written before they take their places."""
        return staging_of(self.user)

    def load(self, table: TableName, batch: pa.RecordBatch) -> None:
        """Put further rows into a private file; the server takes them all at once."""
        del table
        if self._file is None:
            self._workplace = self._workplace or Workplace()
            self._file = self._workplace.folder / f"{secrets.token_hex(4)}.txt"
        with file_errors(self._file, "written"), self._file.open("ab") as file:
            file.write(bulk_text(batch))

    def hold_secret(self, row: pa.RecordBatch) -> str:
        """Make a temporary table of one row of bytes in the server's memory; it comes through a pipe, and is in no file and no log.

        Of a table of one row MySQL, and not MariaDB, puts the values into its plans. So it has another one there, without any, that no query sees.
        """
        self._make_staging()
        table = quoted(TableName(f"sfumato_{secrets.token_hex(8)}", self.staging))
        with self._unlogged():
            columns = ", ".join(f"{quoted_name(name)} VARBINARY(255)" for name in row.schema.names)
            self.do(f"CREATE TEMPORARY TABLE {table} ({columns}, held INT DEFAULT 1) ENGINE = MEMORY")
            self._load_through_pipe(table, row)
            if self._is_mariadb:
                return table
            self.do(f"INSERT INTO {table} (held) VALUES (0)")
        return f"(SELECT {', '.join(map(quoted_name, row.schema.names))} FROM {table} WHERE held = 1)"

    def hold_texts(self, row: pa.RecordBatch) -> str:
        """Make a temporary table of one row of texts, in bulk."""
        self._make_staging()
        table = TableName(f"sfumato_{secrets.token_hex(8)}", self.staging)
        widths = [max(1, len(column[0].as_py())) for column in row.columns]
        columns = ", ".join(f"{quoted_name(name)} varchar({width})" for name, width in zip(row.schema.names, widths, strict=True))
        self.do(f"CREATE TEMPORARY TABLE {quoted(table)} ({columns}) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        self.load(table, row)
        self.loaded(table)
        return quoted(table)

    def _load_through_pipe(self, table: str, row: pa.RecordBatch) -> None:
        line = b"\t".join(column[0].as_py() for column in row.columns)
        if line.count(b"\t") != row.num_columns - 1 or b"\n" in line:
            raise ValueError("a secret that holds the end of a field or a line")
        outlet, inlet = os.pipe()
        try:
            # a pipe holds more than this before anybody reads it
            os.write(inlet, line + b"\n")
            os.close(inlet)
            load = f"LOAD DATA LOCAL INFILE '/dev/fd/{outlet}' INTO TABLE {table} CHARACTER SET binary FIELDS TERMINATED BY '\\t' ESCAPED BY ''"
            self.do(f"{load} LINES TERMINATED BY '\\n' ({', '.join(map(quoted_name, row.schema.names))})")
        finally:
            os.close(outlet)

    @contextmanager
    def _unlogged(self) -> Iterator[None]:
        """Write nothing to the binary log, which keeps the data of ``LOAD DATA`` where it is not told rows alone; refuse where that cannot be had."""
        ((logged, form),) = self._rows("SELECT @@log_bin, @@binlog_format", [])
        if not int(logged) or text_of(form) == "ROW":
            yield
            return
        try:
            self.do("SET SESSION sql_log_bin = 0")
        except SfumatoError:
            words = f"{self._address.shown} would write the key to its binary log, whose format is {text_of(form)}"
            raise UnreachableError(words, code="key-logged", hint="binlog_format = ROW on the server, or no servers: beside the key") from None
        try:
            yield
        finally:
            self.do("SET SESSION sql_log_bin = 1")

    def loaded(self, table: TableName) -> None:
        """Let the server take the rows of the private file."""
        if self._file is not None:
            with self._errors(), self._connection.cursor() as cursor:
                cursor.execute(f"LOAD DATA LOCAL INFILE %s INTO TABLE {quoted(table)} CHARACTER SET utf8mb4", [str(self._file)])
            self._file.unlink()
            self._file = None

    def without(self, table: TableName, column: str) -> None:
        """Take a column away from a table; texts that are short get a length, for without one nobody could make an index of them."""
        changes = [f"MODIFY {quoted_name(name)} varchar({_SHORT}) NULL" for name in self._short_texts(table)]
        self.do(f"ALTER TABLE {quoted(table)} {', '.join([f'DROP COLUMN {quoted_name(column)}', *changes])}")

    def _short_texts(self, table: TableName) -> list[str]:
        """Return the columns of texts without a length that are all short, as long as a row has room for all of them."""
        room = LONGEST_ROW - longest(column.called for column in self.columns(table))
        long = self._long.pop(table, [])[: max(0, room) // longest([f"varchar({_SHORT})"])]
        if not long:
            return []
        asked = ", ".join(f"max(char_length({quoted_name(name)}))" for name in long)
        (found,) = self.select(f"SELECT {asked} FROM {quoted(table)}", [TableColumn(name, "bigint", pa.int64()) for name in long])
        return [name for name, longest_of in zip(long, found.columns, strict=True) if (longest_of[0].as_py() or 0) <= _SHORT]

    def publish(self, staged: TableName, table: TableName) -> None:
        """Rename the staged table to its place, and what was there out of it, in one step; indexes are made before, grants go by name."""
        self.publish_all([(staged, table)])

    def publish_all(self, tables: Sequence[tuple[TableName, TableName]]) -> None:
        """Rename all staged tables to their places by one statement, which does it for all of them or for none."""
        publish(self, tables)

    def rename(self, moves: Sequence[tuple[TableName, TableName]]) -> None:
        """Give tables other names by one statement, which does it for all of them or for none."""
        statement = "RENAME TABLE " + ", ".join(f"{quoted(one)} TO {quoted(other)}" for one, other in moves)
        if self.refused_with(statement, TRIGGERED):
            raise refused_replacing(", ".join(str(one) for one, _ in moves if one.schema != self.staging), ["a trigger that this user cannot see"])

    def put_away(self, staged: TableName) -> TableName:
        """Return the name of the table whose place a staged one takes, until it is removed."""
        away = TableName(f"{staged.name}_old", self.staging)
        self._staged.append(away)
        return away

    def keep(self, away: TableName) -> TableName:
        """Give a table that was put away a name under which nobody removes it."""
        # a name that messages show: more digits could be a key
        kept = TableName(f"replaced_{secrets.randbelow(10**8):08}", self.staging)
        self.rename([(away, kept)])
        self._staged.remove(away)
        return kept

    def refuse_used(self, table: TableName, names: Sequence[str] | None = None) -> None:
        """Refuse a table that could not be replaced."""
        is_replaced(self, table, self.placed(table), names)

    def missing_rights(self, needs: Sequence[Need]) -> list[Need]:
        """Ask the server to prepare what needs the rights."""
        return missing_rights(self, needs)

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
        """Return a name in the database for what is staged, which is made where it is not there."""
        self._make_staging()
        return self.beside(name, beside)

    def beside(self, name: str, table: TableName) -> TableName:
        """Return a name in the database for what is staged."""
        del table
        return TableName(name, self.staging)

    def beginning_with(self, name: str, table: TableName) -> list[TableName]:
        """Return the tables in the database for what is staged whose names begin so."""
        del table
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s AND LEFT(table_name, %s) = %s"
        return [TableName(text_of(found), self.staging) for (found,) in self._rows(query, [self.staging, len(name), name])]

    def kept_as(self, name: str, table: TableName) -> TableName:
        """Return the name that a table has while nobody may see it."""
        return self.beside(name, table)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is done within it; undo it where it fails."""
        with self._errors():
            self._connection.begin()
        try:
            yield
        except BaseException:
            with suppress(Exception):
                self._connection.rollback()
            raise
        with self._errors():
            self._connection.commit()

    def drop_staged(self, table: TableName) -> None:
        """Do nothing: it would end the transaction, and is done when the connection is closed."""
        del table

    def counted(self, table: TableName, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Group a table by the bytes of some columns; all rows of a group have the same."""
        values = [f"MIN({selected(column)})" for column in columns]
        grouped = ", ".join(f"CAST({selected(column)} AS BINARY)" for column in columns)
        query = f"SELECT {', '.join([*values, 'COUNT(*)'])} FROM {quoted(table)} GROUP BY {grouped}"
        return self.select(query, [*columns, TableColumn("sfumato_rows", "bigint", pa.int64())])

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Hold a lock as long as the session lives; refuse where another has it."""
        # what a session that has lost its process holds is free in a moment
        ((free,),) = self._rows("SELECT GET_LOCK(%s, %s)", [_alone(name), _PATIENCE])
        if not free:
            raise busy(self._address.shown)
        yield

    def keep_private(self, table: TableName) -> None:
        """Do nothing: the database for what is staged is nobody else's."""

    def claim(self, name: str) -> None:
        """Hold a lock in the session that works: it may go on for a moment when its process is dead, and others wait so long."""
        ((free,),) = self._rows("SELECT GET_LOCK(%s, %s)", [_alone(f"work {name}"), SECONDS])
        if not free:
            raise busy(self._address.shown)

    def disclaim(self, name: str) -> None:
        """Give the lock back."""
        self._rows("SELECT RELEASE_LOCK(%s)", [_alone(f"work {name}")])

    def referring(self, tables: Sequence[TableName]) -> list[Referring]:
        """Return the foreign keys that refer to tables, of tables that the user may see."""
        return [key for table in tables for key in referring(self, self.placed(table))]

    def acting(self, table: TableName, event: Literal["DELETE", "INSERT"]) -> list[str]:
        """Return the triggers that the user may see."""
        query = (
            "SELECT trigger_name FROM information_schema.triggers "
            "WHERE event_object_schema = %s AND event_object_table = %s AND event_manipulation = %s ORDER BY 1"
        )
        return [f"the trigger {text_of(name)}" for (name,) in self._rows(query, [self._schema_of(table), table.name, event])]

    def hides_rows(self, table: TableName) -> bool:
        """Return that it does not: there is no row-level security."""
        del table
        return False

    def keeps_history(self, table: TableName) -> bool:
        """Return whether it is one of MariaDB's with system versioning."""
        query = "SELECT table_type FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
        return any(text_of(kind) == "SYSTEM VERSIONED" for (kind,) in self._rows(query, [self._schema_of(table), table.name]))

    def see_what_is_shown(self) -> None:
        """Do nothing: all rows are shown."""

    def delete_joined(self, table: TableName, keys: TableName, same: str, chosen: str) -> int:
        """Delete rows of a table whose keys are chosen."""
        statement = f"DELETE s FROM {quoted(keys)} k STRAIGHT_JOIN {quoted(self.placed(table))} s ON {same} WHERE {chosen}"
        meaning = {str(code): REFERRED_TO for code in REFERRED} | {str(code): TOO_FAR for code in TOO_DEEP}
        with self._errors(statement, meaning), self._connection.cursor() as cursor:
            # in this order: the list of keys has no index of them
            cursor.execute(statement)
            return int(cursor.rowcount)

    def commit(self) -> None:
        """Do nothing: every statement lasts."""

    def _clear_dead(self) -> None:
        """Remove staged tables whose locks nobody holds; copies that may be taken up, after a day."""
        query = (
            "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = %s AND table_name LIKE 'sfumato\\_%%' "
            "AND (LEFT(table_name, %s) <> %s OR create_time < NOW() - INTERVAL 1 DAY)"
        )
        found = self._rows(query, [self.staging, len(BEGINNING), BEGINNING])
        for name, kind in [(text_of(name), kind) for name, kind in found if is_staged(text_of(name))]:
            ((free,),) = self._rows("SELECT IS_FREE_LOCK(%s)", [lock_of_staged(TableName(name.removesuffix("_old")))])
            if free:
                self._drop(TableName(name, self.staging), "VIEW" if text_of(kind) == "VIEW" else "TABLE")

    def _drop(self, table: TableName, kind: str = "TABLE") -> None:
        """Remove what is staged; what foreign keys of others refer to stays, for nobody else's run shall fail of it."""
        self.refused_with(f"DROP {kind} IF EXISTS {quoted(table)}", REFERRED)

    def facts(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return what the catalogue says."""
        return self._rows(query, values)

    def _rows(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._errors(query), self._connection.cursor() as cursor:
            cursor.execute(query, values)
            return list(cursor.fetchall())

    def do(self, statement: str, reading: TableName | None = None) -> None:
        """Let the server do something; ``reading`` is a table or a view that is named where it computes what is no value."""
        with self._errors(statement, _computing(reading)), self._connection.cursor() as cursor:
            cursor.execute(statement)

    def put(self, statement: str) -> None:
        """Let the server write rows; it logs no errors of statements."""
        self.do(statement)

    def refused_with(self, statement: str, numbers: Collection[int]) -> int:
        """Let the server do something; return the number of its error where it refuses it with one of these, and zero where it is done."""
        with self._errors(statement), self._connection.cursor() as cursor:
            try:
                cursor.execute(statement)
            except driver().Error as error:
                if error.args and error.args[0] in numbers:
                    return int(error.args[0])
                raise
        return 0

    def _errors(self, statement: str = "", meaning: Mapping[str, Failure] | None = None) -> AbstractContextManager[None]:
        return mysql_errors(self._address.shown, statement, meaning)


def _computing(table: TableName | None) -> Mapping[str, Failure]:
    return {} if table is None else dict.fromkeys(WHILE_READING, computed_by(table))


def _refuse_names(names: Sequence[str]) -> None:
    """Refuse names with characters that these servers allow in no name."""
    if any(ord(character) > _LAST_OF_NAMES or character == "\0" for name in names for character in name):
        raise UsageError(
            "MySQL and MariaDB allow no emoji or zero bytes in the names of tables and columns", code="database-name", hint="name it otherwise"
        )


def _alone(name: str) -> str:
    return f"sfumato {hashlib.sha256(name.encode()).hexdigest()[:32]}"


def lock_of_staged(table: TableName) -> str:
    """Return the name of the lock that whoever has staged a table holds until its session ends."""
    return f"sfumato:{table.name}"
