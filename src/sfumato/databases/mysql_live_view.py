"""A live view in MySQL and MariaDB: made and looked at in the user's database for what is staged, which no audience may read, and then in its place.

A view cannot be renamed from one database to another; it is made once more by one statement, ``CREATE OR REPLACE VIEW``, which is done or not done,
and what the server has written down of both must be the same. It is read with the rights of the user of the run (``SQL SECURITY DEFINER``). No
view can have a comment: a condition that always holds says that a run has made it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

import pyarrow as pa

from sfumato.databases.failures import FAILED
from sfumato.databases.live_view import MARK, Definition, ShownColumn, refuse_readers
from sfumato.databases.mysql import MysqlConnection
from sfumato.databases.mysql_readers import readers
from sfumato.databases.mysql_stored_columns import stored_columns
from sfumato.databases.mysql_types import exact, quoted, quoted_name, selected, text_of
from sfumato.databases.table import TableColumn, TableName
from sfumato.databases.view_holders import view_holders
from sfumato.errors import PromiseError, SfumatoError, UsageError

_OLD = "SELECT table_type FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
_WRITTEN = "SELECT view_definition, security_type FROM information_schema.views WHERE table_schema = %s AND table_name = %s"
_MODES = "STRICT_ALL_TABLES,ANSI_QUOTES"
# what a reader may set, and what texts, patterns, dates and numbers are read by
_OTHER_MODES = "PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE,NO_UNSIGNED_SUBTRACTION"
_OTHER_MODES_OF_MARIADB = f"ORACLE,EMPTY_STRING_IS_NULL,{_OTHER_MODES}"
_OTHER_SESSION = ("collation_connection = 'utf8mb4_unicode_ci'", "time_zone = '+05:30'", "lc_time_names = 'de_DE'", "div_precision_increment = 0")
_OTHER_SESSION_OF_MARIADB = ("default_regex_flags = 'EXTENDED,DOTALL,UNGREEDY'",)
_DIGITS = 15
_UNKNOWN_GRANTS = "who else has a right to read the view could not be looked up: the user of the run may not read mysql.tables_priv"
_UNKNOWN_READERS = "whether its readers may read the table itself could not be looked up: the user of the run may not read"
_ROWS = TableColumn("rows", "bigint", pa.int64())
_PRINT = TableColumn("print", "text", pa.string())


class MysqlLiveView:
    """A live view on its way."""

    def __init__(self, connection: MysqlConnection, definition: Definition) -> None:
        self._connection, self._columns, self._masked = connection, definition.columns, definition.masked
        connection.refuse_names([definition.name.name, *(each.column.name for each in definition.columns)])
        self._source, self._target = connection.placed(definition.source), connection.placed(definition.name)
        # one name for each view, so that the next run of it finds what a dead one has left
        self._hidden = TableName(f"sfumato_view_{hashlib.sha256(quoted(self._target).encode()).hexdigest()[:16]}", connection.staging)
        self._unknown: Sequence[str] = ()
        self._is_mariadb = "MariaDB" in text_of(connection.facts("SELECT VERSION()", [])[0][0])

    def check(self, roles: Sequence[str]) -> None:
        """Look at what has the name and at roles; a grant of nothing says whether there is one, and makes none."""
        self._make_no_users()
        for role in roles:
            try:
                self._connection.do(f"GRANT USAGE ON {quoted_name(str(self._target.schema))}.* TO {_account(role)}")
            except SfumatoError as error:
                if error.code == "database-rights":
                    raise
                words = f"the server has no role or user {role}, or does not let this user grant anything to it"
                raise UsageError(words, code="live-view-role", hint="CREATE ROLE, or name@host for a user of one host") from None
        named, tables, self._unknown = readers(self._connection, self._source, roles, self._is_mariadb)
        refuse_readers(self._source, named, tables, everybody="or of its database, from PUBLIC and from roles of theirs too")
        self._refuse_others()

    def _refuse_others(self) -> None:
        """Refuse a name that something else has than a view that a run has made."""
        old = self._connection.facts(_OLD, [self._target.schema, self._target.name])
        if old and (text_of(old[0][0]) != "VIEW" or MARK not in self._written(self._target)):
            words = f"{self._target} is there already, and is no live view that a run has made, or the user may not see how it is made"
            raise UsageError(
                words, code="live-view-name", hint="name the view otherwise, or remove it yourself; GRANT SHOW VIEW shows it to the user"
            )

    def _make_no_users(self) -> None:
        """Let no grant make a user: MariaDB would make one without a password."""
        if self._is_mariadb:
            self._connection.do(f"SET SESSION sql_mode = '{_MODES},NO_AUTO_CREATE_USER'")

    def stored_columns(self) -> Collection[str]:
        """Ask the catalogue."""
        return stored_columns(self._connection, self._source)

    def invokers(self) -> Sequence[TableName]:
        """There are none: beneath a view everything is read with the rights of its definer."""
        return []

    def statements(self, roles: Sequence[str]) -> list[str]:
        """Return what publishes the view."""
        return [self._made(self._target), *(self._granted(role) for role in roles)]

    def make(self) -> None:
        """Make the view in the private database, and begin a transaction that sees the table in one state."""
        # other runs take what has no lock for what a dead one has left
        self._connection.reserve(self._hidden, [])
        self._connection.do(self._made(self._hidden))
        self._connection.one_state([self._source])

    def _made(self, name: TableName) -> str:
        values = ", ".join(f"{self._value(shown)} AS {quoted_name(shown.column.name)}" for shown in self._columns)
        select = f"SELECT {values} FROM {quoted(self._source)} s WHERE '{MARK}' IS NOT NULL"
        return f"CREATE OR REPLACE SQL SECURITY DEFINER VIEW {quoted(name)} AS {select}"

    def _granted(self, role: str) -> str:
        return f"GRANT SELECT ON {quoted(self._target)} TO {_account(role)}"

    def pairs(self, shown: ShownColumn) -> Iterator[pa.RecordBatch]:
        """Group the table by what a column is made of, and by what it becomes."""
        inputs = [(column, _of_source(column.name)) for column in shown.reads]
        values = [*inputs, (shown.column, self._value(shown))]
        listed = ", ".join([*(selected(column, expression) for column, expression in values), "COUNT(*)"])
        query = f"SELECT {listed} FROM {quoted(self._source)} s GROUP BY SHA2({_joined(values)}, 256)"
        return self._connection.select(query, [*(column for column, _ in values), _ROWS])

    def prints(self) -> tuple[tuple[int, str], tuple[int, str]]:
        """Sum both up in one statement."""
        shown = _print([(each.column, f"v.{quoted_name(each.column.name)}") for each in self._columns])
        made = _print([(each.column, self._value(each)) for each in self._columns])
        query = (
            f"SELECT v.n, v.p, s.n, s.p FROM (SELECT COUNT(*) AS n, {shown} AS p FROM {quoted(self._hidden)} v) v, "
            f"(SELECT COUNT(*) AS n, {made} AS p FROM {quoted(self._source)} s) s"
        )
        view_rows, view_print, rows, made_print = self._row(query, [_ROWS, _PRINT, _ROWS, _PRINT])
        return (int(view_rows), str(view_print)), (int(rows), str(made_print))

    def masked_prints(self, other_session: bool) -> str:
        """Sum up what is masked, and have the settings of this session again afterwards; nothing where a reader with others would get an error."""
        shown = _print([(each.column, f"v.{quoted_name(each.column.name)}") for each in self._masked])
        query = f"SELECT {shown} FROM {quoted(self._hidden)} v"
        if not other_session:
            return str(self._row(query, [_PRINT])[0])
        modes = _OTHER_MODES_OF_MARIADB if self._is_mariadb else _OTHER_MODES
        settings = [*_OTHER_SESSION, *(_OTHER_SESSION_OF_MARIADB if self._is_mariadb else ()), f"sql_mode = '{modes}'"]
        names = [setting.partition(" = ")[0] for setting in settings]
        before = self._connection.facts(f"SELECT {', '.join(f'CAST(@@{name} AS CHAR)' for name in names)}", [])[0]
        try:
            self._connection.do(f"SET SESSION {', '.join(settings)}")
            return str(self._row(query, [_PRINT])[0])
        except SfumatoError as error:
            if error.code != FAILED.code:
                raise
            return ""
        finally:
            again = (
                f"{name} = {value if name == 'div_precision_increment' else repr(text_of(value))}" for name, value in zip(names, before, strict=True)
            )
            self._connection.do(f"SET SESSION {', '.join(again)}")

    def discard(self) -> None:
        """Drop the view, or leave it to the next run where the server is gone."""
        with suppress(SfumatoError):
            self._connection.do(f"DROP VIEW IF EXISTS {quoted(self._hidden)}")

    def publish(self, roles: Sequence[str]) -> list[str]:
        """Take rights from those who are not named, put the view into its place by one statement, and grant."""
        self._connection.do("COMMIT")
        holders = view_holders(self._connection, "mysql", self._target)
        for names in holders or ():
            if not set(names) & set(roles):
                self._connection.do(f"REVOKE ALL PRIVILEGES ON {quoted(self._target)} FROM {_account(names[-1])}")
        self._connection.do(self._made(self._target))
        if self._written(self._target) != self._written(self._hidden):
            self._connection.do(f"DROP VIEW {quoted(self._target)}")
            words = f"{self._target} was made otherwise than the view that was verified, and has been removed"
            raise PromiseError(words, code="verify-live-view", hint="run again when nobody else changes it")
        for role in roles:
            self._connection.do(self._granted(role))
        self.discard()
        unknown = [f"{_UNKNOWN_READERS} {', '.join(self._unknown)}"] if self._unknown else []
        return [*([_UNKNOWN_GRANTS] if holders is None else []), *unknown]

    def _written(self, view: TableName) -> str:
        """Return what the server has written down of a view; nothing where it does not show it."""
        found = self._connection.facts(_WRITTEN, [view.schema, view.name])
        return " ".join(text_of(part) for part in found[0]) if found else ""

    def _value(self, shown: ShownColumn) -> str:
        return shown.sql(_of_source)

    def _row(self, query: str, columns: Sequence[TableColumn]) -> list[int | str]:
        (batch,) = self._connection.select(query, columns)
        return [column[0].as_py() for column in batch.columns]


def _of_source(name: str) -> str:
    return f"s.{quoted_name(name)}"


def _print(columns: Sequence[tuple[TableColumn, str]]) -> str:
    """Return the sum of fingerprints of rows."""
    hashed = f"CAST(CONV(LEFT(SHA2({_joined(columns)}, 256), {_DIGITS}), 16, 10) AS UNSIGNED)"
    return f"CAST(COALESCE(SUM({hashed}), 0) AS CHAR)"


def _joined(columns: Sequence[tuple[TableColumn, str]]) -> str:
    """Return some values as one text of digits, so that no two rows of values are written alike."""
    texts = [exact(column, expression) for column, expression in columns]
    written = ", ".join(f"IFNULL(HEX(CAST({text} AS CHAR CHARACTER SET utf8mb4)), '-')" for text in texts)
    return f"CONCAT_WS(',', 'r', {written})"


def _account(role: str) -> str:
    """Return a role or a user as a grant names it.

    >>> _account("nurse"), _account("ann@10.0.0.%")
    ("'nurse'", "'ann'@'10.0.0.%'")
    """
    name, at, host = role.rpartition("@")
    parts = [name, host] if at else [host]
    return "@".join("'" + part.replace("\\", "\\\\").replace("'", "''") + "'" for part in parts)
