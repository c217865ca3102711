"""Functions of databases that masks are expressed with, declared once: what each engine calls them says ``dialects``.

An expression of ibis says what is wanted, and each of these has one meaning, that of the Arrow function which a mask applies. Where an engine has no
function of exactly that meaning, the expression is not made, and rows go through Arrow.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import ibis
from ibis.expr import datatypes

PREFIX = "sfumato_"
"""What names of these functions begin with before they are an engine's own."""


def length(text: Any) -> Any:
    """Return how many code points a text has."""
    return _called("length", "int64", text)


def first(text: Any, number: Any) -> Any:
    """Return the first code points of a text, all of a shorter one."""
    return _called("first", "string", text, number)


def last(text: Any, number: Any) -> Any:
    """Return the last code points of a text, all of a shorter one."""
    return _called("last", "string", text, number)


def repeated(text: Any, number: Any) -> Any:
    """Return a text so many times."""
    return _called("repeated", "string", text, number)


def position(text: Any, sought: Any) -> Any:
    """Return the number of the code point at which another text is found first, from 1; 0 where it is not."""
    return _called("position", "int64", text, sought)


def same(text: Any, other: Any) -> Any:
    """Return whether two texts have the same bytes."""
    return _called("same", "boolean", text, other)


def is_written_as(text: Any, pattern: str) -> Any:
    """Return whether an expression describes a whole text.

    It may use nothing but literals, brackets of ASCII characters, ``(?:...)``, alternatives and numbers of times: of these all engines mean the same.
    """
    return _called("is_written_as", "boolean", text, ibis.literal(pattern))


def replaced(text: Any, pattern: str, by: str) -> Any:
    """Return a text with all that an expression finds replaced; the expression is as plain as that of ``is_written_as``, or ends with ``$``."""
    return _called("replaced", "string", text, ibis.literal(pattern), ibis.literal(by))


def finds(text: Any, pattern: str) -> Any:
    """Return whether an expression of RE2 is found in a text; only an engine that has RE2 too can tell."""
    return _called("finds", "boolean", text, ibis.literal(pattern))


def text_of(value: Any) -> Any | None:
    """Return a value as the text in canonical form by which masks know it; None where its type has none that engines agree on."""
    kind = value.type()
    if kind.is_string():
        return value
    if kind.is_integer() or kind.is_boolean():
        return _called("plain_text", "string", value)
    if kind.is_decimal():
        return _called("decimal_text", "string", value)
    if kind.is_date():
        return _called("day_text", "string", value)
    return _called("instant_text", "string", value) if kind.is_timestamp() else None


def value_text(value: Any) -> Any | None:
    """Return the text whose bytes pseudonyms are made of, as ``core/value_bytes.py`` defines it; None where engines do not agree on it."""
    if value.type().is_decimal() and value.type().scale:
        return _called("shortest_text", "string", text_of(value))
    return text_of(value)


def whole(value: Any) -> tuple[Any, int] | None:
    """Return a number as a whole number of its last digit, wide enough to calculate with, and how many digits are decimals; None for floats."""
    kind = value.type()
    if kind.is_integer():
        return _called("whole", "int64", value), 0
    if kind.is_decimal() and (kind.scale or 0) <= _MOST_DECIMALS:
        return _called("whole_digits", "int64", value, ibis.literal(kind.scale)), kind.scale
    return None


def quotient(whole_number: Any, digits: int) -> Any:
    """Return a whole number, of which so many digits at the end are zeros, without these."""
    return _called("quotient", "int64", whole_number, ibis.literal(digits))


def number_of(whole_number: Any, kind: datatypes.DataType) -> Any:
    """Return a whole number of the last digit as a number of a type, which must hold it."""
    if kind.is_decimal():
        return _called("decimal_of", kind, whole_number, ibis.literal(kind.scale))
    return _called("integer_of", kind, whole_number)


def number_text(whole_number: Any, decimals: int) -> Any:
    """Return a whole number of the last digit as text with so many decimals."""
    if decimals:
        return _called("decimal_text", "string", _called("decimal_of", f"decimal(38, {decimals})", whole_number, ibis.literal(decimals)))
    return _called("plain_text", "string", whole_number)


def days(value: Any) -> Any:
    """Return a day, or that of an instant in UTC, as a number from 1970 on."""
    return _called("days", "int64", value if value.type().is_date() else _called("day_of_instant", "date", value))


def day(number: Any) -> Any:
    """Return the day of a number, which must be within the years 1 to 9999."""
    return _called("day", "date", number)


def instant(text: str, like: Any) -> Any:
    """Return an instant that is written ``2020-01-31 12:30:00.000000``, in the type of another."""
    return _called("instant", like.type(), ibis.literal(text))


def stretch(value: Any, name: str) -> Any:
    """Return what the year, quarter, month, week or day of a day is called."""
    return _called(f"{name}_label", "string", value if value.type().is_date() else _called("day_of_instant", "date", value))


def pseudonym(text: Any, inner: Any, outer: Any) -> Any:
    """Return the HMAC-SHA-256 of a text in hexadecimal; the pads of its key are two columns."""
    return _called("pseudonym", "string", text, inner, outer)


def digest(text: Any, algorithm: str) -> Any:
    """Return a digest of a text in hexadecimal."""
    return _called(algorithm, "string", text)


def leading_bits(digits: Any) -> Any:
    """Return the first 63 bits of a hexadecimal text as a whole number."""
    return _called("leading_bits", "int64", digits)


def in_zone(value: Any) -> Any:
    """Return an instant of UTC as the engine writes one that has a zone."""
    return _called("in_zone", value.type(), value)


def nothing(like: Any) -> Any:
    """Return no value, in the type of another."""
    return ibis.literal(False).ifelse(like, ibis.null())


_MOST_DECIMALS = 18


def _called(name: str, returns: Any, *arguments: Any) -> Any:
    return _declared(name, ibis.dtype(returns), len(arguments))(*arguments)


@cache
def _declared(name: str, returns: datatypes.DataType, number: int) -> Callable[..., Any]:
    def function(*arguments: Any) -> Any:
        raise NotImplementedError

    named = [inspect.Parameter(f"argument{place}", inspect.Parameter.POSITIONAL_OR_KEYWORD) for place in range(number)]
    function.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    function.__annotations__ = {"return": returns}
    function.__name__ = function.__qualname__ = f"{PREFIX}{name}"
    declared: Callable[..., Any] = ibis.udf.scalar.builtin(function, name=f"{PREFIX}{name}")
    return declared
