"""Work inside MySQL and MariaDB, with temporary tables, which nobody else sees and which go with the session.

The copy is made by one statement, which sees the table in one state; statements that follow would see what others have written since, and read only
the copy. Keys are the beginnings of SHA-256 hashes: these servers group by one short text faster than by many columns, and their rules of when texts
are equal do not matter then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.databases.inside import KEY, PRINT, ROWS, Layout, labels_named, listed
from sfumato.databases.mysql import MysqlConnection
from sfumato.databases.mysql_types import quoted, quoted_name, selected
from sfumato.databases.table import TableColumn, TableName

_DIGITS = 24
_KEY = f"{KEY} CHAR({_DIGITS}) CHARACTER SET ascii COLLATE ascii_bin NOT NULL"
_ROW = "sfumato_row BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY"
_MEMORY = 128 << 20
_SHORT = 255


class MysqlInside:
    """A table of MySQL or MariaDB that is worked on where it is."""

    def __init__(self, connection: MysqlConnection, layout: Layout, target: TableName) -> None:
        self._connection, self._layout = connection, layout
        names = [column.name for column in (*layout.counted, *layout.kept)]
        self._rows, self._cells, self._classes, self._labels = (connection.staged_name(target) for _ in range(4))
        connection.reserve(self._rows, names)
        self._counted = {column.name: f"c{place}" for place, column in enumerate(layout.counted)}
        self._kept = {column.name: f"k{place}" for place, column in enumerate(layout.kept)}
        # reads what was written before the statement began, and locks nothing
        connection.do("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        connection.do(f"SET SESSION tmp_table_size = {_MEMORY}, max_heap_table_size = {_MEMORY}")

    def take(self) -> None:
        """Copy the columns, with the key of each row's cell."""
        counted = [f"{quoted_name(name)} AS {short}" for name, short in self._counted.items()]
        kept = [f"{quoted_name(name)} AS {short}" for name, short in self._kept.items()]
        key = _digest([_part(column, quoted_name(column.name)) for column in self._layout.counted])
        select = f"SELECT {listed([f'{key} AS {KEY}', *counted, *kept])} FROM {quoted(self._connection.placed(self._layout.table))}"
        self._connection.do(f"CREATE TEMPORARY TABLE {quoted(self._rows)} ({_ROW}, {_KEY}) {select} ORDER BY RAND()")

    def cells(self) -> Iterator[pa.RecordBatch]:
        """Group the copy by its keys; all rows of a cell have the same values, and one of them tells them."""
        grouped = f"SELECT {KEY}, COUNT(*) AS {ROWS}, MIN(sfumato_row) AS sfumato_row FROM {quoted(self._rows)} GROUP BY {KEY}"
        self._connection.do(f"CREATE TEMPORARY TABLE {quoted(self._cells)} {grouped}")
        values = [selected(column, f"r.{self._counted[column.name]}") for column in self._layout.counted]
        joined = f"{quoted(self._cells)} c JOIN {quoted(self._rows)} r ON r.sfumato_row = c.sfumato_row"
        query = f"SELECT STRAIGHT_JOIN {listed([f'c.{KEY}', f'c.{ROWS}', *values])} FROM {joined}"
        return self._connection.select(query, [_text(KEY), _rows(), *self._layout.counted])

    def occurrences(self, column: TableColumn) -> tuple[int, int]:
        """Count the values of a column."""
        name = self._kept[column.name]
        key = _digest([_part(column, name)])
        grouped = f"SELECT COUNT(*) AS n FROM {quoted(self._rows)} WHERE {name} IS NOT NULL GROUP BY {key}"
        batches = self._connection.select(f"SELECT COUNT(*), CAST(COALESCE(SUM(n = 1), 0) AS SIGNED) FROM ({grouped}) s", [_rows(), _rows()])
        ((distinct, once),) = [row for batch in batches for row in zip(*(part.to_pylist() for part in batch.columns), strict=True)]
        return distinct, once

    def decide(self, classes: pa.RecordBatch, labels: pa.RecordBatch) -> None:
        """Load both tables."""
        named = labels_named(labels)
        texts = [f"t{place} {_type(column)}" for place, column in enumerate(labels.columns)]
        for table, batch, columns in (
            (self._classes, classes, [_KEY, "class INT NOT NULL", f"PRIMARY KEY ({KEY})"]),
            (self._labels, named, ["class INT NOT NULL PRIMARY KEY", *texts]),
        ):
            made = f"CREATE TEMPORARY TABLE {quoted(table)} ({listed(columns)}) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
            self._connection.do(made)
            self._connection.load(table, batch)
            self._connection.loaded(table)

    def stage(self, target: TableName, columns: Sequence[tuple[str, int | None]]) -> TableName:
        """Join the copy with the decision, in the order of the copy."""
        staged = self._connection.staged_name(target)
        self._connection.reserve(staged, [name for name, _ in columns])
        chosen = listed(f"{f'r.{self._kept[name]}' if text is None else f'l.t{text}'} AS {quoted_name(name)}" for name, text in columns)
        joined = f"{quoted(self._rows)} r JOIN {quoted(self._classes)} c ON c.{KEY} = r.{KEY} JOIN {quoted(self._labels)} l ON l.class = c.class"
        made = f"CREATE TABLE {quoted(staged)} DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        self._connection.do(f"{made} SELECT STRAIGHT_JOIN {chosen} FROM {joined}")
        return staged

    def shown(self, staged: TableName, texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Group what is staged by a hash of its own text; all rows of a group have the same."""
        watched = self._layout.watched
        parts = [_written(quoted_name(name)) for name in texts] + [_part(column, quoted_name(column.name)) for column in watched]
        values = [f"MIN({quoted_name(name)})" for name in texts] + [f"MIN({selected(column)})" for column in watched]
        printed = self._print([quoted_name(column.name) for column in self._layout.printed])
        query = f"SELECT {listed([*values, 'COUNT(*)', printed])} FROM {quoted(staged)} GROUP BY {_digest(parts)}"
        return self._connection.select(query, [*(_text(name) for name in texts), *watched, _rows(), _text(PRINT)])

    def counted_again(self) -> Iterator[pa.RecordBatch]:
        """Group the copy by its keys."""
        printed = self._print([self._kept[column.name] for column in self._layout.printed])
        query = f"SELECT {KEY}, COUNT(*), {printed} FROM {quoted(self._rows)} GROUP BY {KEY}"
        return self._connection.select(query, [_text(KEY), _rows(), _text(PRINT)])

    def publish(self, staged: TableName, target: TableName) -> None:
        """Rename what is staged; what is temporary goes with the session."""
        self._connection.publish(staged, target)
        self._connection.commit()
        self.close()

    def close(self) -> None:
        """Remove what was staged and not published."""
        self._connection.__exit__(None, None, None)

    def _print(self, names: Sequence[str]) -> str:
        """Return the sum of fingerprints, which is the same in any order of the rows."""
        if not names:
            return "'0'"
        parts = [_part(column, name) for column, name in zip(self._layout.printed, names, strict=True)]
        return f"CAST(SUM(CAST(CONV(LEFT({_digest(parts)}, 15), 16, 10) AS UNSIGNED)) AS CHAR)"


def _type(texts: pa.Array) -> str:
    """Return the type of a column of texts: what is long must be put on the disk wherever it is grouped."""
    longest = pc.max(pc.utf8_length(texts)).as_py() or 0
    return f"varchar({_SHORT})" if longest <= _SHORT else "longtext"


def _digest(parts: Sequence[str]) -> str:
    """Return the key of some values: each with its length, so that no two rows of values are written alike."""
    return f"LEFT(SHA2(CONCAT({listed(parts)}), 256), {_DIGITS})"


def _part(column: TableColumn, name: str) -> str:
    # the text of a float has fewer digits than tell two of them apart
    return _written(f"CAST({name} AS DOUBLE)" if column.kind == pa.float32() else name)


def _written(expression: str) -> str:
    text = f"CAST({expression} AS CHAR CHARACTER SET utf8mb4)"
    return f"COALESCE(CONCAT(LENGTH({text}), ':', {text}), '-')"


def _rows() -> TableColumn:
    return TableColumn(ROWS, "bigint", pa.int64())


def _text(name: str) -> TableColumn:
    return TableColumn(name, "longtext", pa.string())
