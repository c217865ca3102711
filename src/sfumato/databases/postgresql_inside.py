"""Work inside PostgreSQL: all of it in one transaction that sees the database in one state, with tables that nobody else ever sees."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

import pyarrow as pa

from sfumato.databases.inside import KEY, PRINT, ROWS, Layout, labels_named, listed
from sfumato.databases.postgresql import PostgresqlConnection
from sfumato.databases.postgresql_types import bytewise, called, quoted, quoted_name
from sfumato.databases.table import TableColumn, TableName

_MEMORY = "128MB"


class PostgresqlInside:
    """A table of PostgreSQL that is worked on where it is."""

    def __init__(self, connection: PostgresqlConnection, layout: Layout, target: TableName) -> None:
        self._connection, self._layout = connection, layout
        # the seed is nobody's, so that nobody can make two cells with one key
        self._seed = secrets.randbits(62)
        self._rows, self._classes, self._labels = (connection.staged_name(target) for _ in range(3))
        self._kept = {column.name: f"k{place}" for place, column in enumerate(layout.kept)}
        connection.do("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        # the server cannot guess how many cells there are, and would rather sort all rows than group them
        for setting in (f"work_mem = '{_MEMORY}'", "enable_sort = off"):
            connection.do(f"SET LOCAL {setting}")

    def take(self) -> None:
        """Copy what is published as it is, with the key of each row's cell."""
        kept = [f"{quoted_name(column.name)} AS {self._kept[column.name]}" for column in self._layout.kept]
        inner = f"SELECT {listed([f'{self._hash(self._counted())} AS {KEY}', *kept])} FROM {quoted(self._layout.table)}"
        self._connection.do(f"CREATE UNLOGGED TABLE {quoted(self._rows)} AS {inner} ORDER BY random()")

    def cells(self) -> Iterator[pa.RecordBatch]:
        """Group the table itself: the transaction sees it as it was copied."""
        names = [f"c{place}" for place in range(len(self._layout.counted))]
        inner = listed(f"{expression} AS {name}" for expression, name in zip(self._counted(), names, strict=True))
        grouped = f"SELECT {listed(names)}, count(*) AS {ROWS} FROM (SELECT {inner} FROM {quoted(self._layout.table)}) s GROUP BY {listed(names)}"
        query = f"SELECT {self._hash(names)}, {ROWS}, {listed(names)} FROM ({grouped}) g"
        return self._connection.select(query, [_key(), _rows(), *self._layout.counted])

    def occurrences(self, column: TableColumn) -> tuple[int, int]:
        """Count the values of a column."""
        name = self._kept[column.name]
        grouped = f"SELECT count(*) AS n FROM {quoted(self._rows)} WHERE {name} IS NOT NULL GROUP BY {bytewise(column, name)}"
        batches = self._connection.select(f"SELECT count(*), count(*) FILTER (WHERE n = 1) FROM ({grouped}) s", [_rows(), _rows()])
        ((distinct, once),) = [row for batch in batches for row in zip(*(part.to_pylist() for part in batch.columns), strict=True)]
        return distinct, once

    def decide(self, classes: pa.RecordBatch, labels: pa.RecordBatch) -> None:
        """Load both tables, and let the server look at them."""
        for table, batch in ((self._classes, classes), (self._labels, labels_named(labels))):
            columns = listed(f"{quoted_name(field.name)} {called(field)}" for field in batch.schema)
            self._connection.do(f"CREATE UNLOGGED TABLE {quoted(table)} ({columns})")
            self._connection.load(table, batch)
            self._connection.do(f"ANALYZE {quoted(table)}")

    def stage(self, target: TableName, columns: Sequence[tuple[str, int | None]]) -> TableName:
        """Join the copy with the decision."""
        staged = self._connection.staged_name(target)
        chosen = listed(f"{f'r.{self._kept[name]}' if text is None else f'l.t{text}'} AS {quoted_name(name)}" for name, text in columns)
        joined = f"{quoted(self._rows)} r JOIN {quoted(self._classes)} c USING ({KEY}) JOIN {quoted(self._labels)} l USING (class)"
        self._connection.do(f"CREATE TABLE {quoted(staged)} AS SELECT {chosen} FROM {joined}")
        return staged

    def shown(self, staged: TableName, texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Group what is staged by its own text."""
        watched = self._layout.watched
        grouped = [f'{quoted_name(name)} COLLATE "C"' for name in texts] + [bytewise(column, quoted_name(column.name)) for column in watched]
        places = listed(str(place + 1) for place in range(len(grouped)))
        printed = self._print([quoted_name(column.name) for column in self._layout.printed])
        query = f"SELECT {listed([*grouped, 'count(*)', printed])} FROM {quoted(staged)} GROUP BY {places}"
        return self._connection.select(query, [*(_text(name) for name in texts), *watched, _rows(), _text(PRINT)])

    def counted_again(self) -> Iterator[pa.RecordBatch]:
        """Group the copy by its keys."""
        printed = self._print([self._kept[column.name] for column in self._layout.printed])
        return self._connection.select(f"SELECT {KEY}, count(*), {printed} FROM {quoted(self._rows)} GROUP BY {KEY}", [_key(), _rows(), _text(PRINT)])

    def publish(self, staged: TableName, target: TableName) -> None:
        """Drop what is private, rename what is staged, and let others see it."""
        for table in (self._rows, self._classes, self._labels):
            self._connection.do(f"DROP TABLE {quoted(table)}")
        self._connection.publish(staged, target)
        self._connection.commit()
        self.close()

    def close(self) -> None:
        """Undo what was not published."""
        self._connection.__exit__(None, None, None)

    def _counted(self) -> list[str]:
        return [bytewise(column, quoted_name(column.name)) for column in self._layout.counted]

    def _hash(self, expressions: Sequence[str]) -> str:
        return f"hash_record_extended(ROW({listed(expressions)}), {self._seed})"

    def _print(self, names: Sequence[str]) -> str:
        """Return the sum of fingerprints, which is the same in any order of the rows."""
        if not names:
            return "'0'"
        columns = zip(self._layout.printed, names, strict=True)
        return f"sum(hash_record_extended(ROW({listed(bytewise(column, name) for column, name in columns)}), 0))::text"


def _key() -> TableColumn:
    return TableColumn(KEY, "bigint", pa.int64())


def _rows() -> TableColumn:
    return TableColumn(ROWS, "bigint", pa.int64())


def _text(name: str) -> TableColumn:
    return TableColumn(name, "text", pa.string())
