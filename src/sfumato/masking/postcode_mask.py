"""Postcode mask: the first characters of a postcode stay, which tell the region."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core.canonical import ValueType
from sfumato.core.checksums import matches
from sfumato.core.code_points import CodePoints, MaskCharacter
from sfumato.core.formed_text import FormedText
from sfumato.core.mask import Card, MaskContext, text_of

if TYPE_CHECKING:
    import ibis

_ANY = "^[0-9A-Za-z]([ -]?[0-9A-Za-z]){1,9}$"
_UNITED_KINGDOM = "^([A-Za-z]{1,2}[0-9][0-9A-Za-z]? ?[0-9][A-Za-z]{2}|(?i:GIR) ?0(?i:AA))$"
_INWARD = 3


class PostcodeMask(FormedText):
    """Masks a postcode of letters and digits but for its beginning; the forms of countries are not checked.

    With ``outward`` it is one of the United Kingdom, of which all but the last three characters stay, and anything else it cannot take. Few people
    may live behind a few characters: the quasi-identifier ``zip`` with the hierarchy ``prefix`` and a promise is safer than a mask.

    >>> from sfumato.core.mask import MaskContext
    >>> codes = pa.RecordBatch.from_pydict({"code": ["28462", "SW1A 1AA"]})
    >>> PostcodeMask().apply(codes, MaskContext("code")).to_pylist()
    ['28***', 'SW** ***']
    """

    card: ClassVar[Card] = Card(
        deterministic=True,
        uniqueness="lossy",
        changes_type=True,
        scope="value",
        types=("text", "integer"),
        engines=("arrow", "sql"),
        reveals="The region that the first characters tell, and how a postcode is written.",
    )

    character: MaskCharacter = "*"
    keep_first: Annotated[int, Field(ge=0, description="how many letters and digits at the beginning stay")] = 2
    outward: Annotated[bool, Field(description="whether the outward part of a postcode of the United Kingdom stays")] = False

    @model_validator(mode="after")
    def _one_of_two(self) -> PostcodeMask:
        if self.outward and "keep_first" in self.model_fields_set:
            raise ValueError("takes keep_first or outward: both say how much stays")
        return self

    @property
    def makes(self) -> ValueType | None:
        """Text: no number is written with the character."""
        return None if self.character.isdigit() else "text"

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the postcodes masked."""
        texts = text_of(columns, context)
        points = CodePoints.of(texts)
        counted = ~points.among(" -")
        _, total = points.numbers(counted)
        first = np.maximum(total - _INWARD, 0) if self.outward else np.full(len(texts), self.keep_first, np.int64)
        valid = matches(texts, _UNITED_KINGDOM if self.outward else _ANY)
        return points.masked(points.ends(counted, first, 0), self.character).text(valid)

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return the postcodes masked."""
        import ibis

        from sfumato.databases.server_functions import first, is_written_as, length, text_of
        from sfumato.masking._ends_expressions import can_be_written, masked_ends

        text, sign = text_of(columns[context.column]), "0-9A-Za-z"
        if text is None or not can_be_written(self.character, self.keep_first):
            return None
        if not self.outward:
            masked = masked_ends(text, sign, self.keep_first, 0, self.character)
            return is_written_as(text, f"[{sign}](?:[ -]?[{sign}]){{1,9}}").ifelse(masked, ibis.null())
        valid = is_written_as(text, f"[A-Za-z]{{1,2}}[0-9][{sign}]? ?[0-9][A-Za-z]{{2}}|[Gg][Ii][Rr] ?0[Aa][Aa]")
        return valid.ifelse(first(text, length(text) - _INWARD) + self.character * _INWARD, ibis.null())
