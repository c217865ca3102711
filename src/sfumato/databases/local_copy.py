"""A private copy of rows that a server has, as long as somebody needs it."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from sfumato.core.files import file_errors
from sfumato.core.interfaces import Scan, Source
from sfumato.core.nested_types import refuse_unreadable
from sfumato.core.workplace import Workplace
from sfumato.registry import find


class LocalCopy:
    """Rows in a file that only its owner may read; it goes with the object, or should the process die with the next start."""

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        workplace = Workplace()
        self._end = weakref.finalize(self, workplace.close)
        path = workplace.folder / "rows.arrow"
        try:
            with file_errors(path, "written"), pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
                # who reads no rows is told their types by a batch all the same
                writer.write_batch(pa.RecordBatch.from_pylist([], schema))
                for batch in batches:
                    writer.write_batch(batch)
        except BaseException:
            self._end()
            raise
        self.source: Source = find("sources", "arrow")(path=str(path))


class CopiedTable:
    """The private copy of a table as a source: it lives as long as somebody has it, and is described as the table is.

    A column that nobody can read is not in the copy, and is refused where it is asked for.
    """

    def __init__(self, copy: LocalCopy, schema: pa.Schema, name: str) -> None:
        self._copy, self._described, self._name = copy, schema, name

    def describe(self) -> pa.Schema:
        """Return the columns of the table and their types."""
        return self._described

    def state(self) -> str:
        """Return a token that stays."""
        return self._copy.source.state()

    def about(self) -> int | None:
        """Return how many rows there are."""
        return self._copy.source.about()

    def scan(self) -> Scan | None:
        """Return how it can be read."""
        return self._copy.source.scan()

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some columns."""
        refuse_unreadable(self._described, columns, self._name)
        yield from self._copy.source.batches(columns, coded)
