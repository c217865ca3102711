"""The calendar: seconds, minutes, hours, days, months, quarters, years, decades; or weeks, which fit into none of the longer ones.

Days and all that is longer begin at midnight of a time zone. Hours and shorter stretches carry their distance from UTC: in the night when clocks
are put back the same hour comes twice.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field, field_validator

from sfumato.core import canonical
from sfumato.core.calendar_labels import Stretch as LongStretch
from sfumato.core.calendar_labels import calendar_labels, clock_text
from sfumato.core.hierarchy import Hierarchy, Level
from sfumato.core.settings import Settings
from sfumato.hierarchies._tree import level_of, tree, wrong_type

Stretch = Literal["second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade"]

_STRETCHES: tuple[Stretch, ...] = ("second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade")
_OF_DATES: tuple[Stretch, ...] = ("month", "quarter", "year", "decade")
_OF_INSTANTS: tuple[Stretch, ...] = ("hour", "day", *_OF_DATES)
_CLOCK = {"second": "%Y-%m-%dT%H:%M:%S", "minute": "%Y-%m-%dT%H:%M", "hour": "%Y-%m-%dT%H"}


class Calendar(Settings):
    """Stretches of the calendar as nodes: ``2024-05-17``, ``2024-05``, ``2024-Q2``, ``2024``, ``2020s``; weeks as ``2024-W20``.

    Dates begin with months, instants with hours, where no levels are given.

    >>> days = Calendar().build("born", pa.array(["1984-05-17", "1984-05-30"]).cast(pa.date32()), np.array([1, 1]))
    >>> [level.labels for level in days.levels]
    [('1984-05',), ('1984-Q2',), ('1984',), ('1980s',), ('*',)]
    """

    levels: Annotated[
        list[Stretch] | None,
        Field(min_length=1, description="the stretches, from short to long; a week goes with shorter ones only"),
    ] = None
    time_zone: Annotated[str, Field(description="the zone whose midnights divide days, such as Europe/Berlin")] = "UTC"

    @field_validator("levels")
    @classmethod
    def _nested(cls, value: list[Stretch] | None) -> list[Stretch] | None:
        if value is None:
            return None
        if any(_STRETCHES.index(later) <= _STRETCHES.index(earlier) for earlier, later in pairwise(value)):
            raise ValueError("needs levels that rise from short to long")
        if "week" in value[:-1]:
            raise ValueError("cannot put weeks into anything longer: the last level is the week, or there is none")
        return value

    @field_validator("time_zone")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError("is no time zone; write it as in Europe/Berlin") from None
        return value

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build the levels over the distinct days or instants."""
        del counts
        kind = "text" if pa.types.is_string(values.type) else canonical.infer(values)
        if kind not in ("date", "timestamp"):
            raise wrong_type(column, kind, "calendar", "declare type: date or timestamp, or use another hierarchy")
        if kind == "date" and set(self.levels or ()) & set(_CLOCK):
            raise wrong_type(column, kind, "parts of a day", "levels of a day or longer, such as [month, year]")
        stretches = self.levels or (_OF_DATES if kind == "date" else _OF_INSTANTS)
        if not len(values):
            return tree(column, kind, values, (), self)
        return tree(column, kind, values, [self._level(stretch, values) for stretch in stretches], self)

    def _level(self, stretch: Stretch, values: pa.Array) -> Level:
        local, offset = self._local(values)
        if stretch in _CLOCK:
            return level_of(pc.binary_join_element_wise(clock_text(local, _CLOCK[stretch]), offset, ""))
        return level_of(calendar_labels(local, cast(LongStretch, stretch)))

    def _local(self, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return the values as clocks of the zone show them, and how far these are from UTC, written."""
        if not pa.types.is_timestamp(values.type):
            local = pc.cast(pc.cast(values, pa.date32()), pa.timestamp("us"))
            return local, pa.array([""] * len(values), pa.string())
        instants = pc.cast(values, pa.timestamp("us", tz=self.time_zone))
        local = pc.local_timestamp(instants)
        seconds = (pc.cast(local, pa.int64()).to_numpy() - pc.cast(instants, pa.int64()).to_numpy()) // 1_000_000
        distinct, places = np.unique(seconds, return_inverse=True)
        return local, pa.array([_offset(int(second)) for second in distinct], pa.string()).take(pa.array(places))


def _offset(seconds: int) -> str:
    """Return a distance from UTC as ISO 8601 writes it; before there were zones it could have seconds.

    >>> _offset(0), _offset(7200), _offset(-12600), _offset(-17762)
    ('Z', '+02:00', '-03:30', '-04:56:02')
    """
    if not seconds:
        return "Z"
    hours, rest = divmod(abs(seconds), 3600)
    minutes, odd = divmod(rest, 60)
    return f"{'+' if seconds > 0 else '-'}{hours:02d}:{minutes:02d}{f':{odd:02d}' if odd else ''}"
