"""Whose a row is: people are told apart by the value of the subject, and not by how somebody has written it.

A subject that is missing, one that is an empty text and one that is not of its declared type are the same unknown person. Which of them a file
holds hangs on who wrote it, and none says anything of anybody: counted apart, nobody would be several people.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.canonical import ValueType
from sfumato.core.value_bytes import told_text


@dataclass(frozen=True)
class Subject:
    """The column that says whose rows are, and the type that the policy says it has."""

    name: str
    kind: ValueType | None = None

    @property
    def is_read(self) -> bool:
        """Whether texts of the column are read as something else, of which there may be several writings."""
        return self.kind not in (None, "text")

    def people(self, rows: pa.RecordBatch) -> pa.Array:
        """Return whose each row is."""
        return known_people(rows.column(self.name), self.kind)

    def strangers(self, rows: pa.RecordBatch, people: pa.Array) -> int:
        """Return how many rows have a value that says nothing of anybody only because it is not of the declared type."""
        if not self.is_read:
            return 0
        subjects = rows.column(self.name)
        subjects = subjects.dictionary_decode() if pa.types.is_dictionary(subjects.type) else subjects
        named = known_people(subjects).is_valid()
        return int(pc.sum(pc.and_not(named, people.is_valid())).as_py() or 0)


class Writings:
    """The first distinct texts that say whose rows are, as far as somebody would look at them."""

    most = 50_000

    def __init__(self) -> None:
        self._found: pa.Array = pa.array([], pa.string())

    def add(self, people: pa.Array) -> None:
        """Look at further rows; what says whose they are in numbers or days has one writing.

        >>> writings = Writings()
        >>> writings.add(pa.array(["ada", "Ada", "ada"]).dictionary_encode()), writings.add(pa.array([5])), writings.found.to_pylist()
        (None, None, ['ada', 'Ada'])
        """
        if len(self._found) >= self.most:
            return
        distinct = pc.unique(people).drop_null()
        distinct = distinct.dictionary_decode() if pa.types.is_dictionary(distinct.type) else distinct
        if pa.types.is_string(distinct.type) or pa.types.is_large_string(distinct.type):
            self._found = pc.unique(pa.concat_arrays([self._found, distinct.slice(0, self.most).cast(pa.string())])).slice(0, self.most)

    @property
    def found(self) -> pa.Array:
        """The texts."""
        return self._found


def known_people(subjects: pa.Array, kind: ValueType | None = None) -> pa.Array:
    """Return subjects, texts of a declared type in its one writing; missing are those that are empty, not of it, or no number among numbers.

    >>> known_people(pa.array(["ada", "", None])).to_pylist()
    ['ada', None, None]
    >>> known_people(pa.array(["ada", "", "ada"]).dictionary_encode()).to_pylist()
    ['ada', None, 'ada']
    >>> known_people(pa.array([5.0, float("nan"), None]).dictionary_encode()).to_pylist()
    [5.0, None, None]
    >>> known_people(pa.array(["5", "5.00", "+5.0", "x", None, "1e3"]), "decimal").to_pylist()
    ['5', '5', '5', None, None, '1000']
    >>> from decimal import Decimal
    >>> known_people(pa.array([Decimal("7.00"), Decimal("7.50")])).to_pylist()
    ['7', '7.5']
    >>> known_people(pa.array(["::1", "0:0:0:0:0:0:0:1"]).dictionary_encode(), "ip").to_pylist()
    ['::1', '::1']
    """
    if pa.types.is_dictionary(subjects.type):
        # several entries of a dictionary may become one
        people = known_people(subjects.dictionary, kind)
        return subjects if people is subjects.dictionary else people.take(subjects.indices)
    if pa.types.is_floating(subjects.type):
        # what is no number names nobody
        return pc.if_else(pc.is_nan(subjects), pa.scalar(None, subjects.type), subjects)
    if pa.types.is_decimal(subjects.type) or (kind == "date" and pa.types.is_timestamp(subjects.type)):
        # one number at any scale, and a day at midnight, are one person
        coded = subjects.dictionary_encode()
        return told_text(coded.dictionary, kind).take(coded.indices)
    if not (pa.types.is_string(subjects.type) or pa.types.is_large_string(subjects.type)):
        return subjects
    if kind not in (None, "text"):
        coded = subjects.dictionary_encode()
        return told_text(coded.dictionary, kind).take(coded.indices)
    empty = pc.equal(pc.binary_length(subjects), 0)
    return pc.if_else(empty, pa.scalar(None, subjects.type), subjects) if pc.any(empty).as_py() else subjects
