"""Numbers out of a column, whatever its type, and back into it."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.kernels.fingerprint import fingerprints

_MOST = 15
# of a float, which has as many as its digits need
_ANY = 400
_MONEY = 6
_MOST_PLAIN = 30
_HAIR, _WIDEST_HAIR = 2.0**-50, 1e-6
_WITHOUT_HALVES = 2.0**52
# with these bits a float is no number, whatever the 52 others say
_NOT_A_NUMBER = np.uint64(0x7FF8_0000_0000_0000)


def numbers_of(column: pa.Array) -> NDArray[np.float64]:
    """Return the numbers of a column; NaN where there is none.

    >>> numbers_of(pa.array(["1.5", "x", None])).tolist()
    [1.5, nan, nan]
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return canonical.positions(canonical.parse(column, "decimal"))


def told_exactly(column: pa.Array) -> float:
    """Return the number from which on a float no longer tells apart all numbers with the decimals of a column; none for a column of floats.

    >>> told_exactly(pa.array(["1.25", "3"])) == 2**53 / 100
    True
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    # a text with many decimals was a float before, and is as exact as that
    decimals = _decimals(column, kind) if pa.types.is_decimal(kind) else min(_MONEY, _decimals(column, kind))
    return np.inf if pa.types.is_floating(kind) else 2.0**53 / 10.0**decimals


def added_prints(column: pa.Array, shares: NDArray[np.float64] | float = 1.0) -> NDArray[np.uint64]:
    """Return a fingerprint of what each row adds to a total, ``shares`` of its number; the text's where it is none.

    Numbers that are equal have equal ones, however they are written.

    >>> one, same, half = added_prints(pa.array(["1.5", "1.50", "3"]), np.array([1, 1, 0.25])).tolist()
    >>> one == same, one == half
    (True, False)
    """
    # adding zero takes the sign of minus zero away
    numbers = numbers_of(column) * shares + 0.0
    gone = np.isnan(numbers)
    return np.where(gone, fingerprints([column], len(column)) | _NOT_A_NUMBER, numbers.view(np.uint64)) if gone.any() else numbers.view(np.uint64)


def numbers_printed(prints: NDArray[np.uint64], rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the numbers of which these are fingerprints, in some rows, NaN in the others; that of a text is NaN too.

    >>> numbers_printed(added_prints(pa.array(["1.5", "2", "x"])), np.array([True, False, True])).tolist()
    [1.5, nan, nan]
    """
    return np.where(rows, prints.view(np.float64), np.nan)


def with_decimals(original: pa.DataType, decimals: int | None) -> pa.DataType:
    """Return a type that holds numbers of that type with as many decimals as are asked for: whole numbers become floats.

    >>> with_decimals(pa.int32(), 2), with_decimals(pa.int32(), None)
    (DataType(double), DataType(int32))
    """
    kind = original.value_type if pa.types.is_dictionary(original) else original
    return pa.float64() if decimals and pa.types.is_integer(kind) else original


def as_column(numbers: NDArray[np.float64], like: pa.Array, decimals: int | None = None) -> pa.Array:
    """Return numbers in the type of a column, what is not finite as null: rounded to ``decimals``, or to as many as the column has.

    >>> as_column(np.array([1.25, np.nan]), pa.array(["7.0", "1"])).to_pylist()
    ['1.3', None]
    """
    kind = like.type.value_type if pa.types.is_dictionary(like.type) else like.type
    kept = decimals if decimals is not None else _decimals(like, kind)
    if pa.types.is_decimal(kind):
        kept = max(0, min(kept, kind.scale, _MOST))
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = rounded_to(numbers, kept) if kept <= _MOST else _of_digits(numbers)
        # a large number has no decimals, and rounding may not find it again
        rounded = np.where(np.isfinite(rounded), rounded, numbers)
    # what no float holds is no number that could be published
    gone = ~np.isfinite(rounded)
    if pa.types.is_integer(kind):
        whole = np.where(gone, 0, rounded_to(rounded, 0))
        least, most = np.iinfo(kind.to_pandas_dtype()).min, np.iinfo(kind.to_pandas_dtype()).max
        # a sum may be more than the type of its column holds
        gone |= (whole < least) | (whole > most)
        return pa.array(np.where(gone, 0, whole).astype(np.int64), mask=gone).cast(kind)
    if pa.types.is_floating(kind):
        told = pa.array(rounded, mask=gone).cast(kind)
        return pc.if_else(pc.is_finite(told), told, pa.scalar(None, kind))
    # adding zero takes the sign of minus zero away
    distinct, places = np.unique(np.where(gone, 0.0, rounded) + 0.0, return_inverse=True)
    texts = pa.array([f"{number:.{kept}f}" if kept <= _MOST else _digits(number) for number in distinct.tolist()], pa.string())
    if pa.types.is_decimal(kind):
        texts = _that_fit(texts, kind)
    return texts.take(pa.array(places, mask=gone)).cast(kind)


