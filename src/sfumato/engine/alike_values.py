"""Values that only their writing tells apart, such as Flu and flu: promises count them as two, and somebody who reads them as one."""

from __future__ import annotations

import unicodedata

import pyarrow as pa

from sfumato.core.canonical import as_text

_LOOKED_AT = 50_000


def alike(values: pa.Array) -> int:
    """Return how many of some distinct texts differ from another one only in case, accents or spaces; of many values the first are looked at.

    >>> alike(pa.array(["Flu", "flu", " flu ", "gout", "grippe", "Grippé"])), alike(pa.array([1, 10]))
    (5, 0)
    >>> alike(pa.array(['{"a":1}', '{"a": 1}']))
    2
    """
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return 0
    found: dict[str, int] = {}
    for text in as_text(values.drop_null().slice(0, _LOOKED_AT)).to_pylist():
        read = _read(text)
        found[read] = found.get(read, 0) + 1
    return sum(number for number in found.values() if number > 1)


def _read(text: str) -> str:
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    return "".join(plain.casefold().split())
