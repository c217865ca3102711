"""Entity tag: every value becomes the name of what it is, such as ``<PERSON>``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import pyarrow as pa
from pydantic import Field

from sfumato.core.canonical import ValueType
from sfumato.core.mask import Card, MaskContext, Operation


class EntityTag(Operation):
    """Replaces every value by a tag that says what stood there. Missing values stay missing unless the policy says ``on_null: generate``.

    >>> from sfumato.core.mask import MaskContext
    >>> EntityTag(kind="PERSON").apply(pa.RecordBatch.from_pydict({"name": ["Ada"]}), MaskContext("name")).to_pylist()
    ['<PERSON>']
    """

    card: ClassVar[Card] = Card(
        deterministic=True,
        uniqueness="lossy",
        changes_type=True,
        scope="value",
        generates=True,
        reveals="That there is a value, and of what kind.",
    )

    kind: Annotated[str, Field(min_length=1, description="what the values are, such as `PERSON`")]
    prefix: Annotated[str, Field(description="what stands before it")] = "<"
    suffix: Annotated[str, Field(description="what stands behind it")] = ">"

    @property
    def tag(self) -> str:
        """What every row shows."""
        return f"{self.prefix}{self.kind}{self.suffix}"

    @property
    def makes(self) -> ValueType | None:
        """Text, whatever the value is."""
        return "text"

    @property
    def outcomes(self) -> Sequence[str]:
        """The tag."""
        return (self.tag,)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the tag for every row."""
        del context
        return pa.repeat(pa.scalar(self.tag, pa.string()), columns.num_rows)
