"""Encrypt: AES-256-GCM (NIST Special Publication 800-38D) with a random nonce, in an envelope that names the key.

The nonce has 96 bits: under one key and domain no more than four thousand million values should be encrypted, then the key changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sfumato.core.chance import random_bytes
from sfumato.core.mask import Card
from sfumato.masking._sealed import Cipher, Sealed, secret_of

_NONCE = 12
_TAG = 16


class Encrypt(Sealed):
    """Every value becomes a ciphertext of its own, even where two are the same. Whoever has the key can reveal it, and nobody can change it unseen.

    Needs the library cryptography, which ``sfumato[masking]`` brings along. Cost: about 2 microseconds a value.
    """

    card: ClassVar[Card] = Card(
        deterministic=False,
        reversible=True,
        uniqueness="preserved",
        changes_type=True,
        scope="value",
        keyed=True,
        reveals="The length of each value, and which key it needs.",
    )

    @property
    def unrepeatable(self) -> str:
        """Two values under one nonce tell what they differ in, and let ciphertexts be forged."""
        return "its nonces would come again for other values, which gives them away"

    def secret(self, key: bytes) -> bytes:
        """Return 256 bits."""
        return secret_of(key, "aes-256-gcm", 32)

    def encrypted(self, values: Sequence[bytes], secret: bytes, associated: bytes) -> list[bytes]:
        """Return nonce, ciphertext and tag of each value."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        encrypt = AESGCM(secret).encrypt
        random = random_bytes(_NONCE * len(values))
        nonces = (random[start : start + _NONCE] for start in range(0, len(random), _NONCE))
        return [nonce + encrypt(nonce, value, associated) for nonce, value in zip(nonces, values, strict=True)]

    def decrypting(self, secret: bytes, associated: bytes) -> Cipher:
        """Return the function that decrypts one ciphertext."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        decrypt = AESGCM(secret).decrypt

        def decrypted(ciphertext: bytes) -> bytes | None:
            try:
                return bytes(decrypt(ciphertext[:_NONCE], ciphertext[_NONCE:], associated)) if len(ciphertext) >= _NONCE + _TAG else None
            except InvalidTag:
                return None

        return decrypted
