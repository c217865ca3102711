"""Card mask: the number of a payment card is masked but for its last digits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

import pyarrow as pa
from pydantic import Field

from sfumato.core.canonical import ValueType
from sfumato.core.checksums import luhn, matches
from sfumato.core.code_points import CodePoints, MaskCharacter
from sfumato.core.formed_text import FormedText
from sfumato.core.mask import Card, MaskContext, text_of

if TYPE_CHECKING:
    import ibis

_DIGITS = 19
_NUMBER = "^[0-9]([ -]?[0-9]){11,18}$"


class CardMask(FormedText):
    """Masks a card number of 12 to 19 digits; what fails the check of Luhn it cannot take.

    Spaces and hyphens stay. No more than the first six and the last four digits can be kept: of a number that is displayed PCI DSS (requirement 3.4)
    allows the issuer's part and the last four.

    >>> from sfumato.core.mask import MaskContext
    >>> numbers = pa.RecordBatch.from_pydict({"card": ["4111 1111 1111 1111", "4111 1111 1111 1112"]})
    >>> CardMask().apply(numbers, MaskContext("card")).to_pylist()
    ['**** **** **** 1111', None]
    """

    card: ClassVar[Card] = Card(
        deterministic=True,
        uniqueness="lossy",
        changes_type=True,
        scope="value",
        types=("text", "integer"),
        engines=("arrow", "sql"),
        reveals="The digits that are kept, the first six of which tell the issuer, how many there are and how they are written.",
    )

    character: MaskCharacter = "*"
    keep_first: Annotated[int, Field(ge=0, le=6, description="how many digits at the beginning stay")] = 0
    keep_last: Annotated[int, Field(ge=0, le=4, description="how many digits at the end stay")] = 4

    @property
    def makes(self) -> ValueType | None:
        """Text: no number is written with the character."""
        return None if self.character.isdigit() else "text"

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the numbers masked."""
        texts = text_of(columns, context)
        points = CodePoints.of(texts)
        counted = ~points.among(" -")
        valid = matches(texts, _NUMBER) & luhn(points.only(counted).text())
        return points.masked(points.ends(counted, self.keep_first, self.keep_last), self.character).text(valid)

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return the numbers masked, where the sum of their digits, every second one doubled, is right."""
        import ibis

        from sfumato.databases.server_functions import first, is_written_as, last, position, replaced, text_of
        from sfumato.masking._ends_expressions import can_be_written, masked_ends

        text = text_of(columns[context.column])
        if text is None or not can_be_written(self.character):
            return None
        # zeros before a number change nothing
        digits = ibis.literal("0" * _DIGITS) + replaced(text, "[ -]", "")
        places = (first(last(digits, place + 1), 1) for place in range(_DIGITS))
        weighed = [position(ibis.literal("0516273849" if place % 2 else "0123456789"), digit) - 1 for place, digit in enumerate(places)]
        valid = is_written_as(text, "[0-9](?:[ -]?[0-9]){11,18}") & (sum(weighed[1:], weighed[0]) % 10 == 0)
        return valid.ifelse(masked_ends(text, "0-9", self.keep_first, self.keep_last, self.character), ibis.null())
