"""Random text: every value becomes a text of random characters of an alphabet."""

from __future__ import annotations

import string
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from sfumato.core.ascii_rows import ascii_rows
from sfumato.core.by_chance import ByChance
from sfumato.core.draws import below
from sfumato.core.mask import NOTHING, Card, MaskContext

_ALPHABETS = {
    "letters": string.ascii_letters,
    "lower": string.ascii_lowercase,
    "upper": string.ascii_uppercase,
    "digits": string.digits,
    "alphanumeric": string.ascii_letters + string.digits,
    "hexadecimal": "0123456789abcdef",
}
_LONGEST = 1000


class RandomText(ByChance):
    """Replaces every value by a text of so many characters, whatever its own length was.

    With a ``key`` the same value always becomes the same text. Missing values stay missing unless the policy says ``on_null: generate``; under a
    key they all become the same. Cost: a tenth of a microsecond a character.

    >>> from sfumato.core.mask import MaskContext
    >>> names = pa.RecordBatch.from_pydict({"name": ["Ann", "Bartholomew"]})
    >>> [len(text) for text in RandomText(length=8).apply(names, MaskContext("name")).to_pylist()]
    [8, 8]
    """

    length: Annotated[int | None, Field(ge=1, le=_LONGEST, description="how many characters each text has")] = None
    minimum_length: Annotated[int | None, Field(ge=0, le=_LONGEST, description="or how many at least")] = None
    maximum_length: Annotated[int | None, Field(ge=1, le=_LONGEST, description="and how many at most, all equally likely")] = None
    alphabet: Annotated[str, Field(description=f"one of {', '.join(_ALPHABETS)}, or the characters themselves")] = "letters"

    @field_validator("alphabet")
    @classmethod
    def _several(cls, value: str) -> str:
        characters = _ALPHABETS.get(value, value)
        if len(set(characters)) < 2 or len(set(characters)) < len(characters):
            raise ValueError(f"needs two or more characters, each once; or one of {', '.join(_ALPHABETS)}")
        if any(character == "\0" or 0xD800 <= ord(character) <= 0xDFFF for character in characters):
            raise ValueError("has a character that cannot be written")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> RandomText:
        if (self.length is None) == (self.maximum_length is None) or (self.length is not None and self.minimum_length is not None):
            raise ValueError("needs a length, or a minimum_length and a maximum_length")
        if self.maximum_length is not None and (self.minimum_length is None or self.minimum_length > self.maximum_length):
            raise ValueError("needs a minimum_length that is not above the maximum_length")
        return self

    @property
    def card(self) -> Card:
        """What it does; without a key chance decides."""
        return Card(
            deterministic=self.key is not None,
            uniqueness="not guaranteed",
            changes_type=True,
            scope="value",
            generates=True,
            keyed=self.key is not None,
            reveals=NOTHING if self.key is None else "Which rows have the same value, and how often each occurs.",
        )

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return a text for every row."""
        longest, values = self.length or self.maximum_length or 1, columns.column(context.column)
        drawn = self.drawn(values, context, longest + 1)
        characters = np.array([ord(character) for character in _ALPHABETS.get(self.alphabet, self.alphabet)], np.uint32)
        found = characters[below(drawn[:, 1:], len(characters))]
        if self.length is not None and characters.max() < 128:
            return self.of_type(ascii_rows(found.astype(np.uint8)), values, context.kind)
        if self.length is None:
            least = self.minimum_length or 0
            lengths = least + below(drawn[:, 0], longest - least + 1)
            found[np.arange(longest) >= lengths[:, None]] = 0
        return self.of_type(pa.array(_texts(found), pa.string()), values, context.kind)


def _texts(characters: NDArray[np.uint32]) -> NDArray[np.str_]:
    """Return rows of code points as texts, up to the first zero."""
    rows, width = characters.shape
    return np.ascontiguousarray(characters).view(f"<U{width}").reshape(rows)
