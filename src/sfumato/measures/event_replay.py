"""Verification of z-anonymity by replay: the records that came, beside what was decided of them, looked at by code that knows nothing of how.

Everything is a dictionary of texts. A record counts for its attribute until the window is over, and for its categories; where the rest counts, for
a category only as long as nothing finer of it has been published since it came.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from sfumato.core.events import LATE, SUPPRESSED, Breach, EventDecisions

Label = tuple[str, ...]
"""What an attribute or a category is published as: a text for each of its columns."""


@dataclass(frozen=True)
class Seen:
    """A record as it came: when, who, and what each level of its attribute is called, the finest first; nothing where it has none."""

    number: int
    time: int
    person: Hashable
    labels: Sequence[Label]
    opted_out: bool = False


@dataclass(frozen=True)
class Left:
    """What left of a record: on which level, as what, in whose names and which of these are made up, and how many people were asked for."""

    level: int
    published: Sequence[str | None]
    names: Sequence[tuple[Hashable, bool]]
    asked: int


@dataclass(frozen=True)
class Asked:
    """What was promised: the length of the window in microseconds, whether the rest counts, and how many people may be made up.

    Where nothing ``names`` the people of made-up records, as whose they are is not published, only their number is looked at.
    """

    window: int
    rest: bool
    diffmax: int | float = 0
    remembered: bool = True
    names: bool = True

    def most(self, threshold: int) -> int:
        """Return how many people may be made up at a threshold."""
        return int(threshold * self.diffmax + 1e-9) if isinstance(self.diffmax, float) else min(self.diffmax, threshold - 1)


class EventReplay:
    """Goes through a stream from its beginning, piece by piece, and says what should not have left."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.fewest: int | None = None
        """How many people have shown what left, where fewest have."""
        self._newest: int | None = None
        # who counts for what; who has shown what and seems to have, when last; and who has ever opted out
        self._counted = _Counted(asked.rest)
        self._shown, self._made_up = _Latest(), _Latest()
        self._opted_out: set[Hashable] = set()

    def breaches(self, records: Sequence[Seen], decisions: EventDecisions) -> Iterator[Breach]:
        """Yield what is wrong with a piece; it must be gone through to its end."""
        leaving: dict[int, list[tuple[Hashable, bool]]] = {}
        for place, person, is_fake in zip(decisions.places.tolist(), decisions.shown.tolist(), decisions.is_fake.tolist(), strict=True):
            leaving.setdefault(place, []).append((person, is_fake))
        columns = [column.to_pylist() for column in decisions.published.values()]
        if list(decisions.numbers.tolist()) != [record.number for record in records]:
            yield Breach(records[0].number if records else 0, "the decisions are not those of these records")
            return
        for place, record in enumerate(records):
            level, published = int(decisions.levels[place]), tuple(column[place] for column in columns)
            yield from self.record(record, Left(level, published, leaving.get(place, []), int(decisions.thresholds[place])))

    def is_late(self, time: int) -> bool:
        """Return whether a record that comes now would be older than the window."""
        return self._newest is not None and time < self._newest - self._asked.window

    def forget_names(self) -> None:
        """Look at the number of made-up people alone from now on."""
        self._asked = replace(self._asked, names=False)

    def opt_out(self, person: Hashable) -> None:
        """Expect nothing to be made up in somebody's name from now on."""
        self._opted_out.add(person)

    def record(self, record: Seen, left: Left) -> Iterator[Breach]:
        """Yield what is wrong with the next record; it must be gone through to its end."""
        level, leaving = left.level, left.names
        self._newest = record.time if self._newest is None else max(self._newest, record.time)
        horizon = self._newest - self._asked.window
        for latest in (self._counted, self._shown, self._made_up):
            latest.forget(horizon)
        if record.opted_out:
            self._opted_out.add(record.person)
        if (record.time < horizon) != (level == LATE):
            yield Breach(record.number, "is late, and was not treated so, or the other way round")
        if level < 0:
            if leaving or any(text is not None for text in left.published):
                yield Breach(record.number, "was to be left out, and something of it left")
            if level == SUPPRESSED and record.labels:
                self._remember(record)
            return
        if level >= len(record.labels) or tuple(left.published) != record.labels[level]:
            yield Breach(record.number, "was published as something that it is not")
            return
        if [person for person, is_fake in leaving if not is_fake] != [record.person]:
            yield Breach(record.number, "did not leave once, in the name of its own person")
        self._remember(record)
        yield from self._enough(record, level, [person for person, is_fake in leaving if is_fake], left.asked)
        if self._asked.rest:
            self._counted.close(record.labels[level])

    def _remember(self, record: Seen) -> None:
        self._counted.add(record)
        for label in record.labels:
            self._shown.add(label, record.person, record.time)

    def _enough(self, record: Seen, level: int, fakes: list[Hashable], asked: int) -> Iterator[Breach]:
        label = record.labels[level]
        if fakes and level:
            yield Breach(record.number, "is a category, and people were made up for it")
        yield from self._fakes(record, label, fakes)
        shared, most = self._counted.number(label), self._asked.most(asked) if level == 0 else 0
        self.fewest = shared if self.fewest is None else min(self.fewest, shared)
        if shared < asked - most:
            yield Breach(record.number, "is shared by too few people", shared, asked - most)
        if shared < asked:
            made_up = set(fakes) | self._made_up.people(label)
            seeming = len(self._counted.people(label) | made_up) if level == 0 else shared
            if seeming < asked:
                yield Breach(record.number, "seems to be shared by too few people", seeming, asked)
        if self._asked.remembered:
            for person in fakes:
                self._made_up.add(label, person, record.time)

    def _fakes(self, record: Seen, label: Label, fakes: list[Hashable]) -> Iterator[Breach]:
        if not fakes or not self._asked.names:
            return
        category = record.labels[1] if len(record.labels) > 1 else None
        known = self._shown.people(category) if category is not None else set()
        if len(set(fakes)) < len(fakes) or record.person in fakes:
            yield Breach(record.number, "was made up twice for one person, or for its own")
        if set(fakes) & (self._shown.people(label) | self._made_up.people(label)):
            yield Breach(record.number, "was made up for somebody who has shown it, or seems to have")
        if not set(fakes) <= known:
            yield Breach(record.number, "was made up for somebody who has not shown its category", len(set(fakes) & known), len(fakes))
        if set(fakes) & self._opted_out:
            yield Breach(record.number, "was made up for somebody who has opted out")