def rounded_to(numbers: NDArray[np.float64], decimals: int) -> NDArray[np.float64]:
    """Return numbers with so many decimals; halves go away from zero, also those that have no exact binary form.

    >>> rounded_to(np.array([0.5, -2.5, 2.4]), 0).tolist(), rounded_to(np.array([1.005, 0.125]), 2).tolist()
    ([1.0, -3.0, 2.0], [1.01, 0.13])
    """
    scaled = np.abs(numbers) * 10.0**decimals
    # a hair below a half is meant to be one; of what is so large that it has no halves nothing is to be rounded
    found = np.floor(scaled + 0.5 + np.minimum(scaled * _HAIR, _WIDEST_HAIR)) / 10.0**decimals
    return np.where(scaled < _WITHOUT_HALVES, np.copysign(found, numbers), numbers)


def _of_digits(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers with as many digits as a float tells for certain, however small they are."""
    found = np.round(numbers, _MOST)
    small = np.flatnonzero((np.abs(numbers) < 1) & (numbers != 0))
    distinct, places = np.unique(numbers[small], return_inverse=True)
    found[small] = np.array([float(f"{number:.{_MOST}g}") for number in distinct.tolist()], np.float64)[places]
    return found


def _digits(number: float) -> str:
    """Return a number as text, with as many digits as a float tells for certain.

    >>> _digits(0.1 + 0.2), _digits(2.5e-17), _digits(2.5e-77)
    ('0.3', '0.000000000000000025', '2.5e-77')
    """
    short = f"{number:.{_MOST}g}"
    plain = f"{Decimal(short):f}"
    return plain if len(plain.partition(".")[2]) <= _MOST_PLAIN else short


def _that_fit(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return numbers as text, null where a type of decimals has too few digits for them."""
    whole = pc.utf8_length(pc.replace_substring_regex(texts, r"^-?0*|\..*$", ""))
    return pc.if_else(pc.less_equal(whole, kind.precision - kind.scale), texts, pa.scalar(None, pa.string()))


def _decimals(like: pa.Array, kind: pa.DataType) -> int:
    if pa.types.is_integer(kind):
        return 0
    if pa.types.is_decimal(kind):
        return int(kind.scale)
    if pa.types.is_floating(kind):
        return _ANY
    texts = like.dictionary if pa.types.is_dictionary(like.type) else like
    texts = pc.cast(texts, pa.string()).drop_null()
    whole = pc.match_substring_regex(texts, r"[0-9][eE][-+]?[0-9]+$")
    fractions = pc.utf8_length(pc.replace_substring_regex(texts.filter(pc.invert(whole)), r"^[^.]*\.?", ""))
    # 1.5e-7 has eight decimals
    small = [-int(exponent) for number in texts.filter(whole).unique().to_pylist() if isinstance(exponent := _exponent(number), int)]
    return max([0, pc.max(fractions).as_py() or 0, *small])


def _exponent(number: str) -> int | str:
    return Decimal(number).as_tuple().exponent if re.fullmatch(r"[-+]?[0-9.]+[eE][-+]?[0-9]{1,3}", number) and number.count(".") < 2 else ""
