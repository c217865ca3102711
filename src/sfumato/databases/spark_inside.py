"""Work inside Spark: the copy, the staged release and all that is counted stay with its workers, in Parquet files of a private folder.

A frame is computed anew whenever somebody looks at it, from tables that others write to. So the source is read once, into files, and nothing else is
looked at afterwards. Each row there has a number by chance, of which no plan of Spark tells a seed; by these the release is dealt out and sorted.
Queries are few: each costs Spark about a second, however small it is.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from sfumato.core.column_types import refuse_damaged_text
from sfumato.databases.inside import FIRST, KEY, LAST, NUMBER, PRINT, ROWS, Computed, Decided, Layout
from sfumato.databases.left_copy import beginning_of, sealed, unsealed
from sfumato.databases.spark_connection import SparkConnection, as_spark
from sfumato.databases.spark_copy import in_pieces
from sfumato.databases.spark_files import files_of
from sfumato.databases.spark_prints import counted, fingerprint, printed
from sfumato.databases.spark_release import publish, refuse_place
from sfumato.databases.spark_session import spark_errors
from sfumato.databases.spark_table import SparkTable
from sfumato.databases.spark_types import bytewise, called, typed
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import UnreachableError

_ORDER = "sfumato_order"
# UUIDs come from the generator of keys; rand() would write its seed into the plan, and so into logs
_CHANCE = "xxhash64(reflect('java.util.UUID', 'randomUUID'))"
_SENT_TO_ALL = 10_000_000
_AT_ONCE = 1 << 17
_ROWS, _COPY = "rows", "_copy"


class SparkInside:
    """A table of Spark that is worked on where it is."""

    def __init__(self, connection: SparkConnection, layout: Layout, target: TableName) -> None:
        self._connection, self._session, self._layout = connection, connection.session, layout
        self._target = as_spark(target)
        refuse_place(connection, self._target)
        self._seed = secrets.randbits(62)
        self._folder = ""
        self._identity = beginning_of(connection.identity(layout.table), layout.identity, target)
        columns = list(dict.fromkeys([*layout.counted, *layout.copied]))
        self._short = {column.name: f"c{place}" for place, column in enumerate(columns)}
        self._columns = columns
        self._made = {each.column.name: f"m{place}" for place, each in enumerate(layout.computed)}
        self._classes: Any = None
        self._labels: Any = None
        self._views: list[str] = []
        self._occurrences: dict[str, tuple[int, int]] | None = None

    def take_up(self) -> bool:
        """Go on with the copy that a run has left beside the path of its release, where it was whole and is of the same columns."""
        folder = self._connection.left_by_the_dead(self._target) if self._connection.identity(self._layout.table) is not None else None
        if folder is None:
            return False
        files, uri = files_of(self._session, folder)
        words = unsealed(self._target, files.read(f"{uri}/{_COPY}") or "")
        identity, _, seed = (words or "").partition(" ")
        if identity != self._identity:
            self._connection.leave()
            return False
        for name in files.names(uri):
            if name not in (_COPY, _ROWS):
                files.remove(f"{uri}/{name}")
        self._folder, self._seed = folder, int(seed)
        return True

    def take(self) -> None:
        """Write the columns to private files, with the key of each row's cell and a number by chance; then note that all of them are there."""
        from pyspark.sql import functions

        self._folder = self._connection.private(self._target)
        with spark_errors(str(self._layout.table)):
            names = [column.name for column in self._connection.columns(self._layout.table)]
            frame = self._connection.frame(self._layout.table)
            copied = [bytewise(column, functions.col(f"s{names.index(column.name)}")).alias(self._short[column.name]) for column in self._columns]
            key = fingerprint(self._seed, [self._short[column.name] for column in self._layout.counted]).alias(KEY)
            chance = functions.expr(_CHANCE).alias(_ORDER)
            rows = frame.select(*copied).select("*", key, chance)
            if self._layout.numbered:
                rows = rows.select("*", functions.expr(f"row_number() OVER (PARTITION BY {KEY} ORDER BY {_ORDER})").alias(NUMBER))
            rows.write.parquet(f"{self._folder}/{_ROWS}")
        files, uri = files_of(self._session, self._folder)
        files.write(f"{uri}/{_COPY}", sealed(self._target, f"{self._identity} {self._seed}"))

    def _masked(self, rows: Any) -> Any:
        """Return rows with what masks make of them."""
        if not self._made:
            return rows
        made = [
            f"CAST({each.sql(self._of_copy)} AS {called(each.column.kind or pa.string())}) AS {self._made[each.column.name]}"
            for each in self._layout.computed
        ]
        return self._session.sql(f"SELECT r.*, {', '.join(made)} FROM {self._layout.beside(f'{self._called(rows)} r')}")

    def _of_copy(self, name: str) -> str:
        return f"r.{self._short[name]}"

    @property
    def _prints(self) -> list[str]:
        """What fingerprints are of, as columns of the copy."""
        return [*(self._short[column.name] for column in self._layout.printed), *self._made.values()]

    def cells(self, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Group the copy by its keys and values."""
        with spark_errors(str(self._layout.table)):
            grouped = self._grouped()
            found = (grouped if most is None else grouped.limit(most + 1)).toArrow()
        cells = refuse_damaged_text(typed(found, [_number(KEY), _number(ROWS), _text(PRINT), *self._layout.counted]), str(self._layout.table))
        refuse_shared_keys(cells.column(0))
        yield cells

    def _grouped(self) -> Any:
        names = [self._short[column.name] for column in self._layout.counted]
        return self._rows().groupBy(KEY, *names).agg(counted(), printed(self._prints)).select(KEY, ROWS, PRINT, *names)

    def occurrences(self, column: TableColumn) -> tuple[int, int]:
        """Count the values of all columns that are only kept, at once; 64 bits tell values apart well enough to count them."""
        if self._occurrences is None:
            self._occurrences = self._counted_values()
        return self._occurrences[column.name]

    def decide(self, classes: Decided, labels: pa.RecordBatch) -> None:
        """Hand both tables to Spark."""
        number, *texts = labels.columns
        told = pa.RecordBatch.from_arrays([number, *(column.cast(pa.string()) for column in texts)], names=labels.schema.names)
        schema = f"{KEY} bigint, class int{f', {FIRST} bigint, {LAST} bigint' if self._layout.numbered else ''}"
        with spark_errors("the classes"):
            batches = list(classes.batches()) if classes.rows <= _SENT_TO_ALL else []
            if len(batches) == 1:
                self._classes = self._sent(batches[0], schema)
            else:
                folder = f"{self._folder}/classes"
                for batch in classes.batches():
                    self._session.createDataFrame(pa.Table.from_batches([batch]), schema=schema).write.mode("append").parquet(folder)
                self._classes = self._read(folder)
            self._labels = self._sent(told, ", ".join(["class int", *(f"t{place} string" for place in range(len(texts)))]))

    # --- a bench for cells that are too many to be read: Parquet files of the private folder, each a view of the session ---

    @property
    def key(self) -> TableColumn:
        """How keys are read."""
        return _number(KEY)

    def decided_classes(self) -> str:
        """The table of what was decided."""
        return self._called(self._classes)

    def kept_cells(self) -> str:
        """Group the copy, and keep what comes of it; no two cells may have one key."""
        cells = self._kept(self._grouped())
        with spark_errors("the cells"):
            ((number, keys),) = self._session.sql(f"SELECT count(*), count(DISTINCT {KEY}) FROM {cells}").collect()
        if number != keys:
            raise _shared_keys()
        return cells

    def value(self, place: int, name: str) -> str:
        """Return the value itself: it is as it is read."""
        del place
        return name

    def value_key(self, place: int, name: str) -> str:
        """Hash a value as those of rows are hashed."""
        del place
        return f"xxhash64(CAST({self._seed} AS BIGINT), {name} IS NULL, {name})"

    def whole(self, expression: str) -> str:
        """Return a sum: that of whole numbers is one."""
        return f"CAST({expression} AS BIGINT)"

    def keep(self, query: str) -> str:
        """Write what a query gives to files."""
        with spark_errors("the private tables"):
            return self._kept(self._session.sql(query))

    def bring(self, table: pa.Table) -> str:
        """Hand a table to Spark."""
        with spark_errors("the private tables"):
            return self._called(self._session.createDataFrame(table))

    def forget(self, table: str) -> None:
        """Remove a view; its files go with the folder."""
        self._session.catalog.dropTempView(table)
        self._views.remove(table)

    def ask(self, query: str, columns: Sequence[TableColumn], large: bool = False) -> Iterator[pa.RecordBatch]:
        """Read what a query gives; what may be large is written to files of bounded size, which are read one after another, in their order."""
        with spark_errors("the private tables"):
            answer = self._session.sql(query).toDF(*(f"a{place}" for place in range(len(columns))))
            if not large:
                yield typed(answer.toArrow(), columns)
                return
        yield from in_pieces(self._connection.session, answer, columns, f"{self._folder}/{secrets.token_hex(4)}", "the private tables")

    def _kept(self, frame: Any) -> str:
        folder = f"{self._folder}/{secrets.token_hex(4)}"
        frame.write.parquet(folder)
        return self._called(self._read(folder))

    def _called(self, frame: Any) -> str:
        name = f"sfumato_{secrets.token_hex(8)}"
        frame.createOrReplaceTempView(name)
        self._views.append(name)
        return name

    def stage(self, target: TableName, columns: Sequence[tuple[str, int | None]]) -> TableName:
        """Join the copy with the decision, deal the rows out to files by chance, and sort them by it there."""
        from pyspark.sql import functions

        with spark_errors(str(target)):
            of = self._short | self._made
            chosen = [functions.col(of[name] if text is None else f"t{text}").alias(f"p{place}") for place, (name, text) in enumerate(columns)]
            joined = self._published().join(self._labels, "class").select(_ORDER, *chosen)
            dealt = joined.repartition(_ORDER).sortWithinPartitions(_ORDER).drop(_ORDER)
            # under a name that workers of a dead run do not know, should they still write
            staged = f"{self._folder}/{secrets.token_hex(4)}"
            dealt.toDF(*(name for name, _ in columns)).write.parquet(staged)
        return SparkTable(staged, is_path=True)

    def _published(self) -> Any:
        joined = self._rows().join(self._classes, KEY)
        return joined.where(f"{NUMBER} BETWEEN {FIRST} AND {LAST}") if self._layout.numbered else joined

    def dealt(self) -> Iterator[pa.RecordBatch]:
        """Group what is published of the copy by cells and classes."""
        with spark_errors("the private copy"):
            found = self._published().groupBy(KEY, "class").agg(counted(), printed(self._prints)).toArrow()
        yield typed(found, [_number(KEY), _number("class"), _number(ROWS), _text(PRINT)])

    def shown(self, staged: TableName, texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Group what is staged by its own text."""
        watched = self._layout.watched
        with spark_errors("the staged release"):
            frame, of = self._staged(staged)
            groups = [of[name] for name in (*texts, *(column.name for column in watched))]
            grouped = frame.groupBy(*groups).agg(counted(), printed([of[column.name] for column in self._layout.released]))
            # no rows at all are no group either, by whatever they are grouped
            found = grouped.where(f"{ROWS} > 0").toArrow()
        yield typed(found, [*(_text(name) for name in texts), *watched, _number(ROWS), _text(PRINT)])

    def _staged(self, staged: TableName) -> tuple[Any, dict[str, str]]:
        """Return what is staged, and the short names of its columns."""
        frame = self._read(staged.name)
        of = {name: f"s{place}" for place, name in enumerate(frame.columns)}
        return frame.toDF(*of.values()), of

    def pairs(self, computed: Computed) -> Iterator[pa.RecordBatch]:
        """Group what is published of the copy by what a column is made of, and by what it became."""
        read = {column.name: column for column in self._columns}
        names = [*(self._short[name] for name in computed.reads), self._made[computed.column.name]]
        columns = [
            TableColumn(f"c{place}", "", column.kind) for place, column in enumerate([*(read[name] for name in computed.reads), computed.column])
        ]
        with spark_errors("the private copy"):
            answer = self._published().groupBy(*names).agg(counted())
            few = answer.limit(_AT_ONCE + 1).toArrow()
        if few.num_rows <= _AT_ONCE:
            yield refuse_damaged_text(typed(few, [*columns, _number(ROWS)]), str(self._layout.table))
        else:
            del few
            yield from in_pieces(self._session, answer, [*columns, _number(ROWS)], f"{self._folder}/{secrets.token_hex(4)}", "the private copy")

    def values(self, staged: TableName, column: TableColumn) -> tuple[int, int]:
        """Count the values of a column of the release."""
        with spark_errors("the staged release"):
            frame, of = self._staged(staged)
            each = frame.where(f"{of[column.name]} IS NOT NULL").groupBy(of[column.name]).agg(counted())
            ((distinct, once),) = each.selectExpr("count(*)", f"count_if({ROWS} = 1)").collect()
        return int(distinct), int(once)

    def fewest(self, staged: TableName, texts: Sequence[str], column: TableColumn) -> int:
        """Group what is staged by its text and by a value, and then by its text alone."""
        from pyspark.sql import functions

        with spark_errors("the staged release"):
            frame, of = self._staged(staged)
            value, groups = of[column.name], [of[name] for name in texts]
            each = frame.groupBy(*groups, value).agg(counted())
            summed = each.groupBy(*groups).agg(functions.expr(f"sum(IF({value} IS NULL, {ROWS}, 1)) AS n"))
            ((fewest,),) = summed.selectExpr("coalesce(min(n), 0)").collect()
        return int(fewest)

    def publish(self, staged: TableName, target: TableName) -> None:
        """Let the release take its place, and remove everything else."""
        publish(self._connection, staged.name, as_spark(target))
        self.close()

    def close(self) -> None:
        """Remove what is private; the session stays."""
        while self._views:
            self._session.catalog.dropTempView(self._views.pop())
        self._connection.__exit__(None, None, None)

    def _rows(self) -> Any:
        """Return the copy, with what masks make of it."""
        return self._masked(self._read(f"{self._folder}/{_ROWS}"))

    def _read(self, folder: str) -> Any:
        return self._session.read.option("__globPaths__", "false").parquet(folder)

    def _sent(self, batch: pa.RecordBatch, schema: str) -> Any:
        """Return a small table; it goes to every worker, unless it is too large for that."""
        from pyspark.sql import functions

        frame = self._session.createDataFrame(pa.Table.from_batches([batch]), schema=schema)
        return functions.broadcast(frame) if batch.num_rows <= _SENT_TO_ALL else frame

    def _person(self) -> Any:
        """Return whose a row is, as a number; the same of all where nothing says it."""
        from pyspark.sql import functions

        subject = self._layout.subject
        if subject is None:
            return functions.lit(0)
        whose = functions.col(self._short[subject.name])
        # an empty text is nobody, as a missing one is (``core.whose``)
        return fingerprint(self._seed, [functions.when(whose != "", whose) if subject.kind == pa.string() else whose])

    def _counted_values(self) -> dict[str, tuple[int, int]]:
        from pyspark.sql import functions

        columns = [column for column in self._layout.copied if column not in self._layout.counted]
        with spark_errors("the private copy"):
            pairs = [
                functions.struct(
                    functions.lit(place).alias("place"),
                    functions.when(functions.col(name).isNotNull(), functions.xxhash64(name)).alias("value"),
                    self._person().alias("person"),
                )
                for place, name in enumerate(self._short[column.name] for column in columns)
            ]
            each = self._rows().select(functions.explode(functions.array(*pairs)).alias("pair")).select("pair.place", "pair.value", "pair.person")
            people = counted() if self._layout.subject is None else functions.expr(f"IF(min(person) = max(person), 1, 2) AS {ROWS}")
            values = each.where("value IS NOT NULL").groupBy("place", "value").agg(people)
            once = functions.sum(functions.when(functions.col(ROWS) == 1, 1).otherwise(0))
            found = values.groupBy("place").agg(functions.count(functions.lit(1)), once).collect()
        told = {int(place): (int(distinct), int(alone)) for place, distinct, alone in found}
        return {column.name: told.get(place, (0, 0)) for place, column in enumerate(columns)}


def refuse_shared_keys(keys: pa.Array) -> None:
    """Refuse keys of which two are one: rows of two cells would be taken for those of one.

    >>> refuse_shared_keys(pa.array([1, 2]))
    """
    if len(keys.unique()) < len(keys):
        raise _shared_keys()


def _shared_keys() -> UnreachableError:
    return UnreachableError("two cells have one key by chance; nothing has been published", code="spark-keys", hint="run again")


def _number(name: str) -> TableColumn:
    return TableColumn(name, "bigint", pa.int64())


def _text(name: str) -> TableColumn:
    return TableColumn(name, "string", pa.string())
