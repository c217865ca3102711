"""National identifier mask: the number by which a state knows a person is masked, once it has proved to be one."""

from __future__ import annotations

from typing import Annotated, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sfumato.core.canonical import ValueType
from sfumato.core.checksums import matches
from sfumato.core.code_points import CodePoints, MaskCharacter
from sfumato.core.formed_text import FormedText
from sfumato.core.mask import Card, MaskContext, text_of
from sfumato.core.national_identifiers import CHECKS, NationalIdentifier

_SEPARATED = "^[0-9A-Za-z]([ ./-]?[0-9A-Za-z])+$"


class NationalIdMask(FormedText):
    """Masks a national identifier; what is not of its form, or fails its checksum where it has one, it cannot take.

    Spaces, hyphens, dots and slashes stay. The numbers of the United States and the United Kingdom have no checksum.

    >>> from sfumato.core.mask import MaskContext
    >>> numbers = pa.RecordBatch.from_pydict({"number": ["219-09-9999", "000-12-3456"]})
    >>> NationalIdMask(kind="us_ssn", keep_last=4).apply(numbers, MaskContext("number")).to_pylist()
    ['***-**-9999', None]
    """

    card: ClassVar[Card] = Card(
        deterministic=True,
        uniqueness="lossy",
        changes_type=True,
        scope="value",
        types=("text", "integer"),
        reveals="The characters that are kept, and how the number is written.",
    )

    kind: Annotated[NationalIdentifier, Field(description="which number it is")]
    character: MaskCharacter = "*"
    keep_last: Annotated[int, Field(ge=0, description="how many characters at the end stay")] = 0

    @property
    def makes(self) -> ValueType | None:
        """Text: no number is written with the character."""
        return None if self.character.isdigit() else "text"

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the numbers masked."""
        texts = text_of(columns, context)
        points = CodePoints.of(texts)
        counted = ~points.among(" ./-")
        valid = matches(texts, _SEPARATED) & CHECKS[self.kind](pc.ascii_upper(points.only(counted).text()))
        return points.masked(points.ends(counted, 0, self.keep_last), self.character).text(valid)
