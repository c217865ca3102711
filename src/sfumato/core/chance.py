"""Chance: random bytes that nobody can foresee, however many of the others are known."""

from __future__ import annotations

import os

_FEW = 1 << 16


def random_bytes(number: int) -> bytes:
    """Return random bytes of the operating system; many of them from a cipher under a key of the system's that is used once and forgotten.

    AES-256 in counter mode (NIST SP 800-38A) is ten times as fast as the system's own generator, and as hard to foresee; it needs the library
    cryptography, and without it all bytes are the system's.

    >>> len(random_bytes(12)), len(random_bytes(1 << 17))
    (12, 131072)
    """
    if number < _FEW:
        return os.urandom(number)
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        return os.urandom(number)
    # the key is new for each call, so that a counter from zero never repeats under it
    return Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor().update(bytes(number))
