r"""The strings of documents of JSON as they read: ``\n`` is a line end there, and no letter that stands before a number."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

_STRING = re.compile(r'("(?:[^"\\]|\\.)*")', re.DOTALL)
_BACKSLASH = ord("\\")
_BEGINS = ("{", "[", '"')
# lines within strings are no JSON, and there are such files
_DECODER = json.JSONDecoder(strict=False, parse_int=str)
_MARK = "\ufeff"


def may_have_escapes(texts: pa.Array) -> bool:
    """Return whether any text may hold a backslash, at a glance."""
    content = texts.buffers()[2]
    return content is not None and bool((np.frombuffer(content, np.uint8) == _BACKSLASH).any())


def pieces_of(text: str) -> list[str] | None:
    r"""Return what stands between strings and, as it reads, what stands in them, in turn; None for a text without escapes, or that is no JSON.

    >>> pieces_of('{"a":"x\\ny"}'), pieces_of('{"a":"x"}'), pieces_of('see C:\\new')
    (['{', 'a', ':', 'x\ny', '}'], None, None)
    """
    if "\\" not in text or text.lstrip(f" \t\r\n{_MARK}")[:1] not in _BEGINS or not _begins_with_document(text):
        return None
    return [_read(piece) if place % 2 else piece for place, piece in enumerate(_STRING.split(text))]


def put_together(text: str, made: Sequence[str]) -> str:
    r"""Return a document with other pieces in place of its own; strings that are the same stay as they were written.

    >>> put_together('{"a":"x\\ny","b":"\\u0041"}', ['{', 'a', ':', '"*"', ',', 'b', ':', 'A', '}'])
    '{"a":"\\"*\\"","b":"\\u0041"}'
    """
    written = _STRING.split(text)
    for place in range(1, len(written), 2):
        if _read(written[place]) != made[place]:
            written[place] = json.dumps(made[place], ensure_ascii=False)
    written[::2] = made[::2]
    return "".join(written)


def _begins_with_document(text: str) -> bool:
    """Return whether a text begins with a document; others may follow, the last of them cut off."""
    begin = len(text) - len(text.lstrip(f" \t\r\n{_MARK}"))
    try:
        _DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return False
    return True


def _read(string: str) -> str:
    """Return a string as it reads; half of a character, which some programs leave, as the sign for one that is not known."""
    try:
        value: str = _DECODER.decode(string)
    except ValueError:
        # of what follows a document
        return string
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
