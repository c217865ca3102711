"""Whose a record is, as a number: by a fingerprint under the session's own secret, so that nothing grows with the number of people."""

from __future__ import annotations

import hmac

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.canonical import ValueType
from sfumato.core.kernels.fingerprint import value_prints
from sfumato.core.whose import known_people


class People:
    """Numbers people. Two whose numbers collide are counted as one, which errs on the safe side; records of nobody are one person's.

    >>> numbers = People(bytes(32)).numbers(pa.array(["ada", "ben", "ada", None, ""]))
    >>> numbers[0] == numbers[2], numbers[3] == numbers[4], len(set(numbers.tolist()))
    (np.True_, np.True_, 3)
    """

    def __init__(self, secret: bytes, kind: ValueType | None = None) -> None:
        self._kind = kind
        key = np.frombuffer(hmac.digest(secret, b"people", "sha256"), np.uint64)
        self._odd, self._shift = key[0] | np.uint64(1), key[1]

    def numbers(self, subjects: pa.Array) -> NDArray[np.int64]:
        """Return a number for each record, the same for all of one person, whenever they come."""
        mixed = (value_prints(known_people(subjects, self._kind)) ^ self._shift) * self._odd
        mixed ^= mixed >> np.uint64(31)
        numbers: NDArray[np.int64] = mixed.view(np.int64)
        return numbers
