"""The envelope of a ciphertext: ``s1.<id of the key>.<base64>``, a text that any column, file or database can hold.

``s1`` is the version of what is within. The id says under which key it was made, so that older values can still be revealed after a key was changed.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa

from sfumato.core.keys import is_key_id

VERSION = "s1"
_FOR_ADDRESSES, _PLAIN = bytes.maketrans(b"+/", b"-_"), bytes.maketrans(b"-_+/", b"+/  ")


def associated(key_id: str, purpose: str) -> bytes:
    """Return what is not encrypted but vouched for: a ciphertext of another version, key, domain or view is none."""
    return b"\0".join((VERSION.encode(), key_id.encode(), purpose.encode()))


def sealed(key_id: str, ciphertexts: Sequence[bytes]) -> pa.Array:
    """Return ciphertexts as texts."""
    before = f"{VERSION}.{key_id}.".encode()
    encode = binascii.b2a_base64
    return pa.array([before + encode(one, newline=False).translate(_FOR_ADDRESSES, b"=") for one in ciphertexts], pa.binary()).cast(pa.string())


def opened(texts: pa.Array) -> Iterator[tuple[str, bytes] | None]:
    """Yield the id of the key and the ciphertext of each text; None for a text that is no envelope, and for a missing one."""
    for text in texts.to_pylist():
        head, _, body = (text or "").rpartition(".")
        version, _, key_id = head.partition(".")
        found = _decoded(body) if version == VERSION and is_key_id(key_id) else None
        yield None if found is None else (key_id, found)


def key_ids(texts: pa.Array) -> list[str]:
    """Return the ids of the keys under which values were made, each once."""
    return sorted({one[0] for one in opened(texts) if one is not None})


def seem_sealed(texts: pa.Array, known: Collection[str]) -> list[bool]:
    """Return for each text whether it is an envelope under a key of a known id, or was one before somebody damaged it.

    >>> seem_sealed(pa.array(["s1.k1.AAAA", "s1.k1.A*", "s2.k1.AAAA", "s1.k2.AAAA", "s3.example.org", None]), ["k1"])
    [True, True, True, False, False, False]
    """
    damaged = re.compile(rf"\s*s[0-9]+\.({'|'.join(map(re.escape, known))})(\.|$)")
    pairs = zip(opened(texts), texts.to_pylist(), strict=True)
    return [one[0] in known if one is not None else damaged.match(text or "") is not None for one, text in pairs]


def _decoded(text: str) -> bytes | None:
    try:
        signs = text.encode("ascii").translate(_PLAIN)
        return binascii.a2b_base64(signs + b"=" * (-len(signs) % 4), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
