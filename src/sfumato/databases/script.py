"""A connection that writes down what it is asked to do, and does nothing: what a run would let a server do.

What the catalogue says of the tables that are there, by which a run decides how it works, is asked of a connection to the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from types import TracebackType
from typing import Any

import pyarrow as pa

from sfumato.databases import duckdb_types, mysql_types, postgresql_types
from sfumato.databases.address import Address
from sfumato.databases.inside import FIRST, KEY, LAST, Computing, Decided, Layout, labels_of_classes
from sfumato.databases.located import Located, PartlySeen, inside_of
from sfumato.databases.table import TableColumn, TableName

# the private copy has a name of its own, but for that of a file
_PRIVATE, _FIRST = ("classes", "labels", "staged"), "read_once"
_SELECTED = {"postgresql": postgresql_types.selected, "mysql": mysql_types.selected, "duckdb": duckdb_types.selected}
_KEYS = {"postgresql": pa.int64(), "duckdb": pa.uint64()}


class Script:
    """Gathers statements. Tables of a run have names that chance makes; here they are called by what they are for."""

    started = 0

    def __init__(self, address: Address, there: Any) -> None:
        self.statements: list[str] = []
        self._address, self._there = address, there
        self._names: Iterator[str] = iter(("rows", *_PRIVATE) if address.kind == "duckdb" else _PRIVATE)

    def __enter__(self) -> Script:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Do nothing."""

    def do(self, statement: str, values: Sequence[object] = (), reading: TableName | None = None) -> None:
        """Note a statement, without the values that go with it."""
        del values, reading
        self.statements.append(statement)

    def put(self, statement: str, reading: TableName | None = None) -> None:
        """Keep a statement; a run lets the server's log have no value of a failure of it."""
        self.do(statement, reading=reading)

    def select(self, query: str, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Note a query, which gives one row of missing values."""
        self.statements.append(query)
        kinds = [pa.null() if column.kind is None else column.kind for column in columns]
        yield pa.RecordBatch.from_arrays([pa.nulls(1, kind) for kind in kinds], names=[column.name for column in columns])

    @property
    def unlogged(self) -> str:
        """What says that a table is of an engine that keeps no log."""
        return str(self._there.unlogged)

    @property
    def user(self) -> str:
        """As whom the server knows whoever would run it."""
        return str(self._there.user)

    def staged_name(self, table: TableName) -> TableName:
        """Return what a private table is for."""
        return TableName(f"sfumato_{next(self._names)}", self._there.staging if self._address.kind == "mysql" else table.schema)

    def identity(self, table: TableName) -> str:
        """Return what tells a table from others."""
        return str(table)

    def made_at(self, table: TableName) -> str:
        """Return what nobody asks here."""
        del table
        return ""

    def left_behind(self, beginning: str, beside: TableName | None = None) -> dict[TableName, str]:
        """Return nothing: what dead runs have left is removed, and not told."""
        del beginning, beside
        return {}

    def one_state(self, tables: Sequence[TableName], writing: bool = False) -> None:
        """Say how a state is begun in which nobody empties tables: whoever asks for a plan holds what it would read."""
        self.do(f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ{'' if writing else ' READ ONLY'}")
        for table in tables:
            self.do(f"EXPLAIN SELECT * FROM {self.quoted(table)}")

    def claim(self, name: str) -> None:
        """Do nothing: nobody else works here."""

    def keep_private(self, table: TableName) -> None:
        """Note that nobody else may read a table."""
        self.statements.append(comment(f"nobody but its owner has any right to {table}"))

    def refuse_names(self, columns: Sequence[str]) -> None:
        """Do nothing: the run does it."""

    def refuse_other_types(self, table: TableName, columns: Sequence[TableColumn]) -> None:
        """Do nothing: nobody changes anything."""
        del table, columns

    def rows_of(self, table: TableName) -> int:
        """Return what nobody knows yet."""
        del table
        return 0

    def undo(self) -> None:
        """Do nothing."""

    def temporary_name(self) -> TableName:
        """Return what a temporary table is for."""
        return TableName(f"sfumato_{next(self._names)}")

    def quoted(self, table: TableName) -> str:
        """Return the name of a table as most databases write it."""
        return table.written(lambda name: '"' + name.replace('"', '""') + '"')

    def selected(self, column: TableColumn, name: str | None = None) -> str:
        """Return a column as the database selects it."""
        return _SELECTED[self._address.kind](column, name)

    def has_places(self, table: TableName) -> bool:
        """Ask the server."""
        return bool(self._there.has_places(table))

    def reads_alike(self, table: TableName) -> bool:
        """Ask the server; what is not read alike twice is copied first, and has a name more."""
        is_alike = bool(self._there.reads_alike(table))
        self._names = chain(() if is_alike else (_FIRST,), self._names)
        return is_alike

    def see_what_is_shown(self) -> None:
        """Let row-level security show what it shows."""
        if self._address.kind == "postgresql":
            self.do("SET row_security = on")
            self.commit()

    def parts(self, table: TableName) -> list[str]:
        """Return nothing: the run asks for it."""
        del table
        return []

    def refuse_other_parts(self, table: TableName, parts: Sequence[str]) -> None:
        """Do nothing: nobody changes anything."""
        del table, parts

    def bytewise(self, table: TableName) -> set[str]:
        """Ask the server."""
        return set(self._there.bytewise(table))

    def meanwhile(self, statements: Sequence[str]) -> None:
        """Do nothing: the same is noted where it is done one after the other."""
        del statements

    def leaves_order(self, statement: str, table: TableName, memory: int) -> bool:
        """Return what is so of most plans, and note that it is asked."""
        del statement, memory
        self.statements.append(
            comment(f"where the next statement would hand the rows of {table} on in another order they are sorted by chance in it")
        )
        return True

    def collations(self, table: TableName) -> set[str]:
        """Ask the server."""
        return set(self._there.collations(table))

    def placed(self, table: TableName) -> TableName:
        """Return the name of a table with that of its database; that of a schema of PostgreSQL was looked for where the table is."""
        if self._address.kind == "postgresql":
            return table
        return TableName(table.name, table.schema or ("main" if self._address.kind == "duckdb" else self._address.database))

    def reserve(self, table: TableName, columns: Sequence[str]) -> None:
        """Do nothing: nobody else would make such a table."""

    def load(self, table: TableName, batch: pa.RecordBatch) -> None:
        """Note that rows come."""
        self.statements.append(comment(f"{', '.join(batch.schema.names)} of {table} are loaded in bulk"))

    def loaded(self, table: TableName) -> None:
        """Do nothing."""

    def publish(self, staged: TableName, table: TableName) -> None:
        """Note that the release takes its place."""
        held = "keys" if self._address.kind == "duckdb" else "grants"
        self.statements.append(comment(f"{staged} takes the place of {table} in one step, with its {held}, comments and indexes"))

    def commit(self) -> None:
        """Note the end."""
        if self._address.kind != "mysql":
            self.statements.append("COMMIT")


def comment(words: str) -> str:
    r"""Return a comment on one line: a name may hold the end of one, after which it would be no comment.

    >>> comment("makes a\nDROP TABLE b")
    '-- makes a DROP TABLE b'
    """
    return f"-- {' '.join(words.splitlines())}"


def spark_steps(source: TableName, target: TableName, counted: Sequence[str], masked: Sequence[str] = ()) -> list[str]:
    """Return what a run lets Spark do: it is given plans, not statements."""
    together = f"the copy is grouped by {', '.join(counted)} and by what is watched; these cells are read"
    steps = (
        f"{source} is copied to private Parquet files, each row with the key of its cell and a number by chance",
        *([f"{', '.join(masked)} of the copy are masked there, beside what they were"] if masked else []),
        *([together, "the values of columns that are kept are counted, all at once"] if counted else ["the rows of the copy are counted"]),
        "the class of each key and the texts of each class are sent to the workers",
        "copy and classes are joined, dealt out to files by chance and sorted by it, and written to private Parquet files",
        "these are grouped by what they show, which is read, and compared with the cells",
        *(["what is masked is read with what it became, each combination once, and masked here again"] if masked else []),
        f"the files take the place of {target}, and everything else is removed",
    )
    return [comment(step) for step in steps]


def script(
    source: Located, there: Any, layout: Layout, target: TableName, columns: Sequence[tuple[str, int | None]], is_promised: bool = True
) -> list[str]:
    """Return the statements of a run, in their order; ``columns`` are those of the release, each with its place among the texts, if it is one.

    ``there`` is a connection to the database, which is only asked. What singles people out is looked for only where something ``is_promised``.
    """
    from sfumato.databases.runnable_script import RunnableScript, is_runnable

    address = source.address
    written = (RunnableScript if is_runnable(address, layout) else Script)(address, there)
    if isinstance(source, PartlySeen):
        source.seen_by(written)
    inside: Any = inside_of(written, address.kind, layout, target)
    if isinstance(written, RunnableScript):
        written.copy = inside.copy
    texts = [name for name, place in columns if place is not None]
    inside.take()
    list(inside.cells())
    for column in (*layout.printed, *layout.read) if is_promised else ():
        inside.occurrences(column)
    keys = _KEYS.get(address.kind, pa.string())
    stretch = [FIRST, LAST] if layout.numbered else []
    columns_of = [pa.nulls(0, keys), pa.nulls(0, pa.int32()), *(pa.nulls(0, pa.int64()) for _ in stretch)]
    classes = pa.RecordBatch.from_arrays(columns_of, names=[KEY, "class", *stretch])
    inside.decide(Decided.of(classes), labels_of_classes(0, [pa.nulls(0, pa.string())] * len(texts)))
    staged = inside.stage(target, columns)
    list(inside.shown(staged, texts))
    if layout.numbered:
        list(inside.dealt())
    if isinstance(inside, Computing):
        for each in layout.computed:
            list(inside.pairs(each))
    inside.publish(staged, target)
    return [*_of_what_use(layout, target, isinstance(written, RunnableScript)), *written.statements]


def _of_what_use(layout: Layout, target: TableName, can_run: bool) -> list[str]:
    """Return comments that say whether a script can be run, and what else a run does."""
    if can_run:
        return [
            comment(f"this can be run as it is: it makes {target}, where there must be none yet, as sfumato run would"),
            comment("nothing is verified by that, and there is no record; what is selected is what a run verifies by, values of the source among it"),
        ]
    words = f"this is to be read and cannot be run: what takes the place of {target}, and which class rows go to"
    told = [comment(f"{words}, is known only when it has been counted")]
    brought = comment("and keys and texts of the policy are brought to the server beside its statements, in which they must not stand")
    return [*told, *([brought] if layout.pads is not None or layout.texts else [])]
