r"""The strings of a document of JSON as they read: ``\n`` is a line end there, and no letter that stands before a number."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_STRING = re.compile(r'("(?:[^"\\]|\\.)*")', re.DOTALL)


def pieces_of(text: str) -> list[str] | None:
    r"""Return what stands between strings and, as it reads, what stands in them, in turn; None for a text without escapes, or that is no document.

    >>> pieces_of('{"a":"x\\ny"}'), pieces_of('{"a":"x"}'), pieces_of('see C:\\new')
    (['{', 'a', ':', 'x\ny', '}'], None, None)
    """
    if "\\" not in text or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [json.loads(piece) if place % 2 else piece for place, piece in enumerate(_STRING.split(text))]


def put_together(text: str, made: Sequence[str]) -> str:
    r"""Return a document with other pieces in place of its own; strings that are the same stay as they were written.

    >>> put_together('{"a":"x\\ny","b":"\\u0041"}', ['{', 'a', ':', '"*"', ',', 'b', ':', 'A', '}'])
    '{"a":"\\"*\\"","b":"\\u0041"}'
    """
    written = _STRING.split(text)
    for place in range(1, len(written), 2):
        if json.loads(written[place]) != made[place]:
            written[place] = json.dumps(made[place], ensure_ascii=False)
    written[::2] = made[::2]
    return "".join(written)
