"""A stream under z-anonymity: what comes is decided at once, and z follows the stream where it is asked to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms._event_attributes import Attribute
from sfumato.algorithms._event_window import PIECE, Chance, Kept, Ways, Window
from sfumato.algorithms._z_tuning import Trial, tuned
from sfumato.core.attribute_sets import entropy, group_sizes, share_with
from sfumato.core.durations import SECOND
from sfumato.core.events import LATE, SUPPRESSED, EventDecisions, EventMeasures, Events
from sfumato.core.kernels.z_anonymity import NEVER
from sfumato.core.packed_state import packed, unpacked
from sfumato.errors import DataError

_NAME, _VERSION = "z_anonymity", 3
_QUARTER = 900 * SECOND
_CYCLE = 146_097 * 86_400
"""After so many seconds, 400 years, the calendar repeats."""
_K = 2
"""For how many people p_kanon is measured where no goal says so."""


@dataclass(frozen=True)
class Goal:
    """What z is tuned towards; times in microseconds."""

    is_search: bool
    k: int
    p: float
    every: int
    hysteresis: float
    bounds: tuple[int, int]
    step: int


@dataclass(frozen=True)
class Noising:
    """How many people may be made up: so many, or a share of z."""

    diffmax: int | float

    def most(self, thresholds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many people may be made up for each record."""
        if isinstance(self.diffmax, float):
            share: NDArray[np.int64] = np.floor(thresholds * self.diffmax + 1e-9).astype(np.int64)
            return share
        return np.minimum(self.diffmax, thresholds - 1)


