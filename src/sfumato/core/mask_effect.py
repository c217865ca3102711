"""What a mask did to a column: to how many values, how many it could not take, and how many are what they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.kernels.fingerprint import value_prints
from sfumato.errors import DataError, number_of

Rows = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Made:
    """A masked column, and for each row whether the condition held, and whether its value was missing or could not be taken.

    ``invalid`` goes by the name of the operation, ``missing`` are the missing values that the policy refuses. ``removed`` are further values that an
    operation could not take, and was told to remove.
    """

    values: pa.Array
    held: Rows
    missing: Rows
    invalid: Mapping[str, Rows]
    removed: Mapping[str, Rows] = field(default_factory=dict)

    def taken(self, places: pa.Array) -> Made:
        """Return the same for rows of which each has the number of one of these; a missing number is a missing value."""
        here = places.is_valid().to_numpy(zero_copy_only=False)
        numbers = places.fill_null(0).to_numpy(zero_copy_only=False)

        def spread(rows: Rows) -> Rows:
            if not rows.any():
                return np.zeros(len(here), bool)
            # looking up each row takes longer than the mask itself, and mostly all are alike
            found: Rows = here if rows.all() else here & rows[numbers]
            return found

        invalid, removed = ({name: spread(rows) for name, rows in told.items()} for told in (self.invalid, self.removed))
        return Made(self.values.take(places), spread(self.held), spread(self.missing), invalid, removed)


@dataclass
class _Told:
    """How many rows there are of a kind, and the first of them, counted from 1."""

    number: int = 0
    first: int | None = None

    def add(self, rows: Rows, numbers: NDArray[np.int64] | None, weights: NDArray[np.int64] | None) -> None:
        self.number += _number(rows, weights)
        if numbers is not None and rows.any():
            least = int(numbers[rows].min()) + 1
            self.first = least if self.first is None else min(self.first, least)

    def words(self, rest: str) -> str:
        place = f", the first in row {self.first}" if self.first is not None and self.number > 1 else f", row {self.first}" if self.first else ""
        return f"{number_of(self.number, 'row')} {rest}{place}"


@dataclass
class Effect:
    """Gathers, batch by batch, what the mask of one column did; ``everywhere`` says that rows for which the condition did not hold are masked too.

    ``removes`` says that the column removes values that are not valid, ``may_remove`` that it does or that one of its operations does of its own.
    """

    removes: bool = False
    may_remove: bool = False
    everywhere: bool = False
    refusals: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    present: int = 0
    held: int = 0
    unchanged: int = 0
    among_few: int = 0
    missing: _Told = field(default_factory=_Told)
    invalid: dict[str, _Told] = field(default_factory=dict)
    own: dict[str, _Told] = field(default_factory=dict)
    """What operations have removed of their own, by their names."""

    def add(self, made: Made, numbers: NDArray[np.int64] | None = None, weights: NDArray[np.int64] | None = None) -> None:
        """Take further rows; ``numbers`` are those that they have in the source, ``weights`` how many rows each of them stands for."""
        self.missing.add(made.missing, numbers, weights)
        for gathered, told in ((self.invalid, made.invalid), (self.own, made.removed)):
            for name, rows in told.items():
                gathered.setdefault(name, _Told()).add(rows, numbers, weights)

    def compare(self, made: Made, original: pa.Array, weights: NDArray[np.int64] | None = None) -> None:
        """Count the rows for which the condition held, the values that were masked, and how many of these are what they were."""
        held = made.held
        there = (held | self.everywhere) & original.is_valid().to_numpy(zero_copy_only=False)
        same = there & (value_prints(original) == value_prints(made.values))
        self.held += _number(held, weights)
        self.present += _number(there, weights)
        self.unchanged += _number(same, weights)

    @property
    def removed(self) -> int:
        """How many values were removed because an operation could not take them."""
        return sum(self.removed_by.values())

    @property
    def removed_by(self) -> Mapping[str, int]:
        """How many values were removed because an operation could not take them, by the name of the operation; none that took all."""
        numbers: dict[str, int] = {}
        for told in (self.own, self.invalid if self.removes else {}):
            for name, one in told.items():
                numbers[name] = numbers.get(name, 0) + one.number
        return {name: number for name, number in numbers.items() if number}


def _number(rows: Rows, weights: NDArray[np.int64] | None) -> int:
    return int(rows.sum() if weights is None else weights[rows].sum())


def refuse(effects: Mapping[str, Effect]) -> None:
    """Raise one error for all columns with values that their masks refuse."""
    wrong = [error for column, effect in effects.items() for error in _wrong(column, effect)]
    if not wrong:
        return
    first = wrong[0]
    raise DataError("; ".join(error.message for error in wrong), code=first.code, hint="; ".join(str(error.hint) for error in wrong))


def _wrong(column: str, effect: Effect) -> Iterator[DataError]:
    if effect.missing.number:
        words = f"column {column}: {effect.missing.words('without a value')}"
        yield DataError(words, code="mask-null", hint=f"on_null: keep in columns.{column}, or complete the source")
    for name, told in effect.invalid.items() if not effect.removes else ():
        if told.number:
            what, advice = effect.refusals.get(name, (f"with a value that {name} cannot take", "mask the others with `when`"))
            words = f"column {column}: {told.words(what)}"
            yield DataError(words, code="mask-invalid", hint=f"{advice}, or say on_invalid: remove in columns.{column}")
