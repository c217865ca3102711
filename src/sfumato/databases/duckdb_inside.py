"""Work inside a database file of DuckDB: by an instance in this process, whose memory is bounded, in one transaction that sees the file in one state.

The copy and the decision are temporary tables, which wait in the private folder of the run and never get into the file; only the release does. Its
rows are put in order after the last join: one that goes beyond memory would bring rows of one cell together, and tell those of a class apart by it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from sfumato.databases.duckdb_connection import DuckdbConnection, refuse_names
from sfumato.databases.duckdb_types import bytewise, called, is_of_two_halves, is_text, known_person, quoted_name, readable, selected
from sfumato.databases.inside import KEY, NUMBER, PRINT, ROWS, Computed, Decided, Layout, grouped_by, limited, listed
from sfumato.databases.table import TableColumn, TableName
from sfumato.databases.unpublishable import refuse_unpublishable
from sfumato.errors import UnreachableError

_SEED, _PLACE = "getvariable('sfumato_seed')", "sfumato_place"


class DuckdbInside:
    """A table of DuckDB that is worked on where it is."""

    def __init__(self, connection: DuckdbConnection, layout: Layout, target: TableName) -> None:
        self._connection, self._layout = connection, layout
        self._table = connection.quoted(connection.placed(layout.table))
        self._rows, self._classes, self._labels = (connection.temporary_name() for _ in range(3))
        self._kept = {column.name: f"k{place}" for place, column in enumerate(layout.copied)}
        # nobody's, so that nobody can make two cells with one key, or know the order of the rows; no statement holds it
        connection.do("SET VARIABLE sfumato_seed = $1", [secrets.token_hex(32)])
        del target

    def take_up(self) -> bool:
        """Find nothing: the copy is temporary, and goes with the process."""
        return False

    def take(self) -> None:
        """Copy what is published as it is, with the key of each row's cell and a number."""
        kept = [f"{quoted_name(name)} AS {short}" for name, short in self._kept.items()]
        key = self._hash([(column, quoted_name(column.name)) for column in self._layout.counted])
        chosen = listed([f"{key} AS {KEY}", f"row_number() OVER () AS {_PLACE}", *kept])
        copied = f"SELECT {chosen} FROM {self._table}"
        if self._layout.numbered:
            copied = f"SELECT i.*, row_number() OVER (PARTITION BY {KEY} ORDER BY {self._by_chance('i')}) AS {NUMBER} FROM ({copied}) i"
        self._connection.do(f"CREATE TEMPORARY TABLE {self._private(self._rows)} AS {copied}")
        refuse_unpublishable(self._connection, "duckdb", self._private(self._rows), self._layout, self._kept)

    def _by_chance(self, row: str) -> str:
        """Return what rows are ordered by."""
        return f"md5_number({_SEED} || {row}.{_PLACE})"

    def cells(self, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Group the table itself: the transaction sees it as it was copied, and what the copy became is held against it."""
        columns = [(column, f"c{place}") for place, column in enumerate(self._layout.counted)]
        chosen = listed([KEY, ROWS, PRINT, *(readable(column, name) for column, name in columns)])
        query = f"SELECT {chosen} FROM ({self._grouped()}) g{limited(most)}"
        read = pa.Table.from_batches(
            self._connection.select(query, [_key(), _rows(), _text(PRINT), *self._layout.counted]),
            pa.schema(
                [(KEY, pa.uint64()), (ROWS, pa.int64()), (PRINT, pa.string()), *((column.name, column.kind) for column in self._layout.counted)]
            ),
        )
        keys = read.column(0)
        if len(keys.unique()) < len(keys):
            raise _shared_keys()
        yield from read.combine_chunks().to_batches()

    def _grouped(self) -> str:
        """Return the cells: their keys, rows and prints, and their values bytewise."""
        columns = [(column, f"c{place}") for place, column in enumerate(self._layout.counted)]
        values = [f"{bytewise(column, _of_source(column.name))} AS {name}" for column, name in columns]
        key = self._hash([(column, _of_source(column.name)) for column, _ in columns])
        inner = (
            f"SELECT {listed([f'{key} AS {KEY}', f'{self._printed(_of_source)} AS {PRINT}', *values])} FROM {self._layout.beside(f'{self._table} s')}"
        )
        names = [KEY, *(name for _, name in columns)]
        return f"SELECT {listed(names)}, count(*) AS {ROWS}, {self._sum()} AS {PRINT} FROM ({inner}) s GROUP BY {listed(names)}"

    def occurrences(self, column: TableColumn) -> tuple[int, int]:
        """Count the values of a column."""
        subject = self._layout.subject
        person = "0" if subject is None else self._hash([(subject, known_person(subject, self._kept[subject.name]))])
        people = "count(*)" if subject is None else "CASE WHEN min(p) = max(p) THEN 1 ELSE 2 END"
        return self._occurring(self._private(self._rows), column, self._kept[column.name], person, people)

    def _occurring(self, table: str, column: TableColumn, name: str, person: str = "0", people: str = "count(*)") -> tuple[int, int]:
        values = f"SELECT {bytewise(column, name)} AS v, {person} AS p FROM {table} WHERE {name} IS NOT NULL"
        grouped = f"SELECT {people} AS n FROM ({values}) s GROUP BY v"
        batches = self._connection.select(f"SELECT count(*), count(*) FILTER (WHERE n = 1) FROM ({grouped}) g", [_rows(), _rows()])
        ((distinct, once),) = [row for batch in batches for row in zip(*(part.to_pylist() for part in batch.columns), strict=True)]
        return distinct, once

    def decide(self, classes: Decided, labels: pa.RecordBatch) -> None:
        """Load both tables."""
        for table, decided in ((self._classes, classes), (self._labels, Decided.of(labels))):
            self._brought(table, decided)

    def _brought(self, table: TableName, decided: Decided) -> None:
        columns = listed(f"{quoted_name(field.name)} {called(field)}" for field in decided.schema)
        self._connection.do(f"CREATE TEMPORARY TABLE {self._private(table)} ({columns})")
        for batch in decided.batches():
            self._connection.load(table, batch)

    # --- a bench for cells that are too many to be read: temporary tables, which are in no file but those of this process ---

    @property
    def key(self) -> TableColumn:
        """How keys are read."""
        return _key()

    def decided_classes(self) -> str:
        """The table of what was decided."""
        return self._private(self._classes)

    def kept_cells(self) -> str:
        """Group the table itself, and keep what comes of it; no two cells may have one key."""
        cells = self.keep(self._grouped())
        (found,) = self.ask(f"SELECT count(*), count(DISTINCT {KEY}) FROM {cells}", [_rows(), _rows()])
        if found.column(0) != found.column(1):
            raise _shared_keys()
        return cells

    def value(self, place: int, name: str) -> str:
        """Return a value, which is bytewise, as it is read."""
        return readable(self._layout.counted[place], name)

    def value_key(self, place: int, name: str) -> str:
        """Hash a value as those of rows are hashed."""
        column = self._layout.counted[place]
        return f"hash({_SEED}, {_told_apart(column, readable(column, name))})"

    def whole(self, expression: str) -> str:
        """Return a sum, which is of a wider type, as a whole number."""
        return f"CAST({expression} AS BIGINT)"

    def keep(self, query: str) -> str:
        """Make a temporary table."""
        table = self._private(self._connection.temporary_name())
        self._connection.do(f"CREATE TEMPORARY TABLE {table} AS {query}")
        return table

    def bring(self, table: pa.Table) -> str:
        """Load a table."""
        name = self._connection.temporary_name()
        self._brought(name, Decided(table.schema, table.num_rows, lambda: iter(table.to_batches())))
        return self._private(name)

    def forget(self, table: str) -> None:
        """Drop a table."""
        self._connection.do(f"DROP TABLE {table}")

    def ask(self, query: str, columns: Sequence[TableColumn], large: bool = False) -> Iterator[pa.RecordBatch]:
        """Read what a query gives, some rows at a time."""
        del large
        return self._connection.select(query, columns)

    def stage(self, target: TableName, columns: Sequence[tuple[str, int | None]]) -> TableName:
        """Join the copy with the decision, and put the rows in an order that chance decides."""
        refuse_names([name for name, _ in columns])
        staged = self._connection.staged_name(target)
        computed = {each.column.name: _typed(each.column, each.sql(self._of_copy)) for each in self._layout.computed}
        chosen = listed(
            f"{computed.get(name) or self._as_released(name) if text is None else f'l.t{text}'} AS {quoted_name(name)}" for name, text in columns
        )
        joined = self._layout.beside(f"{self._published} JOIN {self._private(self._labels)} l USING (class)")
        self._connection.do(f"CREATE TABLE {self._connection.quoted(staged)} AS SELECT {chosen} FROM {joined} ORDER BY {self._by_chance('r')}")
        return staged

    @property
    def _published(self) -> str:
        return f"{self._private(self._rows)} r JOIN {self._private(self._classes)} c ON c.{KEY} = r.{KEY}{self._layout.dealt('r', 'c')}"

    def dealt(self) -> Iterator[pa.RecordBatch]:
        """Group what is published of the copy by cells and classes."""
        inner = f"SELECT r.{KEY}, c.class, {self._printed(self._of_copy)} AS {PRINT} FROM {self._layout.beside(self._published)}"
        query = f"SELECT {KEY}, class, count(*), {self._sum()} FROM ({inner}) d GROUP BY {KEY}, class"
        return self._connection.select(query, [_key(), _rows(), _rows(), _text(PRINT)])

    def shown(self, staged: TableName, texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Group what is staged by its own text."""
        shown = [_text(name) for name in texts] + self._layout.watched
        columns = [(column, f"c{place}") for place, column in enumerate(shown)]
        values = [f"{bytewise(column, quoted_name(column.name))} AS {name}" for column, name in columns]
        printed = self._hash([(column, quoted_name(column.name)) for column in self._layout.released])
        names = [name for _, name in columns]
        inner = f"SELECT {listed([*values, f'{printed} AS {PRINT}'])} FROM {self._connection.quoted(staged)}"
        sums = [f"count(*) AS {ROWS}", f"{self._sum()} AS {PRINT}"]
        grouped = f"SELECT {listed([*names, *sums])} FROM ({inner}) s{grouped_by(names)}"
        query = f"SELECT {listed([*(readable(column, name) for column, name in columns), ROWS, PRINT])} FROM ({grouped}) g"
        return self._connection.select(query, [*shown, _rows(), _text(PRINT)])

    def pairs(self, computed: Computed) -> Iterator[pa.RecordBatch]:
        """Group what is published of the copy by what a column is made of, and by what it becomes."""
        read = {column.name: column for column in self._layout.copied}
        inputs = [(read[name], self._of_copy(name)) for name in computed.reads]
        values = [*inputs, (computed.column, _typed(computed.column, computed.sql(self._of_copy)))]
        columns = [(column, f"c{place}") for place, (column, _) in enumerate(values)]
        names = listed(name for _, name in columns)
        inner = listed(f"{bytewise(column, expression)} AS {name}" for (column, expression), (_, name) in zip(values, columns, strict=True))
        grouped = f"SELECT {names}, count(*) AS {ROWS} FROM (SELECT {inner} FROM {self._layout.beside(self._published)}) s GROUP BY {names}"
        query = f"SELECT {listed([*(readable(column, name) for column, name in columns), ROWS])} FROM ({grouped}) g"
        return self._connection.select(query, [*(column for column, _ in columns), _rows()])

    def values(self, staged: TableName, column: TableColumn) -> tuple[int, int]:
        """Count the values of a column of the release."""
        return self._occurring(self._connection.quoted(staged), column, quoted_name(column.name))

    def fewest(self, staged: TableName, texts: Sequence[str], column: TableColumn) -> int:
        """Group what is staged by its text and by a value, and then by its text alone."""
        key = self._hash([(_text(name), quoted_name(name)) for name in texts])
        inner = f"SELECT {key} AS {KEY}, {bytewise(column, quoted_name(column.name))} AS v FROM {self._connection.quoted(staged)}"
        each = f"SELECT {KEY}, v, count(*) AS n FROM ({inner}) i GROUP BY {KEY}, v"
        summed = f"SELECT sum(CASE WHEN v IS NULL THEN n ELSE 1 END) AS n FROM ({each}) e GROUP BY {KEY}"
        (batch,) = self._connection.select(f"SELECT CAST(coalesce(min(n), 0) AS BIGINT) FROM ({summed}) s", [_rows()])
        return int(batch.column(0)[0].as_py())

    def publish(self, staged: TableName, target: TableName) -> None:
        """Rename what is staged, and let others see it; what is temporary goes with the session."""
        self._connection.publish(staged, target)
        self._connection.commit()
        self.close()

    def close(self) -> None:
        """Undo what was not published."""
        self._connection.__exit__(None, None, None)

    def _private(self, table: TableName) -> str:
        return quoted_name(table.name)

    def _hash(self, columns: Sequence[tuple[TableColumn, str]]) -> str:
        """Return a number that is the same for the same values, and for texts of the same bytes; of no columns a constant."""
        return f"hash({listed([_SEED, *(_told_apart(column, selected(column, name)) for column, name in columns)])})"

    def _as_released(self, name: str) -> str:
        """Return a kept value: that of an enumeration as text, for its type would tell all that it lists, in whatever rows."""
        is_listed = any(column.name == name and column.called == "ENUM" for column in self._layout.copied)
        return f"CAST({self._of_copy(name)} AS VARCHAR)" if is_listed else self._of_copy(name)

    def _of_copy(self, name: str) -> str:
        return f"r.{self._kept[name]}"

    def _printed(self, refer: Callable[[str], str]) -> str:
        """Return the fingerprint of what is published of a row and not counted."""
        computed = {each.column.name for each in self._layout.computed}
        return self._hash([(column, _typed(column, sql) if column.name in computed else sql) for column, sql in self._layout.prints(refer)])

    def _sum(self) -> str:
        """Return the sum of fingerprints, which is the same in any order of the rows."""
        return f"CAST(sum({PRINT}) AS VARCHAR)" if self._layout.released else "'0'"


def _of_source(name: str) -> str:
    return f"s.{quoted_name(name)}"


def _told_apart(column: TableColumn, value: str) -> str:
    """Return what a value is hashed by. Of 128 bits the server hashes both halves and takes their difference, which is the same for 0 and -1."""
    if is_text(column):
        return f"{_SEED} || {value}"
    return f"{_SEED} || CAST({value} AS VARCHAR)" if is_of_two_halves(column) else value


def _typed(column: TableColumn, expression: str) -> str:
    """Return an expression in the type that a column of the release has."""
    return f"CAST({expression} AS {called(pa.field(column.name, column.kind))})"


def _shared_keys() -> UnreachableError:
    return UnreachableError("two cells have one key by chance; nothing has been published", code="database-keys", hint="run again")


def _key() -> TableColumn:
    return TableColumn(KEY, "UBIGINT", pa.uint64())


def _rows() -> TableColumn:
    return TableColumn(ROWS, "BIGINT", pa.int64())


def _text(name: str) -> TableColumn:
    return TableColumn(name, "VARCHAR", pa.string())
