"""Marks of the rows of a vault: they bind each value to its number, and both to the range and the secret by which the number becomes a token.

A bit that turns over on a disk, or two numbers that change places, would lead a token to another person's value. So every row has a mark, 16 bytes of
HMAC-SHA-256 over number and value. In a namespace with a key nobody without it can make one; without a key whoever writes the file could, and
the mark finds damage only.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence

_BYTES = 16


class RowMarks:
    """Makes the marks of one namespace, of which ``begun`` are the settings; a secret ``binding`` is derived from its key."""

    def __init__(self, begun: Sequence[object], binding: bytes | None) -> None:
        self._key = hmac.digest(binding or b"no key", repr(tuple(begun)).encode(), "sha256")

    def of(self, number: int, value: bytes) -> bytes:
        """Return the mark of a value and its number.

        >>> marks = RowMarks(["wards"], None)
        >>> marks.of(1, b"A") == marks.of(2, b"A"), len(marks.of(1, b"A"))
        (False, 16)
        """
        return hmac.digest(self._key, number.to_bytes(8, "big") + value, "sha256")[:_BYTES]

    def of_all(self, numbers: Sequence[int], values: Sequence[bytes]) -> Iterator[bytes]:
        """Yield the marks of values and their numbers."""
        return (self.of(number, value) for number, value in zip(numbers, values, strict=True))

    def hold(self, number: object, value: object, mark: object) -> bool:
        """Return whether a row of the file is as it was written; what is damaged may be of any type."""
        if not (isinstance(number, int) and isinstance(value, bytes) and isinstance(mark, bytes)):
            return False
        return 0 <= number < 1 << 63 and hmac.compare_digest(mark, self.of(number, value))
