"""Phone mask: the digits of a number are masked, and what stands between them stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.canonical import ValueType
from sfumato.core.checksums import matches
from sfumato.core.code_points import CodePoints, MaskCharacter
from sfumato.core.formed_text import FormedText
from sfumato.core.mask import Card, MaskContext, text_of

if TYPE_CHECKING:
    import ibis

_NUMBER = r"^\(?\+?[0-9 ()./-]+$"
_INTERNATIONAL, _PREFIXED = r"^\(?\+", r"^\(?00"
_FEWEST, _MOST = 5, 15
# the country codes of two digits, ITU-T E.164: those of 1 and 7 have one digit, all others three
_TWO_DIGITS = (20, 27, *range(30, 35), 36, 39, 40, 41, *range(43, 50), *range(51, 59), *range(60, 67), 81, 82, 84, 86, *range(90, 96), 98)


class PhoneMask(FormedText):
    """Masks a phone number of 5 to 15 digits; what holds letters or fewer or more digits it cannot take.

    Digits may be separated by spaces, hyphens, dots, slashes and brackets. A country code is known by the ``+`` or ``00`` before it. A number of
    which all digits would stay is masked whole.

    >>> from sfumato.core.mask import MaskContext
    >>> numbers = pa.RecordBatch.from_pydict({"phone": ["+49 (421) 123-456", "0421 123456"]})
    >>> PhoneMask(keep_country=True, keep_last=2).apply(numbers, MaskContext("phone")).to_pylist()
    ['+49 (***) ***-*56', '**** ****56']
    """

    card: ClassVar[Card] = Card(
        deterministic=True,
        uniqueness="lossy",
        changes_type=True,
        scope="value",
        types=("text", "integer"),
        engines=("arrow", "sql"),
        reveals="The digits that are kept, the country where its code is, how many digits a number has and how it is written.",
    )

    character: MaskCharacter = "*"
    keep_country: Annotated[bool, Field(description="whether the country code after `+` or `00` stays")] = False
    keep_last: Annotated[int, Field(ge=0, description="how many digits at the end stay")] = 0

    @property
    def makes(self) -> ValueType | None:
        """Text: no number is written with the character."""
        return None if self.character.isdigit() else "text"

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the numbers masked."""
        texts = text_of(columns, context)
        points = CodePoints.of(texts)
        digits = (points.points >= ord("0")) & (points.points <= ord("9"))
        only = points.only(digits)
        prefix = np.where(matches(texts, _PREFIXED), 2, 0)
        number = only.lengths - prefix
        valid = matches(texts, _NUMBER) & (number >= _FEWEST) & (number <= _MOST)
        first = np.zeros(len(texts), np.int64)
        if self.keep_country:
            coded = valid & (matches(texts, _INTERNATIONAL) | (prefix > 0))
            first[coded] = prefix[coded] + _country_digits(only, only.starts[:-1][coded] + prefix[coded])
        return points.masked(points.ends(digits, first, self.keep_last), self.character).text(valid)

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return the numbers masked; None where the country stays."""
        import ibis

        from sfumato.databases.server_functions import first, is_written_as, length, replaced, same, text_of
        from sfumato.masking._ends_expressions import can_be_written, masked_ends

        text = text_of(columns[context.column])
        if text is None or self.keep_country or not can_be_written(self.character, self.keep_last):
            return None
        prefixed = same(first(text, 2), "00") | same(first(text, 3), "(00")
        number = length(replaced(text, "[^0-9]", "")) - prefixed.ifelse(2, 0)
        valid = is_written_as(text, "[(]?[+]?[0-9 ()./-]+") & (number >= _FEWEST) & (number <= _MOST)
        return valid.ifelse(masked_ends(text, "0-9", 0, self.keep_last, self.character), ibis.null())


def _country_digits(only: CodePoints, begins: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many digits the country codes have that begin at some places."""
    lengths = np.full(100, 3, np.int64)
    lengths[list(_TWO_DIGITS)] = 2
    lengths[[*range(10, 20), *range(70, 80)]] = 1
    values = only.points.astype(np.int64) - ord("0")
    found: NDArray[np.int64] = lengths[values[begins] * 10 + values[begins + 1]]
    return found
