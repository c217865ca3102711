"""What is gathered from the cells of a source while they are looked at, some at a time: all of it is told of classes or of values, not of cells."""

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
from sfumato.core.encoding import encode
from sfumato.core.examined import Cells
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.kernels.fingerprint import fingerprints
from sfumato.core.publication import Publication
from sfumato.core.whose import known_people
from sfumato.engine.plan import Plan
from sfumato.engine.sensitive import encode_sensitive
from sfumato.engine.verify import reference_of

ROWS_PRINT = "release_rows"
"""What a record calls the fingerprint of what rows show, by which a table that was made inside a database is known again."""


class Places:
    """Combinations of whole numbers that are known, and where others are among them.

    >>> places = Places([np.array([3, 3, 5]), np.array([0, 1, 0])])
    >>> places.own.tolist(), places.of([np.array([5, 3, 5]), np.array([0, 1, 1])]).tolist()
    ([0, 1, 2], [2, 1, -1])
    """

    def __init__(self, columns: Sequence[NDArray[np.int64]]) -> None:
        self._steps: list[tuple[int, NDArray[np.int64]]] = []
        numbers = columns[0].astype(np.int64)
        for column in columns[1:]:
            span = int(column.max(initial=0)) + 1
            known, numbers = np.unique(numbers * span + column, return_inverse=True)
            self._steps.append((span, known))
        self.own: NDArray[np.int64] = numbers.astype(np.int64)
        self.number = int(self.own.max(initial=-1)) + 1

    def of(self, columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the place of each combination, -1 where it is not known."""
        numbers = columns[0].astype(np.int64)
        strange = (numbers < 0) | (numbers >= self.number) if not self._steps else numbers < 0
        for (span, known), column in zip(self._steps, columns[1:], strict=True):
            strange |= (column < 0) | (column >= span)
            keys = numbers * span + column
            numbers = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            strange |= known[numbers] != keys
        return np.where(strange, -1, numbers)


class Leaves:
    """The smallest and the largest leaf code of a column in each class, and which codes are published at all."""

    def __init__(self, plan: Plan, publication: Publication, number: int) -> None:
        self._plan, self._publication = plan, publication
        self.smallest, self.largest = np.full(number, np.iinfo(np.int32).max, np.int64), np.full(number, -1, np.int64)
        self._seen = np.zeros(publication.hierarchy.outside + 1, bool)

    def add(self, cells: Cells, class_of: NDArray[np.int64], published: NDArray[np.int64]) -> None:
        """Look at some cells, of which those that are published go to these classes."""
        name = self._publication.column
        values, codes = cells.columns[name]
        encoding = encode(self._publication.hierarchy, self._plan.as_counted(name, values), self._plan.resolved.policy.columns[name].missing)
        leaves = np.append(encoding.codes, encoding.null_code).astype(np.int32)[codes[published]]
        np.minimum.at(self.smallest, class_of, leaves)
        np.maximum.at(self.largest, class_of, leaves)
        self._seen[leaves] = True

    @property
    def known(self) -> NDArray[np.int32]:
        """The codes that are published."""
        return np.flatnonzero(self._seen).astype(np.int32)


class Values:
    """The values of a column in the whole source, and how many rows have each."""

    def __init__(self) -> None:
        self._values: pa.Array | None = None
        self._rows = np.empty(0, np.int64)

    def add(self, values: pa.Array, codes: NDArray[np.int32], rows: NDArray[np.int64]) -> None:
        """Count the rows of some cells; -1 is the code of a missing value."""
        counts = np.bincount(codes + 1, rows, minlength=len(values) + 1).astype(np.int64)
        # the missing one comes first
        here = pa.concat_arrays([pa.nulls(1, values.type), values])
        both = here if self._values is None else pa.concat_arrays([self._values, here])
        coded = both.dictionary_encode(null_encoding="encode")
        self._rows = np.bincount(coded.indices.to_numpy(), np.concatenate([self._rows, counts]), minlength=len(coded.dictionary)).astype(np.int64)
        self._values = coded.dictionary

    def encoded(self, plan: Plan, name: str, column: pa.Array, ladders: Mapping[str, Hierarchy]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the codes of a column of the release, and how many rows of the source have each; a code means the same in both."""
        values = pa.nulls(0, column.type) if self._values is None else self._values
        joined = pa.concat_arrays([values, column]).dictionary_encode()
        encoding = encode_sensitive(plan, name, joined.dictionary, ladders)
        every = np.append(encoding.codes, encoding.null_code).astype(np.int32)
        told = every[joined.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)]
        reference = np.bincount(told[: len(values)], self._rows, minlength=encoding.size).astype(np.int64)
        return told[len(values) :], reference


