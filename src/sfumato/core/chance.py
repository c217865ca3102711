"""Chance: random bytes that nobody can foresee, however many of the others are known.

Where a replay must give the same bytes again, as in a stream that is taken up after a crash, all chance of a stretch of work is derived from a secret
and from what the stretch is called (HMAC-SHA-256, RFC 2104, and SHAKE-256, FIPS 202): still nobody can foresee it who does not have the secret.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FEW = 1 << 16


def random_bytes(number: int) -> bytes:
    """Return random bytes of the operating system; many of them from a cipher under a key of the system's that is used once and forgotten.

    AES-256 in counter mode (NIST SP 800-38A) is ten times as fast as the system's own generator, and as hard to foresee; it needs the library
    cryptography, and without it all bytes are the system's.

    >>> len(random_bytes(12)), len(random_bytes(1 << 17))
    (12, 131072)
    """
    derived = _derived.get()
    if derived is not None:
        return derived.bytes(number)
    if number < _FEW:
        return os.urandom(number)
    return _by_cipher(number)


@contextmanager
def derived_chance(secret: bytes, purpose: str) -> Iterator[None]:
    """Let all chance within come from a secret and a purpose: the same calls in the same order give the same bytes.

    No two stretches of work under one secret may have the same purpose, unless the second repeats the first.

    >>> def three() -> bytes:
    ...     with derived_chance(bytes(32), "records from 0"):
    ...         return random_bytes(1) + random_bytes(2)
    >>> three() == three(), len(three())
    (True, 3)
    """
    token = _derived.set(_Derived(hmac.digest(secret, b"chance:" + purpose.encode(), "sha256")))
    try:
        yield
    finally:
        _derived.reset(token)


class _Derived:
    """Bytes under a key: each call has a key of its own, and what it gives hangs on all of that key."""

    def __init__(self, key: bytes) -> None:
        self._key, self._calls = key, 0

    def bytes(self, number: int) -> bytes:
        self._calls += 1
        key = hmac.digest(self._key, self._calls.to_bytes(8), "sha256")
        # not the cipher: with and without the library the bytes must be the same
        return hashlib.shake_256(key).digest(number)


def _by_cipher(number: int) -> bytes:
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        return os.urandom(number)
    # the key is new for each call, so that a counter from zero never repeats under it
    return Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor().update(bytes(number))


_derived: ContextVar[_Derived | None] = ContextVar("_derived", default=None)
