"""The numbers or times of a column of any Arrow type, and the way back: operations calculate, and the column stays what it was.

Numbers of whole-number, decimal and text columns are whole numbers of their last digit, so that nothing is rounded unasked: 12.50 is 1250 with two
decimals. What is no number or time, is not finite, or has more than 18 digits, is null. Text stays text in canonical form, each value with as many
decimals as it had: what one row becomes never hangs on its neighbours. Days stay days, instants stay instants; text writes them in UTC.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical

Rounding = Literal["nearest", "down", "up"]
Truths = NDArray[np.bool_]
Whole = NDArray[np.int64]

DIGITS = 18
"""The digits of the longest number."""

DAY = 86_400_000_000
"""The microseconds of a day."""

FIRST, LAST = -719_162 * DAY, 2_932_897 * DAY - 1
"""The first and last microsecond of the years 1 to 9999."""

_MOST = 10**DIGITS - 1
_NEAR = 1e-12
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers of a column: ``words`` are whole numbers of the last digit, of which ``scale`` are decimals; or ``floats``.

    >>> prices = Numbers.of(pa.array(["12.50", "+3", "free"]))
    >>> prices.words.tolist(), prices.valid.tolist()
    ([1250, 3, 0], [True, True, False])
    >>> prices.plus(np.array([0.261, -4.4, 0.0])).to_pylist()
    ['12.76', '-1', None]
    """

    kind: pa.DataType
    words: Whole
    scale: Whole | int
    valid: Truths
    floats: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, values: pa.Array) -> Numbers:
        """Return the numbers of a column."""
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if pa.types.is_integer(values.type):
            return cls(values.type, *_of_integers(values))
        if pa.types.is_floating(values.type):
            numbers = values.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
            return cls(values.type, np.empty(0, np.int64), 0, np.isfinite(numbers), numbers)
        if pa.types.is_decimal(values.type):
            words, _, valid = _of_texts(canonical.render(values)) if pa.types.is_decimal256(values.type) else _of_decimals(values)
            return cls(values.type, words, values.type.scale, valid)
        return cls(values.type, *_of_texts(pc.cast(values, pa.string()) if _is_text(values.type) else pa.nulls(len(values), pa.string())))

    def as_floats(self) -> NDArray[np.float64]:
        """Return the numbers as binary fractions; 0 where there is none."""
        if self.floats is not None:
            return self.floats if self.valid.all() else np.where(self.valid, self.floats, 0.0)
        return self.words / np.power(10.0, self.scale)

    def at(self, decimals: int | Whole, rounding: Rounding = "nearest") -> tuple[Whole, Truths]:
        """Return the numbers in whole numbers of a decimal digit, and which have at most 18 digits there; halves go away from zero."""
        if self.floats is not None:
            with np.errstate(over="ignore"):
                scaled = self.as_floats() * np.power(10.0, decimals)
            fits = self.valid & (np.abs(scaled) <= _MOST)
            return _whole(np.where(fits, scaled, 0.0), rounding).astype(np.int64), fits
        if isinstance(self.scale, int) and isinstance(decimals, int):
            words, fits = _rescaled(self.words, decimals - self.scale, rounding)
            return words, fits & self.valid
        return _by_group(np.asarray(decimals, np.int64) - self.scale, self.words, self.valid, rounding)

    def steps(self, step: int, decimals: int, rounding: Rounding) -> tuple[Whole, Truths]:
        """Return how many steps there are in each number; the step is in whole numbers of a decimal digit."""
        if self.floats is not None:
            with np.errstate(over="ignore"):
                scaled = self.as_floats() * 10.0**decimals / step
            fits = self.valid & (np.abs(scaled) <= _MOST)
            return _whole(np.where(fits, scaled, 0.0), rounding).astype(np.int64), fits
        words, fits = self.at(np.maximum(self.scale, decimals) if isinstance(self.scale, np.ndarray) else max(self.scale, decimals))
        digits = np.maximum(np.asarray(self.scale) - decimals, 0)
        found = np.zeros(len(words), np.int64)
        for number in np.unique(digits).tolist():
            rows = slice(None) if digits.ndim == 0 else digits == number
            found[rows] = multiples(words[rows], step * 10**number, rounding)
        return found, fits

    def plus(self, offsets: NDArray[np.float64], decimals: int | None = None, minimum: float | None = None, maximum: float | None = None) -> pa.Array:
        """Return the column with something added to each number, between bounds and rounded to the decimals it has or that are asked for."""
        if self.floats is not None:
            sums = self.as_floats() + offsets
            if minimum is not None or maximum is not None:
                sums = np.clip(sums, minimum, maximum)
            return self.put_floats(sums if decimals is None else np.round(sums, decimals))
        scale = self.scale if decimals is None else decimals if _is_text(self.kind) else np.minimum(self.scale, decimals).item()
        words, fits = self.at(scale)
        with np.errstate(over="ignore"):
            added = np.rint(offsets * np.power(10.0, scale))
        # beyond what a whole number of the machine holds the sum stands at the end
        added = np.clip(added, -4.0 * _MOST, 4.0 * _MOST).astype(np.int64)
        total: Whole = np.clip(words + added, *self._ends(scale))
        if minimum is not None:
            total = np.maximum(total, bound_at(minimum, scale, up=True))
        if maximum is not None:
            total = np.minimum(total, bound_at(maximum, scale, up=False))
        return self.put(total, scale, fits)

    def _ends(self, scale: Whole | int) -> tuple[int, int]:
        """Return the smallest and largest number that the type of the column holds."""
        if pa.types.is_integer(self.kind):
            limits = np.iinfo(self.kind.to_pandas_dtype())
            return max(-_MOST, int(limits.min)), min(_MOST, int(limits.max))
        if pa.types.is_decimal(self.kind) and isinstance(scale, int):
            most = min(_MOST, 10 ** (self.kind.precision - self.kind.scale + scale) - 1)
            return -most, most
        return -_MOST, _MOST

    def put(self, words: Whole, scale: Whole | int, valid: Truths) -> pa.Array:
        """Return numbers as a column of the original type; null for those that it cannot hold."""
        if self.floats is not None:
            return self.put_floats(words / np.power(10.0, scale), valid)
        if _is_text(self.kind):
            return pc.cast(number_texts(words, scale, valid), self.kind)
        if not (pa.types.is_integer(self.kind) or pa.types.is_decimal(self.kind)):
            return pa.nulls(len(words), self.kind)
        own = self.kind.scale if pa.types.is_decimal(self.kind) else 0
        whole, fits = _rescaled(words, own - int(scale), "nearest") if own >= int(scale) else (words, np.zeros(len(words), bool))
        low, high = self._ends(own)
        fits = fits & valid & (whole >= low) & (whole <= high)
        if own or pa.types.is_decimal(self.kind):
            return pc.cast(_decimals(np.where(fits, whole, 0), own, fits), self.kind)
        return pa.array(np.where(fits, whole, 0).astype(self.kind.to_pandas_dtype()), self.kind, mask=_mask(fits))

    def put_floats(self, numbers: NDArray[np.float64], valid: Truths | None = None) -> pa.Array:
        """Return binary fractions as a column of the original type."""
        with np.errstate(over="ignore"):
            narrow = numbers.astype(self.kind.to_pandas_dtype(), copy=False)
        # what the type does not hold is no number that could be published
        valid = (self.valid if valid is None else valid) & np.isfinite(narrow)
        return pa.array(narrow, self.kind, mask=_mask(valid))


