"""Values in another type: as the same value or not at all.

What comes later in a stream may have another type than the column: fractions beside whole numbers, decimals of another scale, floats of four bytes.
Arrow rounds where it casts between them, and writes one number in several ways. A person who is written in two ways would be two people, and an
interval whose ends were rounded would not hold its values; so what has no place in the column is null, and its record is set aside.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core import canonical

FAILURES = (pa.ArrowException, TypeError, ValueError, OverflowError)
_ZEROS_BEHIND = r"\.0*$|(\.[0-9]*[1-9])0+$"
_FEW_DIGITS = r"^-?[0-9]{1,15}$|^-?[0-9]{1,7}\.[0-9]{1,8}$"
_FINER = re.compile(r"\.[0-9]{6}[0-9]*[1-9]")
"""What is finer than microseconds."""
_BEYOND = "<"
"""How a remark of Arrow begins that stands for a day or an instant beyond its calendar."""
_LAST_DAY = 2**63 // 86_400_000_000
"""The last day that begins at an instant which can be told in microseconds."""
_TRUTH = {"true": True, "false": False}


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values in a type, null where they are not of it: whole where nothing is lost by that, else by way of their distinct texts.

    >>> cast(pa.array([0.5, 2.0]), pa.int64()).to_pylist(), cast(pa.array([2**53, 2**53 + 1]), pa.float64()).to_pylist()
    ([None, 2], [9007199254740992.0, None])
    """
    if pa.types.is_string(kind):
        return texts_of(values)
    made = _whole(values, kind)
    if made is not None:
        return made
    coded = texts_of(values).dictionary_encode()
    made = _short(coded.dictionary, kind)
    if made is None:
        made = pa.array([_one(text, kind) for text in coded.dictionary.to_pylist()], kind)
    return made.take(coded.indices)


def texts_of(values: pa.Array) -> pa.Array:
    """Return values as text, null where they have none; a number always in the same way, however it is kept.

    >>> from decimal import Decimal
    >>> texts_of(pa.array([Decimal("7.50"), Decimal("7.00")])).to_pylist(), texts_of(pa.array([12345678901.0, 7.5])).to_pylist()
    (['7.5', '7'], ['12345678901', '7.5'])
    """
    try:
        texts = canonical.as_text(values)
        if pa.types.is_floating(values.type):
            return _without_exponents(pc.if_else(pc.is_nan(values), pa.scalar(None, pa.string()), texts))
        if pa.types.is_decimal(values.type):
            stripped = pc.replace_substring_regex(texts, _ZEROS_BEHIND, r"\1")
            return pc.if_else(pc.equal(stripped, "-0"), "0", stripped)
        if pa.types.is_temporal(values.type):
            return pc.if_else(pc.starts_with(texts, _BEYOND), pa.scalar(None, pa.string()), texts)
        return texts
    except pa.ArrowNotImplementedError:
        return pa.nulls(len(values), pa.string())
    except FAILURES:
        if len(values) == 1:
            return pa.nulls(1, pa.string())
    # halves are looked at apart until the culprits are alone
    middle = len(values) // 2
    return pa.concat_arrays([texts_of(values[:middle]), texts_of(values[middle:])])


def days_of(values: pa.Array) -> pa.Array:
    """Return instants at midnight as days, in text, which is how other records have them in a column of days; others as instants.

    >>> days_of(pa.array([0, 60], pa.timestamp("s"))).to_pylist()
    ['1970-01-01', '1970-01-01T00:01:00Z']
    """
    days = pc.cast(values, pa.date32(), safe=False)
    return pc.if_else(pc.equal(pc.cast(days, values.type), values), pc.cast(days, pa.string()), texts_of(values))


def instants_of(days: pa.Array) -> pa.Array:
    """Return days as the instants at which they begin, in text, as other records have them in a column of instants; null where none can be told.

    >>> instants_of(pa.array([0, 2**30], pa.date32())).to_pylist()
    ['1970-01-01T00:00:00Z', None]
    """
    numbers = pc.cast(pc.cast(pc.cast(days, pa.date32(), safe=False), pa.int32()), pa.int64())
    near = pc.less_equal(pc.abs(numbers), _LAST_DAY)
    return texts_of(pc.cast(pc.if_else(near, days, pa.scalar(None, days.type)), pa.timestamp("us")))


