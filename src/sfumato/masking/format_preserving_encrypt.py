"""Format-preserving encryption: a number of sixteen digits becomes another of sixteen digits, and with the key itself again.

FF1 of NIST Special Publication 800-38G (2016) with AES-256; the smallest number of possible texts is that of its revision, a million.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from sfumato.core.canonical import ValueType
from sfumato.core.cipher_library import refuse_missing_library
from sfumato.core.ff1 import FF1
from sfumato.core.keys import derived_key
from sfumato.core.mask import Card, MaskContext, Operation
from sfumato.core.rows import on_present
from sfumato.core.value_bytes import value_text
from sfumato.masking._numerals import Numerals

_ALPHABETS = {
    "digits": "0123456789",
    "lower": "abcdefghijklmnopqrstuvwxyz",
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "alphanumeric": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
}
_FEWEST = 1_000_000
_PIECE = 1 << 14
# the steps of a value grow with the square of its length, so that one long text could hold up a run for hours
LONGEST = 4096


class FormatPreservingEncrypt(Operation):
    """Replaces the characters of an alphabet by others of it; length, and the characters between them, stay as they are. Two values stay two.

    A text of which there are fewer than a million, such as five digits, cannot be taken: all of them could be tried. Nor can one with more than 4096
    characters of the alphabet, whose cost grows with the square of their number. Check digits are not kept.
    When values are revealed, a wrong key cannot be told from the right one. Needs the library cryptography, which ``sfumato[masking]`` brings along.
    Cost: about half a microsecond a value of 16 digits, 20 where it has more than 32.
    """

    key: Annotated[str, Field(description="the named key")]
    domain: Annotated[str | None, Field(description="columns of one domain have the same pseudonyms; the view's own where none is given")] = None
    alphabet: Annotated[
        str, Field(description="the characters that values are made of: digits, lower, upper, alphanumeric, or all of them written down")
    ] = "digits"
    keep: Annotated[str, Field(description="the characters between them that stay where they are, such as -")] = ""

    @field_validator("alphabet")
    @classmethod
    def _is_alphabet(cls, value: str) -> str:
        if value not in _ALPHABETS and (len(value) < 2 or len(set(value)) != len(value)):
            raise ValueError(f"needs two characters at least, each once; or one of {', '.join(_ALPHABETS)}")
        return value

    @model_validator(mode="after")
    def _apart(self) -> FormatPreservingEncrypt:
        if set(self.keep) & set(self._characters):
            raise ValueError("keeps a character of its alphabet")
        return self

    @property
    def card(self) -> Card:
        """What it does; of values whose letters or digits stay in part it hides only the rest."""
        return Card(
            deterministic=True,
            reversible=True,
            uniqueness="preserved",
            changes_type=True,
            scope="value",
            keyed=not any(sign.isalnum() for sign in self.keep),
            reveals="Which rows have the same value, how often each occurs, its length and the characters that are kept.",
        )

    @property
    def _characters(self) -> str:
        return _ALPHABETS.get(self.alphabet, self.alphabet)

    @property
    def keys(self) -> Sequence[str]:
        """The key."""
        return (self.key,)

    @property
    def tells_key(self) -> bool:
        """Return that digits have no room for it."""
        return False

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Say before anything is read that the library is missing; columns of every type fit."""
        refuse_missing_library()
        return super().misfit(kind, declared)

    def misfit_after(self, maker: Operation) -> str | None:
        """Return that what another operation makes is written with other characters."""
        if maker.characters is not None and not set(maker.characters) <= {*self._characters, *self.keep}:
            return f"takes texts of the alphabet {self.alphabet}, and the column has other characters"
        return super().misfit_after(maker)

    def takes_some(self, texts: pa.Array) -> bool:
        """Return whether one at least of some texts is of the alphabet, and neither too short nor too long."""
        return bool(self._valid(Numerals(texts, self._characters, self.keep)).any())

    def refused(self, people: int) -> tuple[str, str]:
        """Return which texts are too short."""
        del people
        short = f"fewer than {self._shortest} of them, of which there are less than a million texts, or more than {LONGEST}"
        words = f"that format_preserving_encrypt cannot take (characters that are not of the alphabet {self.alphabet}, or {short})"
        return f"with a value {words}", "hash or tokenise, which take every value, keep: '-' for what stands between, or mask the others with `when`"

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the encrypted values; null for one with other characters, or with too few or too many."""
        texts = value_text(columns.column(context.column), context.kind)
        return on_present(texts, lambda present: self._permuted(present, context, decrypt=False))

    def reveal(self, values: pa.Array, context: MaskContext) -> pa.Array:
        """Return the values as they were before they were encrypted under the current key."""
        context.opened_by.add(context.keys.current(self.key).id)
        return on_present(value_text(values), lambda present: self._permuted(present, context, decrypt=True))

    def _permuted(self, texts: pa.Array, context: MaskContext, decrypt: bool) -> pa.Array:
        cipher = FF1(derived_key(context.key(self.key, self.domain), b"ff1"), context.purpose(self.domain).encode(), len(self._characters))
        permuted = cipher.decrypted if decrypt else cipher.encrypted
        parts = []
        for start in range(0, len(texts), _PIECE):
            numerals = Numerals(texts.slice(start, _PIECE), self._characters, self.keep)
            valid = self._valid(numerals)
            parts.append(numerals.replaced([(where, permuted(codes)) for where, codes in numerals.groups(valid)], valid))
        return pa.concat_arrays(parts) if parts else texts

    def _valid(self, numerals: Numerals) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = ~numerals.foreign & (numerals.counts >= self._shortest) & (numerals.counts <= LONGEST)
        return found

    @property
    def _shortest(self) -> int:
        """The fewest characters of which there are a million texts."""
        return next(number for number in count(2) if len(self._characters) ** number >= _FEWEST)