@dataclass(frozen=True, eq=False)
class Times:
    """The days and instants of a column in microseconds since 1970, in UTC; ``days`` says which are whole days.

    >>> stays = Times.of(pa.array(["2020-01-31", "2020-01-31T12:30:00+01:00", "May"]))
    >>> stays.put(stays.microseconds + DAY, stays.valid).to_pylist()
    ['2020-02-01', '2020-02-01T11:30:00Z', None]
    """

    kind: pa.DataType
    microseconds: Whole
    days: Truths
    valid: Truths
    is_cut: Truths | None = None
    """Of which nanoseconds are lost: they are somewhere, but no new time is made of them."""

    @classmethod
    def of(cls, values: pa.Array) -> Times:
        """Return the times of a column."""
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if pa.types.is_date(values.type):
            return cls(values.type, *_of_days(pc.cast(values, pa.date32())))
        if pa.types.is_timestamp(values.type):
            microseconds, days, valid = _of_instants(canonical.parse(values, "timestamp"))
            if values.type.unit == "ns":
                is_cut = values.fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False) % 1_000 > 0
                return cls(values.type, microseconds, days, valid, is_cut)
            return cls(values.type, microseconds, days, valid)
        text = pc.cast(values, pa.string()) if _is_text(values.type) else pa.nulls(len(values), pa.string())
        microseconds, days, valid = _of_days(canonical.parse(text, "date"))
        if valid.all():
            return cls(values.type, microseconds, days, valid)
        instants, _, others = _of_instants(canonical.parse(pc.if_else(pa.array(valid), pa.scalar(None, pa.string()), text), "timestamp"))
        return cls(values.type, np.where(others, instants, microseconds), valid, valid | others)

    def put(self, microseconds: Whole, valid: Truths) -> pa.Array:
        """Return times as a column of the original type; null for those outside the years 1 to 9999."""
        valid = valid & (microseconds >= FIRST) & (microseconds <= LAST)
        if self.is_cut is not None:
            # text with such digits is no instant either
            valid = valid & ~self.is_cut
        found = np.where(valid, microseconds, 0)
        if pa.types.is_timestamp(self.kind):
            units = found * 1_000 if self.kind.unit == "ns" else found // _UNITS[self.kind.unit]
            if self.kind.unit == "ns":
                # nanoseconds reach from 1677 to 2262 only
                valid = valid & (np.abs(found) < 2**63 // 1_000)
            return pc.cast(pa.array(np.where(valid, units, 0), mask=_mask(valid)), self.kind)
        days = pc.cast(pa.array((found // DAY).astype(np.int32), mask=_mask(valid)), pa.date32())
        if pa.types.is_date(self.kind):
            return pc.cast(days, self.kind)
        if not _is_text(self.kind):
            return pa.nulls(len(found), self.kind)
        if self.days[valid].all():
            return pc.cast(canonical.render(days), self.kind)
        instants = canonical.render(pc.cast(pa.array(found, mask=_mask(valid)), pa.timestamp("us", tz="UTC")))
        return pc.cast(pc.if_else(pa.array(self.days), canonical.render(days), instants), self.kind)


def number_texts(words: Whole, scale: Whole | int, valid: Truths) -> pa.Array:
    """Return whole numbers of a digit as text, with so many decimals.

    >>> number_texts(np.array([-5, 1250]), np.array([2, 0]), np.array([True, True])).to_pylist()
    ['-0.05', '1250']
    """
    if isinstance(scale, int):
        return canonical.render(_decimals(words, scale, valid)) if scale else pc.cast(pa.array(words, mask=_mask(valid)), pa.string())
    return _of_groups(scale, lambda rows, decimals: number_texts(words[rows], decimals, valid[rows]))


def exact(number: float | int) -> Fraction:
    """Return a number of a policy as it is written there: 0.1 is a tenth."""
    return Fraction(repr(number))


def decimals_of(number: float | int) -> int:
    """Return how many decimals a number of a policy is written with.

    >>> decimals_of(10), decimals_of(0.05), decimals_of(2.0)
    (0, 2, 0)
    """
    return max(0, -int(Decimal(repr(number)).normalize().as_tuple().exponent))


def bound_at(bound: float, scale: Whole | int, up: bool) -> Whole | int:
    """Return the first number that is not below a bound, or the last that is not above it, in whole numbers of the last digit."""
    if isinstance(scale, int):
        scaled = exact(bound) * 10**scale
        whole: int = math.ceil(scaled) if up else math.floor(scaled)
        return int(max(-_MOST, min(_MOST, whole)))
    bounds = np.zeros(len(scale), np.int64)
    for number in np.unique(scale).tolist():
        bounds[scale == number] = bound_at(bound, number, up)
    return bounds


def _of_integers(values: pa.Array) -> tuple[Whole, int, Truths]:
    numbers = (pc.fill_null(values, 0) if values.null_count else values).to_numpy(zero_copy_only=False)
    valid = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else np.ones(len(values), bool)
    if numbers.dtype.itemsize == 8:
        # a comparison, not the absolute value: the smallest number has none
        fits = (numbers <= _MOST) & (numbers >= (0 if numbers.dtype.kind == "u" else -_MOST))
        if not fits.all():
            return np.where(fits, numbers, 0).astype(np.int64), 0, valid & fits
    return numbers.astype(np.int64, copy=False), 0, valid


def _of_decimals(values: pa.Array) -> tuple[Whole, int, Truths]:
    kind = pa.decimal128(38, values.type.scale)
    values = values if values.type == kind else pc.cast(values, kind)
    pairs = np.frombuffer(values.buffers()[1] or b"", np.int64)[2 * values.offset : 2 * (values.offset + len(values))].reshape(-1, 2)
    low, high = pairs[:, 0], pairs[:, 1]
    fits = (high == low >> 63) & (low <= _MOST) & (low >= -_MOST) & values.is_valid().to_numpy(zero_copy_only=False)
    return np.where(fits, low, 0), values.type.scale, fits


def _of_texts(texts: pa.Array) -> tuple[Whole, Whole, Truths]:
    plain = _without_exponents(texts)
    plain = pc.if_else(canonical.parse(plain, "decimal").is_valid(), plain, pa.scalar(None, pa.string()))
    digits = pc.replace_substring_regex(plain, r"[+.]", "")
    short = pc.match_substring_regex(digits, f"^-?0*[0-9]{{1,{DIGITS}}}$")
    valid = pc.fill_null(short, False).to_numpy(zero_copy_only=False)
    words = pc.fill_null(pc.cast(pc.if_else(short, digits, pa.scalar(None, pa.string())), pa.int64()), 0).to_numpy(zero_copy_only=False)
    scale = pc.fill_null(pc.utf8_length(pc.replace_substring_regex(plain, r"^[^.]*\.?", "")), 0).to_numpy(zero_copy_only=False)
    return words, scale.astype(np.int64), valid


def _without_exponents(texts: pa.Array) -> pa.Array:
    """Return numbers as canonical decimals where they are written with an exponent or with very many digits."""
    odd = pc.fill_null(pc.match_substring_regex(texts, rf"[eE]|\.[0-9]{{{DIGITS + 1}}}"), False).to_numpy(zero_copy_only=False)
    if not odd.any():
        return texts
    known = canonical.parse(texts.filter(pa.array(odd)), "decimal").is_valid().to_pylist()
    plain = [_plain(text) if is_number else None for text, is_number in zip(texts.filter(pa.array(odd)).to_pylist(), known, strict=True)]
    rewritten = pa.array(plain, pa.string()).take(pa.array(np.maximum(np.cumsum(odd) - 1, 0)))
    return pc.if_else(pa.array(odd), rewritten, texts)


def _plain(text: str) -> str:
    number = Decimal(text)
    return f"{round(number, DIGITS).normalize() if -number.normalize().as_tuple().exponent > DIGITS else number:f}"  # type: ignore[operator]


def _of_days(days: pa.Array) -> tuple[Whole, Truths, Truths]:
    valid = days.is_valid().to_numpy(zero_copy_only=False)
    numbers = pc.fill_null(pc.cast(days, pa.int32()), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers * DAY, valid, valid


def _of_instants(instants: pa.Array) -> tuple[Whole, Truths, Truths]:
    valid = instants.is_valid().to_numpy(zero_copy_only=False)
    return pc.fill_null(pc.cast(instants, pa.int64()), 0).to_numpy(zero_copy_only=False), np.zeros(len(instants), bool), valid


def _rescaled(words: Whole, digits: int, rounding: Rounding) -> tuple[Whole, Truths]:
    """Return numbers with so many digits more behind the point, or fewer."""
    if not digits:
        return words, np.ones(len(words), bool)
    if digits > DIGITS or digits < -DIGITS:
        return np.zeros(len(words), np.int64), (words == 0) | (digits < 0)
    if digits > 0:
        fits = np.abs(words) <= _MOST // 10**digits
        return np.where(fits, words, 0) * 10**digits, fits
    return multiples(words, 10**-digits, rounding), np.ones(len(words), bool)


def multiples(words: Whole, step: int, rounding: Rounding) -> Whole:
    """Return how many steps are in each number: the nearest, with halves away from zero, or the next below or above.

    >>> multiples(np.array([-15, 14, 15]), 10, "nearest").tolist(), multiples(np.array([-15, 14]), 10, "down").tolist()
    ([-2, 1, 2], [-2, 1])
    """
    # a step may be wider than a whole number of the machine
    numbers: Any = words if step <= _MOST else words.astype(object)
    if rounding == "down":
        found = numbers // step
    elif rounding == "up":
        found = -(-numbers // step)
    else:
        found = np.sign(numbers) * ((np.abs(numbers) + step // 2) // step)
    whole: Whole = found.astype(np.int64)
    return whole


def _whole(numbers: NDArray[np.float64], rounding: Rounding) -> NDArray[np.float64]:
    """Return floats rounded to whole numbers; one that is a hair beside one is meant to be it: a tenth has no exact binary form."""
    nearest = np.rint(numbers)
    near = np.abs(numbers - nearest) <= _NEAR * np.maximum(1.0, np.abs(nearest))
    if rounding == "nearest":
        return np.where(near, nearest, np.copysign(np.floor(np.abs(numbers) + 0.5), numbers))
    return np.where(near, nearest, np.floor(numbers) if rounding == "down" else np.ceil(numbers))


def _by_group(digits: Whole, words: Whole, valid: Truths, rounding: Rounding) -> tuple[Whole, Truths]:
    found, fits = np.zeros(len(words), np.int64), np.zeros(len(words), bool)
    for number in np.unique(digits).tolist():
        rows = digits == number
        found[rows], fits[rows] = _rescaled(words[rows], number, rounding)
    return found, fits & valid


def _of_groups(groups: Whole, texts: Callable[[Truths, int], pa.Array]) -> pa.Array:
    """Return texts that are made group by group, in the order of the rows."""
    distinct = np.unique(groups).tolist()
    if len(distinct) < 2:
        return texts(np.ones(len(groups), bool), distinct[0] if distinct else 0)
    parts = [texts(groups == number, number) for number in distinct]
    order = np.empty(len(groups), np.int64)
    order[np.argsort(groups, kind="stable")] = np.arange(len(groups))
    return pa.concat_arrays(parts).take(pa.array(order))


def _decimals(words: Whole, scale: int, valid: Truths) -> pa.Array:
    pairs = np.stack([words, words >> 63], axis=1)
    whole = pa.Array.from_buffers(pa.decimal128(38, scale), len(words), [None, pa.py_buffer(np.ascontiguousarray(pairs))])
    return whole if valid.all() else pc.if_else(pa.array(valid), whole, pa.scalar(None, whole.type))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _mask(valid: Truths) -> Truths | None:
    return None if valid.all() else ~valid
