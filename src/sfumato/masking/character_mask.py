"""Character mask: a mask character in place of characters, all of them or all but the first and last ones.

Also called partial masking or redaction. A character is a Unicode code point: an accent that is written as a mark of its own counts as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from sfumato.core.canonical import ValueType
from sfumato.core.code_points import CodePoints, MaskCharacter
from sfumato.core.mask import Card, MaskContext, Operation, text_of

if TYPE_CHECKING:
    import ibis

_LONGEST = 256


class CharacterMask(Operation):
    """Masks the characters of a value; a value of which nothing would be masked is masked whole.

    Does not hide how long a value is, unless ``length`` is given, nor how often a value occurs.

    >>> from sfumato.core.mask import MaskContext
    >>> cards = pa.RecordBatch.from_pydict({"card": ["4111 1111 1111 1111", "42"]})
    >>> CharacterMask(keep_last=4, skip=" ").apply(cards, MaskContext("card")).to_pylist()
    ['**** **** **** 1111', '**']
    """

    character: MaskCharacter = "*"
    keep_first: Annotated[int, Field(ge=0, description="how many characters at the beginning stay")] = 0
    keep_last: Annotated[int, Field(ge=0, description="how many characters at the end stay")] = 0
    length: Annotated[
        int | None,
        Field(ge=1, le=_LONGEST, description="how many mask characters are written, whatever the length of the value; none: one for each character"),
    ] = None
    skip: Annotated[str, Field(description="characters that stay wherever they stand, such as `-@.`, and are not counted")] = ""

    @model_validator(mode="after")
    def _one_of_two(self) -> CharacterMask:
        if self.length is not None and self.skip:
            raise ValueError("takes length or skip: one hides how long a value is, the other shows it")
        return self

    @property
    def card(self) -> Card:
        """What it does; what is skipped is looked for in Arrow batches only."""
        hidden = "how long it is and " if self.length is None else ""
        return Card(
            deterministic=True,
            uniqueness="lossy",
            changes_type=True,
            scope="value",
            engines=("arrow",) if self.skip else ("arrow", "sql"),
            reveals=f"The characters of a value that are kept, {hidden}how often what is shown occurs.",
        )

    @property
    def makes(self) -> ValueType | None:
        """Text, unless numbers or dates may be written with the mask character: every value has one."""
        is_sign_of_numbers = self.character not in "xX" and (self.character.isalnum() or self.character.isspace() or self.character in "+-.,:/'_")
        return None if is_sign_of_numbers else "text"

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the text with its characters masked."""
        texts = text_of(columns, context)
        if self.length is not None:
            return self._of_one_length(texts, self.character * self.length)
        points = CodePoints.of(texts)
        if not self.skip:
            return points.masked_between(self.keep_first, self.keep_last, self.character).text()
        masked = points.masked(points.ends(~points.among(self.skip), self.keep_first, self.keep_last), self.character).text()
        # where every character is one that stays, the value would be shown whole
        return pc.if_else(pc.equal(masked, texts), points.masked_between(0, 0, self.character).text(), masked)

    def _of_one_length(self, texts: pa.Array, mask: str) -> pa.Array:
        long = pc.greater(pc.utf8_length(texts), self.keep_first + self.keep_last)
        first = pc.if_else(long, pc.utf8_slice_codeunits(texts, 0, self.keep_first), "")
        last = pc.if_else(long, pc.utf8_slice_codeunits(texts, -self.keep_last), "") if self.keep_last else ""
        return pc.binary_join_element_wise(first, mask, last, "")

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return the ends of the text around a repeated character."""
        import ibis

        from sfumato.databases.server_functions import first, last, length, repeated, text_of

        text = text_of(columns[context.column])
        if self.skip or text is None:
            return None
        kept = self.keep_first + self.keep_last
        long = length(text) > kept
        number = long.ifelse(length(text) - kept, length(text)) if self.length is None else ibis.literal(self.length)
        mask = repeated(ibis.literal(self.character), number)
        masked = long.ifelse(first(text, self.keep_first) + mask + last(text, self.keep_last), mask) if kept else mask
        return text.notnull().ifelse(masked, ibis.null())
