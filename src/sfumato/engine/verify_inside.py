"""Verify a release inside its database: what it shows, and what the source's cells became, grouped there and compared here.

A table has no order, so rows are compared as multisets: for every combination of what is shown, as many rows with the same fingerprints of what is
kept must be in the release as the cells have that were put there. The texts are read anew, and the cells' own values must lie in what they cover.
Cells are looked at once, some at a time where they are many: what is held of them is told of classes.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import places
from sfumato.core.canonical import as_text
from sfumato.core.classes import Classes
from sfumato.core.examined import Cells, Dealt, Examined
from sfumato.core.interfaces import MaskPlan
from sfumato.core.publication import labels_of
from sfumato.core.recoding import Recoding
from sfumato.core.text_classes import TextClasses
from sfumato.engine.broken_release import broken
from sfumato.engine.count import Counted
from sfumato.engine.covered import Extents, Shown, covered, levels_of
from sfumato.engine.plan import Plan
from sfumato.engine.seen_cells import ROWS_PRINT, Leaves, People, Places, Printed, Values, print_of_rows
from sfumato.engine.verify import Verified, not_kept, result_of

_LINES = 1 << 16


def verify_inside(plan: Plan, counted: Counted, masks: MaskPlan, recoding: Recoding, examined: Examined, suppressed: int) -> Verified:
    """Re-measure everything on what was found; raise a PromiseError at the first thing that is not as it must be."""
    if int(examined.rows.sum()) + suppressed != counted.rows:
        raise broken("has lost or gained rows", code="verify-rows")
    number = sum(len(publication.columns) for publication in masks.publications)
    shown = [column.combine_chunks() for column in examined.shown.columns]
    watched = dict(zip(examined.shown.column_names[number:], shown[number:], strict=True))
    written = _Written(shown[:number], len(examined.rows))
    seen = _Cells(plan, masks, written, watched)
    decided = written.classes_of(list(labels_of(recoding, masks.publications).values()), recoding.number)
    dealt = examined.dealt
    for cells, class_of in examined.parts() if dealt is None else [(dealt.cells, dealt.class_of)]:
        of_cell = np.append(decided, -1)[class_of]
        if (of_cell[class_of >= 0] < 0).any():
            raise broken("does not show what was decided", code="verify-width")
        seen.add(cells, of_cell)
        seen.print(cells if dealt is None else dealt.whole)
    if dealt is not None:
        _whole_again(dealt)
    seen.hold_against(examined)
    sizes = np.bincount(written.class_of, examined.rows, minlength=written.number).astype(np.int64)
    columns: list[Extents] = []
    first = 0
    for publication, level, leaves in zip(masks.publications, levels_of(masks, recoding.levels), seen.leaves, strict=True):
        texts = written.texts[first : first + len(publication.columns)]
        first += len(publication.columns)
        told = Shown(*_distinct(texts, written.number), leaves.smallest, leaves.largest, leaves.known)
        columns.append(covered(publication, told, sizes, level, suppressed > 0))
    classes = _classes(plan, counted, examined, written, watched, seen)
    results = [result_of(promise, classes) for promise in plan.resolved.promises]
    if not all(result.holds for result in results):
        raise broken(f"does not keep {not_kept(results)}", code="verify-promise")
    return Verified(results, classes, columns, _fingerprints(examined, seen.printed))


class _Written:
    """The classes of what was written, by its text; all lines are one class where there is none."""

    def __init__(self, columns: Sequence[pa.Array], lines: int) -> None:
        self.texts, self.class_of = _distinct(columns, lines)
        self.number = int(self.class_of.max(initial=-1)) + 1

    def classes_of(self, labels: Sequence[pa.Array], number: int) -> NDArray[np.int64]:
        """Return for each of so many rows of texts the class that shows the same, -1 where none does."""
        both = [pa.concat_arrays([as_text(one), as_text(other)]) for one, other in zip(self.texts, labels, strict=True)]
        _, class_of = _distinct(both, self.number + number)
        known = np.full(int(class_of.max(initial=-1)) + 1, -1, np.int64)
        known[class_of[: self.number]] = np.arange(self.number)
        return known[class_of[self.number :]]


class _Cells:
    """What the cells of the source tell of the classes that were written."""

    def __init__(self, plan: Plan, masks: MaskPlan, written: _Written, watched: Mapping[str, pa.Array]) -> None:
        self._watched = {name: as_text(column).dictionary_encode() for name, column in watched.items()}
        self._places = Places([written.class_of, *(_places(column) + 1 for column in self._watched.values())])
        self._rows = np.zeros(self._places.number, np.int64)
        self._prints = np.zeros(self._places.number, np.uint64)
        self.leaves = [Leaves(plan, publication, written.number) for publication in masks.publications]
        self.values = {name: Values() for name in plan.watched}
        self.people = People(plan)
        self.printed = Printed()

    def add(self, cells: Cells, of_cell: NDArray[np.int64]) -> None:
        """Look at some cells, each of the written class that its number says."""
        published = np.flatnonzero(of_cell >= 0)
        columns = [of_cell[published]]
        for name, column in self._watched.items():
            values, codes = cells.columns[name]
            known = _among(as_text(values), column.dictionary)
            columns.append(np.append(known, 0)[codes[published]])
        there = self._places.of(columns)
        if (there < 0).any():
            raise broken("holds a row where it does not belong, or not at all", code="verify-rows")
        np.add.at(self._rows, there, cells.rows[published])
        # sums of 64 bits that go round, on both sides alike
        np.add.at(self._prints, there, cells.prints[published])
        for each in self.leaves:
            each.add(cells, of_cell[published], published)
        for name, values_of in self.values.items():
            values_of.add(*cells.columns[name], cells.rows)
        self.people.add(cells, of_cell)

    def print(self, cells: Cells) -> None:
        """Add cells to what tells this source from others."""
        self.printed.add(
            [as_text(values).take(pa.array(codes, mask=codes < 0)) for values, codes in cells.columns.values()], cells.rows, cells.prints
        )

    def hold_against(self, examined: Examined) -> None:
        """Hold the rows of each class and watched values against those of the cells that were put there."""
        rows = np.bincount(self._places.own, examined.rows, minlength=self._places.number).astype(np.int64)
        if not np.array_equal(rows, self._rows):
            raise broken("holds a row where it does not belong, or not at all", code="verify-rows")
        prints = np.zeros(self._places.number, np.uint64)
        np.add.at(prints, self._places.own, examined.prints)
        if not np.array_equal(prints, self._prints):
            raise broken("holds a kept value that differs from its original", code="verify-kept")


def _whole_again(dealt: Dealt) -> None:
    """Hold what was dealt out against the cells that it comes from: no row is lost or in two classes, and none is another's."""
    rows = np.zeros(len(dealt.whole.rows), np.int64)
    prints = np.zeros(len(dealt.whole.rows), np.uint64)
    if (dealt.cell_of < 0).any():
        raise broken("holds a row where it does not belong, or not at all", code="verify-rows")
    np.add.at(rows, dealt.cell_of, dealt.cells.rows)
    np.add.at(prints, dealt.cell_of, dealt.cells.prints)
    if not np.array_equal(rows, dealt.whole.rows):
        raise broken("holds a row where it does not belong, or not at all", code="verify-rows")
    if not np.array_equal(prints, dealt.whole.prints):
        raise broken("holds a kept value that differs from its original", code="verify-kept")


