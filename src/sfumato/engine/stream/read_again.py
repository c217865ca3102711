"""The records of a stream once more, in the order in which they came and as texts: for those who hold a release against them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.decoded import Decoded
from sfumato.core.told_apart import told_apart
from sfumato.core.whose import known_people
from sfumato.engine.stream.dead_letters import Unfit
from sfumato.engine.stream.incoming import fitted, schema_of, take
from sfumato.engine.stream.kept_state import KeptState
from sfumato.engine.stream.masking import mask_as_they_come
from sfumato.engine.stream.people import People
from sfumato.engine.stream.plan import StreamPlan, plan_stream
from sfumato.engine.stream.reading import Reading
from sfumato.engine.stream.run_journal import Piece
from sfumato.engine.stream.sensitive import told_by
from sfumato.engine.stream.taken_log import NAME, taken
from sfumato.engine.stream.translating import in_canonical_form
from sfumato.errors import SfumatoError
from sfumato.policy.resolve import Resolved

Texts = list[str | None]
_AT_ONCE = 5_000
GONE = ("stream-source-gone", "file-unreadable", "file-missing")
"""The errors of a source of which something is not there any more."""


@dataclass(frozen=True)
class Came:
    """Some records: their numbers, the texts of their columns, and what masks of single rows make of these, where they make the same every time.

    ``people`` are those of the records in the one writing by which people are told apart, where the policy names a subject; ``marks`` their numbers
    under the stream's secret, ``told`` the sensitive values as promises tell them apart. ``kinds`` are the types of columns and of what masks made.
    ``letters`` are further records that do not fit, in any order, also some of those that come with the next ones.
    """

    numbers: list[int]
    columns: Mapping[str, Texts]
    made: Mapping[str, Texts]
    people: Sequence[Hashable]
    marks: Sequence[int]
    told: Mapping[str, Texts]
    kinds: Mapping[str, pa.DataType]
    letters: Sequence[Letter] = ()


@dataclass(frozen=True)
class Letter:
    """A record that was set aside: its number, whose it is and what it says of opting out, each None where that cannot be read."""

    number: int
    person: str | None
    flag: str | None


@dataclass(frozen=True, eq=False)
class Again:
    """A piece of the source that was read once more: the number of its first record, its bytes, and its records."""

    first: int
    content: bytes
    decoded: Decoded


class OtherRecordsError(Exception):
    """Somewhere in the source are more records, or fewer, than were read there; ``first`` is the number of the first of them."""

    def __init__(self, first: int) -> None:
        super().__init__(first)
        self.first = first


class RecordsAgain:
    """Reads the source of one view again, as far as the state says that it was read.

    Where a piece cannot be read any more, ``gone`` is asked; if it does not raise, the others are read on.
    """

    def __init__(self, resolved: Resolved, view: str, kept: KeptState, gone: Callable[[SfumatoError], None]) -> None:
        self._gone, self.missing, self.is_whole = gone, np.zeros(kept.records, np.bool_), True
        self._resolved, self._view, self._kept = resolved, view, kept
        self._reading = Reading(resolved, kept, again=True)
        self._plan: StreamPlan | None = None
        self._kind = None if resolved.subject is None else resolved.subject.kind
        self._marks = People(kept.secret, self._kind)
        self.read = 0

    @property
    def plan(self) -> StreamPlan | None:
        """The plan of the view, once records have been read."""
        return self._plan

    def __iter__(self) -> Iterator[Came]:
        """Yield the records that could be read, some thousand at a time."""
        for piece in taken(self._kept.folder, self._kept.length(NAME), self._kept.records):
            try:
                decoded = self.piece(piece).decoded
            except SfumatoError as error:
                self._gone(error)
                self.missing[piece.first : piece.first + piece.records], self.is_whole = True, False
                self.read += piece.records
                continue
            numbers = piece.first + decoded.places
            letters = self._remains(decoded, piece.first)
            for start in range(0, decoded.rows.num_rows, _AT_ONCE):
                found = self._came(decoded.rows.slice(start, _AT_ONCE), numbers[start : start + _AT_ONCE])
                yield replace(found, letters=[*found.letters, *letters]) if start == 0 else found
            if letters and not decoded.rows.num_rows:
                yield Came([], {}, {}, [], [], {}, {}, letters)
            self.read += decoded.records

    def piece(self, piece: Piece) -> Again:
        """Return what was read as one piece."""
        stretch = self._reading.again(piece.place, piece.start, piece.finish)
        decoded = self._reading.decode(stretch)
        if decoded.records != piece.records:
            # which of them have which numbers nobody knows any more
            raise OtherRecordsError(piece.first)
        return Again(piece.first, stretch.content, decoded)

    def held(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows as the view holds them while they wait."""
        plan = self._planned(rows)
        columns, _ = self._fitted(plan, rows)
        return pa.RecordBatch.from_arrays([columns[name] for name in plan.needed], names=list(plan.needed))

    def _came(self, rows: pa.RecordBatch, numbers: NDArray[np.int64]) -> Came:
        plan = self._planned(rows)
        columns, unfit = self._fitted(plan, rows)
        letters = self._letters(plan, columns, numbers, unfit)
        columns, numbers = _where(columns, unfit), numbers[unfit.fits]
        refused = Unfit(len(numbers))
        made = _where(mask_as_they_come(plan, columns, refused), refused)
        letters += self._letters(plan, columns, numbers, refused)
        columns, numbers = _where(columns, refused), numbers[refused.fits]
        again = [name for name in plan.narrow if plan.masks[name].repeatable or name in plan.plan.quasi_identifiers]
        texts = {name: _texts(columns[name]) for name in plan.needed}
        kinds = {name: columns[name].type for name in plan.needed} | {f"made {name}": made[name].type for name in again}
        people = numbers.tolist() if plan.subject is None else self._people(columns[plan.subject])
        marks = [] if plan.subject is None else self._marks.numbers(columns[plan.subject]).tolist()
        return Came(numbers.tolist(), texts, {name: _texts(made[name]) for name in again}, people, marks, self._told(plan, columns), kinds, letters)

    def _planned(self, rows: pa.RecordBatch) -> StreamPlan:
        policy = self._resolved.policy
        if self._plan is None:
            self._plan = plan_stream(self._resolved, self._view, schema_of(take(rows, policy), policy), False)
        return self._plan

    def _fitted(self, plan: StreamPlan, rows: pa.RecordBatch) -> tuple[dict[str, pa.Array], Unfit]:
        policy, schema, unfit = self._resolved.policy, plan.plan.schema, Unfit(rows.num_rows)
        return in_canonical_form(plan, fitted(take(rows, policy, schema), schema, policy, unfit), unfit), unfit

    def _remains(self, decoded: Decoded, first: int) -> list[Letter]:
        """Return what can be read of records that are no rows."""
        if decoded.remains is None or not len(decoded.remains_of):
            return []
        plan = self._planned(decoded.rows)
        columns, unfit = self._fitted(plan, decoded.remains)
        unfit.add(np.ones(len(decoded.remains_of), bool), "value-type")
        return self._letters(plan, columns, first + decoded.remains_of, unfit)

    def _letters(self, plan: StreamPlan, columns: Mapping[str, pa.Array], numbers: NDArray[np.int64], unfit: Unfit) -> list[Letter]:
        if plan.opted_out is None or plan.subject is None or unfit.fits.all():
            return []
        aside = pa.array(~unfit.fits)
        subjects, flags = (columns[name].filter(aside) for name in (plan.subject, plan.opted_out))
        return [Letter(*each) for each in zip(numbers[~unfit.fits].tolist(), self._people(subjects), _texts(flags), strict=True)]

    def _told(self, plan: StreamPlan, columns: Mapping[str, pa.Array]) -> dict[str, Texts]:
        declared = self._resolved.policy.columns
        return {name: told_apart(columns[name], declared[name].missing, told_by(plan.plan, name)).to_pylist() for name in plan.plan.watched}

    def _people(self, subjects: pa.Array) -> Texts:
        return _texts(known_people(subjects, self._kind))


def _where(columns: Mapping[str, pa.Array], unfit: Unfit) -> dict[str, pa.Array]:
    fits = pa.array(unfit.fits)
    return {name: column.filter(fits) for name, column in columns.items()}


def _texts(values: pa.Array) -> Texts:
    found: Texts = canonical.as_text(values).to_pylist()
    return found
