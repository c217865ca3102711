"""Totals of several columns and views: what those who see them, beside values that they see too, can work out of few people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.interfaces import MaskPlan, Staged
from sfumato.core.kernels.fingerprint import fingerprints
from sfumato.core.mask import WIDE, Told
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.number_columns import numbers_of
from sfumato.core.quiet import Quiet
from sfumato.core.reading import read
from sfumato.engine.differences import few_people

_Rows = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MaskedView:
    """A view whose masks are done again: its name, its masks, and what was written."""

    name: str
    masks: MaskPlan
    staged: Staged

    def known(self, column: str, original: pa.Array) -> tuple[_Rows, _Rows]:
        """Return the rows of the source whose value it shows as it was, and those whose value can perhaps be told from what it shows.

        An interval shows its ends, which are values of its class. What chance has moved is perhaps near enough, and what a mask that anybody could
        follow makes of one value alone may be undone.
        """
        surely, perhaps = np.zeros((2, len(original)), bool)
        link, mask = self.staged.link, self.masks.masks.get(column)
        if any(publication.column == column for publication in self.masks.publications):
            surely[link] = _is_end(numbers_of(original)[link], self.staged.text_classes(Quiet()).class_of)
        elif column in self.masks.kept or (isinstance(mask, MaskedColumn) and (mask.moves or _leaves_some(mask))):
            written = read(self.staged.written, [column], {column: [column]}, Quiet())
            shown, prints = written.columns[column], fingerprints([original], len(original))[link]
            if isinstance(mask, MaskedColumn) and mask.moves:
                perhaps[link] = ~np.isnan(np.append(numbers_of(shown.values), np.nan)[shown.codes])
            else:
                surely[link] = written.prints[column] == prints
                if isinstance(mask, MaskedColumn) and mask.may_be_undone_by_anybody:
                    perhaps[link] = np.append(_values_of(shown.codes, prints) == 1, False)[shown.codes]
        return surely, perhaps


def _is_end(numbers: NDArray[np.float64], class_of: NDArray[np.int32]) -> _Rows:
    """Return which values are the smallest or the largest of their class."""
    least, most = np.full(int(class_of.max(initial=-1)) + 1, np.inf), np.full(int(class_of.max(initial=-1)) + 1, -np.inf)
    np.fmin.at(least, class_of, numbers)
    np.fmax.at(most, class_of, numbers)
    found: _Rows = (numbers == least[class_of]) | (numbers == most[class_of])
    return found


def _values_of(codes: NDArray[Any], prints: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return how many originals each published value has."""
    there = codes >= 0
    _, values = np.unique(prints[there], return_inverse=True)
    pairs = np.unique(np.stack([codes[there].astype(np.int64), values], axis=1), axis=0)
    return np.bincount(pairs[:, 0], minlength=int(codes.max(initial=-1)) + 1)


def _leaves_some(mask: MaskedColumn) -> bool:
    """Return whether a mask may leave values as they are, and that can be seen; an aggregate is one by chance alone."""
    return mask.is_plain_to_see and (mask.card.scope not in WIDE or any(step.card.in_part for step in mask.operations))


@dataclass(frozen=True, eq=False)
class ToldInView:
    """What a column of a view tells of groups of rows of the source."""

    view: str
    column: str
    told: Told

    @property
    def words(self) -> str:
        """How it is called."""
        return f"{self.column} in the view {self.view}" if self.view else self.column


class AllTold:
    """The totals of all views, and what those who see some of these views can work out."""

    def __init__(self, views: Sequence[MaskedView], totals: Sequence[ToldInView], table: pa.RecordBatch, people: NDArray[np.int32]) -> None:
        self._views, self._totals, self._table, self._people = views, totals, table, people
        self._shown: dict[tuple[str, str], tuple[_Rows, _Rows]] = {}

    def of_few(self, seen: Collection[str]) -> Iterator[str]:
        """Yield what tells of few people to whoever sees some views: the first thing for each column that is added up."""
        for of in dict.fromkeys(each.told.of for each in self._totals):
            totals = [each for each in self._totals if each.told.of == of and each.view in seen and (each.told.groups >= 0).any()]
            if not totals:
                continue
            known, by = self._known(seen, of)
            found = (self._few(some, rows, by) for rows in known for some in _sets(totals) if len(some) > 1 or rows.any())
            yield from islice(filter(None, found), 1)

    def _known(self, seen: Collection[str], of: str) -> tuple[list[_Rows], list[str]]:
        """Return the rows whose own values of a column are seen, surely and perhaps, and what shows them."""
        by: list[str] = []
        surely, perhaps = np.zeros((2, len(self._people)), bool)
        if not of:
            return [surely], by
        for view in self._views:
            if view.name in seen:
                if (view.name, of) not in self._shown:
                    self._shown[view.name, of] = view.known(of, self._table.column(of))
                shown = self._shown[view.name, of]
                surely |= shown[0]
                perhaps |= shown[1]
                by += [f"the view {view.name}" if view.name else "the release"] if (shown[0] | shown[1]).any() else []
        for each in self._totals:
            if each.told.of == of and each.view in seen and each.told.known.any():
                surely |= each.told.known
                by.append(each.words)
        return [surely, surely | perhaps] if perhaps.any() else [surely], by

    def _few(self, totals: Sequence[ToldInView], known: _Rows, by: Sequence[str]) -> str | None:
        """Return what some totals tell of few people, together and beside values that are known; None where they do not."""
        least = max(each.told.people for each in totals)
        few = few_people([np.where(known, -1, each.told.groups) for each in totals], self._people, least)
        if few is None:
            return None
        names = _listed([each.words for each in totals])
        shown = f"{_listed(by)} {'shows' if len(by) == 1 else 'show'}" if by else ""
        if len(totals) == 1:
            told = f"{names} tells a total of which {shown} all values but those of {few}"
        elif len(totals) == 2:
            told = f"{names} tell totals of groups that differ by {few}" + (f" beside what {shown}" if by else "")
        else:
            told = f"{names} together tell the total of {few}"
        return told if "fewer than" in few else f"{told}, fewer than {least}"


def _sets(totals: Sequence[ToldInView]) -> Iterator[Sequence[ToldInView]]:
    """Yield single totals, pairs of them, of which the smallest difference is known exactly, and all of them."""
    yield from ([each] for each in totals)
    yield from combinations(totals, 2)
    if len(totals) > 2:
        yield totals


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