def _among(values: pa.Array, known: pa.Array) -> NDArray[np.int64]:
    """Return the place of values among those that are known, counted from 1; -1 where they are not there."""
    found: NDArray[np.int64] = pc.index_in(values, known).fill_null(-2).to_numpy(zero_copy_only=False).astype(np.int64)
    return found + 1


def _places(column: pa.DictionaryArray) -> NDArray[np.int64]:
    indices: NDArray[np.int64] = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return indices


def _distinct(texts: Sequence[pa.Array], lines: int) -> tuple[list[pa.Array], NDArray[np.int64]]:
    """Return the distinct rows of columns of text with so many lines, and which of them each row is."""
    coded = [column if pa.types.is_dictionary(column.type) else as_text(column).dictionary_encode() for column in texts]
    found = TextClasses.of_codes([_places(column) for column in coded], [len(column.dictionary) for column in coded], lines)
    firsts = pa.array(found.order[found.starts])
    return [as_text(column.take(firsts)) for column in texts], found.class_of.astype(np.int64)


def _classes(plan: Plan, counted: Counted, examined: Examined, written: _Written, watched: Mapping[str, pa.Array], seen: _Cells) -> Classes:
    """Return the classes of the text, with the sensitive values beside it, and how often each value occurs in the whole source.

    People are not in the release. Those of a class are the people of the cells that were put there, which have as many rows of each watched value.
    """
    ladders = counted.frequencies.ladders
    if plan.resolved.policy.subject is not None:
        return seen.people.classes(written.number, ladders)
    sensitive, references = {}, {}
    for name in plan.watched:
        sensitive[name], references[name] = seen.values[name].encoded(plan, name, watched[name], ladders)
    return Classes(written.number, written.class_of.astype(np.int32), examined.rows, sensitive, None, references, ladders)


def _fingerprints(examined: Examined, source: Printed) -> dict[str, str]:
    """Return HMACs of source and release under the installation's key, the same in any order of the rows."""
    release = Printed()
    # by lines: a table without columns has none, and its rows are counted all the same
    for begin in range(0, len(examined.rows), _LINES):
        lines = slice(begin, begin + _LINES)
        columns = [as_text(column.slice(begin, _LINES).combine_chunks()) for column in examined.shown.columns]
        release.add(columns, examined.rows[lines], examined.prints[lines])
    shown = [column.combine_chunks() for column in examined.shown.columns]
    told = {ROWS_PRINT: print_of_rows(shown, examined.rows)} if shown else {}
    return told | {
        name: hmac.new(places.installation_key(), each.sums.tobytes(), hashlib.sha256).hexdigest()
        for name, each in (("source", source), ("release", release))
    }