def text_of_number(number: int | Decimal) -> str:
    """Return a number that may be too long for Arrow as ``texts_of`` writes others.

    >>> text_of_number(10**22), text_of_number(Decimal("7.50")), text_of_number(Decimal("-0.0"))
    ('10000000000000000000000', '7.5', '0')
    """
    if isinstance(number, int):
        return str(number)
    if not number.is_finite():
        return str(number).lower()
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def is_number(kind: pa.DataType) -> bool:
    """Return whether a type is one of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _whole(values: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Return what Arrow makes of all values at once, None where one of them would be another one."""
    kinds = (values.type, kind)
    if any(map(is_number, kinds)) and any(map(_is_told_by_numbers, kinds)):
        # Arrow would take a time for the number that it is kept as, and any number for true
        return None
    if any(map(pa.types.is_string, kinds)) or (any(map(pa.types.is_decimal, kinds)) and any(map(pa.types.is_floating, kinds))):
        # its cast rounds twice
        return None
    if pa.types.is_floating(values.type) and pa.types.is_float64(kind):
        # a fraction of four bytes means the shortest number that it is written with
        return canonical.widened(values)
    try:
        made = pc.cast(values, kind)
        if pa.types.is_floating(values.type) and pc.any(pc.greater(pc.abs(values), 2.0**53)).as_py():
            # so large a float means the shortest number that it is written with, too
            return None
        if pa.types.is_floating(values.type) and pa.types.is_floating(kind):
            # fewer bytes may hold it, and be written in another way
            back = canonical.widened(made)
        else:
            back = pc.cast(made, values.type, safe=False)
        return made if pc.all(pc.fill_null(pc.equal(back, values), True)).as_py() is not False else None
    except FAILURES:
        return None


def _is_told_by_numbers(kind: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(kind) or pa.types.is_boolean(kind))


def _without_exponents(texts: pa.Array) -> pa.Array:
    """Return numbers as a whole number or a decimal one of the same value is written."""
    if not pc.any(pc.match_substring(texts, "e")).as_py():
        return texts
    return pa.array([f"{Decimal(text):f}" if text is not None and "e" in text else text for text in texts.to_pylist()], pa.string())


def _short(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Return texts as floats where each has so few digits that a float tells it; None where one has more, or is no number."""
    if not pa.types.is_float64(kind) or not pc.all(pc.match_substring_regex(texts, _FEW_DIGITS)).as_py():
        return None
    return pc.cast(texts, kind)


def _instant(text: str, kind: pa.DataType) -> Any:
    """Return a day or an instant in a type; None where that would cut something off. What says no zone is in UTC."""
    if kind == pa.timestamp("ns", tz=getattr(kind, "tz", None)) and _FINER.search(text):
        return pc.cast(pc.cast(pa.scalar(text), pa.timestamp("ns", tz="UTC")), kind).value
    found = canonical.parse(pa.array([text], pa.string()), "timestamp")
    if pa.types.is_date(kind) or found.null_count:
        days = canonical.parse(pa.array([text], pa.string()), "date")
        found = found if days.null_count else days.cast(found.type)
    made = pc.cast(found, kind)
    back = pc.cast(made if pa.types.is_timestamp(kind) else pc.cast(made, pa.timestamp("us")), found.type)
    return made[0].as_py() if back.equals(found) and not _FINER.search(text) else None


def _one(text: str | None, kind: pa.DataType) -> Any:
    """Return what a text is in a type; None for another number than it says."""
    if text is None:
        return None
    try:
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            return _instant(text, kind)
        if pa.types.is_boolean(kind):
            # 1 is a number
            return _TRUTH.get(text.lower())
        value = pc.cast(pa.scalar(text), kind).as_py()
        return value if not is_number(kind) or _says(value, kind, Decimal(text)) else None
    except (*FAILURES, InvalidOperation):
        return None


def _says(value: Any, kind: pa.DataType, number: Decimal) -> bool:
    if pa.types.is_floating(kind):
        value = Decimal(repr(canonical.widened(pa.array([value], kind))[0].as_py()))
    else:
        value = Decimal(value)
    return bool(value == number or (value.is_nan() and number.is_nan()))