class _Counted:
    """For each label how many records of whom count."""

    def __init__(self, rest: bool) -> None:
        self._rest = rest
        self._people: dict[Label, dict[Hashable, int]] = {}
        self._above: dict[Label, dict[int, _Counting]] = {}
        self._order: list[tuple[int, int, _Counting]] = []

    def add(self, record: Seen) -> None:
        counting = _Counting(record.person, record.labels, len(record.labels))
        for label in record.labels:
            people = self._people.setdefault(label, {})
            people[record.person] = people.get(record.person, 0) + 1
            if self._rest:
                self._above.setdefault(label, {})[record.number] = counting
        heapq.heappush(self._order, (record.time, record.number, counting))

    def close(self, label: Label) -> None:
        """Let no record count above a label that is published."""
        for counting in self._above.pop(label, {}).values():
            self._shorten(counting, min(counting.reach, counting.labels.index(label) + 1))

    def forget(self, horizon: int) -> None:
        while self._order and self._order[0][0] < horizon:
            _, number, counting = heapq.heappop(self._order)
            self._shorten(counting, 0)
            for label in counting.labels:
                if (above := self._above.get(label)) is not None and above.pop(number, None) is not None and not above:
                    del self._above[label]

    def number(self, label: Label) -> int:
        return len(self._people.get(label, ()))

    def people(self, label: Label) -> set[Hashable]:
        return set(self._people.get(label, ()))

    def _shorten(self, counting: _Counting, reach: int) -> None:
        for label in counting.labels[reach : counting.reach]:
            people = self._people[label]
            people[counting.person] -= 1
            if not people[counting.person]:
                del people[counting.person]
                if not people:
                    del self._people[label]
        counting.reach = reach


@dataclass
class _Counting:
    """A record, and on how many of its levels it counts."""

    person: Hashable
    labels: Sequence[Label]
    reach: int


class _Latest:
    """For each label who has it, and since when the last time."""

    def __init__(self) -> None:
        self._times: dict[Label, dict[Hashable, int]] = {}
        self._order: list[tuple[int, int, Label, Hashable]] = []
        self._added = 0

    def add(self, label: Label, person: Hashable, time: int) -> None:
        people = self._times.setdefault(label, {})
        people[person] = max(time, people.get(person, time))
        self._added += 1
        heapq.heappush(self._order, (time, self._added, label, person))

    def forget(self, horizon: int) -> None:
        while self._order and self._order[0][0] < horizon:
            _, _, label, person = heapq.heappop(self._order)
            people = self._times.get(label, {})
            if people.get(person, horizon) < horizon:
                del people[person]
                if not people:
                    del self._times[label]

    def number(self, label: Label) -> int:
        return len(self._times.get(label, ()))

    def people(self, label: Label) -> set[Hashable]:
        return set(self._times.get(label, ()))
