"""The times of records: when each was, by a column of the stream, in microseconds since 1970. Never the clock of the machine."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.canonical import ValueType
from sfumato.errors import Mistake, PolicyError
from sfumato.policy.resolve import Resolved
from sfumato.policy.windows import Unit

_UNITS: dict[Unit, int] = {"s": 1_000_000, "ms": 1_000, "us": 1}
_DAY = 86_400_000_000
_FIRST, _LAST = -62_135_596_800_000_000 + _DAY, 253_402_300_800_000_000 - _DAY
"""The years 1 to 9999, in every time zone. A time beyond them is a mistake: milliseconds that were read as seconds, mostly."""
_OF_TIMES = ("timestamp", "date", "integer", "decimal")


def kind_of_times(values: pa.Array, name: str, resolved: Resolved) -> ValueType | None:
    """Return of which type the times of a stream are, by its first records, None where these say nothing; refuse a column that says none."""
    there, declared = values.drop_null(), resolved.policy.columns[name].type
    if not len(there):
        return None
    kind = declared or canonical.infer(there)
    if kind not in _OF_TIMES:
        words = f"the column {name} is {kind}, which says no time"
        hint = f"columns: {{{name}: {{type: timestamp}}}} where its values are written as in 2020-01-31T12:30:00Z, or formats"
        raise _wrong(words, hint, resolved)
    if kind in ("timestamp", "date") and canonical.infer(there) in ("integer", "decimal"):
        words = f"the column {name} is said to be of type {kind}, and numbers come, of which nobody says what they count"
        hint = f"columns: {{{name}: {{type: integer}}}} reads numbers as seconds since 1970, unit: ms or us beside the column's name as those"
        raise _wrong(words, hint, resolved)
    return kind


def _wrong(words: str, hint: str, resolved: Resolved) -> PolicyError:
    key = ("window", "column") if resolved.policy.window is not None else ("algorithm",)
    return PolicyError([Mistake(".".join(key), words, "policy-window-time", hint, resolved.lines.at(key))], name=resolved.name)


def times_of(values: pa.Array, kind: ValueType, unit: Unit) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return when each record was, and which say it; what is no time of the years 1 to 9999 says none.

    >>> times_of(pa.array(["1970-01-01T00:00:01Z", None, "soon"]), "timestamp", "s")[0].tolist()
    [1000000, 0, 0]
    >>> times_of(pa.array([1.5, float("inf")]), "decimal", "ms")[0].tolist()
    [1500, 0]
    """
    typed = canonical.parse(values, kind)
    if kind == "timestamp":
        places = pc.cast(typed, pa.int64())
        found = places.fill_null(0).to_numpy(zero_copy_only=False)
        known = places.is_valid().to_numpy(zero_copy_only=False) & (found >= _FIRST) & (found < _LAST)
        return np.where(known, found, 0), known
    with np.errstate(over="ignore"):
        numbers = canonical.positions(typed) * (_DAY if kind == "date" else _UNITS[unit])
    known = (numbers >= _FIRST) & (numbers < _LAST)
    if kind == "integer":
        # a float does not tell all microseconds apart
        exact = typed.fill_null(0).to_numpy(zero_copy_only=False)
        return np.where(known, exact, 0) * _UNITS[unit], known
    return np.rint(np.where(known, numbers, 0)).astype(np.int64), known


def in_calendar(times: NDArray[np.int64], length: int) -> NDArray[np.bool_]:
    """Return which times are in windows that begin and end in the years 1 to 9999.

    >>> in_calendar(np.array([0, _LAST - 1, _FIRST]), 7 * _DAY).tolist()
    [True, False, False]
    """
    begins = np.floor_divide(times, length) * length
    found: NDArray[np.bool_] = (begins >= _FIRST - _DAY) & (begins + length < _LAST + _DAY)
    return found
