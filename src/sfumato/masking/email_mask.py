"""E-mail mask: what stands before the ``@`` is masked, the domain on request too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.core.canonical import ValueType
from sfumato.core.checksums import matches
from sfumato.core.code_points import CodePoints, MaskCharacter
from sfumato.core.formed_text import FormedText
from sfumato.core.mask import Card, MaskContext, text_of

if TYPE_CHECKING:
    import ibis

_NO_SPACE = "\t\n\f\r "
_ADDRESS = r"^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$"


class EmailMask(FormedText):
    """Masks an e-mail address; what is none, or has a second ``@`` between quotes, it cannot take.

    A domain may belong to one person or one family: keep it only where it does not tell who somebody is.

    >>> from sfumato.core.mask import MaskContext
    >>> addresses = pa.RecordBatch.from_pydict({"email": ["ada@example.org", "a@b.de"]})
    >>> EmailMask(keep_first=1).apply(addresses, MaskContext("email")).to_pylist()
    ['a**@example.org', '*@b.de']
    """

    card: ClassVar[Card] = Card(
        deterministic=True,
        uniqueness="lossy",
        changes_type=True,
        scope="value",
        types=("text",),
        engines=("arrow", "sql"),
        reveals="The domain and the first characters where they are kept, and how long the parts of an address are.",
    )

    character: MaskCharacter = "*"
    keep_first: Annotated[int, Field(ge=0, description="how many characters at the beginning stay, where there are more before the `@`")] = 0
    keep_domain: Annotated[bool, Field(description="whether what follows the `@` stays; else only its dots do")] = True

    @property
    def makes(self) -> ValueType | None:
        """Text, whatever the value is."""
        return "text"

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the addresses masked."""
        texts = text_of(columns, context)
        points = CodePoints.of(texts)
        number, total = points.numbers(np.ones(len(points.points), bool))
        valid = matches(texts, _ADDRESS)
        # an address has one @, and what is none may have any number: only the first of a value counts
        at = total.copy()
        spots = np.flatnonzero(points.points == ord("@"))[::-1]
        at[points.of_each(np.arange(len(at)))[spots]] = number[spots]
        before = number < points.of_each(at)
        kept = before & (number < self.keep_first) & points.of_each(at > self.keep_first)
        kept |= ~before & (self.keep_domain | points.among("@."))
        return points.masked(kept, self.character).text(valid)

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return the addresses masked, by what stands before the ``@`` and after it."""
        import ibis

        from sfumato.databases.server_functions import first, is_written_as, last, length, position, repeated, replaced, text_of
        from sfumato.masking._ends_expressions import can_be_written

        text = text_of(columns[context.column])
        if text is None or not can_be_written(self.character):
            return None
        before = position(text, "@") - 1
        kept = (before > self.keep_first).ifelse(self.keep_first, 0)
        rest = last(text, length(text) - before)
        domain = rest if self.keep_domain else replaced(rest, "[^.@]", self.character)
        part = f"[^{_NO_SPACE}@.]+"
        valid = is_written_as(text, f"[^{_NO_SPACE}@]+@{part}(?:[.]{part})+")
        return valid.ifelse(first(text, kept) + repeated(ibis.literal(self.character), before - kept) + domain, ibis.null())
