"""Text in other encodings, turned into UTF-8 while it is read."""

from __future__ import annotations

import codecs
from typing import Annotated, Any

from pydantic import AfterValidator

_UTF8 = "utf-8"
_PIECE = 1 << 16


def _known(value: str) -> str:
    try:
        found = codecs.lookup(value)
    except (LookupError, ValueError):
        raise ValueError("is no encoding that Python knows; write it as utf-8, latin-1, cp1252, utf-16") from None
    # some codecs turn bytes into bytes
    if not getattr(found, "_is_text_encoding", True):
        raise ValueError("is no encoding of text; write it as utf-8, latin-1, cp1252, utf-16")
    return value


Encoding = Annotated[str, AfterValidator(_known)]
"""The name of an encoding."""


def is_utf8(encoding: str) -> bool:
    """Return whether text in this encoding is UTF-8 already.

    >>> is_utf8("UTF8"), is_utf8("ascii"), is_utf8("latin-1")
    (True, True, False)
    """
    return codecs.lookup(encoding).name in ("utf-8", "ascii", "utf-8-sig")


class Transcoded:
    """Bytes of another encoding, read as UTF-8. Raises UnicodeDecodeError where they are not of that encoding."""

    def __init__(self, content: Any, encoding: str) -> None:
        self._content = content
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._raw = bytearray(_PIECE)
        self._waiting = b""
        self._ended = False

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer with UTF-8; 0 at the end."""
        while not self._waiting and not self._ended:
            number = self._content.readinto(self._raw) or 0
            self._ended = number == 0
            # a lone surrogate, which some encodings let through, is no text
            self._waiting = self._decoder.decode(bytes(self._raw[:number]), final=self._ended).encode(_UTF8)
        taken = self._waiting[: len(buffer)]
        buffer[: len(taken)] = taken
        self._waiting = self._waiting[len(taken) :]
        return len(taken)
