"""Keyed pseudonyms: HMAC-SHA-256 (RFC 2104, FIPS 198-1) of a value's bytes, the same on every engine.

The key of the HMAC is a text, the 64 hexadecimal digits of the key that was derived for the domain: databases and libraries that take keys only as
text take it, and being as long as a block of SHA-256 it is used as it is. Where an engine has no HMAC, two nested SHA-256 with the ``pads`` do.
"""

from __future__ import annotations

import hashlib

import pyarrow as pa

DIGITS = 64
"""The hexadecimal digits of a whole pseudonym."""


def key_text(key: bytes) -> str:
    """Return the key of the HMAC for a derived key."""
    return key.hex()


def pads(key: bytes) -> tuple[bytes, bytes]:
    """Return the inner and the outer pad of a derived key: HMAC is SHA-256(outer + SHA-256(inner + bytes)). They are as secret as the key."""
    text = key_text(key).encode()
    return bytes(byte ^ 0x36 for byte in text), bytes(byte ^ 0x5C for byte in text)


def pseudonyms(texts: pa.Array, key: bytes) -> pa.Array:
    """Return the pseudonyms of texts, none of them missing, in hexadecimal.

    >>> pseudonyms(pa.array(["Ann"]), bytes(32))[0].as_py()[:16]
    '60efcc4b7da6fdcc'
    """
    inner, outer = (hashlib.sha256(pad).copy for pad in pads(key))
    found = []
    for value in texts.cast(pa.binary()).to_pylist():
        # a copy of a state that has taken its pad in already
        first, second = inner(), outer()
        first.update(value)
        second.update(first.digest())
        found.append(second.hexdigest())
    return pa.array(found, pa.string())