@dataclass(frozen=True)
class Floors:
    """The least z at each hour of the day, 0 where there is none."""

    by_hour: tuple[int, ...]
    time_zone: str

    def at(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the least z at each of some times."""
        if not any(self.by_hour):
            return np.zeros(len(times), np.int64)
        # no time zone changes its clocks but at a quarter of an hour
        quarters, place = np.unique(times // _QUARTER, return_inverse=True)
        zone = ZoneInfo(self.time_zone)
        hours = [datetime.fromtimestamp(_in_reach(quarter * 900), UTC).astimezone(zone).hour for quarter in quarters.tolist()]
        return np.array([self.by_hour[hour] for hour in hours], np.int64)[place]


@dataclass(frozen=True)
class Plan:
    """The settings of a session; ``window`` is in microseconds."""

    z: int
    window: int
    rest: bool
    generalise: bool
    original: bool
    goal: Goal | None
    floors: Floors
    noise: Noising | None


class ZSession:
    """Decides record by record. How the stream is cut into pieces changes nothing but what chance decides."""

    def __init__(self, plan: Plan, attribute: Attribute, columns: tuple[str, ...]) -> None:
        self._plan, self._attribute, self._columns = plan, attribute, columns
        self._z = plan.z if plan.goal is None else min(max(plan.z, plan.goal.bounds[0]), plan.goal.bounds[1])
        self._next_update: int | None = None
        self._totals = {"records": 0, "suppressed": 0, "late": 0, "fakes": 0}
        self._by_level = np.zeros(max(attribute.levels, 1), np.int64)
        self._window = self._new_window()

    @property
    def held(self) -> int:
        """Nothing waits."""
        return 0

    @property
    def z(self) -> int:
        """The threshold as it is now, floors not looked at."""
        return self._z

    @property
    def window(self) -> Window:
        """What is remembered."""
        return self._window

    def push(self, events: Events) -> EventDecisions:
        """Take further records and decide of each."""
        chance = Chance(self._plan.noise is not None and not self._plan.original)
        read = self._attribute.read(events.attributes)
        parts = [self._piece(events, read, first, min(first + PIECE, len(events)), chance) for first in range(0, len(events), PIECE)]
        levels, thresholds, begins, places, made_up = _joined(parts)
        self._count(levels, len(made_up))
        if self._window.is_mostly_empty:
            self._window = self._window.moved_to(self._new_window())
        published = dict(zip(self._columns, self._attribute.published(read, levels), strict=True))
        return EventDecisions(events.numbers, levels, thresholds, published, *_order(events.people, levels, begins, places, made_up))

    def opt_out(self, people: NDArray[np.int64]) -> None:
        """Never make anything up in the name of some people."""
        self._window.opt_out(np.ascontiguousarray(people, np.int64))

    def people(self) -> NDArray[np.int64]:
        """Return the numbers of the people in the window."""
        return np.unique(self._window.kept(self._window.newest).people)

    def measured(self) -> EventMeasures:
        """Return how the stream is doing."""
        kept = self._window.kept(self._window.newest)
        true, published = ~kept.is_fake, kept.published_nodes()
        shown, true_and_shown = published >= 0, true & (published >= 0)
        before = group_sizes(kept.people[true], kept.rows[kept.paths[true], 0].astype(np.int64))
        after = group_sizes(kept.people[true_and_shown], published[true_and_shown])
        k = self._plan.goal.k if self._plan.goal else _K
        return EventMeasures(
            z=max(self._z, int(self._plan.floors.at(np.array([self._window.newest]))[0])) if self._window.newest != NEVER else self._z,
            k=k,
            by_level={level: int(number) for level, number in enumerate(self._by_level) if number},
            people=int(before.sum()),
            silent=int(before.sum() - after.sum()),
            p_kanon=share_with(group_sizes(kept.people[shown], published[shown]), k),
            entropy_before=entropy(before),
            entropy_after=entropy(after),
            **self._totals,
        )

    def snapshot(self) -> bytes:
        """Return the state; it is secret."""
        values = {"z": self._z, "next_update": self._next_update, "totals": self._totals, "settings": self._what_must_stay()}
        return packed(_NAME, _VERSION, values, {"by_level": self._by_level, **self._window.arrays()})

    def restore(self, state: bytes) -> None:
        """Go on from a state. That of a stream with another window, attribute or way of counting is refused.

        Whoever has opted out before stays so, beside those of the state.
        """
        values, arrays = unpacked(state, _NAME, _VERSION)
        if values["settings"] != self._what_must_stay():
            hint = "put window, attribute, count, generalise and original back, or begin the stream anew with an empty state folder"
            raise DataError("a state of z_anonymity is that of a stream with other settings", code="stream-state", hint=hint)
        window = self._new_window()
        by_level = arrays.pop("by_level")
        window.take_up(arrays)
        window.opt_out(self._window.opted_out)
        self._window, self._by_level, self._totals = window, by_level, dict(values["totals"])
        if self._plan.goal is not None:
            self._z, self._next_update = min(max(values["z"], self._plan.goal.bounds[0]), self._plan.goal.bounds[1]), values["next_update"]

    def _new_window(self) -> Window:
        plan = self._plan
        return Window(plan.window, self._attribute.levels, Ways(plan.rest, plan.generalise, plan.original), plan.noise is not None)

    def _what_must_stay(self) -> Mapping[str, Any]:
        kept = asdict(self._plan)
        return {name: kept[name] for name in ("window", "rest", "generalise", "original")} | {
            "columns": list(self._columns),
            "attribute": type(self._attribute).__name__,
            "levels": self._attribute.levels,
        }

    # --- deciding ---

    def _piece(self, events: Events, read: Any, first: int, end: int, chance: Chance) -> tuple[NDArray[Any], ...]:
        number = end - first
        path_of = self._attribute.numbered(self._window, read, first, end)
        opted_out = np.zeros(number, np.bool_) if events.opted_out is None else np.asarray(events.opted_out[first:end], np.bool_)
        # for arrays that cannot be written to the kernel would be compiled once more
        times, people = (np.require(column[first:end], np.int64, ["C", "W"]) for column in (events.times, events.people))
        now = np.maximum.accumulate(np.append(self._window.newest, times))[1:]
        floors = np.maximum(self._plan.floors.at(now), self._plan.floors.at(times))
        parts, done = [], 0
        while done < number:
            until = self._until(now, done)
            stretch = slice(done, until)
            thresholds = np.maximum(self._z, floors[stretch])
            missing = np.zeros_like(thresholds) if self._plan.noise is None else self._plan.noise.most(thresholds)
            decided = self._window.decide(times[stretch], people[stretch], path_of[stretch], opted_out[stretch], thresholds, missing, chance)
            parts.append((decided[0], thresholds, *decided[1:]))
            done = until
        return _joined(parts)

    def _until(self, now: NDArray[np.int64], done: int) -> int:
        """Look at z where it is time to, and return the record before which it is time again."""
        goal = self._plan.goal
        if goal is None:
            return len(now)
        if self._next_update is None:
            self._next_update = int(now[done]) + goal.every
        if now[done] >= self._next_update:
            self._z = self._tuned(goal, int(now[done]))
            self._next_update += goal.every * (1 + (int(now[done]) - self._next_update) // goal.every)
        return done + int(np.searchsorted(now[done:], self._next_update))

    def _tuned(self, goal: Goal, now: int) -> int:
        kept = self._window.kept(now)
        trial = Trial.of(_true(kept), self._plan.rest, self._plan.generalise)
        return tuned(trial, self._z, goal.is_search, goal.k, goal.p, goal.hysteresis, goal.bounds, goal.step)

    def _count(self, levels: NDArray[np.int8], fakes: int) -> None:
        self._by_level += np.bincount(levels[levels >= 0], minlength=len(self._by_level))
        further = {"records": len(levels), "suppressed": (levels == SUPPRESSED).sum(), "late": (levels == LATE).sum(), "fakes": fakes}
        self._totals = {name: self._totals[name] + int(number) for name, number in further.items()}


def _in_reach(seconds: int) -> int:
    """Return a time of whole centuries earlier or later that a calendar of the years 1 to 9999 has; the hours of the day are the same.

    >>> _in_reach(-5), _in_reach(10**12) < 5 * 10**10
    (-5, True)
    """
    return seconds if abs(seconds) < 2 * _CYCLE else seconds % _CYCLE


def _true(kept: Kept) -> Kept:
    """Return the records of a window without the made-up ones."""
    true = ~kept.is_fake
    columns = (kept.times[true], kept.people[true], kept.paths[true], kept.released[true], kept.is_fake[true])
    return Kept(*columns, kept.rows, kept.heights, kept.nodes)


def _joined(parts: Sequence[tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
    """Put decisions one behind the other: levels, thresholds, where made-up people begin, where the true one stands, and the made-up people."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.empty(0, np.int8), *(np.empty(0, np.int64) for _ in range(4))
    before = np.cumsum([0, *(len(part[4]) for part in parts)])
    begins = np.concatenate([part[2] + first for part, first in zip(parts, before, strict=False)])
    levels, thresholds, places, made_up = (np.concatenate([part[column] for part in parts]) for column in (0, 1, 3, 4))
    return levels, thresholds, begins, places, made_up


def _order(
    people: NDArray[np.int64], levels: NDArray[np.int8], begins: NDArray[np.int64], places: NDArray[np.int64], made_up: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return what leaves: which record, in whose name, and whether it is made up."""
    kept = np.flatnonzero(levels >= 0)
    if not len(made_up):
        return kept, people[kept], np.zeros(len(kept), np.bool_)
    fakes = np.diff(np.append(begins, len(made_up)))[kept]
    starts = np.cumsum(fakes + 1) - fakes - 1
    of_record = np.repeat(kept, fakes + 1)
    is_fake = np.ones(len(of_record), np.bool_)
    is_fake[starts + places[kept]] = False
    shown = np.empty(len(of_record), np.int64)
    shown[is_fake], shown[~is_fake] = made_up, people[kept]
    return of_record, shown, is_fake
