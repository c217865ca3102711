"""Shorten: only the first or the last characters of a value stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sfumato.core.mask import Card, MaskContext, Operation, text_of

if TYPE_CHECKING:
    import ibis


class Shorten(Operation):
    """Cuts a value to a number of characters, which are Unicode code points. A value that has no more stays whole.

    >>> from sfumato.core.mask import MaskContext
    >>> names = pa.RecordBatch.from_pydict({"name": ["Lovelace", "Bo"]})
    >>> Shorten(length=2, ellipsis=".").apply(names, MaskContext("name")).to_pylist()
    ['Lo.', 'Bo']
    """

    card: ClassVar[Card] = Card(
        deterministic=True,
        uniqueness="lossy",
        changes_type=True,
        scope="value",
        engines=("arrow", "sql"),
        reveals="The characters of a value that stay, all of a shorter one, and how often what is shown occurs.",
    )

    length: Annotated[int, Field(ge=1, description="how many characters stay")]
    side: Annotated[Literal["start", "end"], Field(description="the side of the value that stays: `start` or `end`")] = "start"
    ellipsis: Annotated[str, Field(description="what is written where something was cut off, and only there, such as `.`")] = ""

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the text cut."""
        texts = text_of(columns, context)
        cut = pc.utf8_slice_codeunits(texts, 0, self.length) if self.side == "start" else pc.utf8_slice_codeunits(texts, -self.length)
        if not self.ellipsis:
            return cut
        parts = (cut, self.ellipsis) if self.side == "start" else (self.ellipsis, cut)
        return pc.if_else(pc.not_equal(cut, texts), pc.binary_join_element_wise(*parts, ""), texts)

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return the side of the text that stays."""
        import ibis

        from sfumato.databases.server_functions import first, last, length, text_of

        text = text_of(columns[context.column])
        if text is None:
            return None
        cut = first(text, self.length) if self.side == "start" else last(text, self.length)
        if not self.ellipsis:
            return cut
        mark = ibis.literal(self.ellipsis)
        return (length(text) > self.length).ifelse(cut + mark if self.side == "start" else mark + cut, text)
