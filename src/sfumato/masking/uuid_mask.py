"""UUID mask: the digits of a universally unique identifier are masked."""

from __future__ import annotations

from typing import Annotated, ClassVar

import pyarrow as pa
from pydantic import Field

from sfumato.core.canonical import ValueType
from sfumato.core.checksums import matches
from sfumato.core.code_points import CodePoints, MaskCharacter
from sfumato.core.mask import Card, MaskContext, Operation, text_of

_FORM = "^([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{32})$"


class UuidMask(Operation):
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
