"""UUID mask: the digits of a universally unique identifier are masked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

import pyarrow as pa
from pydantic import Field

from sfumato.core.canonical import ValueType
from sfumato.core.checksums import matches
from sfumato.core.code_points import CodePoints, MaskCharacter
from sfumato.core.formed_text import FormedText
from sfumato.core.mask import Card, MaskContext, text_of

if TYPE_CHECKING:
    import ibis

_FORM = "^([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{32})$"


class UuidMask(FormedText):
    """Masks a UUID (RFC 9562), written with its four hyphens or without any; what is none it cannot take.

    Few of its digits already single one out: eight of them tell four thousand million apart.

    >>> from sfumato.core.mask import MaskContext
    >>> keys = pa.RecordBatch.from_pydict({"key": ["123e4567-e89b-12d3-a456-426614174000", "none"]})
    >>> UuidMask(keep_first=2).apply(keys, MaskContext("key")).to_pylist()
    ['12******-****-****-****-************', None]
    """

    card: ClassVar[Card] = Card(
        deterministic=True,
        uniqueness="lossy",
        changes_type=True,
        scope="value",
        types=("text",),
        engines=("arrow", "sql"),
        reveals="The digits that are kept, and whether it is written with hyphens.",
    )

    character: MaskCharacter = "*"
    keep_first: Annotated[int, Field(ge=0, le=8, description="how many digits at the beginning stay")] = 0
    keep_last: Annotated[int, Field(ge=0, le=8, description="how many digits at the end stay")] = 0

    @property
    def makes(self) -> ValueType | None:
        """Text, whatever the value is."""
        return "text"

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the identifiers masked."""
        texts = text_of(columns, context)
        points = CodePoints.of(texts)
        kept = points.ends(~points.among("-"), self.keep_first, self.keep_last)
        return points.masked(kept, self.character).text(matches(texts, _FORM))

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return the identifiers masked: of the two ways to write one, each has its characters in known places."""
        import ibis

        from sfumato.databases.server_functions import first, is_written_as, last, text_of

        text = text_of(columns[context.column])
        if text is None:
            return None
        digit, shown = "[0-9A-Fa-f]", self.character
        hidden = [shown * (8 - self.keep_first), *(shown * 4 for _ in range(3)), shown * (12 - self.keep_last)]
        begins, ends = first(text, self.keep_first), last(text, self.keep_last)
        return ibis.cases(
            (is_written_as(text, "-".join(f"{digit}{{{number}}}" for number in (8, 4, 4, 4, 12))), begins + "-".join(hidden) + ends),
            (is_written_as(text, f"{digit}{{32}}"), begins + shown * (32 - self.keep_first - self.keep_last) + ends),
            else_=ibis.null(),
        )
