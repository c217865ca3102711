"""Masks of groups and of whole tables done a second time: what they make of the source read anew, and of which people they tell totals."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.interfaces import MaskPlan, Staged
from sfumato.core.kernels.fingerprint import fingerprints
from sfumato.core.mask import Told
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.quiet import Quiet
from sfumato.core.reading import read
from sfumato.core.row_groups import people_of
from sfumato.engine.broken_release import broken
from sfumato.engine.differences import ToldInView, differences_of_few, left_beside_known, told_by_all
from sfumato.engine.masks_again import as_values
from sfumato.errors import PromiseError

_Readers = Mapping[str, Collection[str]]


@dataclass(frozen=True, eq=False)
class MaskedView:
    """A view whose masks are done again: its name, its masks, and what was written."""

    name: str
    masks: MaskPlan
    staged: Staged

    def shows_some(self, column: str) -> bool:
        """Return whether it shows values of a column as they are, all or those that a condition leaves so."""
        mask = self.masks.masks.get(column)
        return column in self.masks.kept or (isinstance(mask, MaskedColumn) and mask.when is not None and not mask.otherwise)


class WideMasksAgain:
    """Gathers the columns that such masks look at as the source is read anew; those that chance decides cannot be done again."""

    def __init__(self, parts: Sequence[tuple[str, MaskPlan]], subject: str | None) -> None:
        self._columns = {view: [name for name in masks.wide if masks.masks[name].card.deterministic] for view, masks in parts}
        self._subject = subject
        needed = [column for view, masks in parts for name in self._columns[view] for column in masks.needed(name)]
        self.needed = list(dict.fromkeys([*needed, *([subject] if subject is not None and needed else [])]))
        self._batches: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Take further rows."""
        if self.needed:
            self._batches.append(as_values(batch.select(self.needed)))

    def check(self, views: Sequence[MaskedView], readers: _Readers) -> list[tuple[tuple[str, str], str]]:
        """Refuse what is not what its mask makes of the source, and totals that tell of few people beside each other.

        ``readers`` are those who see several views, by name. Return pairs of views that nobody is
        said to read together, with what somebody would learn who does.
        """
        if not self._batches:
            return []
        (table,) = pa.Table.from_batches(self._batches).combine_chunks().to_batches() or [self._batches[0]]
        totals = [each for view in views for each in self._of_view(view, table)]
        notes = []
        people = people_of(table, self._subject)
        for one, other, few in differences_of_few(totals, people):
            told = f"{_named(one)} and {_named(other)} tell totals of groups that differ by {_people(few)}"
            if one.view == other.view or any({one.view, other.view} <= set(seen) for seen in readers.values()):
                raise _refused(told, max(one.told.people, other.told.people))
            notes.append(((one.view, other.view), f"{told}: who reads both views learns of them"))
        self._refuse_beside_known(views, totals, table, people, readers)
        for seen in {frozenset([view.name]) for view in views} | {frozenset(seen) for seen in readers.values()}:
            _refuse_solvable([each for each in totals if each.view in seen], people)
        return notes

    def _refuse_beside_known(
        self, views: Sequence[MaskedView], totals: Sequence[ToldInView], table: pa.RecordBatch, people: NDArray[np.int32], readers: _Readers
    ) -> None:
        """Refuse a total beside a view that shows the values of most of whom it is made of."""
        for each in totals:
            for view in views:
                together = any({each.view, view.name} <= set(seen) for seen in readers.values())
                if view.name == each.view or not together or not each.told.of or not view.shows_some(each.told.of):
                    continue
                known = _known(view, each.told.of, table)
                few = left_beside_known(each.told.groups, known, people)
                if few is not None and few < each.told.people:
                    told = f"{_named(each)} tells a total of which the view {view.name} shows all values but those of {_people(few)}"
                    raise _refused(told, each.told.people)

    def _of_view(self, view: MaskedView, table: pa.RecordBatch) -> Iterator[ToldInView]:
        names = self._columns[view.name]
        if not names or not view.staged.rows:
            return
        written = read(view.staged.written, [], {name: [name] for name in names}, Quiet())
        rows = table.take(pa.array(view.staged.link))
        for name in names:
            mask = view.masks.masks[name]
            columns = rows.select(view.masks.needed(name))
            context = view.masks.contexts[name]
            made, totals = mask.totals(columns, context) if isinstance(mask, MaskedColumn) else (mask.apply(columns, context), [])
            if not np.array_equal(written.prints[name], fingerprints([view.masks.as_read_back(name, made)], len(rows))):
                raise broken("holds a masked value that is not what its mask makes of its original", code="verify-mask")
            for told in totals:
                _refuse_few(told, people_of(columns, context.subject))
                yield ToldInView(view.name, name, replace(told, groups=_of_source(told.groups, view.staged.link, table.num_rows)))


def _known(view: MaskedView, column: str, table: pa.RecordBatch) -> NDArray[np.bool_]:
    """Return the rows of the source whose value a view shows as it was."""
    written = read(view.staged.written, [], {column: [column]}, Quiet()).prints[column]
    known = np.zeros(table.num_rows, bool)
    known[view.staged.link] = written == fingerprints([table.column(column)], table.num_rows)[view.staged.link]
    return known


def _refuse_few(told: Told, people: NDArray[np.int32]) -> None:
    """Stop where a total is told of fewer people than it may be, counted another way than the mask does."""
    pairs = np.unique(np.stack([told.groups, people], axis=1)[told.groups >= 0], axis=0)
    _, sizes = np.unique(pairs[:, 0], return_counts=True)
    if (sizes < told.people).any():
        raise broken("tells a total of fewer people than may be told of", code="verify-total")


def _refuse_solvable(totals: Sequence[ToldInView], people: NDArray[np.int32]) -> None:
    for of in {each.told.of for each in totals}:
        alike = [each for each in totals if each.told.of == of]
        few = told_by_all(alike, people) if len(alike) > 2 else None
        if few is not None:
            raise _refused(f"{', '.join(map(_named, alike))} together tell the total of {_people(few)}", max(each.told.people for each in alike))


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number} people"


def _of_source(groups: NDArray[np.int64], link: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Return groups of published rows as groups of rows of the source."""
    found = np.full(rows, -1, np.int64)
    found[link] = groups
    return found


def _named(each: ToldInView) -> str:
    return f"{each.column} in the view {each.view}" if each.view else each.column


def _refused(told: str, people: int) -> PromiseError:
    return PromiseError(
        f"{told}, fewer than {people}; nothing has been published",
        code="aggregate-difference",
        hint="make groups that are the same or differ by more people, leave one of the two out, or say plain: true where everybody may know",
    )
