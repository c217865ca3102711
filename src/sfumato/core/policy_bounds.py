"""Bounds as a policy writes them: numbers, days such as 2020-01-31, instants such as 2020-01-31T12:30:00Z."""

from __future__ import annotations

import datetime
import math
from typing import Annotated

import numpy as np
import pyarrow as pa
from pydantic import AfterValidator, BeforeValidator

from sfumato.core.typed_column import DAY, Times, decimals_of, exact, number_texts


def time_as_text(value: object) -> object:
    """Return a day or an instant of Python, or what YAML took for one, as a policy writes it.

    >>> time_as_text(datetime.date(2020, 1, 31)), time_as_text(18)
    ('2020-01-31', 18)
    """
    return value.isoformat() if isinstance(value, datetime.date) else value


def _is_time(value: str) -> str:
    if not Times.of(pa.array([value])).valid[0]:
        raise ValueError("needs a date such as 2020-01-31 or an instant such as 2020-01-31T12:30:00Z")
    return value


PolicyTime = Annotated[str, BeforeValidator(time_as_text), AfterValidator(_is_time)]
"""A day or an instant."""


def _is_bound(value: float | int | str) -> float | int | str:
    if isinstance(value, str):
        return _is_time(value)
    if not math.isfinite(value) or abs(value) > 10**15:
        raise ValueError("needs a number of at most 15 digits")
    return value


PolicyBound = Annotated[float | int | str, BeforeValidator(time_as_text), AfterValidator(_is_bound)]
"""A number, a day or an instant."""


def bound_text(bound: float | int | str) -> str:
    """Return a bound in canonical form.

    >>> bound_text(18.0), bound_text(0.5), bound_text("2020-01-31")
    ('18', '0.5', '2020-01-31')
    """
    if isinstance(bound, str):
        times = Times.of(pa.array([bound]))
        return str(times.put(times.microseconds, times.valid)[0].as_py())
    decimals = decimals_of(bound)
    return str(number_texts(np.array([int(exact(bound) * 10**decimals)]), decimals, np.ones(1, bool))[0].as_py())


def is_day(text: str) -> bool:
    """Return whether it is a whole day."""
    return bool(Times.of(pa.array([text])).days[0])


def first_moment(text: str) -> int:
    """Return the instant, or where the day begins, in microseconds since 1970."""
    return int(Times.of(pa.array([text])).microseconds[0])


def last_moment(text: str) -> int:
    """Return the instant, or where the day ends."""
    return first_moment(text) + (DAY - 1 if is_day(text) else 0)
