"""Tokenise: the value becomes a number that says nothing of it, and a private vault remembers which."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core import places
from sfumato.core.canonical import ValueType
from sfumato.core.cipher_library import refuse_missing_library
from sfumato.core.files import PolicyPath
from sfumato.core.keys import derived_key
from sfumato.core.mask import Card, MaskContext, Operation
from sfumato.core.rows import on_present
from sfumato.core.value_bytes import value_text
from sfumato.core.vault import Vault
from sfumato.core.vault_namespace import TokenRange, VaultKey

_LAST = (1 << 63) - 1
_FIRST_OF_TEN_DIGITS, _TEN_DIGITS = 1_000_000_000, 9_000_000_000
_FILE = "tokens.vault"


class Tokenise(Operation):
    """The same value always becomes the same token within a namespace, in this run and in all later ones; two values never share one.

    Tokens are spread at random over a range, all numbers of ten digits where nothing is said; with ``order: sequence`` they are counted up in the
    order in which values first come in the source, column by column, and then show which came first: whoever has the source in that order finds each
    row again. Beside a promise they are therefore refused; where a database, whose rows have no order, does the work, they are counted in the order
    of the release, which chance makes, and on a stream as records come. The vault keeps the values: as they are,
    in a file that only its owner may read, or encrypted with AES-SIV where a key is named. Every row has a mark, under the key where there is one: a
    vault that is damaged, or whose rows have changed places, reveals nothing wrong. Back it up: without it no token leads back, and values get new
    ones. A run that stops has used up its tokens; a preview uses none up, so that a run may give a new value another than the preview has shown.
    Needs the library cryptography, which ``sfumato[masking]`` brings along. Cost: about 10 microseconds a new value, 4 a known one, and twice its
    bytes on the disk.
    """

    vault: Annotated[PolicyPath | None, Field(description="the file of the vault; one in the private folder where none is given")] = None
    namespace: Annotated[str | None, Field(description="columns of one namespace share their tokens; the view's own where none is given")] = None
    key: Annotated[str | None, Field(description="the named key under which the vault keeps values; as they are where none is given")] = None
    order: Annotated[Literal["random", "sequence"], Field(description="spread over the range, or counted up as values come in the source")] = "random"
    start: Annotated[int | None, Field(ge=0, le=_LAST, description="the first token; 1 in a sequence, else the first number of ten digits")] = None
    end: Annotated[int | None, Field(ge=0, le=_LAST, description="the last token")] = None
    size: Annotated[int | None, Field(ge=1, le=_LAST, description="how many tokens there are, instead of the last one")] = None
    step: Annotated[int, Field(ge=1, le=1 << 32, description="how far apart the tokens of a sequence are")] = 1
    output: Annotated[Literal["text", "integer"], Field(description="tokens as text, or as whole numbers")] = "text"

    @model_validator(mode="after")
    def _consistent(self) -> Tokenise:
        if self.end is not None and self.size is not None:
            raise ValueError("takes end or size, not both")
        if self.step != 1 and self.order != "sequence":
            raise ValueError("takes a step only with order: sequence")
        if self._range.size < 1:
            raise ValueError("ends before it starts")
        if self._range.start + (self._range.size - 1) * self.step > _LAST:
            raise ValueError(f"goes beyond {_LAST}, the largest whole number of 64 bits")
        return self

    @property
    def _range(self) -> TokenRange:
        ordered = self.order == "sequence"
        start = self.start if self.start is not None else (1 if ordered else _FIRST_OF_TEN_DIGITS)
        most = (_LAST - start) // self.step + 1
        size = self.size if self.size is not None else (self.end - start) // self.step + 1 if self.end is not None else None
        return TokenRange(start, self.step, size if size is not None else most if ordered else min(most, _TEN_DIGITS), ordered)

    @property
    def card(self) -> Card:
        """What it does: a sequence tells more."""
        same = "Which rows have the same value, and how often each occurs"
        return Card(
            deterministic=True,
            reversible=True,
            uniqueness="preserved",
            changes_type=True,
            scope="value",
            keyed=True,
            reveals=f"{same}." if self.order == "random" else f"{same}; and which values came first.",
        )

    @property
    def counts_up(self) -> bool:
        """Whether tokens follow the order in which values come."""
        return self.order == "sequence"

    @property
    def keys(self) -> Sequence[str]:
        """The key of the vault, where there is one."""
        return () if self.key is None else (self.key,)

    @property
    def warnings(self) -> Sequence[str]:
        """Tokens that are counted up tell an order."""
        return () if self.order == "random" else ("tokens in sequence show which values came first",)

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Say before anything is read that the library is missing; columns of every type fit."""
        refuse_missing_library()
        return super().misfit(kind, declared)

    def output_type(self, original: pa.DataType) -> pa.DataType:
        """Return text, or whole numbers."""
        del original
        return pa.int64() if self.output == "integer" else pa.string()

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the token of each value."""
        refuse_missing_library()
        return on_present(value_text(columns.column(context.column), context.kind), lambda present: self._tokens(present, context))

    def reveal(self, values: pa.Array, context: MaskContext) -> pa.Array:
        """Return the value of each token; null for what is no token of the vault."""
        refuse_missing_library()
        return on_present(value_text(values), lambda present: self._values(present, context))

    def _tokens(self, texts: pa.Array, context: MaskContext) -> pa.Array:
        opened = _Keeper(self, context)
        tokens = pa.array(opened.vault.tokens(opened.namespace, self._range, opened.key, opened.kept(texts.cast(pa.binary()))))
        return tokens if self.output == "integer" else tokens.cast(pa.string())

    def _values(self, texts: pa.Array, context: MaskContext) -> pa.Array:
        opened = _Keeper(self, context)
        # a token is written without sign or leading zeros; -1 is none
        numbers = [int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1 for text in texts.to_pylist()]
        tokens = np.array(
            [number if number <= _LAST and str(number) == text else -1 for number, text in zip(numbers, texts.to_pylist(), strict=True)]
        )
        if opened.key is not None:
            context.opened_by.add(opened.key.id)
        found = opened.vault.values(opened.namespace, self._range, opened.key, tokens.astype(np.int64))
        return pa.array([None if value is None else opened.original(value) for value in found], pa.binary()).cast(pa.string())


class _Keeper:
    """How a vault keeps values: as they are, or encrypted under the key with which its namespace was begun."""

    def __init__(self, settings: Tokenise, context: MaskContext) -> None:
        self.namespace = f"namespace:{settings.namespace}" if settings.namespace is not None else f"view:{context.view}"
        path = Path(settings.vault) if settings.vault is not None else (context.private or places.folder("vaults")) / _FILE
        self.vault = Vault(path, context.rehearsal)
        self.key: VaultKey | None = None
        self._cipher = None
        if settings.key is not None:
            from cryptography.hazmat.primitives.ciphers.aead import AESSIV

            begun = self.vault.key_id(self.namespace)
            key = context.keys.current(settings.key) if begun is None else context.keys.of_id(settings.key, begun)
            derived = key.derived(f"vault:{self.namespace}")
            self.key = VaultKey(key.id, derived_key(derived, b"key check", size=16), derived_key(derived, b"row marks"))
            self._cipher = AESSIV(derived_key(derived, b"aes-siv", size=64))

    def kept(self, values: pa.Array) -> pa.Array:
        """Return values as the vault keeps them."""
        if self._cipher is None:
            return values
        return pa.array([self._cipher.encrypt(value, None) for value in values.to_pylist()], pa.binary())

    def original(self, kept: bytes) -> bytes | None:
        """Return a value that was kept; None where the key is another."""
        from cryptography.exceptions import InvalidTag

        try:
            return kept if self._cipher is None else self._cipher.decrypt(kept, None)
        except InvalidTag:
            return None
