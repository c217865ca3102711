"""A sink that is the source: a verified release is copied over the rows that it comes from, by their keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.interfaces import Progress, Scan, Source
from sfumato.databases.local_copy import LocalCopy
from sfumato.databases.masked_table import Change, Draft, MaskedTable
from sfumato.databases.standing import Standing
from sfumato.sinks.sql import Sql

NOTE = (
    "masked in place: the rows were verified elsewhere and then copied over the old ones by their key, some at a time, while nobody of the "
    "audience could read the table; each row has kept its key, so that whoever has an older copy finds it there; removed columns are empty"
)
"""What the record says of a table that was masked where it is."""

_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class InPlaceSink:
    """Masks a table where it is. ``known`` has the key of each row that was read, in their order, and the digest of all that it held."""

    sink: Sql
    change: Change
    standing: Standing
    known: pa.Table
    policy: str
    progress: Progress
    _record: dict[str, Any] = field(default_factory=dict)

    @property
    def record(self) -> str | None:
        """The file that the record goes to."""
        return self.sink.record

    def places(self) -> Sequence[str]:
        """Return the table."""
        return self.sink.places()

    def take_record(self, record: Mapping[str, Any]) -> None:
        """Keep the record for the ledger."""
        self._record.update(record)

    @property
    def facts(self) -> dict[str, Any]:
        """What the ledger says of the policy and its release."""
        return {"policy": self.policy, "record": self._record}

    def open(self, schema: pa.Schema) -> InPlaceWriter:
        """Begin a table that nobody sees."""
        return InPlaceWriter(self, schema)


class InPlaceWriter:
    """Masked rows with the keys of their originals, in a table that nobody sees; on publishing they are copied over these."""

    def __init__(self, sink: InPlaceSink, schema: pa.Schema) -> None:
        self._sink, self._schema = sink, schema
        self._link: NDArray[np.int64] = np.empty(0, np.int64)
        self._rows = 0
        connection = sink.sink.connected()
        try:
            self._masked = MaskedTable(connection, sink.sink.address.kind, sink.sink.table_name)
            connection.claim(f"mask {self._masked.original}")
            self._masked.how.begin()
            self._draft = Draft(self._masked, sink.change, schema)
        except BaseException:
            connection.__exit__(None, None, None)
            raise

    @property
    def staging(self) -> Sequence[str]:
        """No private files: what is staged is in the database."""
        return ()

    def linked(self, rows: NDArray[np.int64]) -> None:
        """Take the place of each row's original among those that were read."""
        self._link = rows

    def write(self, batch: pa.RecordBatch) -> None:
        """Load further rows with the keys of their originals; what is kept as it is need not be written."""
        originals = self._link[self._rows : self._rows + batch.num_rows]
        self._load(originals, [batch.column(name) for name in self._sink.change.made])
        self._rows += batch.num_rows

    def finish(self) -> Source:
        """Write down which rows are left out, put all others into a table like their own, and return the source that reads it."""
        left_out = np.ones(self._sink.known.num_rows, bool)
        left_out[self._link] = False
        places = np.flatnonzero(left_out)
        for start in range(0, len(places), _ROWS):
            self._load(places[start : start + _ROWS], None)
        self._draft.fill()
        return DraftedTable(self._draft, self._schema.names)

    def publish(self) -> Sequence[str]:
        """Keep the audience out, copy the rows over, and let it in again. Should the process die in between, the next run goes on."""
        self._draft.begin(self._sink.facts, self._sink.standing)
        self._masked.finish(self._sink.progress)
        self._masked.connection.__exit__(None, None, None)
        return self._sink.places()

    def abort(self) -> None:
        """Undo everything that was not begun to be copied."""
        self._masked.connection.__exit__(None, None, None)

    def _load(self, originals: NDArray[np.int64], made: Sequence[pa.Array] | None) -> None:
        (known,) = self._sink.known.take(pa.array(originals)).combine_chunks().to_batches() or [None]
        if known is not None:
            self._draft.load(known.select(list(range(known.num_columns - 1))), known.column(known.num_columns - 1), made)


class DraftedTable:
    """The masked rows as a source, as the table will hold them: read back once into a private copy, in the order in which they were written."""

    def __init__(self, draft: Draft, names: Sequence[str]) -> None:
        self._draft, self._names = draft, names
        self._copy: LocalCopy | None = None

    def describe(self) -> pa.Schema:
        """Return the columns and their types."""
        return self._copied().describe()

    def state(self) -> str:
        """Return a token that stays: nobody else can change it."""
        return "draft"

    def about(self) -> int | None:
        """Return nothing: nobody has counted."""
        return None

    def scan(self) -> Scan | None:
        """Return nothing."""
        return None

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some columns."""
        yield from self._copied().batches(columns, coded)

    def _copied(self) -> Source:
        if self._copy is None:
            self._copy = LocalCopy(self._draft.described(self._names), self._draft.read(self._names))
        return self._copy.source
