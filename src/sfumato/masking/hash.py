"""Hash: the value becomes a digest of it, under a key that only those have who may link.

HMAC-SHA-256 (RFC 2104) of the value's bytes, as ``core/value_bytes.py`` defines them: the same value, key and domain give the same pseudonym in every
column, file and database. Plain digests, without a key, are there for those who must match what another program made: whoever can list the possible
values, and of names, numbers and dates everybody can, finds each value again by trying.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from string import ascii_letters, digits, hexdigits
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from sfumato.core.base64_text import base64_text
from sfumato.core.canonical import ValueType
from sfumato.core.mask import Card, MaskContext, Operation
from sfumato.core.pseudonym import pseudonyms
from sfumato.core.rows import on_present
from sfumato.core.value_bytes import value_text
from sfumato.masking import _polars_hash

if TYPE_CHECKING:
    import ibis
    from numpy.typing import NDArray

_MANY = 4096
"""From so many values on it is worth it to load another library."""


class Hash(Operation):
    """The same value always becomes the same digest, within a domain. Missing values stay missing; the empty text has a digest too.

    Not reversible, but whoever has the key can try values. Frequencies stay: the most frequent pseudonym is the most frequent value. Cost: about
    1.5 microseconds a distinct value, a quarter of it with ``sfumato[fast]``.
    """

    key: Annotated[str | None, Field(description="the named key")] = None
    domain: Annotated[str | None, Field(description="columns of one domain have the same pseudonyms; the view's own where none is given")] = None
    length: Annotated[int | None, Field(ge=16, description="how many characters are kept, 16 or more; all where nothing is said")] = None
    output: Annotated[Literal["hex", "base64", "integer"], Field(description="hexadecimal, base64 for addresses, or a whole number of 63 bits")] = (
        "hex"
    )
    unkeyed: Annotated[
        Literal["sha256", "sha512", "sha3_256", "sha3_512"] | None, Field(description="a plain digest instead of a key: anybody can try values")
    ] = None

    @model_validator(mode="after")
    def _consistent(self) -> Hash:
        if self.key is not None and self.unkeyed is not None:
            raise ValueError("takes key or unkeyed, not both: a digest is made under a key or without one")
        if self.key is None and self.unkeyed is None:
            raise ValueError("needs a key; or unkeyed: sha256, which anybody who can guess a value can undo")
        if self.unkeyed is not None and self.domain is not None:
            raise ValueError("takes a domain only with a key: plain digests are the same everywhere")
        if self.output == "integer" and self.length is not None:
            raise ValueError("takes no length with output: integer")
        if self.length is not None and self.length > self._longest:
            raise ValueError(f"has {self._longest} characters at most")
        return self

    @property
    def _longest(self) -> int:
        size = 64 if self.unkeyed is not None and self.unkeyed.endswith("512") else 32
        return size * 2 if self.output == "hex" else -(-size * 4 // 3)

    @property
    def card(self) -> Card:
        """What it does: how much can be learnt hangs on the key."""
        same = "Which rows have the same value, and how often each occurs"
        return Card(
            deterministic=True,
            # without a key even a part of a digest leads from a known value to its row
            uniqueness="preserved" if self.unkeyed is not None or (self.length is None and self.output != "integer") else "not guaranteed",
            changes_type=True,
            scope="value",
            engines=("arrow",) if self.output == "base64" else ("arrow", "sql"),
            keyed=self.key is not None,
            reveals=f"{same}." if self.key is not None else f"{same}; and every value that somebody thinks of trying.",
        )

    @property
    def keys(self) -> Sequence[str]:
        """The key, where there is one."""
        return () if self.key is None else (self.key,)

    @property
    def warnings(self) -> Sequence[str]:
        """A digest without a key is no secret."""
        return () if self.unkeyed is None else (f"{self.unkeyed} without a key can be undone by trying values, by anybody",)

    @property
    def makes(self) -> ValueType | None:
        """Text, unless a number is asked for."""
        return "text" if self.output != "integer" else None

    @property
    def characters(self) -> str | None:
        """The digits that it writes."""
        return {"hex": hexdigits[:16], "base64": f"{ascii_letters}{digits}-_", "integer": digits}[self.output]

    def output_type(self, original: pa.DataType) -> pa.DataType:
        """Return text, or whole numbers."""
        del original
        return pa.int64() if self.output == "integer" else pa.string()

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the digest of each value."""
        texts = value_text(columns.column(context.column), context.kind)
        return on_present(texts, lambda present: self._shown(self._digests(present, context)))

    def padded(self, context: MaskContext) -> tuple[str, str] | None:
        """Return the key and what it is for."""
        return None if self.key is None else (self.key, context.purpose(self.domain))

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return the digest, of columns whose bytes every engine writes alike; with a key only where its pads are beside the columns."""
        from sfumato.databases.server_functions import digest, first, leading_bits, pseudonym, value_text

        value = columns[context.column]
        text = value_text(value)
        if text is None or self.output == "base64" or _is_read_as_another(value, context.kind):
            return None
        if self.key is None:
            digits = digest(text, str(self.unkeyed))
        else:
            pads = context.pads(self.key, context.purpose(self.domain)) if context.pads is not None else None
            if pads is None:
                return None
            digits = pseudonym(text, *pads)
        if self.output == "integer":
            return leading_bits(digits)
        return digits if self.length is None else first(digits, self.length)

    def _digests(self, texts: pa.Array, context: MaskContext) -> pa.Array:
        """Return whole digests in hexadecimal."""
        fast = len(texts) >= _MANY and _polars_hash.is_there()
        if self.key is not None:
            return (_polars_hash.pseudonyms if fast else pseudonyms)(texts, context.key(self.key, self.domain))
        return (_polars_hash.digests if fast else _digests)(texts, str(self.unkeyed))

    def _shown(self, digests: pa.Array) -> pa.Array:
        if self.output == "hex":
            return digests if self.length is None else pc.utf8_slice_codeunits(digests, 0, self.length)
        raw = _bytes_of(digests)
        if self.output == "integer":
            leading = np.ascontiguousarray(raw[:, :8]).view(">u8").reshape(-1)
            return pa.array((leading >> np.uint64(1)).astype(np.int64))
        return base64_text(raw, self.length)


def _is_read_as_another(value: ibis.Value, declared: ValueType | None) -> bool:
    """Return whether a column is of a type that the policy says to be another: text that is read, instants that are days, decimals that are whole."""
    kind = value.type()
    if kind.is_string():
        return declared not in (None, "text")
    return bool((kind.is_timestamp() and declared == "date") or (kind.is_decimal() and declared == "integer"))


def _digests(texts: pa.Array, algorithm: str) -> pa.Array:
    digest = getattr(hashlib, algorithm)
    return pa.array([digest(value).hexdigest() for value in texts.cast(pa.binary()).to_pylist()], pa.string())


def _bytes_of(digests: pa.Array) -> NDArray[np.uint8]:
    """Return one row of bytes for each text of hexadecimal digits; all are of one length."""
    whole = bytes.fromhex("".join(digests.to_pylist()))
    return np.frombuffer(whole, np.uint8).reshape(len(digests), -1) if len(digests) else np.empty((0, 8), np.uint8)
