"""Values that views show: in which rows of the source what stands there is what was there, or may tell it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.canonical import as_text
from sfumato.core.chains import is_row_by_row, leaves_some, may_be_undone, moves, taken_in
from sfumato.core.hierarchy import interval_ends
from sfumato.core.interfaces import MaskPlan, Staged
from sfumato.core.kernels.fingerprint import fingerprints
from sfumato.core.mask import Mask
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.number_columns import added_prints, numbers_of
from sfumato.core.publication import Publication
from sfumato.core.quiet import Quiet
from sfumato.core.reading import CodedColumn, read, take_text
from sfumato.core.straight_line import on_a_line
from sfumato.engine.brackets import Bracketed, stated_bounds

Rows = NDArray[np.bool_]
_ONE_NUMBER = r"^[^0-9]*?(?P<number>-?[0-9]+(?:\.[0-9]+)?)[^0-9]*$"


@dataclass(frozen=True, eq=False)
class Shown:
    """What a column of a view shows, by rows of the source.

    ``prints`` are fingerprints of what stands there, as of what is added up. In ``plain`` rows it is no chance where it is what was there;
    in ``ends`` an interval ends with the value. ``perhaps`` are sets of rows of which it may tell the value, though it is another. ``numbers`` are
    those that stand there, and ``made`` the rows whose numbers one chain of operations has made row by row, and whether chance has moved them.
    """

    prints: NDArray[np.uint64]
    plain: Rows
    ends: Rows
    perhaps: Sequence[Rows]
    numbers: NDArray[np.float64]
    made: Sequence[tuple[Rows, bool]] = ()

    def tells(self, prints: NDArray[np.uint64], numbers: NDArray[np.float64]) -> Rows:
        """Return the rows where what stands there says what some values are, or what most of it is a straight line of."""
        same: Rows = self.plain & (self.prints == prints)
        for rows, by_chance in self.made:
            if (rows & ~same & ~np.isnan(numbers)).any():
                same |= on_a_line(np.where(rows, numbers, np.nan), self.numbers, by_chance)
        return same

    def settles(self, added: NDArray[np.uint64], originals: NDArray[np.uint64]) -> Rows:
        """Return the rows where what stands there says what is added up, such as a limit, but not what was there."""
        rows = np.flatnonzero(self.plain)
        _, codes = np.unique(self.prints[rows], return_inverse=True)
        found = np.zeros(len(self.plain), bool)
        found[rows] = ((_values_of(codes, added[rows]) == 1) & (_values_of(codes, originals[rows]) > 1))[codes]
        return found


@dataclass(frozen=True, eq=False)
class MaskedView:
    """A view whose masks are done again: its name, its masks, what was written, and the columns whose intervals end with values of the table."""

    name: str
    masks: MaskPlan
    staged: Staged
    ends: Set[str] = frozenset()

    def telling_of(self, columns: Set[str]) -> list[str]:
        """Return the published columns that may show values of some columns: these, and those into which masks put something of them."""
        return [name for name in self.masks.order if name in columns or any(columns & taken_in(steps) for steps in self._chains(name))]

    def reads_of(self, column: str, of: str) -> bool:
        """Return whether masks put something of another column into a column."""
        return any(of in taken_in(steps) for steps in self._chains(column))

    def shown(self, column: str, of: Set[str], table: pa.RecordBatch) -> Shown:
        """Return what a column shows of values of some columns, whose originals are in a table of the source."""
        rows, link = table.num_rows, self.staged.link
        prints, plain, ends = np.zeros(rows, np.uint64), np.zeros(rows, bool), np.zeros(rows, bool)
        numbers = np.full(rows, np.nan)
        publication = next((each for each in self.masks.publications if each.column == column), None)
        if publication is not None:
            written = self._generalised(publication)
            prints[link], plain[link] = _prints(written), True
            if column in self.ends & of:
                ends[link] = _is_end(written, numbers_of(table.column(column))[link])
            return Shown(prints, plain, ends, [], numbers)
        branches = [(steps, held) for steps, held in self._branches(column, table) if column in of or of & taken_in(steps)]
        if not any(leaves_some(steps) or moves(steps) for steps, _ in branches):
            return Shown(prints, plain, ends, [], numbers)
        written = self._written(column)
        prints[link] = _prints(written)
        originals = fingerprints([table.column(name) for name in sorted({column} & of or of)], rows)[link]
        # an interval is no value, however few are in it
        wide = np.append(np.less(*stated_bounds(written.values)), False)[written.codes]
        generalised = [held for steps, held in branches if steps and steps[-1].component_name() == "generalise"]
        wide &= np.logical_or.reduce([np.zeros_like(wide), *generalised])
        numbers[link] = np.where(wide, np.nan, np.append(_numbers_within(written.values), np.nan)[written.codes])
        perhaps = []
        made = [(self._of_source(held, rows), not all(step.card.deterministic for step in steps)) for steps, held in branches if is_row_by_row(steps)]
        for steps, held in branches:
            if moves(steps):
                perhaps.append(held & ~np.isnan(np.append(numbers_of(written.values), np.nan)[written.codes]))
            elif leaves_some(steps):
                plain[link] |= held
                if may_be_undone(steps):
                    told = held & ~wide & np.append(_values_of(written.codes, originals) == 1, False)[written.codes]
                    changed = self._changed_before(column, steps, table)
                    perhaps += [told, told & ~changed] if (told & changed).any() else [told]
        return Shown(prints, plain, ends, [self._of_source(some, rows) for some in perhaps if some.any()], numbers, made)

    def bracketed(self, column: str, of: str, table: pa.RecordBatch) -> Bracketed:
        """Return what a column says of the bounds of the numbers of another one, or of its own."""
        found, link, originals = Bracketed.of_nothing(table.num_rows), self.staged.link, numbers_of(table.column(of))
        publication = next((each for each in self.masks.publications if each.column == column), None)
        if publication is not None:
            every = np.ones(len(link), bool)
            return self._with_labels(found, self._generalised(publication), every, originals, states=True, single=True) if column == of else found
        written, steps_of = self._written(column), list(self._branches(column, table))
        asked = column == of and len(steps_of) > 1
        for number, (steps, held) in enumerate(steps_of):
            operations = [step for step in steps if step.component_name() != "keep"]
            rows = link[held]
            if column == of and (not operations or operations[-1].component_name() == "hash"):
                # a digest without a key tells a value to whoever tries all, or nothing: it is no bracket
                found.codes[rows], found.stated[rows] = len(written.values) + rows, True
                found.low[rows], found.high[rows] = originals[rows], originals[rows]
            elif operations and may_be_undone(operations) and is_row_by_row(operations) and not moves(operations):
                states = column == of and len(operations) == 1 and getattr(operations[0], "labels", None) is None
                found = self._with_labels(found, written, held, originals, states=states, single=False)
            elif operations and moves(operations):
                found.by_chance[rows] = True
            elif asked and not _reaches_an_end(originals, rows):
                # who is hidden is known to be among those whom the condition is for
                found.codes[rows] = len(written.values) + len(originals) + number
        return found

    def asked(self, of: Set[str], table: pa.RecordBatch) -> Iterator[tuple[str, Bracketed]]:
        """Yield columns that are masked under conditions on some others, and what is told so: for whom a condition held is a label to be seen."""
        for column in self.masks.order:
            mask = self.masks.masks.get(column)
            if isinstance(mask, MaskedColumn) and mask.when is not None and of & {*mask.when.reads}:
                found = Bracketed.of_nothing(table.num_rows)
                for number, (_, held) in enumerate(self._branches(column, table)):
                    found.codes[self.staged.link[held]] = number
                yield column, found

    def _with_labels(
        self, found: Bracketed, written: CodedColumn, held: Rows, originals: NDArray[np.float64], states: bool, single: bool
    ) -> Bracketed:
        """Return what is said of rows by labels too: by those that state bounds, and on request by numbers that stand there alone."""
        rows, codes = self.staged.link[held], written.codes[held].astype(np.int64)
        numbers = numbers_of(written.values)
        low, high = stated_bounds(written.values)
        if single:
            low, high = np.where(np.isnan(low), numbers, low), np.where(np.isnan(high), numbers, high)
            codes = np.where(np.array([label == "*" for label in written.values.to_pylist()] + [True])[codes], -1, codes)
        low, high = np.append(low, np.nan)[codes], np.append(high, np.nan)[codes]
        # a label may look like an interval, and be none
        holds = (codes >= 0) & (low <= originals[rows]) & (originals[rows] <= high)
        liars = np.isin(codes, codes[(codes >= 0) & ~holds & ~np.isnan(originals[rows])])
        holds &= ~liars
        found.codes[rows], found.stated[rows] = codes, holds & states
        found.low[rows], found.high[rows] = np.where(holds, low, -np.inf), np.where(holds, high, np.inf)
        return found

    def _written(self, column: str) -> CodedColumn:
        return read(self.staged.written, [column], {}, Quiet()).columns[column]

    def _generalised(self, publication: Publication) -> CodedColumn:
        """Return what is shown of a generalised column as values and intervals, whatever the style in which it is written."""
        columns = [self._written(name) for name in publication.columns]
        texts = [take_text(publication.as_text(column.values), column.codes.astype(np.int64)) for column in columns]
        shown = publication.intervals(*texts).dictionary_encode()
        return CodedColumn(shown.dictionary, shown.indices.fill_null(-1).to_numpy(zero_copy_only=False))

    def _chains(self, column: str) -> Sequence[Sequence[Mask]]:
        mask = self.masks.masks.get(column)
        if isinstance(mask, MaskedColumn):
            return mask.branches
        return [[mask] if mask is not None else []]

    def _branches(self, column: str, table: pa.RecordBatch) -> list[tuple[Sequence[Mask], Rows]]:
        """Return the operations of a column, none where values are kept, and the published rows that they are for."""
        mask = self.masks.masks.get(column)
        when = mask.when if isinstance(mask, MaskedColumn) else None
        if when is None:
            return [(steps, np.ones(len(self.staged.link), bool)) for steps in self._chains(column)]
        holds = when.holds(table.select(list(dict.fromkeys(when.reads))).take(pa.array(self.staged.link)))
        return list(zip(self._chains(column), [holds, ~holds], strict=True))

    def _changed_before(self, column: str, steps: Sequence[Mask], table: pa.RecordBatch) -> Rows:
        """Return the published rows whose number a chain makes another, unlike most, before its last operation writes it in another way."""
        changed = np.zeros(len(self.staged.link), bool)
        if column in table.schema.names and all(step.card.deterministic and not step.reads for step in steps):
            given = table.select([column]).take(pa.array(self.staged.link))
            numbers = numbers_of(given.column(0))
            for number in range(1, len(steps)):
                made = MaskedColumn(column, steps[:number]).made(given, self.masks.contexts[column])
                along = on_a_line(numbers, numbers_of(made.values))
                changed |= ~along & ~np.isnan(numbers) & along.any()
        return changed

    def _of_source(self, published: Rows, rows: int) -> Rows:
        found = np.zeros(rows, bool)
        found[self.staged.link] = published
        return found


def _reaches_an_end(numbers: NDArray[np.float64], rows: NDArray[np.integer[Any]]) -> bool:
    """Return whether the smallest or the largest of all numbers is among those of some rows, so that nothing bounds these on one side."""
    some, every = numbers[rows][~np.isnan(numbers[rows])], numbers[~np.isnan(numbers)]
    return bool(len(some)) and bool(some.min() == every.min() or some.max() == every.max())


def _prints(written: CodedColumn) -> NDArray[np.uint64]:
    """Return the fingerprint of what stands in each row."""
    values = pa.concat_arrays([written.values, pa.nulls(1, written.values.type)])
    prints: NDArray[np.uint64] = added_prints(values)[written.codes]
    return prints


def _numbers_within(values: pa.Array) -> NDArray[np.float64]:
    """Return the number that each value is, or that stands in it alone among other signs."""
    found = numbers_of(values)
    texts = pc.struct_field(pc.extract_regex(as_text(values), _ONE_NUMBER), "number")
    return np.where(np.isnan(found), numbers_of(texts), found)


def _is_end(written: CodedColumn, numbers: NDArray[np.float64]) -> Rows:
    """Return which numbers an interval that stands for them ends with."""
    pairs = [interval_ends(str(label)) or (None, None) for label in written.values.to_pylist()] + [(None, None)]
    found = np.zeros(len(numbers), bool)
    for ends in zip(*pairs, strict=True):
        found |= numbers_of(pa.array(ends, pa.string()))[written.codes] == numbers
    return found


def _values_of(codes: NDArray[Any], prints: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return how many originals each published value has."""
    there = codes >= 0
    _, values = np.unique(prints[there], return_inverse=True)
    pairs = np.unique(np.stack([codes[there].astype(np.int64), values], axis=1), axis=0)
    return np.bincount(pairs[:, 0], minlength=int(codes.max(initial=-1)) + 1)
