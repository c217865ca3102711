"""What the masks ``encrypt`` and ``deterministic_encrypt`` have in common: values go into envelopes and come out again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from string import ascii_letters, digits
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core import envelope
from sfumato.core.canonical import ValueType
from sfumato.core.cipher_library import refuse_missing_library
from sfumato.core.keys import Key, Keys, derived_key
from sfumato.core.mask import Mask, MaskContext, Operation
from sfumato.core.rows import on_present
from sfumato.core.value_bytes import value_text

Cipher = Callable[[bytes], bytes | None]


class Sealed(Operation):
    """A value becomes a ciphertext in an envelope that names its key."""

    key: Annotated[str, Field(description="the named key")]
    domain: Annotated[str | None, Field(description="what is encrypted for one domain is nothing in another; the view's own where none is given")] = (
        None
    )

    @property
    def keys(self) -> Sequence[str]:
        """The key."""
        return (self.key,)

    @property
    def makes(self) -> ValueType | None:
        """Text, whatever the value is."""
        return "text"

    @property
    def characters(self) -> str | None:
        """Those of base64, and the dots between the parts of an envelope."""
        return f"{ascii_letters}{digits}+/-_."

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Say before anything is read that the library is missing; columns of every type fit."""
        refuse_missing_library()
        return super().misfit(kind, declared)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the encrypted values, under the current key."""
        refuse_missing_library()
        texts = value_text(columns.column(context.column), context.kind)
        return on_present(texts, lambda present: self._sealed(present, context))

    def reveal(self, values: pa.Array, context: MaskContext) -> pa.Array:
        """Return the values as they were, each under the key that its envelope names; null for what was tampered with or is no ciphertext."""
        refuse_missing_library()
        return on_present(value_text(values), lambda present: self._opened(present, context))

    def marked(self, values: pa.Array, context: MaskContext) -> NDArray[np.bool_]:
        """Return which values are envelopes under one of the keys, or were."""
        return np.array(envelope.seem_sealed(value_text(values), {key.id for key in context.keys.every(self.key)}), bool)

    def key_ids(self, values: pa.Array) -> Sequence[str | None]:
        """Return the id of the key on each envelope."""
        return [None if one is None else one[0] for one in envelope.opened(value_text(values))]

    def refuse_strangers(self, values: pa.Array, context: MaskContext) -> None:
        """Refuse envelopes under a key that nobody has named."""
        for key_id in envelope.key_ids(value_text(values)):
            context.keys.of_id(self.key, key_id)

    def is_like(self, other: Mask, keys: Keys | None) -> bool:
        """Return whether the other encrypts by the same cipher, for the same domain and under the same key, whatever the policy calls it."""
        if not isinstance(other, Sealed) or type(self) is not type(other) or self.domain != other.domain:
            return False
        return self.key == other.key or (keys is not None and not set(keys.every(self.key)).isdisjoint(keys.every(other.key)))

    @abstractmethod
    def encrypted(self, values: Sequence[bytes], secret: bytes, associated: bytes) -> list[bytes]:
        """Return the ciphertexts."""

    @abstractmethod
    def decrypting(self, secret: bytes, associated: bytes) -> Cipher:
        """Return the function that decrypts one ciphertext; None for one that was not made so."""

    @abstractmethod
    def secret(self, key: bytes) -> bytes:
        """Return the key of the cipher for that of the domain: no two ciphers use the same."""

    def _sealed(self, texts: pa.Array, context: MaskContext) -> pa.Array:
        key = context.keys.current(self.key)
        values = texts.cast(pa.binary()).to_pylist()
        return envelope.sealed(key.id, self.encrypted(values, *self._parameters(key, context)))

    def _opened(self, texts: pa.Array, context: MaskContext) -> pa.Array:
        ciphers: dict[str, Cipher] = {}
        found: list[bytes | None] = []
        for one in envelope.opened(texts):
            if one is None:
                found.append(None)
                continue
            key_id, ciphertext = one
            if key_id not in ciphers:
                ciphers[key_id] = self.decrypting(*self._parameters(context.keys.of_id(self.key, key_id), context))
                context.opened_by.add(key_id)
            found.append(ciphers[key_id](ciphertext))
        return pa.array(found, pa.binary()).cast(pa.string())

    def _parameters(self, key: Key, context: MaskContext) -> tuple[bytes, bytes]:
        purpose = context.purpose(self.domain)
        return self.secret(key.derived(purpose)), envelope.associated(key.id, purpose)


def secret_of(key: bytes, cipher: str, size: int) -> bytes:
    """Return the key of a cipher, derived from that of a domain."""
    return derived_key(key, cipher.encode(), size=size)
