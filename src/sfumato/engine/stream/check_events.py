"""The check of events: every record once more, in order, and whether enough people had shown what left of it at that moment."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, tee
from operator import attrgetter
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from sfumato.core.events import LATE, SUPPRESSED
from sfumato.core.stream import Accounts
from sfumato.engine.stream.check_values import Values
from sfumato.engine.stream.check_windows import UNITS
from sfumato.engine.stream.findings import Findings
from sfumato.engine.stream.opted_out import OptedOut
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.read_again import Came, Letter
from sfumato.engine.stream.released_rows import NotAsWrittenError, Row
from sfumato.measures.covering import microseconds_of
from sfumato.measures.event_labels import labels_of, replay_of
from sfumato.measures.event_replay import Label, Left, Seen

_NO = ("false", "0", "no", "")
_SECOND = 1_000_000
# so far from what chance gives that it is none
_UNLIKELY = 6.0


class EventCheck:
    """Holds what left of each record against all records of the window at that time."""

    def __init__(
        self,
        plan: StreamPlan,
        findings: Findings,
        links: NDArray[np.int64],
        dead: NDArray[np.bool_],
        listed: OptedOut,
        late: frozenset[int] = frozenset(),
    ) -> None:
        self._plan, self._findings, self._links, self._dead, self._late_letters = plan, findings, links, dead, late
        # who has come before the record from which on they have opted out, and records that were set aside and not heeded yet
        self._listed, self._later, self._letters = listed, dict[int, set[Hashable]](), deque[Letter]()
        search: Any = plan.resolved.algorithm
        self._search, subject = search, plan.subject
        assert subject is not None  # noqa: S101 - events are counted by people, and the policy says whose they are
        self._subject = subject
        self._named = search.noise is not None and self._is_named()
        self._replay = replay_of(self._search, self._named)
        self._labels = self._labels_of()
        self._values = Values(plan, findings, besides=[subject])
        # made-up rows have all columns of their record but the person's
        self._person = Values(plan, findings, besides=[name for name in plan.plan.published if name != subject])
        self._names: dict[str | None, Hashable] = {}
        self._marks: dict[Hashable, int] = {}
        self._drawn: Iterator[int | None] = iter(())
        self._thresholds = _Thresholds(self._search)
        self._late = self._held_back = self._next = 0
        self._order = _Order()

    def check(self, came: Iterator[Came], rows: Iterator[Row], releases: Iterator[dict[str, Any]]) -> None:
        """Go through all of it."""
        if self._search.tuning is not None:
            releases, others = tee(releases)
            self._thresholds.tuned = chain.from_iterable(release["references"]["z"] for release in others)
        is_noisy = self._search.noise is not None
        self._drawn = self._who_was_drawn(releases) if is_noisy else iter(())
        for batch in came:
            self._batch(batch, rows)
        # where nothing was asked of them they are looked at all the same: one that is damaged is told
        for _ in self._drawn if is_noisy else releases:
            pass
        if self._replay.fewest is not None:
            self._findings.least("people who have shown what left", self._replay.fewest)
        if self._next < len(self._links):
            self._findings.breaks("links", "a row left with no record", f"row {self._next}")
        for what in self._order.unlikely() if not self._search.original else ():
            self._findings.breaks("z_anonymity", what, "all made-up records together")

    def accounts(self, told: Accounts) -> None:
        """Compare what became of records with what was counted."""
        for name, found, asked in (("late", self._late, told.late), ("suppressed", self._held_back, told.suppressed)):
            if found != asked:
                self._findings.breaks("accounts", f"not as many records are {name} as were counted", "the last commit", found, asked)

    def _batch(self, batch: Came, rows: Iterator[Row]) -> None:
        columns, plan = batch.columns, self._plan
        for values in (self._values, self._person):
            values.learn(batch)
        self._letters = deque(sorted([*self._letters, *batch.letters], key=attrgetter("number")))
        times = columns.get(self._search.time, [])
        declared = plan.resolved.policy.columns[self._search.time].type
        is_number = None if declared is None else declared in ("integer", "decimal")
        for place, (number, person, since) in enumerate(zip(batch.numbers, batch.people, self._listed.since(batch.marks), strict=True)):
            self._heed(number, person, since)
            if self._dead[number]:
                self._is_late_indeed(number, times[place], is_number)
                if self._opts_out(columns[plan.opted_out][place] if plan.opted_out is not None else "no"):
                    self._replay.opt_out(person)
                continue
            time = microseconds_of(times[place], UNITS[self._search.unit], is_number)
            if time is None:
                self._findings.breaks("accounts", "a record that says no time is no dead letter", f"record {number}")
                continue
            record = {name: texts[place] for name, texts in columns.items()} | {f"made {name}": made[place] for name, made in batch.made.items()}
            if self._named:
                self._marks[person] = batch.marks[place]
                self._name(record.get(f"made {self._subject}", record[self._subject]), person)
            labels = self._labels([record[name] for name in plan.event_columns])
            says_so = plan.opted_out is not None and self._opts_out(record[plan.opted_out])
            self._decided(Seen(number, time, person, labels, says_so), record, rows)

    def _is_late_indeed(self, number: int, text: str | None, is_number: bool | None) -> None:
        """Look whether a record that was set aside as late was."""
        time = microseconds_of(text, UNITS[self._search.unit], is_number) if number in self._late_letters else None
        if number in self._late_letters and (time is None or not self._replay.is_late(time)):
            self._findings.breaks("dead letters", "a record was set aside as late, and is not", f"record {number}")

    def _heed(self, number: int, person: Hashable, since: int | None) -> None:
        """Take note of who has opted out before a record is decided of: by letters before it, and by being in the list as it was known then."""
        while self._letters and self._letters[0].number < number:
            letter = self._letters.popleft()
            if self._opts_out(letter.flag):
                self._replay.opt_out(letter.person)
        if since is not None:
            self._later.setdefault(since, set()).add(person)
        for reached in [first for first in self._later if first <= number]:
            for known in self._later.pop(reached):
                self._replay.opt_out(known)

    def _decided(self, seen: Seen, record: dict[str, str | None], rows: Iterator[Row]) -> None:
        """Look at what left of a record."""
        first, leaving = self._next, self._leaving(seen.number, rows)
        asked = self._thresholds.at(seen.number, seen.time)
        if not leaving:
            late = self._replay.is_late(seen.time)
            self._late, self._held_back = self._late + late, self._held_back + (not late)
            self._breaches(self._replay.record(seen, Left(LATE if late else SUPPRESSED, [None], [], asked)))
            return
        self._thresholds.within_bounds(seen.number, self._findings)
        shown: list[Label] = [tuple(str(row.get(name)) for name in self._plan.event_columns) for _, row in leaving]
        for place, (is_fake, row) in enumerate(leaving, start=first):
            self._findings.rows += 1
            self._values.check(row, record, place)
            if not is_fake:
                self._person.check(row, record, place)
        if len(set(shown)) > 1:
            self._findings.breaks("z_anonymity", "made-up records show another attribute than the true one", f"row {first}")
        level = seen.labels.index(shown[0]) if shown[0] in seen.labels else len(seen.labels)
        if level and not self._search.generalise:
            self._findings.breaks("z_anonymity", "a category left, and only attributes may", f"record {seen.number}")
        fakes = [place for place, (is_fake, _) in enumerate(leaving) if is_fake]
        if fakes:
            self._order.add([is_fake for is_fake, _ in leaving])
        names = [(self._whose(is_fake, row, seen, first + place), is_fake) for place, (is_fake, row) in enumerate(leaving)]
        self._breaches(self._replay.record(seen, Left(level, shown[0], names, asked)))
        self._findings.measured["made-up records"] = self._findings.measured.get("made-up records", 0) + len(fakes)

    def _leaving(self, number: int, rows: Iterator[Row]) -> list[tuple[bool, Row]]:
        """Return the rows that left with a record, and which of them are made up."""
        found: list[tuple[bool, Row]] = []
        while self._next < len(self._links) and int(self._links[self._next, 1]) == number:
            row = next(rows, None)
            if row is None:
                raise NotAsWrittenError("ends early")
            found.append((int(self._links[self._next, 0]) < 0, row))
            self._next += 1
        return found

    def _whose(self, is_fake: bool, row: Row, seen: Seen, place: int) -> Hashable:
        """Return in whose name a row left; somebody whom nobody knows where that cannot be told."""
        if not is_fake:
            return self._own(row, seen)
        drawn = next(self._drawn, None)
        if not self._named:
            return ("made up", seen.number, place)
        person = self._names.get(row.get(self._subject), ("nobody", seen.number, place))
        if drawn is not None and self._marks.get(person) != drawn:
            self._findings.breaks("z_anonymity", "a made-up record is in another name than that of who was drawn for it", f"row {place}")
        return person

    def _who_was_drawn(self, releases: Iterator[dict[str, Any]]) -> Iterator[int | None]:
        """Yield of each made-up row who was drawn for it, None where that was not written down."""
        for release in releases:
            links, drawn = self._links[release["row"] : release["row"] + release["rows"], 0], release["references"].get("drawn")
            fakes = int((links < 0).sum())
            if drawn is None and fakes:
                self._findings.cannot("who of those who may be it records were made up for: an earlier version has not written it down")
            elif drawn is not None and len(drawn) != fakes:
                self._findings.breaks("links", "not as many people were drawn as records were made up", f"row {release['row']}", len(drawn), fakes)
                drawn = None
            yield from [None] * fakes if drawn is None else drawn

    def _own(self, row: Row, seen: Seen) -> Hashable:
        if self._named and self._names.get(row.get(self._subject)) not in (seen.person, None):
            return self._names[row.get(self._subject)]
        return seen.person

    def _name(self, name: str | None, person: Hashable) -> None:
        """Take note of the name under which a person is published."""
        if self._names.setdefault(name, person) != person:
            self._named = False
            self._replay.forget_names()
            self._findings.cannot("in whose name records were made up: several people are published under one name")

    def _is_named(self) -> bool:
        """Return whether it can be told in whose name a row was published."""
        if self._subject not in self._plan.plan.published:
            self._findings.cannot("in whose name records were made up: whose they are is not published")
            return False
        mask = self._plan.masks.get(self._subject)
        if mask is not None and not mask.repeatable:
            self._findings.cannot("in whose name records were made up: the names hang on chance")
            return False
        return True

    def _labels_of(self) -> Callable[[Sequence[str | None]], Sequence[Label]]:
        search = self._search
        ladder = None if search.taxonomy is None else self._plan.resolved.ladders[search.taxonomy]
        named = labels_of(search, ladder)
        if ladder is not None:
            missing = set(self._plan.resolved.policy.columns[search.taxonomy].missing)
            leaves = {str(leaf): place for place, leaf in enumerate(ladder.leaves.to_pylist()) if str(leaf) not in missing}
            return lambda texts: named(leaves.get(str(texts[0]), -1) if texts[0] is not None else -1)
        if search.path is not None:
            return lambda texts: named(texts[0])
        return lambda texts: named([math.nan if text is None else _number(text) for text in texts])

    @staticmethod
    def _opts_out(flag: str | None) -> bool:
        """Return whether a record says that nothing may be made up in its person's name: what is no clear no does."""
        return flag is None or flag.lower() not in _NO

    def _breaches(self, found: Iterator[Any]) -> None:
        for breach in found:
            numbers = (breach.found, breach.asked) if breach.asked else (None, None)
            self._findings.breaks("z_anonymity", f"a record {breach.what}", f"record {breach.number}", *numbers)


