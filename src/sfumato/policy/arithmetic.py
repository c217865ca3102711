"""Expressions that only reckon with columns, by the words and signs that are in them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = re.compile(
    r"""\s*(?:(?P<name>"[^"]+"|[^\W\d]\w*)"""
    r"""|(?P<sign>::|[-+(),.]|\*(?!\*)|/(?!/)|[0-9]+(?:\.[0-9]+)?(?:e[0-9]+)?(?!\w)|'(?:day|week|month|year|hour|minute|second)s?'))"""
)
_CALL, _NUMBER = re.compile(r"\s*\("), re.compile(r"\s*0*[1-9]")
_TYPES = frozenset(["int", "integer", "bigint", "hugeint", "double", "float", "decimal", "numeric", "date", "timestamp"])
_CASTS = frozenset(["cast", "try_cast"])
_WORDS = _TYPES | _CASTS | frozenset(["as", "rows", "year", "month", "day", "date_diff", "datediff"])


def is_arithmetic(sql: str, columns: Iterable[str], may_fail: bool) -> bool:
    """Return whether an expression asks nothing of values: neither conditions nor digits nor text; what may fail, casts and divisions, on request.

    >>> [is_arithmetic(sql, ["pay"], may_fail=True) for sql in ("pay::int * 12", "2024 - year(pay::date)", "if(pay > 3, 1, 0)", "pay % 2")]
    [True, True, False, False]
    """
    named, place = {name.lower() for name in columns}, 0
    while sql[place:].strip():
        found = _TOKEN.match(sql, place)
        if found is None:
            return False
        name = (found["name"] or "").lower()
        place = found.end()
        if name and name not in _WORDS and (name.strip('"') not in named or _CALL.match(sql, place)):
            return False
        if not may_fail and (found["sign"] == "::" or name in _CASTS or (found["sign"] == "/" and not _NUMBER.match(sql, place))):
            return False
    return True
