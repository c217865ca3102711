"""Windows: stretches of time, or of a number, that lie end to end and each make a group of rows."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator

from sfumato.core import canonical
from sfumato.errors import DataError

_UNITS = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}
_CALENDAR = ("month", "quarter", "year")
_LENGTH = re.compile(r"([1-9][0-9]{0,5})([smhdw])")


def _is_length(length: Any) -> Any:
    of_time = isinstance(length, str) and (length in _CALENDAR or _LENGTH.fullmatch(length) is not None)
    of_numbers = isinstance(length, int | float) and not isinstance(length, bool) and 0 < length < np.inf
    if not (of_time or of_numbers):
        raise ValueError("must be a length: a number and s, m, h, d or w, such as 15m or 7d; month, quarter or year; or, of numbers, one above 0")
    return length


# looked at before pydantic does, which would speak of each type that it might have been
Length = Annotated[str | int | float, BeforeValidator(_is_length)]


def divides(kind: canonical.ValueType, length: str | float) -> bool:
    """Return whether values of a type lie in windows of that length.

    >>> divides("date", "1w"), divides("date", 7), divides("text", "1w")
    (True, False, False)
    """
    return kind in (("date", "timestamp") if isinstance(length, str) else ("integer", "decimal"))


def windows(values: pa.Array, length: str | float, name: str) -> pa.Array:
    """Return the beginning of the window in which each value of the column ``name`` lies, null where it is missing.

    Windows of weeks begin on Mondays, others are counted from the first instant of 1970, in UTC, or from 0.

    >>> windows(pa.array(["2026-11-15", "2026-11-16"]), "1w", "day").cast(pa.date32()).to_pylist()
    [datetime.date(2026, 11, 9), datetime.date(2026, 11, 16)]
    >>> windows(pa.array([-1, 19, 20]), 10, "age").to_pylist()
    [-1, 1, 2]
    """
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = canonical.infer(values)
    typed = canonical.parse(values, kind) if divides(kind, length) else None
    if len(values) == values.null_count:
        return pa.nulls(len(values), pa.int64())
    # numbers beyond all, and none, are no missing values either
    if typed is None or typed.null_count > values.null_count:
        asked = "all days or all instants" if isinstance(length, str) else "all numbers"
        raise DataError(
            f"column {name} is divided into windows of {length}, and its values are not {asked}",
            code="mask-window",
            hint=f"another column, or formats: {{{name}: ...}} where the source writes them in another way",
        )
    if isinstance(length, str):
        instants = pc.cast(typed, pa.timestamp("us"))
        found = _LENGTH.fullmatch(length)
        many, unit = (int(found[1]), _UNITS[found[2]]) if found else (1, length)
        return pc.floor_temporal(instants, multiple=many, unit=unit)
    return _of_numbers(typed, length)


def _of_numbers(numbers: pa.Array, length: float) -> pa.Array:
    if pa.types.is_integer(numbers.type) and float(length).is_integer():
        whole = numbers.fill_null(0).to_numpy(zero_copy_only=False)
        return pa.array(np.floor_divide(whole, int(length)), mask=numbers.is_null().to_numpy(zero_copy_only=False))
    # as they are written: 0.3 is in the fourth window of 0.1, and binary fractions would put it into the third
    step, coded = Decimal(str(length)), canonical.render(numbers).dictionary_encode()
    places = [str((Decimal(text) / step).to_integral_value("ROUND_FLOOR")) for text in coded.dictionary.to_pylist()]
    return pa.array(places, pa.string()).take(coded.indices)
