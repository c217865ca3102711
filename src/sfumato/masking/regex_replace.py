"""Regular expression: what it finds in a value is replaced.

Expressions are those of RE2 (Cox, "Regular expression matching in the wild", 2010), which knows no backtracking: no value makes it slow.
"""

from __future__ import annotations

from typing import Annotated, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator, model_validator

from sfumato.core.condition import refuse_no_expression
from sfumato.core.mask import Card, MaskContext, Operation, text_of


class RegexReplace(Operation):
    r"""Replaces what an expression finds; the rest of the value stays as it is.

    A value that stays as it was, because nothing is found in it or because what is found is replaced by itself, would pass unmasked. It is
    therefore a value that the operation cannot take, unless ``unmatched`` says otherwise; the empty text passes. A dot finds no line break: begin
    with ``(?s)`` where values may hold one.

    >>> from sfumato.core.mask import MaskContext
    >>> rooms = pa.RecordBatch.from_pydict({"room": ["ward 12, bed 3", "none"]})
    >>> RegexReplace(pattern="([a-z]+) [0-9]+", replacement=r"\1 #").apply(rooms, MaskContext("room")).to_pylist()
    ['ward #, bed #', None]
    """

    pattern: Annotated[str, Field(min_length=1, description="the regular expression, of RE2")]
    replacement: Annotated[str, Field(description=r"what is written instead; `\1` is what the first group found, `\0` all of it, `\\` a backslash")]
    first_only: Annotated[bool, Field(description="whether only the first find of a value is replaced")] = False
    unmatched: Annotated[
        Literal["invalid", "remove", "keep"],
        Field(description="a value that stays as it was is `invalid` (see `on_invalid`), is removed and counted (`remove`), or passes (`keep`)"),
    ] = "invalid"

    @field_validator("pattern")
    @classmethod
    def _is_expression(cls, value: str) -> str:
        refuse_no_expression(value)
        return value

    @model_validator(mode="after")
    def _has_the_groups(self) -> RegexReplace:
        try:
            # an alternative of nothing is found in every text, so that Arrow looks at the replacement
            pc.replace_substring_regex(pa.array([""]), pattern=f"(?:{self.pattern})|", replacement=self.replacement)
        except pa.ArrowInvalid:
            raise ValueError(r"replacement: a backslash is followed by the number of a group of the pattern, or by another backslash") from None
        return self

    @property
    def card(self) -> Card:
        """What it does; values in which nothing is found may be emptied on purpose."""
        passed = " Values in which it finds nothing are shown whole." if self.unmatched == "keep" else ""
        return Card(
            deterministic=True,
            uniqueness="lossy",
            changes_type=True,
            scope="value",
            empties=self.unmatched == "remove",
            reveals=f"All of a value that the expression does not find, and the groups that the replacement names.{passed}",
        )

    @property
    def removes(self) -> bool:
        """Whether values that stay as they were are removed; they are counted like those that are not valid."""
        return self.unmatched == "remove"

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the text with what was found replaced."""
        texts = text_of(columns, context)
        number = 1 if self.first_only else -1
        replaced = pc.replace_substring_regex(texts, pattern=self.pattern, replacement=self.replacement, max_replacements=number)
        if self.unmatched == "keep":
            return replaced
        return pc.if_else(pc.or_(pc.not_equal(texts, replaced), pc.equal(texts, "")), replaced, pa.scalar(None, pa.string()))
