"""The line on which the values of an ordered column stand, in whole numbers of their smallest unit where they have one.

Whole numbers, days, seconds, cents: between two neighbours there is nothing, so that closed intervals can meet without a gap or an overlap.
Binary fractions have such a unit only where all of them are short decimal numbers; elsewhere intervals end with the last number before the next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_MOST_DIGITS = 18
_MACHINE = 1 << 62
_FURTHEST = 1e15
_NEAR = 1e-6
# so short that the nearest binary fraction gives the same digits back
_SHORT = r"^-?[0-9]{1,7}(\.[0-9]{1,8})?$"


@dataclass(frozen=True, eq=False)
class Line:
    """Where each value stands: ``places`` are whole numbers of ``unit``, which is a fraction of what people count in; no unit, floats."""

    values: pa.Array
    places: NDArray[Any]
    unit: Fraction | None

    @classmethod
    def of(cls, values: pa.Array) -> Line:
        """Return the line of a column's values, which are in order."""
        if pa.types.is_integer(values.type):
            return cls(values, values.to_numpy().astype(np.int64), Fraction(1))
        if pa.types.is_date(values.type):
            return cls(values, pc.cast(pc.cast(values, pa.date32()), pa.int32()).to_numpy().astype(np.int64), Fraction(1))
        if pa.types.is_timestamp(values.type):
            instants = pc.cast(pc.cast(values, pa.timestamp("us", tz=values.type.tz)), pa.int64()).to_numpy()
            whole = not (instants % 1_000_000).any()
            return cls(values, instants // 1_000_000 if whole else instants, Fraction(1) if whole else Fraction(1, 1_000_000))
        if pa.types.is_decimal(values.type):
            scaled = [int(value * 10**values.type.scale) for value in map(Fraction, values.to_pylist())]
            return cls(values, np.array(scaled, _integer_type(scaled)), Fraction(1, 10**values.type.scale))
        return cls._of_floats(values)

    @classmethod
    def _of_floats(cls, values: pa.Array) -> Line:
        """Return the line of binary fractions: in decimal units where all of them are short decimal numbers, else without a unit."""
        places = canonical.positions(values)
        if not pc.all(pc.match_substring_regex(canonical.render(values), _SHORT)).as_py():
            return cls(values, places, None)
        scale = pc.max(pc.utf8_length(pc.replace_substring_regex(canonical.render(values), r"^[^.]*\.?", ""))).as_py() or 0
        return cls(values, np.round(places * 10**scale).astype(np.int64), Fraction(1, 10**scale))

    def kept(self, inside: NDArray[np.bool_]) -> Line:
        """Return the line with some of its values."""
        return Line(self.values.filter(pa.array(inside)), self.places[inside], self.unit)

    def place(self, bound: int | float | str, kind: canonical.ValueType) -> Fraction:
        """Return where a bound of the policy stands, in units; raise ValueError where it is not of the column's type."""
        if isinstance(bound, str):
            typed = canonical.parse(pa.array([bound]), kind)
            if typed.null_count:
                raise ValueError
            other = Line.of(typed)
            return other.at(0) * (other.unit or 1) / (self.unit or 1)
        # of a whole number a float tells no more than fifteen digits for certain
        return Fraction(bound if isinstance(bound, int) else repr(bound)) / (self.unit or 1)

    def at(self, number: int) -> Fraction:
        """Return where the value of a number stands: a fraction of numpy's numbers would wrap around."""
        return Fraction(self.places.item(number))

    def at_least(self, place: Fraction) -> Any:
        """Return the first place that is not below one between the units."""
        return float(place) if self.unit is None else math.ceil(place)

    def at_most(self, place: Fraction) -> Any:
        """Return the last place that is not above one between the units."""
        return float(place) if self.unit is None else math.floor(place)

    def cuts(self, edges: list[Fraction]) -> NDArray[Any]:
        """Return the first place of each interval that begins at an edge: whole numbers that a machine's do not hold would become floats."""
        cuts = [self.at_least(edge) for edge in edges]
        return np.array(cuts, np.float64 if self.unit is None else _integer_type(cuts))

    def divided(self, origin: Fraction, width: Fraction) -> NDArray[Any]:
        """Return how many whole widths from the origin each value stands."""
        if self.unit is None:
            # halves: the distance between the ends may be more than a float holds
            with np.errstate(over="ignore"):
                widths = np.clip((self.places / 2 - as_float(origin / 2)) / as_float(width / 2), -_FURTHEST, _FURTHEST)
            numbers = np.floor(widths).astype(np.int64)
            # a tenth has no exact binary form, and 0.3 is three tenths: near a border the binary fraction nearest to it decides
            nearest = np.round(widths)
            for place in np.flatnonzero(abs(widths - nearest) < _NEAR):
                border = int(nearest[place])
                numbers[place] = border if self.places[place] >= as_float(origin + border * width) else border - 1
            return numbers
        scale = origin.denominator * width.denominator
        shift, step = origin.numerator * width.denominator, width.numerator * origin.denominator
        furthest = max(abs(int(self.places[0])), abs(int(self.places[-1])))
        exact = self.places if furthest * scale + abs(shift) < _MACHINE and step < _MACHINE else self.places.astype(object)
        numbers = (exact * scale - shift) // step
        return numbers.astype(_integer_type([int(numbers[0]), int(numbers[-1])]))

    def float_texts(self, places: list[float]) -> list[str]:
        """Return the text of places on a line without a unit."""
        return list(canonical.render(pa.array(places, pa.float64())).to_pylist())

    def texts(self, places: list[int]) -> list[str]:
        """Return the canonical text of places on a line that has a unit; what lies beyond the type's range stands at its end."""
        if self.unit is None:
            raise AssertionError("a line without a unit writes only its own values")
        kind = self.values.type
        if pa.types.is_date(kind):
            days = np.clip(places, _FIRST_DAY, _LAST_DAY)
            return list(canonical.render(pc.cast(pa.array(days, pa.int32()), pa.date32())).to_pylist())
        if pa.types.is_timestamp(kind):
            step = int(self.unit * 1_000_000)
            first, last = _FIRST_DAY * 86_400_000_000, (_LAST_DAY + 1) * 86_400_000_000 - step
            instants = [min(max(place * step, first), last) for place in places]
            return list(canonical.render(pa.array(instants, pa.int64()).cast(kind)).to_pylist())
        scale = len(str(self.unit.denominator)) - 1
        highest = 2**63 - 1 if pa.types.is_integer(kind) else 10 ** (_MOST_DIGITS + scale) - 1
        # there is one machine integer more below zero than above it
        lowest = -highest - 1 if pa.types.is_integer(kind) else -highest
        texts = [_decimal_text(min(max(place, lowest), highest), scale) for place in places]
        # a binary fraction is written without zeros at its end
        return [text.rstrip("0").rstrip(".") if "." in text else text for text in texts] if pa.types.is_floating(kind) else texts


def as_float(number: Fraction | int) -> float:
    """Return the float nearest to a number, an infinite one beyond the largest.

    >>> as_float(Fraction(1, 2)), as_float(-(10**400))
    (0.5, -inf)
    """
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _decimal_text(place: int, scale: int) -> str:
    """Return a whole number of units as a decimal number.

    >>> _decimal_text(-5, 2), _decimal_text(1234, 2), _decimal_text(7, 0)
    ('-0.05', '12.34', '7')
    """
    digits = str(abs(place)).zfill(scale + 1)
    sign = "-" if place < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else f"{sign}{digits}"


def _integer_type(numbers: list[int]) -> type:
    """Return machine integers where the numbers fit, Python's where not."""
    return np.int64 if all(abs(number) < _MACHINE for number in numbers) else object
