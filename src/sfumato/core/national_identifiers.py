"""The numbers by which states know people: their forms, and their checksums where they have one.

Each function takes a column of text without separators, letters in upper case, and says which values are such numbers. Form and checksum are all
that can be known here: a right one need not have been given out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.checksums import digits_of, matches, mod_11_10, weighted
from sfumato.core.code_points import CodePoints

NationalIdentifier = Literal["us_ssn", "de_steuer_id", "fr_nir", "uk_nino", "es_dni", "it_codice_fiscale", "nl_bsn", "pl_pesel"]
"""The kinds that are known."""

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
# what a letter or digit counts in an odd place of a codice fiscale: decree of 23 December 1976, annex
_ODD_VALUES = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21] * 2 + [2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23]
_ODD = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", _ODD_VALUES, strict=True))
_DIGIT = "[0-9LMNPQRSTUV]"


def us_ssn(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which values are social security numbers of the United States: nine digits without a checksum, of which some are never given out.

    >>> us_ssn(pa.array(["219099999", "666123456", "900123456", "123004567"])).tolist()
    [True, False, False, False]
    """
    return matches(texts, "^[0-8][0-9]{8}$") & ~matches(texts, "^(000|666)") & ~matches(texts, "^...00") & ~matches(texts, "0000$")


def de_steuer_id(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which values are German tax identification numbers: of the first ten digits one occurs two or three times, no other more than once.

    >>> de_steuer_id(pa.array(["86095742719", "86095742718", "12345678903"])).tolist()
    [True, False, False]
    """
    right = mod_11_10(texts) & matches(texts, "^[1-9]")
    table = digits_of(texts.filter(pa.array(right)), 11)[:, :10]
    counts = (table[:, :, None] == np.arange(10)).sum(axis=1)
    right[right] = ((counts > 1).sum(axis=1) == 1) & (counts.max(axis=1, initial=0) <= 3)
    return right


def fr_nir(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which values are French numbers of the register of persons, with their key: 97 less the number modulo 97.

    The departments of Corsica, 2A and 2B, count as 19 and 18.

    >>> fr_nir(pa.array(["184127645108946", "184127645108947"])).tolist()
    [True, False]
    """
    formed = matches(texts, "^[1-478][0-9]{2}(0[1-9]|1[0-2]|[2-9][0-9])([0-9]{2}|2[AB])[0-9]{8}$")
    table = CodePoints.of(texts.filter(pa.array(formed))).points.reshape(-1, 15).astype(np.int64)
    department = table[:, 6]
    digits = table - ord("0")
    for letter, value in (("A", 19), ("B", 18)):
        digits[department == ord(letter), 5:7] = divmod(value, 10)
    number = digits[:, :13] @ 10 ** np.arange(12, -1, -1)
    formed[formed] = 97 - number % 97 == digits[:, 13] * 10 + digits[:, 14]
    return formed


def uk_nino(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which values are national insurance numbers of the United Kingdom: two letters, six digits, one of A to D; there is no checksum.

    >>> uk_nino(pa.array(["AB123456C", "QQ123456C", "GB123456A"])).tolist()
    [True, False, False]
    """
    return matches(texts, "^[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][0-9]{6}[A-D]$") & ~matches(texts, "^(BG|GB|KN|NK|NT|TN|ZZ)")


def es_dni(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which values are Spanish identity numbers, DNI or NIE: the letter is that of the number modulo 23.

    >>> es_dni(pa.array(["12345678Z", "X1234567L", "12345678A"])).tolist()
    [True, True, False]
    """
    formed = matches(texts, f"^([0-9]|[XYZ])[0-9]{{7}}[{_DNI_LETTERS}]$")
    table = CodePoints.of(texts.filter(pa.array(formed))).points.reshape(-1, 9).astype(np.int64)
    digits = table[:, :8] - ord("0")
    # X, Y and Z stand for 0, 1 and 2
    digits[:, 0] = np.where(table[:, 0] >= ord("X"), table[:, 0] - ord("X"), digits[:, 0])
    letters = np.frombuffer(_DNI_LETTERS.encode(), np.uint8)
    formed[formed] = letters[digits @ 10 ** np.arange(7, -1, -1) % 23] == table[:, 8]
    return formed


def it_codice_fiscale(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which values are Italian tax codes of persons, those included in which letters stand for digits so that two people differ.

    >>> it_codice_fiscale(pa.array(["RSSMRA85T10A562S", "RSSMRA85T10A562T"])).tolist()
    [True, False]
    """
    formed = matches(texts, f"^[A-Z]{{6}}{_DIGIT}{{2}}[ABCDEHLMPRST]{_DIGIT}{{2}}[A-Z]{_DIGIT}{{3}}[A-Z]$")
    table = CodePoints.of(texts.filter(pa.array(formed))).points.reshape(-1, 16)
    odd, even = np.zeros(128, np.int64), np.zeros(128, np.int64)
    for character, value in _ODD.items():
        odd[ord(character)] = value
        even[ord(character)] = int(character, 36) - (10 if character.isalpha() else 0)
    total = odd[table[:, 0:15:2]].sum(axis=1) + even[table[:, 1:15:2]].sum(axis=1)
    formed[formed] = total % 26 == even[table[:, 15]]
    return formed


def nl_bsn(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which values are Dutch citizen service numbers: nine digits that pass the eleven test.

    >>> nl_bsn(pa.array(["111222333", "123456782", "123456789", "000000000"])).tolist()
    [True, True, False, False]
    """
    return weighted(texts, [9, 8, 7, 6, 5, 4, 3, 2, -1], 11) & ~matches(texts, "^0+$")


def pl_pesel(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which values are Polish PESEL numbers: a day of birth whose month also says the century, four digits, a check digit.

    >>> pl_pesel(pa.array(["44051401359", "44051401358", "44991401356"])).tolist()
    [True, False, False]
    """
    return weighted(texts, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1], 10) & matches(texts, "^..([02468][1-9]|[13579][0-2])(0[1-9]|[12][0-9]|3[01])")


CHECKS: dict[NationalIdentifier, Callable[[pa.Array], NDArray[np.bool_]]] = {
    "us_ssn": us_ssn,
    "de_steuer_id": de_steuer_id,
    "fr_nir": fr_nir,
    "uk_nino": uk_nino,
    "es_dni": es_dni,
    "it_codice_fiscale": it_codice_fiscale,
    "nl_bsn": nl_bsn,
    "pl_pesel": pl_pesel,
}
"""The function of each kind."""
