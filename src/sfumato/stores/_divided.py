"""A table of a database whose cells are too many to be read: they are coded, counted and cut there, and read some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.elsewhere import FrequenciesElsewhere
from sfumato.core.examined import Cells
from sfumato.core.files import file_errors
from sfumato.core.interfaces import CountPlan, Dictionary
from sfumato.core.recoding import Recoding
from sfumato.core.workplace import Workplace
from sfumato.databases.bench import Bench
from sfumato.databases.fragments import Fragments, KeyedDictionary, decided_cells, dictionary_of
from sfumato.databases.inside import KEY, Decided, Inside, Layout
from sfumato.errors import PromiseError
from sfumato.stores._cells import cells_of


class DividedTable:
    """A table in one state: its cells and its rows are private tables of the database, and here are the dictionaries of its columns alone."""

    def __init__(self, inside: Inside, layout: Layout, most: int, workplace: Workplace) -> None:
        if not isinstance(inside, Bench):
            raise AssertionError("a database that works on a table can also divide it")
        self.inside, self.layout, self._bench, self._most = inside, layout, inside, most
        self._kept_cells = inside.kept_cells()
        self._spill = _Spill(workplace)
        self._fragments: Fragments | None = None

    @cached_property
    def _dictionaries(self) -> dict[str, KeyedDictionary]:
        return {column.name: dictionary_of(self._bench, self._kept_cells, place, column) for place, column in enumerate(self.layout.counted)}

    @property
    def rows(self) -> int:
        """The number of rows."""
        first = next(iter(self._dictionaries.values())).dictionary
        return int(first.counts.sum()) + first.nulls

    @property
    def strangers(self) -> int:
        """None: subjects that are text and of another declared type are read, and not counted inside."""
        return 0

    def dictionary(self, column: str) -> Dictionary:
        """Return the distinct values of a counted column."""
        return self._dictionaries[column].dictionary

    def first_row(self, column: str, values: NDArray[np.bool_]) -> None:
        """Return nothing: rows of a table have no order."""
        del column, values

    def writings(self) -> None:
        """Return nothing: where something says whose rows are, cells are not divided."""

    def occurrences(self, column: str) -> tuple[int, int]:
        """Return how many distinct values a column has, and how many of them one row alone has."""
        if column in self._dictionaries:
            counts = self.dictionary(column).counts
            return len(counts), int((counts == 1).sum())
        (found,) = [each for each in self.layout.copied if each.name == column]
        return self.inside.occurrences(found)

    def count(self, plan: CountPlan) -> FrequenciesElsewhere:
        """Let the database replace values by codes; all that is told of them is how many rows there are."""
        names = [column.name for column in self.layout.counted]
        found = Fragments(self._bench, self._kept_cells, names, plan, self._dictionaries, self._spill.add)
        self._fragments = found
        one = np.zeros((1, len(plan.quasi_identifiers)), np.int32)
        rows = np.array([found.rows], np.int64)
        return FrequenciesElsewhere(one, np.zeros(1, np.int32), rows, references=found.references, table=found, most=self._most)

    def decide(self, recoding: Recoding, labels: pa.RecordBatch) -> int:
        """Tell the database which class each published cell is in, and what each class shows; return how many rows are published."""
        if self._fragments is None:
            raise AssertionError("what was not counted is not decided")
        written = self._fragments.rows
        self._fragments.close()
        self.inside.decide(self._spill.decided(recoding.class_of), labels)
        return written

    def parts(self) -> Iterator[tuple[Cells, NDArray[np.int32]]]:
        """Read all cells, some at a time, with the class that was decided for each."""
        columns = self.layout.counted
        for batch in decided_cells(self._bench, self._kept_cells, columns):
            cells = cells_of([column.name for column in columns], batch.columns[0], batch.columns[1], batch.columns[2:-1])
            yield cells, batch.columns[-1].fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)

    def dealt(self) -> None:
        """Return nothing: cells that are divided are whole."""

    def release(self) -> None:
        """Keep what verification needs."""

    def abandon(self) -> None:
        """Close the session, with which all goes that it made."""
        self.inside.close()


class _Spill:
    """The classes of cells, in a private file until all are known: there may be as many as rows."""

    def __init__(self, workplace: Workplace) -> None:
        self._path = workplace.folder / "classes.arrow"
        self._file: Any = None
        self._writer: Any = None
        self._rows = 0

    def add(self, keys: pa.Array, class_of: NDArray[np.int32]) -> None:
        batch = pa.RecordBatch.from_arrays([keys, pa.array(class_of, pa.int32())], names=[KEY, "class"])
        with file_errors(self._path, "written"):
            if self._writer is None:
                self._file = pa.OSFile(str(self._path), "wb")
                self._writer = pa.ipc.new_stream(self._file, batch.schema)
            self._writer.write_batch(batch)
        self._rows += len(keys)

    def decided(self, numbers: NDArray[np.int32]) -> Decided:
        """Return what was kept, with the number that each class has by now."""
        if self._writer is None:
            raise PromiseError("no row is left to publish", code="nothing-left", hint="weaker promises, or a larger suppression_limit")
        with file_errors(self._path, "written"):
            self._writer.close()
            self._file.close()

        def batches() -> Iterator[pa.RecordBatch]:
            with file_errors(self._path), pa.OSFile(str(self._path)) as file, pa.ipc.open_stream(file) as reader:
                for batch in reader:
                    class_of = numbers[batch.column(1).to_numpy()]
                    yield pa.RecordBatch.from_arrays([batch.column(0), pa.array(class_of, pa.int32())], names=[KEY, "class"])

        with pa.OSFile(str(self._path)) as file, pa.ipc.open_stream(file) as reader:
            schema = reader.schema
        return Decided(schema, self._rows, batches)
