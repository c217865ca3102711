"""A view that shows a table masked: its columns as expressions, and what a server must do to make, look at and publish it.

Whoever reads a view does so with settings of a session of their own, and some of these change what expressions mean. Columns whose expressions hang
on such a setting are refused, and before a view is published it is read once more under settings that a reader could choose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.databases.address import Kind
from sfumato.databases.dialects import Engine
from sfumato.databases.expressions import expressed
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import UsageError

MARK = "sfumato live view"
"""What stands with a view that a run has made, so that no other is ever replaced."""

_OF_A_SESSION: Mapping[Engine, tuple[str, ...]] = {"postgresql": ("daterange", "tsrange", "tstzrange"), "mysql": ("char",)}


@dataclass(frozen=True)
class ShownColumn:
    """A column of a view; ``reads`` are the columns of the table that it is made of where it is masked, and none where it is kept."""

    column: TableColumn
    sql: Callable[[Callable[[str], str]], str]
    reads: Sequence[TableColumn] = ()


@dataclass(frozen=True)
class Definition:
    """A view: what it is called, the table that it shows, and its columns."""

    name: TableName
    source: TableName
    columns: Sequence[ShownColumn]

    @property
    def masked(self) -> list[ShownColumn]:
        """The columns that are masked."""
        return [column for column in self.columns if column.reads]


class LiveViews(Protocol):
    """What a server does with a live view. Nobody sees it before it is published, and all that is looked at is seen in one state."""

    def check(self, roles: Sequence[str]) -> None:
        """Refuse roles that do not exist or see the table itself, and a name that something else has."""
        ...

    def stored_columns(self) -> Collection[str]:
        """Return the columns of the source that are known to show what stands in a table, and are not computed for whoever reads them."""
        ...

    def invokers(self) -> Sequence[TableName]:
        """Return the views from which rows of the source come that look at their tables with the rights of whoever reads."""
        ...

    def statements(self, roles: Sequence[str]) -> list[str]:
        """Return what makes the view and lets roles read it."""
        ...

    def make(self) -> None:
        """Make the view where nobody sees it, and begin to look at one state of the table."""
        ...

    def pairs(self, shown: ShownColumn) -> Iterator[pa.RecordBatch]:
        """Return what a masked column is made of and what it becomes, each combination once, with its number of rows."""
        ...

    def prints(self) -> tuple[tuple[int, str], tuple[int, str]]:
        """Return the number of rows and the sum of their fingerprints: of the view, and of what the expressions make of the table."""
        ...

    def masked_prints(self, other_session: bool) -> str:
        """Return the sum of fingerprints of what is masked in the view, on request under settings that a reader could choose."""
        ...

    def discard(self) -> None:
        """Remove what was made and not published."""
        ...

    def publish(self, roles: Sequence[str]) -> list[str]:
        """Let the view take its place and roles read it; return what a reader of the record should know."""
        ...


def live_views_of(connection: Any, kind: Kind, definition: Definition) -> LiveViews:
    """Return what makes a live view on a server."""
    if kind == "mysql":
        from sfumato.databases.mysql_live_view import MysqlLiveView

        return MysqlLiveView(connection, definition)
    from sfumato.databases.postgresql_live_view import PostgresqlLiveView

    return PostgresqlLiveView(connection, definition)


def refuse_readers(source: TableName, roles: Sequence[str], tables: Sequence[TableName], everybody: str) -> None:
    """Refuse roles that may read the source of a view, or some of what its rows come from."""
    if not roles:
        return
    names = ", ".join(map(str, tables))
    what = f"{source} itself" if source in tables else f"{names}, from which rows of {source} come"
    words = f"{', '.join(roles)} may read {what}, so that a masked view of it would hide nothing"
    raise UsageError(words, code="live-view-role", hint=f"REVOKE SELECT ON {names}, {everybody}, or name other roles")


def kept_column(column: TableColumn) -> ShownColumn:
    """Return a column that is shown as it is."""
    return ShownColumn(column, lambda refer: refer(column.name))


def masked_column(masked: MaskedColumn, context: MaskContext, columns: Mapping[str, TableColumn], engine: Engine | None) -> ShownColumn | str:
    """Return a masked column as the server computes it, or why it cannot be one of a live view.

    A value that may come later, that its type allows and nobody can read, such as infinity, or that a condition cannot compare, becomes nothing: a
    run would stop at it, and a view cannot.
    """
    own = columns[masked.column]
    kind = None if own.kind is None else masked.output_type(own.kind)
    found = None if engine is None or kind is None else expressed(masked, context, columns, engine, str)
    if engine is None or kind is None or found is None or (engine == "mysql" and not pa.types.is_string(kind)):
        return "is masked in a way that this database does not do exactly"
    reads = [columns[name] for name in dict.fromkeys([masked.column, *masked.reads])]
    if engine == "mysql" and "REGEXP" in found.value.upper():
        return "is masked by a regular expression, whose meaning whoever reads the view could change in their session"
    for column in reads:
        if column.called.lower().partition("(")[0].strip() in _OF_A_SESSION.get(engine, ()):
            return f"is made of {column.name}, of type {column.called}, which is written as the session of whoever reads the view wants it"

    def sql(refer: Callable[[str], str]) -> str:
        written = expressed(masked, context, columns, engine, refer)
        if written is None:
            raise AssertionError("what was expressed once is expressed again")
        never = [*written.unreadable, *written.unplaced]
        return f"CASE WHEN {' OR '.join(never)} THEN NULL ELSE {written.value} END" if never else written.value

    return ShownColumn(TableColumn(own.name, "", kind, as_text=pa.types.is_decimal(kind)), sql, reads)
