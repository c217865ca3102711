"""Placing: into which of the classes of a recoding the rows of another table go.

A combination that was there when the recoding was searched goes where it went then. Any other goes into a class whose published text
covers it, of several into the one that tells the most. A text covers a value that nobody had then where it is an interval the value lies in,
or the name of an ancestor of the value in a ladder that gives the same names whatever the table holds (the calendar, networks, cells, prefixes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.encoding import distinct_typed, encode, typed_values
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import HierarchyBuilder
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.publication import Publication
from sfumato.core.reading import CodedColumn, Reading
from sfumato.core.recoding import Recoding
from sfumato.engine.plan import Plan
from sfumato.errors import DataError, have, number_of

LEFT_OUT, NOWHERE = -1, -2
_NAMELESS, _MISSING = -1, -2
_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class _Column:
    """The values of one column for some rows: leaf codes, and ``between`` for values that are no leaf though the ladder has a place for them.

    That place is where they stand on the line of an ordered column, by their ``values``; in a tree, the names of their ancestors, ``kin``. Each row
    has one of them.
    """

    codes: NDArray[np.int32]
    values: pa.Array
    value_of: NDArray[np.int64]
    between: int
    kin: Sequence[Sequence[str]]
    kin_of: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Placing:
    """The classes of a recoding, and the combinations that it was searched on; what it deals out are the rows of combinations."""

    publications: Sequence[Publication]
    recoding: Recoding
    combinations: NDArray[Any]

    def classes_of(self, plan: Plan, reading: Reading, suppress: bool) -> NDArray[np.int32]:
        """Return the class of each row, -1 where it is left out; refuse rows that fit into none unless they are to be suppressed."""
        if not self.publications:
            return np.zeros(reading.rows, np.int32)
        columns = [_column(publication, reading.columns[publication.column], plan) for publication in self.publications]
        known = [np.ones(reading.rows, bool), *(self._known(plan, *pair, suppress) for pair in zip(self.publications, columns, strict=True))]
        rows = np.flatnonzero(np.logical_and.reduce(known))
        groups, firsts = group_columns([column.codes[rows] for column in columns], [column.between + 1 for column in columns])
        # values between leaves share a code: each of them is looked up by itself
        exact = np.ones(len(rows), bool)
        for column in columns:
            exact &= column.codes[rows] != column.between
        class_of = np.full(reading.rows, LEFT_OUT, np.int32)
        seen = np.append(self._seen(columns, rows[firsts]), 0)[groups] if len(rows) else np.empty(0, np.int32)
        found = self._where_they_went(np.where(exact, seen, NOWHERE))
        class_of[rows] = found
        strange = rows[found == NOWHERE]
        class_of[strange] = self._covering(columns, strange)
        homeless = int((class_of == NOWHERE).sum())
        if homeless and not suppress:
            raise DataError(
                f"{number_of(homeless, 'row')} fit into no class that was fitted",
                code="transform-outside",
                hint="fit on a table that has rows like them, or say on_broken='suppress'",
            )
        return np.maximum(class_of, LEFT_OUT)

    def _known(self, plan: Plan, publication: Publication, column: _Column, suppress: bool) -> NDArray[np.bool_]:
        """Return the rows whose value is not refused as one that the hierarchy does not know."""
        on_unknown = plan.resolved.policy.columns[publication.column].on_unknown
        outside: NDArray[np.bool_] = column.codes == publication.hierarchy.outside
        if on_unknown == "generalise" or not outside.any():
            return np.ones(len(outside), bool)
        if on_unknown == "error" and not suppress:
            name = publication.column
            raise DataError(
                f"column {name}: {have(int(outside.sum()), 'row')} a value that its hierarchy, as it was fitted, does not know",
                code="value-outside-hierarchy",
                hint=f"fit on a table that has them, or say on_unknown: suppress in columns.{name}, or on_broken='suppress'",
            )
        return np.logical_not(outside)

    def _seen(self, columns: Sequence[_Column], rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return which of the combinations these are that were there when the recoding was searched."""
        number = len(self.combinations)
        joined = [np.concatenate([old.astype(np.int64), column.codes[rows]]) for old, column in zip(self.combinations.T, columns, strict=True)]
        groups, firsts = group_columns(joined, [column.between + 1 for column in columns])
        known = np.full(len(firsts), NOWHERE, np.int32)
        known[groups[:number]] = np.arange(number)
        return known[groups[number:]]

    def _where_they_went(self, combination_of_row: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the class of each row; rows of one combination that went to several go to them in the same proportions, by chance."""
        class_of = np.full(len(combination_of_row), NOWHERE, np.int32)
        known = np.flatnonzero(combination_of_row >= 0)
        places = combination_of_row[known]
        if self.recoding.dealing is None:
            class_of[known] = self.recoding.class_of[places]
        else:
            numbers = np.bincount(places, minlength=len(self.combinations))
            class_of[known] = self.recoding.dealing.in_proportion(numbers).class_of_rows(places)
        return class_of

    def _covering(self, columns: Sequence[_Column], rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return for each row the narrowest class whose text covers it."""
        found = np.full(len(rows), NOWHERE, np.int32)
        kin = [box.numbers(column.kin) for column, box in zip(columns, self._boxes, strict=True)]
        lines = [box.line(column) for column, box in zip(columns, self._boxes, strict=True)]
        step = max(1, _AT_ONCE // max(1, self.recoding.number))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            covers = np.ones((len(part), self.recoding.number), bool)
            for column, box, names, line in zip(columns, self._boxes, kin, lines, strict=True):
                covers &= box.covers(column, part, names, line)
            # the first of those that cover, from the narrowest on
            ranked = covers[:, self._from_the_narrowest]
            best = self._from_the_narrowest[ranked.argmax(axis=1)]
            found[start : start + step] = np.where(ranked.any(axis=1), best, NOWHERE)
        return found

    @cached_property
    def _boxes(self) -> list[_Box]:
        return [_Box.of(publication, publication.render(self.recoding, place)) for place, publication in enumerate(self.publications)]

    @cached_property
    def _from_the_narrowest(self) -> NDArray[np.int32]:
        return np.argsort(sum(box.shares for box in self._boxes), kind="stable").astype(np.int32)


@dataclass(frozen=True, eq=False)
class _Box:
    """What the text of each class covers in one column: an interval of leaf codes, for ordered columns of the line of their type.

    In a tree the texts have numbers, the same text the same one, by which ancestors of further values are told.
    """

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    begins: pa.Array | None
    ends: pa.Array | None
    whole: NDArray[np.bool_]
    shares: NDArray[np.float64]
    number_of_text: Mapping[str, int]
    texts: NDArray[np.int64]

    @classmethod
    def of(cls, publication: Publication, rendered: Sequence[pa.DictionaryArray]) -> _Box:
        """Read what classes publish in a column."""
        texts = [array.dictionary_decode() for array in rendered]
        lows, highs = publication.read(*texts)
        shares, _ = publication.extents(*texts)
        begins, ends = None, None
        if publication.hierarchy.ordered:
            begins, ends = (canonical.parse(end, publication.hierarchy.kind) for end in publication.ends(*texts))
        whole = np.array([text == publication.whole for text in texts[0].to_pylist()], bool)
        if publication.hierarchy.ordered or len(texts) == 2:
            return cls(lows, highs, begins, ends, whole, shares, {}, np.empty(0, np.int64))
        distinct = texts[0].dictionary_encode()
        numbers = {text: number for number, text in enumerate(distinct.dictionary.to_pylist())}
        # a missing value has a number that no name has
        return cls(lows, highs, begins, ends, whole, shares, numbers, distinct.indices.fill_null(_MISSING).to_numpy().astype(np.int64))

    def numbers(self, kin: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """Return the numbers of names; ``_NAMELESS`` where no class is called so; one row a list of names."""
        found = [[self.number_of_text.get(name, _NAMELESS) for name in names] for names in kin]
        return np.array(found, np.int64)

    def line(self, column: _Column) -> tuple[NDArray[np.float64], ...]:
        """Return where the classes begin and end, and where each value of an ordered column stands; nothing of a tree."""
        if self.begins is None or self.ends is None:
            return ()
        begins, ends, places = canonical.compared(self.begins, self.ends, column.values)
        return np.where(self.whole, -np.inf, begins), np.where(self.whole, np.inf, ends), np.append(places, np.nan)

    def covers(self, column: _Column, rows: NDArray[np.int64], kin: NDArray[np.int64], line: tuple[NDArray[np.float64], ...]) -> NDArray[np.bool_]:
        """Return which rows each class covers, one row of the answer a row."""
        codes = column.codes[rows][:, None]
        by_code = (self.lows <= codes) & (codes <= self.highs)
        if len(kin):
            names = kin[column.kin_of[rows]]
            by_place = np.logical_or.reduce([names[:, [step]] == self.texts for step in range(names.shape[1])])
        elif line:
            begins, ends, places = line
            stands = places[column.value_of[rows]][:, None]
            by_place = (begins <= stands) & (stands <= ends)
        else:
            by_place = np.zeros_like(by_code)
        covered: NDArray[np.bool_] = np.where(codes == column.between, by_place, by_code)
        return covered


def _column(publication: Publication, column: CodedColumn, plan: Plan) -> _Column:
    hierarchy = publication.hierarchy
    encoding = encode(hierarchy, column.values, plan.resolved.policy.columns[publication.column].missing)
    codes, typed = encoding.codes.copy(), typed_values(column.values, hierarchy.kind)
    between = hierarchy.outside + 1
    if hierarchy.ordered and hierarchy.size:
        ends, places = canonical.compared(hierarchy.values.take(pa.array([0, hierarchy.size - 1])), typed)
        codes[(codes == hierarchy.outside) & (places >= ends[0]) & (places <= ends[1])] = between
    kin, kin_of = _kin(hierarchy, column.values, codes == hierarchy.outside)
    codes[kin_of > 0] = between
    # null is -1: it picks the last entry
    rows = column.codes.astype(np.int64)
    numbers = np.append(codes, encoding.null_code).astype(np.int32)[rows]
    return _Column(numbers, typed, rows, between, kin, np.append(kin_of, 0)[rows])


def _kin(hierarchy: Hierarchy, values: pa.Array, strangers: NDArray[np.bool_]) -> tuple[list[tuple[str, ...]], NDArray[np.int64]]:
    """Return lists of ancestors, the first of them empty, and which of them each value has: the first where it is no stranger or has none."""
    nobody = np.zeros(len(values), np.int64)
    if hierarchy.builder is None or not strangers.any():
        return [], nobody
    kin: list[tuple[str, ...]] = [()]
    kin_of = nobody.copy()
    # apart by length: a ladder of prefixes calls a group after its longest code
    sizes = pc.utf8_length(canonical.as_text(values)).to_numpy(zero_copy_only=False)
    for size in np.unique(sizes[strangers]):
        alike = strangers & (sizes == size)
        above, codes = _ancestors(hierarchy, hierarchy.builder, values.filter(pa.array(alike)))
        kin_of[alike] = np.where(codes < len(above), codes + len(kin), 0)
        kin += above
    height = max(map(len, kin))
    return [names + ("",) * (height - len(names)) for names in kin] if height else [], kin_of


def _ancestors(hierarchy: Hierarchy, builder: HierarchyBuilder, values: pa.Array) -> tuple[list[tuple[str, ...]], NDArray[np.int64]]:
    """Return the names above values in a ladder of their own, and which of these lists each value has: none where the number is too large."""
    further, counts, _ = distinct_typed(values, np.ones(len(values), np.int64), hierarchy.kind, ())
    try:
        ladder = builder.build(hierarchy.column, further, counts)
    except DataError:
        # none of them is of the kind that has such a ladder
        return [], np.zeros(len(values), np.int64)
    names = list(zip(*(level.to_pylist() for level in ladder.ancestors()), strict=True))
    return names, encode(ladder, values).codes.astype(np.int64)