class _Thresholds:
    """How many people were asked for, record by record: what the policy says, or what was written down where z follows the stream."""

    def __init__(self, search: Any) -> None:
        self._search = search
        self._newest: int | None = None
        self.tuned: Iterator[Sequence[int]] | None = None
        self._now: int = search.z
        self._next: Sequence[float] | None = None
        self._least = 0
        self._hours = _hours(search.floors)
        self._zone = ZoneInfo(search.time_zone)

    def at(self, number: int, time: int) -> int:
        """Return how many people are asked for when a record comes."""
        self._newest = time if self._newest is None else max(self._newest, time)
        floor = self._least = max(self._floor(self._newest), self._floor(time)) if self._hours else 0
        if self.tuned is None:
            return max(int(self._search.z), floor)
        while self._next is None or self._next[0] <= number:
            if self._next is not None:
                self._now = int(self._next[1])
            self._next = next(self.tuned, (math.inf, self._now))
        return max(int(self._now), floor)

    def within_bounds(self, number: int, findings: Findings) -> None:
        """Hold z to its bounds at the record that was asked about last, of which something left: of pieces that released nothing no z is known."""
        if self.tuned is None:
            return
        least, most = max(self._search.tuning.z_min, self._least), max(self._search.tuning.z_max, self._least)
        if not least <= self._now <= most:
            findings.breaks("z_anonymity", "z was beyond its bounds", f"record {number}", self._now, least if self._now < least else most)

    def _floor(self, time: int) -> int:
        return self._hours.get(datetime.fromtimestamp(time // _SECOND, UTC).astimezone(self._zone).hour, 0)


def _hours(floors: dict[str, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for hours, floor in floors.items():
        first, _, end = hours.partition("-")
        for hour in range(int(first), int(end) + (24 if int(end) <= int(first) else 0)):
            found[hour % 24] = max(floor, found.get(hour % 24, 0))
    return found


class _Order:
    """Where true records stand among those made up for them: chance decides, so that on the whole they stand everywhere alike."""

    def __init__(self) -> None:
        self._sum = self._variance = self._last = self._last_variance = 0.0

    def add(self, fakes: Sequence[bool]) -> None:
        """Take a record with those that were made up for it; one that is alone stands nowhere among them."""
        number, place = len(fakes), fakes.index(False) if False in fakes else 0
        if number == 1:
            return
        self._sum += place / (number - 1) - 0.5
        self._variance += (number + 1) / (12 * (number - 1))
        share = 1 / number
        self._last += (place == number - 1) - share
        self._last_variance += share * (1 - share)

    def unlikely(self) -> Iterator[str]:
        """Yield what chance would not do."""
        if self._variance and abs(self._sum) > _UNLIKELY * math.sqrt(self._variance):
            yield "true records stand on one side of those made up for them"
        if self._last_variance and abs(self._last) > _UNLIKELY * math.sqrt(self._last_variance):
            yield "true records are the last of those made up for them too often, or too seldom"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
