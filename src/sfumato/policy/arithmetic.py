"""Expressions that only reckon with columns, by the words and signs that are in them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = re.compile(
    r"""\s*(?:(?P<name>"[^"]+"|[^\W\d]\w*)"""
    r"""|(?P<sign>::|[-+(),]|\*(?!\*)|/(?!/)|[0-9]+(?:\.[0-9]+)?(?!\w)|'(?:day|week|month|year|hour|minute|second)s?'))"""
)
_TYPES = frozenset(["int", "integer", "bigint", "hugeint", "double", "float", "decimal", "numeric", "date", "timestamp"])
_CASTS = frozenset(["cast", "try_cast"])
_WORDS = _TYPES | _CASTS | frozenset(["as", "year", "month", "day", "date_diff", "datediff"])


def is_arithmetic(sql: str, columns: Iterable[str], casts: bool) -> bool:
    """Return whether an expression asks nothing of values: there is no condition in it, no digits and no text; casts, which may fail, on request.

    >>> [is_arithmetic(sql, ["pay", "born"], casts=True) for sql in ("pay::int * 12", "2024 - year(born::date)", "if(pay > 3, 1, 0)", "pay % 2")]
    [True, True, False, False]
    """
    named, place = {name.lower() for name in columns}, 0
    while sql[place:].strip():
        found = _TOKEN.match(sql, place)
        if found is None:
            return False
        name = (found["name"] or "").lower()
        if name and name.strip('"') not in named and name not in _WORDS:
            return False
        if not casts and (found["sign"] == "::" or name in _CASTS):
            return False
        place = found.end()
    return True
