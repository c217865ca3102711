"""IBAN mask: the number of a bank account is masked but for its country and its last characters."""

from __future__ import annotations

from typing import Annotated, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sfumato.core.canonical import ValueType
from sfumato.core.checksums import matches, mod_97
from sfumato.core.code_points import CodePoints, MaskCharacter
from sfumato.core.formed_text import FormedText
from sfumato.core.mask import Card, MaskContext, text_of

_NUMBER = "^[A-Za-z]{2}[0-9]{2}( ?[0-9A-Za-z]){11,30}$"


class IbanMask(FormedText):
    """Masks an international bank account number (ISO 13616) of 15 to 34 characters; what fails its check, modulo 97, it cannot take.

    The check digits are masked too: they would tell something of the rest. Spaces stay. How long a number must be in its country is not looked at.

    >>> from sfumato.core.mask import MaskContext
    >>> numbers = pa.RecordBatch.from_pydict({"iban": ["DE89 3704 0044 0532 0130 00", "DE88 3704 0044 0532 0130 00"]})
    >>> IbanMask().apply(numbers, MaskContext("iban")).to_pylist()
    ['DE** **** **** **** **30 00', None]
    """

    card: ClassVar[Card] = Card(
        deterministic=True,
        uniqueness="lossy",
        changes_type=True,
        scope="value",
        types=("text",),
        reveals="The country and the last characters where they are kept, how many characters there are and how they are written.",
    )

    character: MaskCharacter = "*"
    keep_country: Annotated[bool, Field(description="whether the two letters of the country stay")] = True
    keep_last: Annotated[int, Field(ge=0, description="how many characters at the end stay")] = 4

    @property
    def makes(self) -> ValueType | None:
        """Text, whatever the value is."""
        return "text"

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the numbers masked."""
        texts = text_of(columns, context)
        points = CodePoints.of(texts)
        counted = ~points.among(" ")
        valid = matches(texts, _NUMBER) & mod_97(pc.ascii_upper(points.only(counted).text()))
        first = 2 if self.keep_country else 0
        return points.masked(points.ends(counted, first, self.keep_last), self.character).text(valid)
