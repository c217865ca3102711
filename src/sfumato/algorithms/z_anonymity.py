"""z-anonymity: an attribute leaves a stream only if enough people have shown it lately.

Jha, Favale, Vassio, Trevisan, Mellia, "z-anonymity: zero-delay anonymization for data streams" (2020); with generalisation, self-tuning and noise
as in Bacconi, "Privacy enforcing framework in high dimensional data streams for real-time data markets" (2021), algorithms 1 to 5. Here a category
is released only if enough people remain whose finer values are not (``count: rest``): in the original the name of a category whose other attributes
are all common is the rare one's. Tuning tries a whole grid, for what is aimed at does not grow steadily with z; floors hold against it. Made-up
records are remembered, drawn by chance, and leave in secret order with the true one, which in the original is the last. ``original: true`` decides
as published.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator, model_validator

from sfumato.algorithms._event_attributes import Attribute, CellPaths, LadderPaths, TextPaths
from sfumato.algorithms._z_session import Floors, Goal, Noising, Plan, ZSession
from sfumato.core.durations import Duration, microseconds
from sfumato.core.events import EventSession
from sfumato.core.files import PolicyPath
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.settings import Settings

_HOURS = re.compile(r"([01]?[0-9]|2[0-3])-([01]?[0-9]|2[0-4])")
_Column = Annotated[str, Field(min_length=1)]


class Tuning(Settings):
    """How z follows the stream: towards a share ``p`` of people whose published attributes are those of at least ``k`` people."""

    by: Annotated[Literal["search", "steps"], Field(description="search: the smallest z that reaches the goal now; steps: one up or down")] = "search"
    k: Annotated[int, Field(ge=2, description="how many people are to share their published attributes")] = 2
    p: Annotated[float, Field(gt=0, le=1, description="the share of people that is aimed at; a goal, not a promise")] = 0.8
    every: Annotated[Duration, Field(description="how much of the stream's time passes until z is looked at again")] = "30m"
    hysteresis: Annotated[float, Field(ge=0, lt=1, description="z stays while the share is above the goal by no more than this")] = 0.02
    z_min: Annotated[int, Field(ge=2, description="z never falls below this")] = 2
    z_max: Annotated[int, Field(ge=2, le=1_000_000, description="z never rises above this")] = 2000
    step: Annotated[int, Field(ge=1, description="how far one step goes")] = 1

    @model_validator(mode="after")
    def _in_order(self) -> Tuning:
        if self.z_min > self.z_max:
            raise ValueError("needs a z_min that is not above z_max")
        return self


class Noise(Settings):
    """Made-up records that let an attribute out that few people are missing for.

    They are made in the name of people who have shown the same category within the window, and never of people who opted out.
    """

    diffmax: Annotated[int | float, Field(gt=0, description="how many people at most may be made up: a whole number, or a share of z below 1")]
    copied: Annotated[
        list[_Column], Field(description="further published columns: made-up records have those of the true one, so they must not hang on the person")
    ] = []
    opted_out: Annotated[
        _Column | None, Field(description="the column that is true where a record's person wants nothing made up, from then on and for ever")
    ] = None
    opted_out_file: Annotated[PolicyPath | None, Field(description="a text file with one such person a line")] = None

    @field_validator("diffmax")
    @classmethod
    def _a_number_or_a_share(cls, value: int | float) -> int | float:
        if isinstance(value, float) and value >= 1:
            raise ValueError("must be a whole number, or a share below 1")
        return value


class ZAnonymity(Settings):
    """Decides of each record at once, with no delay: its attribute, a category of it, or nothing.

    The attribute is a ``path`` such as ``electronics.audio.headphone``, a column with a hierarchy (``taxonomy``), or a place in cells of several
    sizes.

    Guarantee: at every release of an attribute, at least ``z`` different people (with ``noise``, ``z`` - ``diffmax`` who did, and ``z`` who seem
    to) have shown it within a window that holds the record; of a category, with ``count: rest``, at least ``z`` who showed something in it that was
    not published finer. Cost: about a microsecond a record and 200 bytes for each in the window. Does not protect against what several attributes
    of one person tell together, against z - 1 accomplices, nor against timing and order: docs/z_anonymity.md.
    """

    z: Annotated[int, Field(ge=2, description="how many people must share what is published; with tuning, where it begins")]
    time: Annotated[_Column, Field(description="the column that says when it happened")]
    unit: Annotated[Literal["s", "ms", "us"], Field(description="what a number in that column counts: seconds, ms or us since 1970")] = "s"
    window: Annotated[Duration, Field(description="how long it counts that somebody has shown an attribute")] = "1h"
    path: Annotated[_Column | None, Field(description="the column of the attribute: a path from the widest category to the attribute")] = None
    separator: Annotated[str, Field(min_length=1, description="what stands between the parts of a path")] = "."
    coarsest: Annotated[Literal["first", "last"], Field(description="where the widest category of a path stands; last: as in names of domains")] = (
        "first"
    )
    levels: Annotated[int, Field(ge=1, le=16, description="so many levels of a path are looked at; of longer ones the attribute and the widest")] = 8
    taxonomy: Annotated[_Column | None, Field(description="the column of the attribute: its categories are those of the column's hierarchy")] = None
    latitude: Annotated[_Column | None, Field(description="the column of the latitude, in degrees")] = None
    longitude: Annotated[_Column | None, Field(description="the column of the longitude, in degrees")] = None
    cells: Annotated[list[Annotated[float, Field(ge=0.1, le=10_000)]], Field(min_length=1, max_length=16, description="sizes of cells, in km")] = [
        1.0,
        3.0,
        10.0,
        30.0,
        100.0,
    ]
    generalise: Annotated[bool, Field(description="publish a category where the attribute itself is too rare")] = True
    count: Annotated[
        Literal["rest", "all"],
        Field(description="who counts for a category. rest: people whose finer values are not published; all: everybody"),
    ] = "rest"
    tuning: Annotated[Tuning | None, Field(description="how z follows the stream; none: it stays")] = None
    floors: Annotated[dict[str, int], Field(description='the least z at some hours of the day, such as {"22-6": 50}; tuning cannot go below')] = {}
    time_zone: Annotated[str, Field(description="the time zone of the hours of `floors`")] = "UTC"
    noise: Annotated[Noise | None, Field(description="made-up records that let out what few people are missing for; none: none")] = None
    original: Annotated[bool, Field(description="decide as the original algorithms do, with their weaknesses: for comparison")] = False

    @field_validator("cells")
    @classmethod
    def _different(cls, value: list[float]) -> list[float]:
        if len(set(value)) < len(value):
            raise ValueError("needs sizes that differ")
        return value

    @field_validator("floors")
    @classmethod
    def _of_hours(cls, value: dict[str, int]) -> dict[str, int]:
        if any(_HOURS.fullmatch(hours) is None or floor < 2 for hours, floor in value.items()):
            raise ValueError('must be hours of the day and a number of people, 2 or more, such as {"22-6": 50}')
        return value

    @field_validator("time_zone")
    @classmethod
    def _of_the_world(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError("must be a time zone, such as Europe/Berlin") from None
        return value

    @model_validator(mode="after")
    def _one_attribute(self) -> ZAnonymity:
        if (self.latitude is None) != (self.longitude is None):
            raise ValueError("needs both latitude and longitude")
        if sum(column is not None for column in (self.path, self.taxonomy, self.latitude)) != 1:
            raise ValueError("needs one attribute: path, taxonomy, or latitude and longitude")
        if self.original and "count" in self.model_fields_set and self.count == "rest":
            raise ValueError("counts everybody where it decides as the original: leave count out")
        return self

    @property
    def attribute_columns(self) -> tuple[str, ...]:
        """The columns that together are the attribute."""
        return tuple(name for name in (self.path, self.taxonomy, self.latitude, self.longitude) if name is not None)

    @property
    def fewest_true(self) -> int | None:
        """How many people at least have shown what is published beside those who are made up; None where nobody is, or as in the original."""
        if self.noise is None or self.original:
            return None
        least, diffmax = self.z if self.tuning is None else min(self.z, self.tuning.z_min), self.noise.diffmax
        return least - (diffmax if isinstance(diffmax, int) else int(diffmax * least))

    @property
    def counts_rest(self) -> bool:
        """Whether people whose finer values are published count for a category."""
        return self.count == "rest" and not self.original

    def start(self, ladder: Hierarchy | None = None) -> EventSession:
        """Begin a session; ``ladder`` is the hierarchy of the column ``taxonomy``, where that is the attribute."""
        return ZSession(self.plan(), self.attribute(ladder), self.attribute_columns)

    def attribute(self, ladder: Hierarchy | None = None) -> Attribute:
        """Return how the attribute is read and written."""
        if self.path is not None:
            return TextPaths(self.separator, self.coarsest == "first", self.levels)
        if self.taxonomy is not None:
            if ladder is None:
                raise AssertionError("a column with a taxonomy comes with its ladder")
            return LadderPaths(ladder)
        return CellPaths(self.cells)

    def plan(self) -> Plan:
        """Return the settings in the units of the stream."""
        tuning, noise = self.tuning, self.noise
        goal = None
        if tuning is not None:
            bounds = (tuning.z_min, tuning.z_max)
            goal = Goal(tuning.by == "search", tuning.k, tuning.p, microseconds(tuning.every), tuning.hysteresis, bounds, tuning.step)
        return Plan(
            z=self.z,
            window=microseconds(self.window),
            rest=self.counts_rest,
            generalise=self.generalise,
            original=self.original,
            goal=goal,
            floors=Floors(tuple(self._hours()), self.time_zone),
            noise=None if noise is None else Noising(noise.diffmax),
        )

    def _hours(self) -> list[int]:
        """Return the floor of each hour of the day."""
        floors = [0] * 24
        for hours, floor in self.floors.items():
            found = _HOURS.fullmatch(hours)
            assert found is not None  # noqa: S101 - the validator has seen to it
            first, end = int(found[1]), int(found[2])
            hour = first
            while True:
                floors[hour] = max(floors[hour], floor)
                hour = (hour + 1) % 24
                if hour == end % 24:
                    break
        return floors
