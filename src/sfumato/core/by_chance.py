"""Operations that chance decides; or, under a key, the value: the same value then always becomes the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sfumato.core.canonical import ValueType
from sfumato.core.chance import random_bytes
from sfumato.core.draws import draws
from sfumato.core.mask import MaskContext, Operation
from sfumato.core.value_bytes import value_text


class ByChance(Operation):
    """What operations that draw at random have in common: a key makes of chance a function of the value."""

    key: Annotated[str | None, Field(min_length=1, description="the key under which the result is a function of the value; none: chance decides")] = (
        None
    )
    domain: Annotated[str | None, Field(description="the pseudonym domain of the key; none: the view's own")] = None

    @model_validator(mode="after")
    def _domain_of_a_key(self) -> ByChance:
        if self.domain is not None and self.key is None:
            raise ValueError("takes a domain only with a key")
        return self

    @property
    def keys(self) -> Sequence[str]:
        """The key, where one is named."""
        return () if self.key is None else (self.key,)

    def drawn(self, values: pa.Array, context: MaskContext, numbers: int = 1, kind: ValueType | None = None) -> NDArray[np.uint64]:
        """Return so many random 64-bit numbers for each value, a row of them each. ``kind`` is the type that the values are told apart by."""
        if self.key is None:
            return draws(pa.nulls(0, pa.string()), np.array([len(values) * numbers]), None, "").reshape(len(values), numbers)
        return keyed_draws(values, context.key(self.key, self.domain), self.component_name(), numbers, kind or context.kind)

    def of_type(self, made: pa.Array, values: pa.Array, kind: ValueType | None) -> pa.Array:
        """Return what was made of some values; under a key none for those that are not of their type, which would all become the same."""
        if self.key is None:
            return made
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        unread = value_text(coded.dictionary, kind).is_null()
        return pc.if_else(unread.take(coded.indices).fill_null(False), pa.scalar(None, made.type), made) if unread.true_count else made


def keyed_draws(values: pa.Array, secret: bytes, purpose: str, numbers: int = 1, kind: ValueType | None = None) -> NDArray[np.uint64]:
    """Return so many numbers for each value, a function of the value and the secret; each distinct value is worked out once."""
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    texts = pa.concat_arrays([value_text(coded.dictionary, kind), pa.nulls(1, pa.string())])
    drawn = draws(texts, np.full(len(texts), numbers), secret, purpose).reshape(len(texts), numbers)
    found: NDArray[np.uint64] = drawn[coded.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)]
    return found


def generator() -> np.random.Generator:
    """Return a fast generator of random numbers, keyed anew by chance.

    Philox (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011) numbers its outputs and scrambles the numbers under the key: from
    some of its outputs the others cannot be worked out as easily as from those of generators with a small state. It is no cipher.
    """
    return np.random.Generator(np.random.Philox(key=np.frombuffer(random_bytes(16), np.uint64)))
