"""A private copy of rows that a server has, as long as somebody needs it."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

import pyarrow as pa

from sfumato.core.files import file_errors
from sfumato.core.interfaces import Source
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
