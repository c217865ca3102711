"""Random numbers for masks: such as nobody can foresee, or, under a key, a function of each value.

A faster generator that is only seeded at random would not do: who knows some of the values could work out its state, and undo what it did to the
others. Under a key the numbers are the output of SHAKE-256 on HMAC-SHA-256 of the value (RFC 2104, FIPS 202).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.chance import random_bytes
from sfumato.core.keys import derived_key

_BYTES = 8
# no text is this: it is not UTF-8
_MISSING = b"\xff"


def draws(texts: pa.Array, numbers: NDArray[np.int64], secret: bytes | None, purpose: str) -> NDArray[np.uint64]:
    """Return as many random 64-bit numbers for each value as asked for, one value's after the other's.

    Without a secret chance decides. With one the same text always has the same numbers, all missing values one and the same, and another purpose
    (the name of the operation) others, so that two operations under one key tell nothing of each other.

    >>> one, two = (draws(pa.array(["a", "b", "a"]), np.array([1, 1, 1]), bytes(32), name) for name in ("choice", "shuffle"))
    >>> bool(one[0] == one[2] != one[1]), bool((one == two).any())
    (True, False)
    """
    if secret is None:
        return np.frombuffer(random_bytes(_BYTES * int(numbers.sum())), np.uint64)
    return np.frombuffer(b"".join(_keyed(texts, numbers, derived_key(secret, f"draws:{purpose}".encode()))), np.uint64)


def below(drawn: NDArray[np.uint64], limits: NDArray[np.uint64] | int) -> NDArray[np.int64]:
    """Return whole numbers from 0 to below a limit; they are as likely as each other up to one part in 10^12 for limits below ten million.

    >>> below(np.array([25, 26, 27], np.uint64), 26).tolist()
    [25, 0, 1]
    """
    return (drawn % np.asarray(limits, np.uint64)).astype(np.int64)


def fractions(drawn: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return numbers from 0 to below 1.

    >>> fractions(np.array([0, 2**63], np.uint64)).tolist()
    [0.0, 0.5]
    """
    return (drawn >> np.uint64(11)).astype(np.float64) / 2.0**53


def _keyed(texts: pa.Array, numbers: NDArray[np.int64], secret: bytes) -> Iterator[bytes]:
    begun = hmac.new(secret, digestmod="sha256")
    for text, number in zip(pc.cast(texts, pa.binary()).to_pylist(), numbers.tolist(), strict=True):
        one = begun.copy()
        one.update(_MISSING if text is None else text)
        yield hashlib.shake_256(one.digest()).digest(_BYTES * number)
