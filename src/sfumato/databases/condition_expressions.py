"""Conditions as expressions of a database: true or false for every row, never unknown.

What a condition compares as binary fractions is compared here as whole numbers and days, where that is the same; where it is not, such as decimals
at their scale or numbers within text, there is no expression.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import ibis

from sfumato.core.condition import Condition, has_other_writings
from sfumato.core.policy_bounds import first_moment
from sfumato.core.typed_column import DAY, DIGITS
from sfumato.databases.server_functions import days, finds, instant, same, text_of

_TOLD_APART = 1 << 53
_MOMENT = 1_000_000
_NARROW = 4
_COMPARED = ("at_least", "at_most", "above", "below")


def holds(condition: Condition, columns: Mapping[str, Any]) -> Any | None:
    """Return whether a condition holds for a row; None where no engine could tell exactly."""
    for inner, joined in ((condition.and_, ibis.and_), (condition.or_, ibis.or_)):
        if inner:
            found = [holds(each, columns) for each in inner]
            return None if any(each is None for each in found) else joined(*found)
    if condition.not_ is not None:
        found_not = holds(condition.not_, columns)
        return None if found_not is None else ~found_not
    value = columns[str(condition.column)]
    tests = list(_tests(condition, value))
    return None if any(test is None for test in tests) else ibis.and_(*tests)


def _tests(condition: Condition, value: Any) -> Iterator[Any | None]:
    if condition.missing is not None:
        yield value.isnull() if condition.missing else value.notnull()
    if condition.matches is not None:
        yield _known(finds(value, condition.matches)) if value.type().is_string() else None
    wanted = [condition.equals] if condition.equals is not None else condition.one_of
    if wanted is not None:
        equal = [_equal(value, each) for each in wanted]
        yield None if any(each is None for each in equal) else ibis.or_(*equal)
    for name in _COMPARED:
        bound = getattr(condition, name)
        if bound is not None:
            compared = _compared(name, value, bound)
            yield None if compared is None else _known(compared)


def unplaced(condition: Condition, columns: Mapping[str, Any]) -> Iterator[Any]:
    """Yield where a value is there that a condition compares and cannot: a whole number of more than 18 digits, which stops a run."""
    for inner in (*(condition.and_ or ()), *(condition.or_ or ()), *((condition.not_,) if condition.not_ else ())):
        yield from unplaced(inner, columns)
    if condition.column is not None and any(isinstance(getattr(condition, name), int | float) for name in _COMPARED):
        value = columns[condition.column]
        if value.type().is_integer() and value.type().nbytes > _NARROW:
            yield (value >= 10**DIGITS) | (value <= -(10**DIGITS))


def _known(truth: Any) -> Any:
    return truth.fill_null(False)


def _equal(value: Any, wanted: str | bool | int | float) -> Any | None:
    if isinstance(wanted, bool):
        if value.type().is_string():
            # the ways to write it in capitals and small letters
            written = ["".join(letters) for letters in product(*((one, one.upper()) for one in str(wanted).lower()))]
            return ibis.or_(*(_known(same(value, each)) for each in written))
        return _same_text(value, str(wanted).lower())
    if isinstance(wanted, str):
        return _same_text(value, wanted)
    if not value.type().is_integer():
        return None
    if isinstance(wanted, float):
        if abs(wanted) >= _TOLD_APART:
            return None
        if not wanted.is_integer():
            return ibis.literal(False)
    return _same_text(value, str(int(wanted)))


def _same_text(value: Any, wanted: str) -> Any | None:
    # the text of decimals and instants that a condition looks at is not the canonical one
    kind = value.type()
    if kind.is_decimal() or kind.is_timestamp():
        return None
    # a day has one writing in a column of days; elsewhere what is the same may be written in many ways
    if has_other_writings(wanted) and not (kind.is_date() and len(wanted) == len("2020-01-31")):
        return None
    text = text_of(value)
    return None if text is None else _known(same(text, ibis.literal(wanted)))


def _compared(name: str, value: Any, bound: str | int | float) -> Any | None:
    kind = value.type()
    if isinstance(bound, str):
        if kind.is_date():
            return _beside(name, days(value), first_moment(bound) / DAY)
        return _instants(name, value, first_moment(bound)) if kind.is_timestamp() else None
    return _beside(name, value, bound) if kind.is_integer() and abs(bound) < _TOLD_APART else None


def _beside(name: str, number: Any, bound: float) -> Any:
    """Return how a whole number compares with a bound that may lie between two of them."""
    if name in ("at_least", "below"):
        whole = math.ceil(bound)
        return number >= whole if name == "at_least" else number < whole
    whole = math.floor(bound)
    return number <= whole if name == "at_most" else number > whole


def _instants(name: str, value: Any, moment: int) -> Any:
    written = instant(moment_text(moment), value)
    if name in ("at_least", "below"):
        return value >= written if name == "at_least" else value < written
    return value <= written if name == "at_most" else value > written


def moment_text(moment: int) -> str:
    """Return microseconds since 1970 as an instant is written.

    >>> moment_text(-1)
    '1969-12-31 23:59:59.999999'
    """
    from datetime import datetime, timedelta

    return (
        (datetime(1970, 1, 1) + timedelta(seconds=moment // _MOMENT, microseconds=moment % _MOMENT)).strftime("%Y-%m-%d %H:%M:%S.%f").rjust(26, "0")
    )
