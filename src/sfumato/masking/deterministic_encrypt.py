"""Deterministic encryption: AES-SIV (RFC 5297) with a key of twice 256 bits, in an envelope that names the key.

Rogaway and Shrimpton, "Deterministic authenticated-encryption" (2006). The domain is associated data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sfumato.core.mask import Card
from sfumato.masking._sealed import Cipher, Sealed, secret_of

_TAG = 16


class DeterministicEncrypt(Sealed):
    """The same value always becomes the same ciphertext, under one key and within a domain; two values stay two. Whoever has the key can reveal it.

    A pseudonym that can be undone: joins and counts still work on it. With a new key, values become other ciphertexts. Needs the library
    cryptography, which ``sfumato[masking]`` brings along. Cost: about 3 microseconds a distinct value.
    """

    card: ClassVar[Card] = Card(
        deterministic=True,
        reversible=True,
        uniqueness="preserved",
        changes_type=True,
        scope="value",
        keyed=True,
        reveals="Which rows have the same value, how often each occurs, and its length.",
    )

    def secret(self, key: bytes) -> bytes:
        """Return 512 bits: half of them make the tag, half encrypt."""
        return secret_of(key, "aes-siv", 64)

    def encrypted(self, values: Sequence[bytes], secret: bytes, associated: bytes) -> list[bytes]:
        """Return tag and ciphertext of each value."""
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        encrypt, beside = AESSIV(secret).encrypt, [associated]
        return [encrypt(value, beside) for value in values]

    def decrypting(self, secret: bytes, associated: bytes) -> Cipher:
        """Return the function that decrypts one ciphertext."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        decrypt, beside = AESSIV(secret).decrypt, [associated]

        def decrypted(ciphertext: bytes) -> bytes | None:
            try:
                return bytes(decrypt(ciphertext, beside)) if len(ciphertext) >= _TAG else None
            except InvalidTag:
                return None

        return decrypted
