"""Families of Python's values: what a value is by its type alone, so that nothing hangs on what stands beside it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import pyarrow as pa

Family = Literal["nothing", "truth", "text", "whole", "fraction", "decimal", "instant", "day", "other"]
_FAMILIES: dict[type[Any], Family] = {}


def type_family(kind: type[Any]) -> Family:
    """Return the family of values of a type.

    >>> [type_family(kind) for kind in (bool, int, np.float32, Decimal, date, datetime, str, type(None), bytes)]
    ['truth', 'whole', 'fraction', 'decimal', 'day', 'instant', 'text', 'nothing', 'other']
    """
    if kind not in _FAMILIES:
        _FAMILIES[kind] = _family(kind)
    return _FAMILIES[kind]


def _family(kind: type[Any]) -> Family:
    # a truth value is a whole number to Python, an instant a day
    families: list[tuple[Family, tuple[type, ...]]] = [
        ("nothing", (type(None),)),
        ("text", (str,)),
        ("truth", (bool, np.bool_)),
        ("decimal", (Decimal,)),
        ("whole", (Integral,)),
        ("fraction", (Real,)),
        ("instant", (datetime, np.datetime64)),
        ("day", (date,)),
    ]
    return next((family for family, kinds in families if issubclass(kind, kinds)), "other")


def says_nothing(value: Any) -> bool:
    """Return whether a value is one that is no number, or no time.

    >>> [says_nothing(value) for value in (float("nan"), Decimal("NaN"), Decimal("sNaN"), np.datetime64("NaT"), 0.0, None)]
    [True, True, True, True, False, False]
    """
    return value.is_nan() if isinstance(value, Decimal) else bool(value != value)


def midnight(day: date) -> datetime:
    """Return the instant at which a day begins."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


@cache
def is_known_zone(zone: str | None) -> bool:
    """Return whether instants of a zone can be told, by its name or its distance from UTC.

    >>> is_known_zone(None), is_known_zone("Europe/Berlin"), is_known_zone("+01:00"), is_known_zone("Nowhere/Bad")
    (True, True, True, False)
    """
    try:
        return zone is None or pa.scalar(0, pa.timestamp("s", tz=zone)).as_py() is not None
    except (pa.ArrowException, ValueError, KeyError, OSError):
        return False
