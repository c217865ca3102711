"""Random UUID: every value becomes an identifier of version 4 (RFC 9562), 122 bits of which are random."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from sfumato.core.ascii_rows import ascii_rows
from sfumato.core.by_chance import ByChance
from sfumato.core.canonical import ValueType
from sfumato.core.mask import NOTHING, Card, MaskContext

_HEXADECIMAL = np.array([f"{byte:02x}".encode() for byte in range(256)]).view(np.uint16)
"""The two digits of each byte."""

_GROUPS = (0, 8, 12, 16, 20, 32)
"""Between these digits there are dashes."""


class RandomUuid(ByChance):
    """Replaces every value by a UUID. With a ``key`` the same value always becomes the same one, in every column of the key's domain.

    Two values do not meet unless there are about 2^61 of them, but nobody checks; without a key one value becomes many. Missing values stay missing
    unless the policy says ``on_null: generate``; under a key they all become the same. Cost: 100 nanoseconds a value, two microseconds under a key.

    >>> from sfumato.core.mask import MaskContext
    >>> ids = pa.RecordBatch.from_pydict({"id": ["7", "7"]})
    >>> one, other = RandomUuid().apply(ids, MaskContext("id")).to_pylist()
    >>> one != other, one[14], len(one)
    (True, '4', 36)
    """

    @property
    def card(self) -> Card:
        """What it does; without a key chance decides."""
        return Card(
            deterministic=self.key is not None,
            uniqueness="not guaranteed",
            changes_type=True,
            scope="value",
            generates=True,
            keyed=self.key is not None,
            reveals=NOTHING if self.key is None else "Which rows have the same value, and how often each occurs.",
        )

    @property
    def makes(self) -> ValueType | None:
        """Text, whatever the value is."""
        return "text"

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return an identifier for every row."""
        values = columns.column(context.column)
        drawn = self.drawn(values, context, 2)
        octets = drawn.view(np.uint8).reshape(len(drawn), 16).copy()
        octets[:, 6] = octets[:, 6] & 0x0F | 0x40
        octets[:, 8] = octets[:, 8] & 0x3F | 0x80
        digits = _HEXADECIMAL[octets].view(np.uint8)
        characters = np.full((len(drawn), 36), ord("-"), np.uint8)
        for group, (first, last) in enumerate(pairwise(_GROUPS)):
            characters[:, first + group : last + group] = digits[:, first:last]
        return self.of_type(ascii_rows(characters), values, context.kind)
