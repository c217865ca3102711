"""A table of generalisations: one line a leaf, from the leaf to the root (``Paris;France;Europe;*``), as ARX writes its hierarchies.

Lines may stand in any order. Every line has the same number of fields, and every label of a level has one parent only. Labels may be data
values: messages name lines and counts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, field_validator

from sfumato.core.files import PolicyPath
from sfumato.core.hierarchy import ROOT, Hierarchy, Level
from sfumato.core.policy_files import records_of
from sfumato.core.settings import Settings
from sfumato.errors import DataError

# the comma last: it also stands within labels
_DELIMITERS = ";\t|,"


class Table(Settings):
    """A table of generalisations. The last column is the root; where its labels differ, ``*`` is put above them.

    Cost: linear in the lines, quadratic in the levels.
    """

    path: Annotated[PolicyPath, Field(description="a file with lines `leaf;parent;...;root`")]
    delimiter: Annotated[str, Field(min_length=1, max_length=1, description="what stands between two labels")] = ";"
    encoding: Annotated[str, Field(pattern="^(?i:utf-?8)$", description="the encoding of the text: utf-8, the only one that is read")] = "utf-8"
    header: Annotated[bool, Field(description="whether the first line names the levels")] = False

    @field_validator("delimiter")
    @classmethod
    def _one_byte(cls, value: str) -> str:
        if not value.isascii() or value in '\r\n\0"':
            raise ValueError("must be one ASCII character that neither ends a line nor quotes a field")
        return value

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build the tree; the values of the data change nothing."""
        del values, counts
        return self.read(column)

    def read(self, column: str) -> Hierarchy:
        """Read the tree as it is written."""
        lines, fields = self._read()
        labels, codes = _coded(fields)
        self._refuse_tangles(codes, lines)
        _, firsts = np.unique(codes[0], return_index=True)
        leaves = np.sort(firsts)
        codes = [level[leaves] for level in codes]
        self._refuse_ambiguity(codes, len(labels), lines[leaves])
        # depth first; among siblings the one that appears first comes first
        order = np.lexsort([_first_rows(level)[level] for level in codes])
        levels = [_level(level[order], labels) for level in codes[1:]]
        if not levels or len(levels[-1].labels) > 1:
            levels.append(Level(np.zeros(1, np.int32), (ROOT,)))
        return Hierarchy(column, False, "text", labels.take(pa.array(codes[0][order])), tuple(levels))

    def _read(self) -> tuple[NDArray[np.int64], list[Sequence[str]]]:
        """Return the line number of each record, and the labels of each level."""
        records = list(records_of(self.path, self.delimiter, self._broken))
        if self.header:
            records = records[1:]
        if not records:
            raise self._broken("", "has no lines", "write lines `leaf;parent;...;root`")
        width = len(records[0][1])
        if width == 1:
            self._refuse_another_delimiter([record[0] for _, record in records])
        for line, record in records:
            if len(record) != width:
                what = f"has {len(record)} fields, line {records[0][0]} has {width}"
                raise self._broken(f":{line}", what, f"give every line the same number of fields, with {self.delimiter!r} between them")
            if "" in record[1:]:
                raise self._broken(f":{line}", "has an empty field after the first", "repeat the label of the level below where a level adds nothing")
        return np.array([line for line, _ in records], np.int64), [*zip(*(record for _, record in records), strict=True)]

    def _refuse_another_delimiter(self, leaves: Sequence[str]) -> None:
        """Refuse lines of one field that all hold another common delimiter equally often."""
        for mark in _DELIMITERS:
            numbers = {leaf.count(mark) for leaf in leaves}
            if mark != self.delimiter and len(numbers) == 1 and numbers != {0}:
                written, other = json.dumps(self.delimiter), json.dumps(mark)
                what = f"has one field a line with the delimiter {written}, but {other} stands in every line"
                raise self._broken("", what, f"delimiter: {other}")

    def _refuse_tangles(self, codes: Sequence[NDArray[np.int32]], lines: NDArray[np.int64]) -> None:
        """Refuse a label that has two parents."""
        for number, (level, parents) in enumerate(pairwise(codes)):
            first = _first_rows(level)[level]
            other = np.flatnonzero(parents != parents[first])
            if len(other):
                row = other[0]
                place = f": lines {lines[first[row]]} and {lines[row]}"
                what = "put one leaf below two parents" if number == 0 else f"put one label of level {number} below two parents"
                raise self._broken(place, f"{what}; {len(other)} lines contradict an earlier one", "let every label have one parent only")

    def _refuse_ambiguity(self, codes: Sequence[NDArray[np.int32]], number: int, lines: NDArray[np.int64]) -> None:
        """Refuse a label of two nodes neither of which stands above the other: nobody could tell what it means when it is published."""
        for upper in range(1, len(codes)):
            known = np.zeros(number, bool)
            known[codes[upper]] = True
            for lower in range(upper):
                other = np.flatnonzero(known[codes[lower]] & (codes[lower] != codes[upper]))
                if len(other):
                    row = other[0]
                    namesake = np.flatnonzero(codes[upper] == codes[lower][row])[0]
                    raise self._broken(
                        f": lines {lines[row]} and {lines[namesake]}",
                        f"use one label at level {lower} and at level {upper} for groups that do not hold one another",
                        "rename one of them",
                    )

    def _broken(self, place: str, what: str, hint: str) -> DataError:
        return DataError(f"hierarchy table {self.path}{place} {what}", code="hierarchy-table", hint=hint)


def _coded(fields: Sequence[Sequence[str]]) -> tuple[pa.Array, list[NDArray[np.int32]]]:
    """Return all labels, and for each level the number of each line's label."""
    every = pa.chunked_array([pa.array(level, pa.string()) for level in fields]).combine_chunks().dictionary_encode()
    codes = every.indices.to_numpy().reshape(len(fields), -1)
    return every.dictionary, list(codes)


def _first_rows(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each code the first row that has it."""
    firsts = np.zeros(int(codes.max()) + 1, np.int64)
    firsts[codes[::-1]] = np.arange(len(codes))[::-1]
    return firsts


def _level(codes: NDArray[np.int32], labels: pa.Array) -> Level:
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]).astype(np.int32)
    return Level(starts, tuple(labels.take(pa.array(codes[starts])).to_pylist()))
