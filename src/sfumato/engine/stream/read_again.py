"""The records of a stream once more, in the order in which they came and as texts: for those who hold a release against them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.core import canonical
from sfumato.engine.stream.dead_letters import Unfit
from sfumato.engine.stream.incoming import fitted, schema_of, take
from sfumato.engine.stream.kept_state import KeptState
from sfumato.engine.stream.masking import mask_as_they_come
from sfumato.engine.stream.plan import StreamPlan, plan_stream
from sfumato.engine.stream.reading import Reading
from sfumato.engine.stream.taken_log import NAME, taken
from sfumato.engine.stream.translating import in_canonical_form
from sfumato.errors import SfumatoError
from sfumato.policy.resolve import Resolved

Texts = list[str | None]
_AT_ONCE = 5_000


@dataclass(frozen=True)
class Came:
    """Some records: their numbers, the texts of their columns, and what masks of single rows make of these, where they make the same every time."""

    numbers: list[int]
    columns: Mapping[str, Texts]
    made: Mapping[str, Texts]


class RecordsAgain:
    """Reads the source of one view again, as far as the state says that it was read.

    Where a piece cannot be read any more, ``gone`` is asked; if it does not raise, the others are read on.
    """

    def __init__(self, resolved: Resolved, view: str, kept: KeptState, gone: Callable[[SfumatoError], None]) -> None:
        self._gone, self.missing, self.is_whole = gone, np.zeros(kept.records, np.bool_), True
        self._resolved, self._view, self._kept = resolved, view, kept
        self._reading = Reading(resolved, kept, again=True)
        self._plan: StreamPlan | None = None
        self.read = 0

    @property
    def plan(self) -> StreamPlan | None:
        """The plan of the view, once records have been read."""
        return self._plan

    def __iter__(self) -> Iterator[Came]:
        """Yield the records that could be read, some thousand at a time."""
        for piece in taken(self._kept.folder, self._kept.length(NAME)):
            try:
                decoded = self._reading.decode(self._reading.again(piece.place, piece.start, piece.finish))
            except SfumatoError as error:
                self._gone(error)
                self.missing[piece.first : piece.first + piece.records], self.is_whole = True, False
                self.read += piece.records
                continue
            numbers = piece.first + decoded.places
            for start in range(0, decoded.rows.num_rows, _AT_ONCE):
                yield self._came(decoded.rows.slice(start, _AT_ONCE), numbers[start : start + _AT_ONCE].tolist())
            self.read += decoded.records

    def _came(self, rows: pa.RecordBatch, numbers: list[int]) -> Came:
        policy = self._resolved.policy
        if self._plan is None:
            self._plan = plan_stream(self._resolved, self._view, schema_of(take(rows, policy), policy), False)
        plan = self._plan
        unfit = Unfit(rows.num_rows)
        columns = in_canonical_form(plan, fitted(take(rows, policy, plan.plan.schema), plan.plan.schema, policy, unfit), unfit)
        columns, numbers = _where(columns, unfit), _of(numbers, unfit)
        refused = Unfit(len(numbers))
        made = _where(mask_as_they_come(plan, columns, refused), refused)
        columns, numbers = _where(columns, refused), _of(numbers, refused)
        again = [name for name in plan.narrow if plan.masks[name].repeatable or name in plan.plan.quasi_identifiers]
        return Came(numbers, {name: _texts(columns[name]) for name in plan.needed}, {name: _texts(made[name]) for name in again})


def _where(columns: Mapping[str, pa.Array], unfit: Unfit) -> dict[str, pa.Array]:
    fits = pa.array(unfit.fits)
    return {name: column.filter(fits) for name, column in columns.items()}


def _of(numbers: list[int], unfit: Unfit) -> list[int]:
    return [number for number, fits in zip(numbers, unfit.fits.tolist(), strict=True) if fits]


def _texts(values: pa.Array) -> Texts:
    found: Texts = canonical.as_text(values).to_pylist()
    return found
