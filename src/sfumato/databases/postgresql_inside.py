"""Work inside PostgreSQL, in two transactions.

The first sees the table in one state and copies what is published of it, while a session beside it counts the cells of the same state; both last, as
tables to which nobody but their owner has any right, so that a run that is killed can be taken up. The second makes the release from them, verifies
and publishes it, and nobody sees anything of that before.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.databases.inside import KEY, NUMBER, PRINT, ROWS, Computed, Decided, Layout, grouped_by, limited, listed
from sfumato.databases.left_copy import BEGINNING, Mark, beginning_of, new_name
from sfumato.databases.postgresql import PostgresqlConnection
from sfumato.databases.postgresql_hash import chained
from sfumato.databases.postgresql_rights import kept_private
from sfumato.databases.postgresql_types import bytewise, called, known_person, quoted, quoted_name
from sfumato.databases.table import TableColumn, TableName
from sfumato.databases.unpublishable import refuse_unpublishable

_MEMORY, _SORTED = 128 << 20, 32 << 20
"""The bytes for what is joined and grouped, and for what is sorted: smaller runs of rows take a tenth less than large ones."""
_SETTINGS = (
    f"work_mem = '{_MEMORY >> 20}MB'",
    # the server cannot guess how many cells there are, and would rather sort all rows than group them, or leave all to one process
    "enable_sort = off",
    "parallel_tuple_cost = 0.001",
    "parallel_setup_cost = 0",
    # compiling takes longer than what it makes faster
    "jit = off",
)
_SET = [f"SET {setting}" for setting in _SETTINGS]
_OVERHEAD, _TEXT = 100, 8
"""The bytes that a row of a hash table takes at most beside its texts, and that a text takes beside its characters."""
_PLACE = "sfumato_place"
"""The column by which rows that are alike are numbered."""
_DRAWN = "(SELECT hashtextextended(gen_random_uuid()::text || gen_random_uuid()::text, 0::bigint))"
_BY_CHANCE = f"hashtidextended(r.ctid, {_DRAWN})"
"""What rows are ordered by: a hash of their places in the copy, which several processes can compute, under a seed that nobody learns."""


class PostgresqlInside:
    """A table of PostgreSQL that is worked on where it is."""

    def __init__(self, connection: PostgresqlConnection, layout: Layout, target: TableName) -> None:
        self._connection, self._layout = connection, layout
        self._source = connection.placed(layout.table)
        # both are nobody's, so that nobody can make two cells with one key, or a value that is taken for a missing one
        self._seed, self._missing = secrets.randbits(62), secrets.token_hex(16)
        self._classes, self._labels = (connection.staged_name(target) for _ in range(2))
        self._target, self._beginning = target, beginning_of(connection.identity(layout.table), layout.identity, target)
        self._rows = TableName(new_name(self._beginning), self._labels.schema)
        self._is_taken, self._is_mixed, self._is_small = False, not layout.numbered, False
        self._is_copied_first = False
        self._kept = {column.name: f"k{place}" for place, column in enumerate(layout.copied)}
        for setting in _SET:
            connection.do(setting)
        connection.commit()

    @property
    def _cells(self) -> TableName:
        return TableName(f"{self._rows.name}_cells", self._rows.schema)

    @property
    def copy(self) -> TableName:
        """The private copy."""
        return self._rows

    def take_up(self) -> bool:
        """Go on with what a run that was killed has copied and counted."""
        left = self._connection.left_behind(self._beginning, self._target)
        marks = [(table, mark) for table, comment in left.items() if (mark := Mark.of(table, comment)) is not None]
        if not marks:
            return False
        self._rows, mark = marks[0]
        self._connection.claim(self._rows.name)
        self._is_taken = True
        self._seed, self._missing, self._is_mixed = mark.seed, mark.missing, mark.is_mixed
        return True

    def take(self) -> None:
        """Copy what is published as it is, in an order by chance, with the key of each row's cell, and count the cells meanwhile."""
        for left in self._connection.left_behind(BEGINNING, self._target):
            if left != self._source:
                self._connection.remove_left(left)
        self._connection.claim(self._rows.name)
        self._connection.one_state([self._source], writing=True)
        # a part that comes now is seen by whoever looks next, in whatever state
        source, parts = self._source, self._connection.parts(self._source)
        first, mark = self._read_once(), Mark(self._seed, self._missing, self._is_mixed)
        counts = self._counting(mark)
        # what is not committed, and what is temporary, is seen in this session alone
        is_seen = first is None and not self._layout.pads
        counting = self._connection.meanwhile([*_SET, *counts, kept_private(self._cells)]) if is_seen else None
        try:
            self._copy()
            refuse_unpublishable(self._connection, "postgresql", quoted(self._rows), self._layout, self._kept)
            is_counted = counting is not None and counting.is_done()
            if not is_counted:
                self._count(counts)
            self._connection.refuse_other_parts(source, parts)
            if first is not None:
                self._connection.do(f"DROP TABLE {quoted(first)}")
            self._connection.do(f"COMMENT ON TABLE {quoted(self._rows)} IS '{mark.beside(self._rows)}'")
            self._connection.keep_private(self._rows)
            # from here on both are removed where one of them fails to last
            self._is_taken = True
            if counting is not None and is_counted:
                counting.commit()
            self._connection.commit()
        finally:
            if counting is not None:
                counting.close()

    def _copy(self) -> None:
        """Make the copy."""
        kept = [f"{quoted_name(name)} AS {short}" for name, short in self._kept.items()]
        key = self._hash([(column, quoted_name(column.name)) for column in self._layout.counted])
        chance = [f"{self._by_chance()} AS {_PLACE}"] if self._layout.numbered else []
        inner = f"SELECT {listed([f'{key} AS {KEY}', *chance, *kept])} FROM {quoted(self._source)}"
        if self._is_mixed:
            inner = f"{inner} ORDER BY {self._by_chance()}"
        else:
            inner = f"SELECT i.*, row_number() OVER (PARTITION BY {KEY} ORDER BY {_PLACE}) AS {NUMBER} FROM ({inner}) i"
        with self._set("enable_sort = on", f"work_mem = '{_SORTED >> 20}MB'", "parallel_leader_participation = off"):
            # nobody else may look at it, so that a plan is carried out as it was explained
            made = f"CREATE UNLOGGED TABLE {quoted(self._rows)} WITH (autovacuum_enabled = off) AS {inner}"
            self._connection.do(made, reading=self._layout.table)
        self._connection.do(f"ANALYZE {quoted(self._rows)} ({KEY})")

    def _read_once(self) -> TableName | None:
        """Copy first what would not be read alike a second time, and go on with that; nobody else sees it, and it is gone before others could."""
        if self._connection.reads_alike(self._source):
            return None
        first = self._connection.staged_name(self._target)
        columns = dict.fromkeys(quoted_name(column.name) for column in (*self._layout.counted, *self._layout.copied))
        # what a view cannot compute is in the words of whoever computes it, and other processes would write them to the log on their own
        with self._set("max_parallel_workers_per_gather = 0"):
            made = f"CREATE UNLOGGED TABLE {quoted(first)} AS SELECT {listed(columns)} FROM {quoted(self._source)}"
            self._connection.put(made, reading=self._layout.table)
        self._source, self._is_copied_first = first, True
        return first

    def _counting(self, mark: Mark) -> list[str]:
        """Return what makes the cells: the table itself is grouped by values, as it was copied, and what the copy became is held against that.

        What is not read alike twice, a view or a foreign table, was copied as it is before, and that is grouped.

        Grouping the copy by its keys would be faster, and would not notice a copy that is wrong, or two cells that have one key.
        """
        columns = [(column, f"c{place}") for place, column in enumerate(self._layout.counted)]
        # rows are grouped as they come where that is the same, and only what is left of them becomes what is read
        plain = set() if self._is_copied_first else self._connection.bytewise(self._source)
        inner = [
            f"{_of_source(column.name) if column.name in plain else bytewise(column, _of_source(column.name))} AS {name}" for column, name in columns
        ]
        source = self._layout.beside(f"{quoted(self._source)} s")
        # by their places: the source may have columns of such names
        grouped = f"SELECT {listed([*inner, self._sums(_of_source)])} FROM {source}{grouped_by(_first(len(columns)))}"
        read = [f'{name}::text COLLATE "C" AS {name}' if column.name in plain else name for column, name in columns]
        chosen = listed([f"{self._hash(columns, read=True)} AS {KEY}", ROWS, PRINT, *(name for _, name in columns)])
        query = f"SELECT {chosen} FROM (SELECT {listed([ROWS, PRINT, *read])} FROM ({grouped}) g) g"
        # the seal is not that of a copy, so that nobody goes on with cells alone
        comment = f"COMMENT ON TABLE {quoted(self._cells)} IS '{mark.beside(self._cells)}'"
        return [f"CREATE UNLOGGED TABLE {quoted(self._cells)} AS {query}", comment]

    def _count(self, statements: Sequence[str]) -> None:
        """Make the cells in the session that copies."""
        for statement in statements:
            self._connection.do(statement)
        self._connection.keep_private(self._cells)

    def _by_chance(self) -> str:
        """Return what rows are mixed, and those that are alike numbered by: a hash of their places under a seed that nobody learns."""
        has_places = self._is_copied_first or self._connection.has_places(self._source)
        return f"hashtidextended(ctid, {_DRAWN})" if has_places else "random()"

    def _sums(self, refer: Callable[[str], str]) -> str:
        """Return what is added up over the rows of a cell."""
        computed = {each.column.name for each in self._layout.computed}
        prints = [(column, _typed(column, sql) if column.name in computed else sql) for column, sql in self._layout.prints(refer)]
        return f"count(*) AS {ROWS}, {self._print(prints)} AS {PRINT}"

    @contextmanager
    def _set(self, *settings: str) -> Iterator[None]:
        """Let settings hold for a while, and then those that were before."""
        for setting in settings:
            self._connection.do(f"SET {setting}")
        yield
        usual = dict(setting.split(" = ") for setting in _SETTINGS)
        for name in (setting.split(" = ")[0] for setting in settings):
            self._connection.do(f"SET {name} = {usual.get(name, 'DEFAULT')}")

    def cells(self, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Return what was counted."""
        names = listed([KEY, ROWS, PRINT, *(f"c{place}" for place in range(len(self._layout.counted)))])
        query = f"SELECT {names} FROM {quoted(self._cells)}{limited(most)}"
        return self._connection.select(query, [_key(), _rows(), _text(PRINT), *self._layout.counted])

    def occurrences(self, column: TableColumn) -> tuple[int, int]:
        """Count the values of a column."""
        return self._occurring(self._rows, column, self._kept[column.name], self._people)

    @property
    def _people(self) -> str:
        """Return how many people rows are, as far as one or several matters: rows where nothing says whose they are."""
        subject = self._layout.subject
        if subject is None:
            return "count(*)"
        person = self._hash([(subject, known_person(subject, self._kept[subject.name]))], read=True)
        return f"CASE WHEN min({person}) = max({person}) THEN 1 ELSE 2 END"

    def _occurring(self, table: TableName, column: TableColumn, name: str, people: str = "count(*)") -> tuple[int, int]:
        grouped = f"SELECT {people} AS n FROM {quoted(table)} WHERE {name} IS NOT NULL GROUP BY {bytewise(column, name)}"
        batches = self._connection.select(f"SELECT count(*), count(*) FILTER (WHERE n = 1) FROM ({grouped}) s", [_rows(), _rows()])
        ((distinct, once),) = [row for batch in batches for row in zip(*(part.to_pylist() for part in batch.columns), strict=True)]
        return distinct, once

    def decide(self, classes: Decided, labels: pa.RecordBatch) -> None:
        """Load both tables, and let the server look at them."""
        texts = labels.columns[1:]
        widest = sum(pc.max(pc.binary_length(column)).as_py() or 0 for column in texts)
        self._is_small = classes.rows * (widest + _OVERHEAD + _TEXT * len(texts)) <= _MEMORY
        for table, decided in ((self._classes, classes), (self._labels, Decided.of(labels))):
            self._brought(table, decided)

    def _brought(self, table: TableName, decided: Decided) -> None:
        columns = listed(f"{quoted_name(field.name)} {called(field)}" for field in decided.schema)
        self._connection.do(f"CREATE UNLOGGED TABLE {quoted(table)} ({columns})")
        for batch in decided.batches():
            self._connection.load(table, batch)
        self._connection.do(f"ANALYZE {quoted(table)}")

    # --- a bench for cells that are too many to be read: what it makes is of the second transaction, and gone with it ---

    @property
    def key(self) -> TableColumn:
        """How keys are read."""
        return _key()

    def decided_classes(self) -> str:
        """The table of what was decided."""
        return quoted(self._classes)

    def kept_cells(self) -> str:
        """Return the table in which the cells are anyway."""
        return quoted(self._cells)

    def value(self, place: int, name: str) -> str:
        """Return the value itself: it is as it is read."""
        del place
        return name

    def value_key(self, place: int, name: str) -> str:
        """Hash a value as those of rows are hashed."""
        return self._hash([(self._layout.counted[place], name)], read=True)

    def whole(self, expression: str) -> str:
        """Return a sum, which is of a type for any number, as a whole one."""
        return f"({expression})::bigint"

    def keep(self, query: str) -> str:
        """Make a table that keeps no log."""
        table = quoted(self._connection.staged_name(self._target))
        self._connection.do(f"CREATE UNLOGGED TABLE {table} AS {query}")
        self._connection.do(f"ANALYZE {table}")
        return table

    def bring(self, table: pa.Table) -> str:
        """Load a table."""
        name = self._connection.staged_name(self._target)
        self._brought(name, Decided(table.schema, table.num_rows, lambda: iter(table.to_batches())))
        return quoted(name)

    def forget(self, table: str) -> None:
        """Drop a table."""
        self._connection.do(f"DROP TABLE {table}")

    def ask(self, query: str, columns: Sequence[TableColumn], large: bool = False) -> Iterator[pa.RecordBatch]:
        """Read what a query gives, some rows at a time."""
        del large
        return self._connection.select(query, columns)

    def stage(self, target: TableName, columns: Sequence[tuple[str, int | None]]) -> TableName:
        """Join the copy with the decision, in the order of the copy where the server's plan is one that leaves it, else in one by chance."""
        staged = self._connection.staged_name(target)
        # whoever writes is busy enough
        with self._set("parallel_leader_participation = off", "enable_mergejoin = off", "enable_nestloop = off"):
            made = f"CREATE TABLE {quoted(staged)} AS {self._as_copied(columns)}"
            if not (self._is_mixed and self._is_small and self._connection.leaves_order(made, self._rows, _MEMORY)):
                made = f"CREATE TABLE {quoted(staged)} AS {self._mixed(columns)}"
            self._connection.do(made)
        return staged

    def _as_copied(self, columns: Sequence[tuple[str, int | None]]) -> str:
        """Select the release without a word on its order."""
        places = {name: self._made_of_copy(name) for name, text in columns if text is None}
        joined = self._layout.beside(f"{self._published} JOIN {quoted(self._labels)} l ON l.class = c.class")
        return f"SELECT {_chosen(columns, places)} FROM {joined}"

    def _mixed(self, columns: Sequence[tuple[str, int | None]]) -> str:
        """Select the release; rows are put into an order by chance when the keys of their cells have been looked at for the last time.

        A join may bring rows of one key together, and those of a class could be told apart by that. What the texts of classes do is seen anyway.
        """
        shown = [name for name, text in columns if text is None]
        inner = listed(["c.class", *(f"{self._made_of_copy(name)} AS p{place}" for place, name in enumerate(shown))])
        ordered = f"SELECT {inner} FROM {self._layout.beside(self._published)} ORDER BY {_BY_CHANCE}"
        places = {name: f"s.p{place}" for place, name in enumerate(shown)}
        return f"SELECT {_chosen(columns, places)} FROM ({ordered}) s JOIN {quoted(self._labels)} l USING (class)"

    def _made_of_copy(self, name: str) -> str:
        """Return what is published of a column that is not recoded."""
        found = [_typed(each.column, each.sql(self._of_copy)) for each in self._layout.computed if each.column.name == name]
        return found[0] if found else self._of_copy(name)

    @property
    def _published(self) -> str:
        return f"{quoted(self._rows)} r JOIN {quoted(self._classes)} c ON c.{KEY} = r.{KEY}{self._layout.dealt('r', 'c')}"

    def _of_copy(self, name: str) -> str:
        return f"r.{self._kept[name]}"

    def dealt(self) -> Iterator[pa.RecordBatch]:
        """Group what is published of the copy by cells and classes."""
        computed = {each.column.name for each in self._layout.computed}
        prints = [(column, _typed(column, sql) if column.name in computed else sql) for column, sql in self._layout.prints(self._of_copy)]
        published = self._layout.beside(self._published)
        query = f"SELECT r.{KEY}, c.class::bigint, count(*), {self._print(prints)} FROM {published} GROUP BY r.{KEY}, c.class"
        return self._connection.select(query, [_key(), _rows(), _rows(), _text(PRINT)])

    def shown(self, staged: TableName, texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Group what is staged by a hash of its own text, and read that where a row of each group has its place."""
        shown = [_text(name) for name in texts] + self._layout.watched
        columns = [(column, quoted_name(column.name)) for column in shown]
        printed = self._print([(column, quoted_name(column.name)) for column in self._layout.released])
        grouped = (
            f"SELECT {self._hash(columns)} AS {KEY}, count(*) AS {ROWS}, {printed} AS {PRINT}, min(ctid) AS place FROM {quoted(staged)} GROUP BY 1"
        )
        values = [bytewise(column, f"s.{name}") for column, name in columns]
        query = f"SELECT {listed([*values, f'g.{ROWS}', f'g.{PRINT}'])} FROM ({grouped}) g JOIN {quoted(staged)} s ON s.ctid = g.place"
        # a server that does not know how few groups there are would rather read all rows once more than go to the places of some
        with self._set("enable_hashjoin = off"):
            yield from self._connection.select(query, [*shown, _rows(), _text(PRINT)])

    def pairs(self, computed: Computed) -> Iterator[pa.RecordBatch]:
        """Group what is published of the copy by what a column is made of, and by what it becomes."""
        read = {column.name: column for column in self._layout.copied}
        inputs = [(read[name], self._of_copy(name)) for name in computed.reads]
        values = [*inputs, (computed.column, _typed(computed.column, computed.sql(self._of_copy)))]
        shown = [bytewise(column, f"({expression})") for column, expression in values]
        query = f"SELECT {listed([*shown, 'count(*)'])} FROM {self._layout.beside(self._published)}{grouped_by(_first(len(shown)))}"
        return self._connection.select(query, [*(column for column, _ in values), _rows()])

    def values(self, staged: TableName, column: TableColumn) -> tuple[int, int]:
        """Count the values of a column of the release."""
        return self._occurring(staged, column, quoted_name(column.name))

    def fewest(self, staged: TableName, texts: Sequence[str], column: TableColumn) -> int:
        """Group what is staged by its text and by a value, and then by its text alone."""
        key = self._hash([(_text(name), quoted_name(name)) for name in texts])
        each = f"SELECT {key} AS {KEY}, {bytewise(column, quoted_name(column.name))} AS v, count(*) AS n FROM {quoted(staged)} GROUP BY 1, 2"
        summed = f"SELECT sum(CASE WHEN v IS NULL THEN n ELSE 1 END)::bigint AS n FROM ({each}) e GROUP BY {KEY}"
        (batch,) = self._connection.select(f"SELECT coalesce(min(n), 0)::bigint FROM ({summed}) s", [_rows()])
        return int(batch.column(0)[0].as_py())

    def publish(self, staged: TableName, target: TableName) -> None:
        """Drop what is private, rename what is staged, and let others see it."""
        for table in (self._rows, self._cells, self._classes, self._labels):
            self._connection.do(f"DROP TABLE {quoted(table)}")
        self._connection.publish(staged, target)
        self._connection.commit()
        self._is_taken = False
        self.close()

    def close(self) -> None:
        """Undo what was not published, and remove the copy; what is not taken up any more would only wait for somebody to read it."""
        try:
            if self._is_taken:
                self._connection.undo()
                self._connection.remove_left(self._rows)
        finally:
            self._connection.__exit__(None, None, None)

    def _hash(self, columns: Sequence[tuple[TableColumn, str]], read: bool = False) -> str:
        """Return a number that is the same for the same values; ``read`` says that they are bytewise already."""
        seen = [(column, expression if read else bytewise(column, expression)) for column, expression in columns]
        return chained(seen, f"{self._seed}::bigint", self._missing)

    def _print(self, columns: Sequence[tuple[TableColumn, str]]) -> str:
        """Return the sum of fingerprints, which is the same in any order of the rows."""
        return f"sum({self._hash(columns)})::text" if columns else "'0'"


def _chosen(columns: Sequence[tuple[str, int | None]], places: Mapping[str, str]) -> str:
    """Return the columns of the release: the text of a class, or what is at a place."""
    return listed(f"{places[name] if text is None else f'l.t{text}'} AS {quoted_name(name)}" for name, text in columns)


def _of_source(name: str) -> str:
    return f"s.{quoted_name(name)}"


def _typed(column: TableColumn, expression: str) -> str:
    """Return an expression in the type that a column of the release has."""
    return f"CAST({expression} AS {called(pa.field(column.name, column.kind))})"


def _first(number: int) -> list[str]:
    return [str(place + 1) for place in range(number)]


def _key() -> TableColumn:
    return TableColumn(KEY, "bigint", pa.int64())


def _rows() -> TableColumn:
    return TableColumn(ROWS, "bigint", pa.int64())


def _text(name: str) -> TableColumn:
    return TableColumn(name, "text", pa.string())
