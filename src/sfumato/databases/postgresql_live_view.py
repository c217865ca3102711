"""A live view in PostgreSQL: made, looked at and published in one transaction, so that a run that dies leaves nothing.

Its expressions are bound to the server's own functions, whatever others have called alike, and with ``security_barrier`` conditions of readers
are looked at after the masks. The transaction sees the table in one state.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa

from sfumato.databases.live_view import MARK, Definition, ShownColumn, refuse_readers
from sfumato.databases.postgresql import PostgresqlConnection
from sfumato.databases.postgresql_invokers import invokers
from sfumato.databases.postgresql_readers import readers
from sfumato.databases.postgresql_replacing import DEPENDENT
from sfumato.databases.postgresql_stored_columns import stored_columns
from sfumato.databases.postgresql_types import bytewise, called, is_text, quoted, quoted_name
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import UnreachableError, UsageError, suggestion

_OLD = """
SELECT c.oid, c.relkind, obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s
"""
# what a reader may set, and what dates, instants, numbers and bytes are written by
_OTHER_SESSION = (
    "DateStyle = 'German, DMY'",
    "TimeZone = 'Asia/Kolkata'",
    "IntervalStyle = 'sql_standard'",
    "extra_float_digits = -5",
    "bytea_output = 'escape'",
)
_ROWS = TableColumn("rows", "bigint", pa.int64())
_PRINT = TableColumn("print", "text", pa.string())


class PostgresqlLiveView:
    """A live view on its way."""

    def __init__(self, connection: PostgresqlConnection, definition: Definition) -> None:
        self._connection, self._columns = connection, definition.columns
        self._masked = definition.masked
        self._source = connection.placed(definition.source)
        hidden = connection.staged_name(definition.name)
        self._hidden, self._target = hidden, TableName(definition.name.name, hidden.schema)
        # both are nobody's, so that no two rows can be made to look alike
        self._seed, self._missing = secrets.randbits(62), secrets.token_hex(16)

    def check(self, roles: Sequence[str]) -> None:
        """Look at roles, their rights, and what has the name."""
        known = [name for (name,) in self._connection.facts("SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_'", [])]
        strange = [role for role in roles if role not in known]
        if strange:
            raise UsageError(f"the server has no role {', '.join(strange)}", code="live-view-role", hint=suggestion(strange[0], known))
        refuse_readers(self._source, *readers(self._connection, self._source, roles), everybody="from PUBLIC too")
        if self._connection.hides_rows(self._source):
            words = (
                f"row-level security of {self._source} would decide in the view by rules for its owner and its readers, and nobody could verify that"
            )
            raise UnreachableError(words, code="live-view-rows", hint="give the roles the table itself, or publish a copy")
        self._old()

    def _old(self) -> bool:
        """Return whether there is an older view, and refuse what is none that a run has made, or on which something hangs."""
        found = self._connection.facts(_OLD, [self._target.schema, self._target.name])
        if not found:
            return False
        ((number, kind, words),) = found
        if kind != "v" or words != MARK:
            told = f"{self._target} is there already, and is no live view that a run has made"
            raise UsageError(told, code="live-view-name", hint="name the view otherwise, or remove it yourself")
        hanging = [name for (name,) in self._connection.facts(DEPENDENT, {"table": number})]
        if hanging:
            told = f"{self._target} cannot be replaced: {', '.join(sorted(hanging))} would be lost with it"
            raise UnreachableError(told, code="sink-table-used", hint="name the view otherwise, or remove what hangs on it yourself")
        return True

    def stored_columns(self) -> Collection[str]:
        """Ask the catalogue."""
        return stored_columns(self._connection, self._source)

    def invokers(self) -> Sequence[TableName]:
        """Ask the catalogue."""
        return invokers(self._connection, self._source)

    def statements(self, roles: Sequence[str]) -> list[str]:
        """Return what is done in the transaction, under the view's own name."""
        return [self._made(self._target), self._noted(self._target), *(self._granted(self._target, role) for role in roles)]

    def make(self) -> None:
        """Begin the transaction, and make the view within it; rights that are given by default are taken away."""
        self._connection.commit()
        self._connection.do("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        self._connection.do(self._made(self._hidden))
        self._connection.do(self._noted(self._hidden))
        self._connection.keep_private(self._hidden)

    def _made(self, name: TableName) -> str:
        values = ", ".join(f"{self._value(shown)} AS {quoted_name(shown.column.name)}" for shown in self._columns)
        return f"CREATE VIEW {quoted(name)} WITH (security_barrier = true) AS SELECT {values} FROM {quoted(self._source)} s"

    def _noted(self, name: TableName) -> str:
        return f"COMMENT ON VIEW {quoted(name)} IS '{MARK}'"

    def _granted(self, name: TableName, role: str) -> str:
        return f"GRANT SELECT ON {quoted(name)} TO {quoted_name(role)}"

    def pairs(self, shown: ShownColumn) -> Iterator[pa.RecordBatch]:
        """Group the table by what a column is made of, and by what it becomes."""
        inputs = [(column, _of_source(column.name)) for column in shown.reads]
        values = [*inputs, (shown.column, self._value(shown))]
        expressions = [bytewise(column, f"({expression})") for column, expression in values]
        places = ", ".join(str(place + 1) for place in range(len(values)))
        query = f"SELECT {', '.join([*expressions, 'count(*)'])} FROM {quoted(self._source)} s GROUP BY {places}"
        return self._connection.select(query, [*(column for column, _ in values), _ROWS], reading=self._source)

    def prints(self) -> tuple[tuple[int, str], tuple[int, str]]:
        """Sum both up in one statement."""
        shown = self._print([(each.column, f"v.{quoted_name(each.column.name)}") for each in self._columns])
        made = self._print([(each.column, f"({self._value(each)})") for each in self._columns])
        query = (
            f"SELECT v.n, v.p, s.n, s.p FROM (SELECT count(*) AS n, {shown} AS p FROM {quoted(self._hidden)} v) v, "
            f"(SELECT count(*) AS n, {made} AS p FROM {quoted(self._source)} s) s"
        )
        view_rows, view_print, rows, made_print = self._row(query, [_ROWS, _PRINT, _ROWS, _PRINT])
        return (int(view_rows), str(view_print)), (int(rows), str(made_print))

    def masked_prints(self, other_session: bool) -> str:
        """Sum up what is masked; settings of another session last as long as the transaction."""
        for setting in _OTHER_SESSION if other_session else ():
            self._connection.do(f"SET LOCAL {setting}")
        shown = self._print([(each.column, f"v.{quoted_name(each.column.name)}") for each in self._masked])
        return str(self._row(f"SELECT {shown} FROM {quoted(self._hidden)} v", [_PRINT])[0])

    def discard(self) -> None:
        """Undo the transaction."""
        self._connection.undo()

    def publish(self, roles: Sequence[str]) -> list[str]:
        """Drop the older view, rename the new one and grant; all of it is seen at once."""
        if self._old():
            self._connection.do(f"DROP VIEW {quoted(self._target)}")
        self._connection.do(f"ALTER VIEW {quoted(self._hidden)} RENAME TO {quoted_name(self._target.name)}")
        for role in roles:
            self._connection.do(self._granted(self._target, role))
        self._connection.commit()
        return []

    def _value(self, shown: ShownColumn) -> str:
        written = shown.sql(_of_source)
        return f"CAST({written} AS {called(pa.field(shown.column.name, shown.column.kind))})" if shown.reads else written

    def _print(self, columns: Sequence[tuple[TableColumn, str]]) -> str:
        """Return the sum of fingerprints of rows; what is no text is hashed as it is, for its text hangs on the session."""
        others = [expression for column, expression in columns if not is_text(column)]
        hashed = f"hash_record_extended(ROW({', '.join(others)}), {self._seed})" if others else f"{self._seed}::bigint"
        for column, expression in columns:
            if is_text(column):
                hashed = f"hashtextextended(coalesce({bytewise(column, expression)}, '{self._missing}'), {hashed})"
        return f"coalesce(sum({hashed}), 0)::text"

    def _row(self, query: str, columns: Sequence[TableColumn]) -> list[int | str]:
        (batch,) = self._connection.select(query, columns, reading=self._source)
        return [column[0].as_py() for column in batch.columns]


def _of_source(name: str) -> str:
    return f"s.{quoted_name(name)}"
