"""Two tables of one dump as one release: rows with what their equivalence classes show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pydantic import PrivateAttr

from sfumato.core.class_numbers import CLASS_ID, CLASS_SIZE, ClassLinks
from sfumato.core.compression import Compression
from sfumato.core.files import state_of
from sfumato.core.interfaces import Scan
from sfumato.core.settings import Settings
from sfumato.databases.dump_script import Dialect
from sfumato.sinks._dumped import Dumped


class DumpedClasses(Settings):
    """The rows of a dump joined with its classes, as a source."""

    path: str
    table: str
    classes: str
    dialect: Dialect
    compression: Compression

    _kinds: Mapping[str, pa.DataType] = PrivateAttr({})
    _names: Sequence[str] = PrivateAttr(())

    def remember(self, kinds: Mapping[str, pa.DataType]) -> DumpedClasses:
        """Return the source that reads columns in their order and as types of which the script says less."""
        source = self.model_copy()
        source._kinds, source._names = kinds, [name for name in kinds if name not in (CLASS_ID, CLASS_SIZE)]
        return source

    def describe(self) -> pa.Schema:
        """Return the columns of both tables, but for those that link them."""
        fields = {field.name: field for table in (self.classes, self.table) for field in self._of(table).describe()}
        return pa.schema([fields[name] for name in self._names or fields if name not in (CLASS_ID, CLASS_SIZE)])

    def state(self) -> str:
        """Return a token that changes when the file does."""
        return state_of(self.path)

    def about(self) -> int | None:
        """Return nothing: nobody has counted."""
        return None

    def scan(self) -> Scan | None:
        """Return nothing."""
        return None

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some columns; the classes are held in memory."""
        del coded
        classes, rows = self._of(self.classes), self._of(self.table)
        shown = pa.Table.from_batches(classes.batches(classes.describe().names))
        links = ClassLinks(shown, columns, self.path)
        wanted = [CLASS_ID, *(name for name in columns if name not in shown.column_names)]
        for batch in rows.batches(wanted):
            yield links.linked(batch)
        links.end()

    def _of(self, table: str) -> Dumped:
        return Dumped(path=self.path, table=table, dialect=self.dialect, compression=self.compression).remember(self._kinds)
