"""URL mask: what follows the host of an address on the web is masked, and so is the user before it."""

from __future__ import annotations

from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sfumato.core.canonical import ValueType
from sfumato.core.code_points import MaskCharacter
from sfumato.core.formed_text import FormedText
from sfumato.core.mask import Card, MaskContext, text_of

_NUMBER_SHOWN = 3
_ADDRESS = (
    r"(?s)^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<user>[^/?#\\]*@)?"
    r"(?P<host>[^/?#@:\\\s\[\]]+|\[[0-9A-Fa-f:.]+\])(?P<port>:[0-9]*)?(?P<rest>[/?#].*)?$"
)


class UrlMask(FormedText):
    """Keeps scheme and port of an address (RFC 3986); path, query and fragment become one mask, and so do the user and the host.

    Masks have one length, so that nothing is seen of what they hide. What has no scheme with ``://`` and no host it cannot take. A host may be a
    person's own, ``ada-lovelace.org``: keep it, with ``keep_host: true``, only where it tells nobody who somebody is.

    >>> from sfumato.core.mask import MaskContext
    >>> pages = pa.RecordBatch.from_pydict({"page": ["https://ada:pw@example.org:8080/me?id=7", "http://example.org/"]})
    >>> UrlMask(keep_host=True).apply(pages, MaskContext("page")).to_pylist()
    ['https://***@example.org:8080/***', 'http://example.org/']
    """

    character: MaskCharacter = "*"
    keep_host: Annotated[bool, Field(description="whether the host stays")] = False

    @property
    def card(self) -> Card:
        """What stays depends on the settings."""
        host = ", the host, which may be somebody's own," if self.keep_host else ""
        return Card(
            deterministic=True,
            uniqueness="lossy",
            changes_type=True,
            scope="value",
            types=("text",),
            reveals=f"Scheme and port{host} and whether there was a user and whether anything followed the host.",
        )

    @property
    def makes(self) -> ValueType | None:
        """Text, whatever the value is."""
        return "text"

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the addresses masked."""
        parts = pc.extract_regex(text_of(columns, context), _ADDRESS)
        scheme, user, host, port, rest = (pc.struct_field(parts, name) for name in ("scheme", "user", "host", "port", "rest"))
        mask = self.character * _NUMBER_SHOWN
        user = pc.if_else(pc.equal(user, ""), "", f"{mask}@")
        host = host if self.keep_host else pc.if_else(pc.equal(host, ""), "", mask)
        rest = pc.if_else(pc.is_in(rest, value_set=pa.array(["", "/"])), rest, f"/{mask}")
        return pc.if_else(parts.is_valid(), pc.binary_join_element_wise(scheme, user, host, port, rest, ""), pa.scalar(None, pa.string()))