class People:
    """Whose cells are, where the policy names a subject: with the sensitive values beside them, by class."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._subject = plan, plan.resolved.subject
        self._cells: list[tuple[Cells, NDArray[np.int64]]] = []

    def add(self, cells: Cells, class_of: NDArray[np.int64]) -> None:
        """Keep some cells, where people are counted."""
        if self._subject is not None:
            self._cells.append((cells, class_of))

    def classes(self, number: int, ladders: Mapping[str, Hierarchy]) -> Classes:
        """Return the classes that the cells make; cells of people are never many at a time."""
        if len(self._cells) != 1 or self._subject is None:
            raise AssertionError("people are told apart among all cells at once")
        ((cells, class_of),) = self._cells
        # by sorting texts: not the way in which people were told apart for the search
        values, codes = cells.columns[self._subject.name]
        texts = as_text(values)
        of_value = np.unique(np.array(texts.to_pylist(), object), return_inverse=True)[1] if len(texts) else np.empty(0, np.int64)
        of_value = np.where(known_people(texts).is_valid(), of_value, len(texts)).astype(np.int64)
        people = np.append(of_value, len(texts))[codes]
        published = np.flatnonzero(class_of >= 0)
        sensitive, references = {}, {}
        for name in self._plan.watched:
            own, places = cells.columns[name]
            encoding = encode_sensitive(self._plan, name, own, ladders)
            every = np.append(encoding.codes, encoding.null_code).astype(np.int32)[places]
            sensitive[name], references[name] = every[published], reference_of(every, encoding.size, people)
        return Classes(number, class_of[published].astype(np.int32), cells.rows[published], sensitive, people[published], references, ladders)


class Printed:
    """Sums that are the same in whatever order, and however many at a time, lines come; of other lines they are others.

    Each line is mixed four times: what happens to come to the same sum once does not do so again.
    """

    def __init__(self) -> None:
        self.sums: NDArray[np.uint64] = np.zeros(4, np.uint64)

    def add(self, columns: Sequence[pa.Array], rows: NDArray[np.int64], prints: NDArray[np.uint64]) -> None:
        """Add lines: some values, a number of rows, and a fingerprint of others."""
        lines = fingerprints(list(columns), len(rows))
        for place, part in enumerate((rows.astype(np.uint64), prints)):
            lines = _mixed(lines ^ _mixed(part + np.uint64(place + 1)))
        for place in range(len(self.sums)):
            lines = _mixed(lines + np.uint64(_GOLDEN))
            # an array goes round without a word, where a number would warn
            self.sums[place : place + 1] += lines.sum(dtype=np.uint64)


def print_of_rows(columns: Sequence[pa.Array], rows: NDArray[np.int64]) -> str:
    """Return an HMAC of lines of values under the installation's key, each of which stands for so many rows.

    It is the same in any order, and whether equal lines are one or several.
    """
    # some servers give texts of a fixed length with the blanks that fill them, and some without
    lines = fingerprints([pc.utf8_rtrim(as_text(column), " ") for column in columns], len(rows))
    sums = np.zeros(4, np.uint64)
    for place in range(len(sums)):
        lines = _mixed(lines + np.uint64(_GOLDEN))
        sums[place : place + 1] += (lines * rows.astype(np.uint64)).sum(dtype=np.uint64)
    return hmac.new(places.installation_key(), sums.tobytes(), hashlib.sha256).hexdigest()


_GOLDEN = 0x9E3779B97F4A7C15


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all others: splitmix64, Steele, Lea, Flood (2014)."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
