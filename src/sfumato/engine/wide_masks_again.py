"""Masks of groups and of whole tables done a second time: what they make of the source read anew, and of which people they tell totals."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.interfaces import MaskPlan
from sfumato.core.kernels.fingerprint import fingerprints
from sfumato.core.mask import Mask, Told, Totals
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.quiet import Quiet
from sfumato.core.reading import read
from sfumato.core.row_groups import people_of
from sfumato.core.whose import Subject
from sfumato.engine.broken_release import broken, broken_by_mask
from sfumato.engine.masks_again import as_values
from sfumato.engine.moved_as_one import check_moved_together
from sfumato.engine.shown_values import MaskedView
from sfumato.engine.totals_together import AllTold, ToldInView
from sfumato.errors import PromiseError

_Readers = Mapping[str, Collection[str]]
_HINT = "make groups that are the same or differ by more people, leave one of the two out, or say plain: true at all of them where everybody may know"


class WideMasksAgain:
    """Gathers the columns that such masks look at as the source is read anew; of those that chance decides only what they tell is looked at."""

    def __init__(self, parts: Sequence[tuple[str, MaskPlan]], subject: Subject | None) -> None:
        self._columns = {view: [name for name in masks.wide if _tells(masks.masks[name])] for view, masks in parts}
        self._subject = subject
        needed = [column for view, masks in parts for name in self._columns[view] for column in masks.needed(name)]
        needed += _asked_beside([mask for _, masks in parts for mask in masks.masks.values() if isinstance(mask, MaskedColumn)])
        self.needed = list(dict.fromkeys([*needed, *([subject.name] if subject is not None and needed else [])]))
        self._batches: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Take further rows."""
        if self.needed:
            self._batches.append(as_values(batch.select(self.needed)))

    def check(self, views: Sequence[MaskedView], readers: _Readers) -> list[tuple[tuple[str, str], str]]:
        """Refuse what is not what its mask makes of the source, and totals that tell of few people beside each other or beside shown values.

        ``readers`` are those who see several views, by name. Return pairs of views that nobody is said to read together, with what somebody would
        learn who does, and pairs of which something could not be held against each other.
        """
        if not self._batches:
            return []
        (table,) = pa.Table.from_batches(self._batches).combine_chunks().to_batches() or [self._batches[0]]
        totals = [each for view in views for each in self._of_view(view, table)]
        told = AllTold(views, totals, table, people_of(table, self._subject))
        together = [frozenset(seen) for seen in readers.values()]
        for seen in dict.fromkeys([*(frozenset([view.name]) for view in views), *together]):
            for found in told.of_few(seen):
                raise PromiseError(f"{found}; nothing has been published", code="aggregate-difference", hint=_HINT)
        apart = [pair for pair in combinations([view.name for view in views], 2) if not any({*pair} <= seen for seen in together)]
        met = [(pair, f"{found}: who reads both views learns of them") for pair in apart for found in told.of_few(frozenset(pair))]
        return [*met, *told.not_held.items()]

    def _of_view(self, view: MaskedView, table: pa.RecordBatch) -> Iterator[ToldInView]:
        names = self._columns[view.name]
        if not names or not view.staged.rows:
            return
        written = read(view.staged.written, [], {name: [name] for name in names}, Quiet())
        rows = table.take(pa.array(view.staged.link))
        check_moved_together(view.masks, rows, view.staged.written)
        for name in names:
            mask = view.masks.masks[name]
            columns = rows.select(view.masks.needed(name))
            context = view.masks.contexts[name]
            made, totals = mask.totals(columns, context) if isinstance(mask, MaskedColumn) else (mask.apply(columns, context), [])
            if mask.card.deterministic and not np.array_equal(written.prints[name], fingerprints([view.masks.as_read_back(name, made)], len(rows))):
                raise broken_by_mask(f"in column {name} ", [mask])
            for told in totals:
                if not told.mixed:
                    _refuse_few(told, people_of(columns, context.subject), name)
                yield ToldInView(view.name, name, told.among(view.staged.link, table.num_rows))


def _tells(mask: Mask) -> bool:
    """Return whether a mask can be done again, or at least what it tells of groups."""
    return mask.card.deterministic or (isinstance(mask, MaskedColumn) and any(isinstance(step, Totals) for step in mask.operations))


def _asked_beside(masks: Sequence[MaskedColumn]) -> list[str]:
    """Return the columns of which totals are told, and those that say which rows of other masks show values of them."""
    added_up = frozenset().union(*(mask.added_up for mask in masks))
    asked = [mask.when.reads for mask in masks if mask.when is not None and added_up & {mask.column, *mask.reads, *mask.when.reads}]
    return [*sorted(added_up), *(name for names in asked for name in names)]


def _refuse_few(told: Told, people: NDArray[np.int32], column: str) -> None:
    """Stop where a total is told of fewer people than it may be, counted another way than the mask does."""
    pairs = np.unique(np.stack([told.groups, people], axis=1)[told.groups >= 0], axis=0)
    _, sizes = np.unique(pairs[:, 0], return_counts=True)
    if (sizes < told.people).any():
        raise broken(f"tells in column {column} a total of fewer people than may be told of", code="verify-total")
