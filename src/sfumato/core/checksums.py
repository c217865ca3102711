"""Checksums of numbers that people are known by: whether a number is one that could have been given out.

Each takes a column of text without separators and answers for every value; what is not of the right form is not right. A wrong answer here either
stops a run for nothing or takes any number for a card, so each is held against published examples.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.code_points import CodePoints

_LONGEST_MOD_97 = 34
# a letter stands for a number of two digits, from 10 for A to 35 for Z
_SHIFTS = np.array([10] * 10 + [100] * 26, np.int32)
# the sum of the digits of twice a digit
_DOUBLED = np.array([0, 2, 4, 6, 8, 1, 3, 5, 7, 9], np.uint8)
_ZERO, _LETTER_A = ord("0"), ord("A")


def luhn(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which values are digits whose check digit, the last, is that of Luhn (US patent 2950048, 1960; ISO/IEC 7812-1, annex B).

    >>> luhn(pa.array(["4111111111111111", "4111111111111112", "", None])).tolist()
    [True, False, False, False]
    """
    digits = matches(texts, "^[0-9]{2,}$")
    points = CodePoints.of(texts.filter(pa.array(digits)))
    number, total = points.numbers(np.ones(len(points.points), bool))
    values = points.points - np.uint8(_ZERO)
    doubled = (points.of_each(total) - number) % 2 == 0
    counted = np.where(doubled, _DOUBLED[values], values)
    return _where(digits, _sums(points, counted) % 10 == 0)


def mod_97(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which values have the check digits of an IBAN in places 3 and 4 (ISO 13616-1; ISO 7064, MOD 97-10). Letters are upper case.

    >>> mod_97(pa.array(["GB82WEST12345698765432", "GB82WEST12345698765431"])).tolist()
    [True, False]
    """
    formed = matches(texts, f"^[A-Z]{{2}}[0-9]{{2}}[0-9A-Z]{{1,{_LONGEST_MOD_97 - 4}}}$")
    points = CodePoints.of(texts.filter(pa.array(formed)))
    codes = points.points.astype(np.int32)
    values = np.where(codes >= _LETTER_A, codes - _LETTER_A + 10, codes - _ZERO)
    begins, lengths = points.starts[:-1], points.lengths
    rest = np.zeros(len(lengths), np.int32)
    for place in range(int(lengths.max(initial=0))):
        # what stands first, country and check digits, is read last
        spots = np.where(place + 4 < lengths, place + 4, place + 4 - lengths)
        value = values[np.minimum(begins + spots, len(values) - 1)]
        following = (rest * _SHIFTS[value] + value) % 97
        rest = np.where(place < lengths, following, rest)
    return _where(formed, rest == 1)


def mod_11_10(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which values are eleven digits whose last is the check digit of ISO 7064, MOD 11,10.

    >>> mod_11_10(pa.array(["86095742719", "86095742718"])).tolist()
    [True, False]
    """
    digits = matches(texts, "^[0-9]{11}$")
    table = digits_of(texts.filter(pa.array(digits)), 11)
    product = np.full(len(table), 10, np.int64)
    for place in range(10):
        rest = (table[:, place] + product) % 10
        product = np.where(rest == 0, 10, rest) * 2 % 11
    return _where(digits, (product + table[:, 10]) % 10 == 1)


def weighted(texts: pa.Array, weights: list[int], modulus: int) -> NDArray[np.bool_]:
    """Return which values are as many digits as there are weights, whose weighted sum a modulus divides.

    >>> weighted(pa.array(["44051401359"]), [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1], 10).tolist()
    [True]
    """
    digits = matches(texts, f"^[0-9]{{{len(weights)}}}$")
    table = digits_of(texts.filter(pa.array(digits)), len(weights))
    return _where(digits, table @ np.array(weights) % modulus == 0)


def matches(texts: pa.Array, pattern: str) -> NDArray[np.bool_]:
    """Return which values an expression describes; a missing one is none of them."""
    found: NDArray[np.bool_] = pc.fill_null(pc.match_substring_regex(texts, pattern), False).to_numpy(zero_copy_only=False)
    return found


def digits_of(texts: pa.Array, width: int) -> NDArray[np.int64]:
    """Return the digits of numbers of one length, a row a number.

    >>> digits_of(pa.array(["123", "456"]), 3).tolist()
    [[1, 2, 3], [4, 5, 6]]
    """
    return CodePoints.of(texts).points.reshape(len(texts), width).astype(np.int64) - _ZERO


def _sums(points: CodePoints, values: NDArray[np.uint8]) -> NDArray[np.int64]:
    before = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=before[1:])
    return np.diff(before[points.starts])


def _where(formed: NDArray[np.bool_], right: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return what is right of all values, where only those of the right form were looked at."""
    found = formed.copy()
    found[formed] = right
    return found
