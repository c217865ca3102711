"""Pattern mask: a template says, place by place, what becomes of each character.

``O`` keeps the character, ``X`` masks it, ``N`` puts a random digit there, ``L`` a random lower-case letter, ``U`` an upper-case one, ``A`` a letter
of either case, ``C`` a letter or a digit. Anything that is no letter stands for itself, and so does what follows a backslash. Other letters are
refused: they would be taken for a class that does not exist.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, field_validator

from sfumato.core.code_points import CodePoints, MaskCharacter
from sfumato.core.draws import below, draws
from sfumato.core.mask import Card, MaskContext, Operation, text_of

_KEEP, _MASK = "O", "X"
_CLASSES = {
    "N": string.digits,
    "L": string.ascii_lowercase,
    "U": string.ascii_uppercase,
    "A": string.ascii_letters,
    "C": string.ascii_letters + string.digits,
}


class PatternMask(Operation):
    r"""Masks a value by a template. Of a value that is shorter than the template nothing is kept: ``O`` is then read as ``X``.

    Random characters come from the operating system; with a ``key`` they are a function of the value. Does not hide how long a value is.

    >>> from sfumato.core.mask import MaskContext
    >>> numbers = pa.RecordBatch.from_pydict({"number": ["123-45-6789", "12"]})
    >>> PatternMask(pattern="XXX-XX-OOOO").apply(numbers, MaskContext("number")).to_pylist()
    ['***-**-6789', '**']
    """

    pattern: Annotated[str, Field(min_length=1, description="the template: of `O X N L U A C`, and of characters that stand for themselves")]
    character: MaskCharacter = "*"
    excess: Annotated[
        Literal["mask", "keep", "discard"], Field(description="what becomes of characters beyond the pattern: `mask`, `keep` or `discard`")
    ] = "mask"
    key: Annotated[str | None, Field(min_length=1, description="the key under which random characters are a function of the value")] = None
    domain: Annotated[str | None, Field(description="the pseudonym domain of the key; none: the view's own")] = None

    @field_validator("pattern")
    @classmethod
    def _is_template(cls, value: str) -> str:
        for kind, character in _elements(value):
            if kind == "literal" and not character.isprintable():
                raise ValueError("has a character that cannot be printed")
        return value

    @property
    def card(self) -> Card:
        """What it does; where chance decides one value may become several."""
        return Card(
            deterministic=self.key is not None or not self._random,
            uniqueness="lossy",
            changes_type=True,
            scope="value",
            in_part=True,
            reveals="The characters of a value that are kept, and how long it is, up to the length of the pattern where the rest is discarded.",
        )

    @property
    def keys(self) -> Sequence[str]:
        """The key, where one is named."""
        return () if self.key is None else (self.key,)

    @cached_property
    def _template(self) -> list[tuple[str, str]]:
        return list(_elements(self.pattern))

    @property
    def _random(self) -> list[str]:
        return [kind for kind, _ in self._template if kind in _CLASSES]

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the text masked place by place."""
        texts = text_of(columns, context)
        points = CodePoints.of(texts)
        masked = points.masked(self._excess_kept(points), self.character)
        masked = replace(masked, points=self._placed(points, masked.points, self._drawn(texts, context)))
        if self.excess == "discard":
            place, _ = masked.numbers(np.ones(len(masked.points), bool))
            masked = masked.only(place < len(self._template))
        return masked.text()

    def _excess_kept(self, points: CodePoints) -> NDArray[np.bool_]:
        if self.excess != "keep":
            return np.zeros(len(points.points), bool)
        place, _ = points.numbers(np.ones(len(points.points), bool))
        return place >= len(self._template)

    def _drawn(self, texts: pa.Array, context: MaskContext) -> Iterator[NDArray[np.uint64]]:
        """Yield for each random place one number a value."""
        number = len(self._random)
        secret = context.key(self.key, self.domain) if self.key is not None else None
        drawn = draws(texts, np.full(len(texts), number, np.int64), secret, "pattern_mask")
        yield from drawn.reshape(len(texts), number).T

    def _placed(self, points: CodePoints, masked: NDArray[Any], drawn: Iterator[NDArray[np.uint64]]) -> NDArray[Any]:
        """Return the characters with those of the template in their places."""
        literals = "".join(character for kind, character in self._template if kind == "literal")
        found = masked if literals.isascii() else masked.astype(np.uint32)
        whole = points.lengths >= len(self._template)
        for place, (kind, character) in enumerate(self._template):
            reached = whole if kind == _KEEP else points.lengths > place
            spots = points.starts[:-1][reached] + place
            if kind == _KEEP:
                found[spots] = points.points[spots]
            elif kind == "literal":
                found[spots] = ord(character)
            elif kind in _CLASSES:
                letters = np.frombuffer(_CLASSES[kind].encode(), np.uint8)
                found[spots] = letters[below(next(drawn)[reached], len(letters))]
        return found


def _elements(pattern: str) -> Iterator[tuple[str, str]]:
    """Yield the kind of each place of a template, and the character where it stands for itself."""
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            escaped = next(characters, None)
            if escaped is None:
                raise ValueError("ends with a backslash, after which a character is missing")
            yield "literal", escaped
        elif character in (_KEEP, _MASK, *_CLASSES):
            yield character, ""
        elif character.isalpha():
            raise ValueError("has a letter that is none of O, X, N, L, U, A, C; one that stands for itself follows a backslash")
        else:
            yield "literal", character
