"""CASTLE in plain Python, for promises that the kernel does not know; with those that it knows it makes the same decisions.

Slower by far: one call of ``holds`` a test. It draws by chance in the same order as ``core/kernels/castle*.py``, and tests hold the two against each
other.
"""

from __future__ import annotations

import json
import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms._castle_rules import Rules, columns_of, seed
from sfumato.core.classes import Classes
from sfumato.core.grown_ladder import GrownLadder
from sfumato.core.stream import Clusters, Points, StreamProblem

_WORD = (1 << 64) - 1


@dataclass(eq=False)
class _Record:
    number: int
    person: int
    point: list[float]
    values: tuple[int, ...]


@dataclass(eq=False)
class _Box:
    """The lowest and highest coordinates of some records; a missing one is infinite."""

    low: list[float]
    high: list[float]

    @classmethod
    def around(cls, records: Sequence[_Record]) -> _Box:
        """Return the smallest box that holds some records."""
        points = list(zip(*(record.point for record in records), strict=True))
        return cls([min(own) for own in points], [max(own) for own in points])

    def joined(self, other: _Box) -> _Box:
        """Return the box that holds both."""
        return _Box([*map(min, self.low, other.low)], [*map(max, self.high, other.high)])


@dataclass(eq=False)
class _Waiting:
    box: _Box
    records: list[_Record]

    @property
    def people(self) -> int:
        return len({record.person for record in self.records})


@dataclass(eq=False)
class _Published:
    box: _Box
    identity: int
    records: list[_Record] = field(default_factory=list)
    number: int = 0


@dataclass(eq=False)
class _Decided:
    """What was decided in one call."""

    now: int = 0
    clusters: dict[int, tuple[_Box, list[tuple[int, int]]]] = field(default_factory=dict)
    suppressed: list[int] = field(default_factory=list)

    def told(self, identity: int, box: _Box, records: Sequence[_Record]) -> None:
        self.clusters.setdefault(identity, (box, []))[1].extend((record.number, self.now) for record in records)


class PlainCastle:
    """A session that keeps records until they can be published."""

    def __init__(self, rules: Rules, problem: StreamProblem) -> None:
        self._rules, self._problem = rules, problem
        self._ring: deque[_Record] = deque(maxlen=rules.delta)
        self._clusters: list[_Waiting] = []
        self._outliers: list[_Record] = []
        self._published: list[_Published] = []
        self._losses: deque[float] = deque(maxlen=rules.mu)
        self._lost = 0
        self._compared: deque[_Record] = deque()
        self._counts: Counter[tuple[int, int, int]] = Counter()
        self._shown = [Counter[int]() for _ in rules.sensitive]
        self._seen = [[math.inf, -math.inf] for _ in problem.ladders]
        self._identity = 0
        self._chance = 0
        self._decided = _Decided()

    @property
    def held(self) -> int:
        """How many records wait."""
        return sum(len(cluster.records) for cluster in self._clusters) + len(self._outliers)

    def push(self, points: Points) -> Clusters:
        """Take further records and return what can be published now."""
        self._chance, self._decided = seed(), _Decided()
        values = np.stack([points.sensitive[name] for name in self._rules.sensitive], axis=1) if self._rules.sensitive else np.empty((len(points), 0))
        records = [
            _Record(number, person, [math.inf if math.isnan(own) else own for own in point], tuple(map(int, codes)))
            for number, person, point, codes in zip(
                points.numbers.tolist(), points.people.tolist(), points.coordinates.tolist(), values.tolist(), strict=True
            )
        ]
        for record in records:
            self._compare(record)
        for record in records:
            self._decided.now = record.number
            for column, own in enumerate(record.point):
                if own != math.inf:
                    self._seen[column] = [min(self._seen[column][0], own), max(self._seen[column][1], own)]
            self._admit(record)
            leaving = self._ring[0] if len(self._ring) == self._rules.delta else None
            self._ring.append(record)
            if leaving is not None:
                self._leave(leaving)
        return self._told()

    def flush(self) -> Clusters:
        """Return what can still be published at the end; who fits nowhere even now is left out."""
        self._chance, self._decided = seed(), _Decided(max((record.number for record in self._ring), default=0))
        for record in list(self._ring):
            self._leave(record)
        self._decided.suppressed.extend(record.number for record in self._outliers)
        self._outliers = []
        return self._told()

    def snapshot(self) -> bytes:
        """Return the state."""
        records = {r.number: [r.person, r.point, r.values] for r in [*self._ring, *self._outliers, *self._compared]}
        kept = [*(cluster.records for cluster in self._clusters), *(cluster.records for cluster in self._published)]
        records |= {r.number: [r.person, r.point, r.values] for own in kept for r in own}
        state = {
            "records": records,
            "ring": [r.number for r in self._ring],
            "clusters": [[c.box.low, c.box.high, [r.number for r in c.records]] for c in self._clusters],
            "outliers": [r.number for r in self._outliers],
            "published": [[p.box.low, p.box.high, p.identity, [r.number for r in p.records], p.number] for p in self._published],
            "losses": list(self._losses),
            "lost": self._lost,
            "compared": [r.number for r in self._compared],
            "ever": [sorted(shown) for shown in self._shown],
            "seen": self._seen,
            "identity": self._identity,
        }
        return self._rules.sealed("plain", json.dumps(state).encode())

    def restore(self, state: bytes) -> None:
        """Go on from a state."""
        read = json.loads(self._rules.opened("plain", state))
        records = {int(number): _Record(int(number), person, point, tuple(codes)) for number, (person, point, codes) in read["records"].items()}
        self._ring = deque((records[number] for number in read["ring"]), maxlen=self._rules.delta)
        self._clusters = [_Waiting(_Box(low, high), [records[number] for number in own]) for low, high, own in read["clusters"]]
        self._outliers = [records[number] for number in read["outliers"]]
        self._published = [
            _Published(_Box(low, high), identity, [records[each] for each in own], number) for low, high, identity, own, number in read["published"]
        ]
        self._losses = deque(read["losses"], maxlen=self._rules.mu)
        self._seen, self._identity, self._lost = read["seen"], read["identity"], read["lost"]
        self._compared, self._counts = deque(), Counter()
        self._shown = [Counter(dict.fromkeys(ever, 0)) for ever in read["ever"]]
        for number in read["compared"]:
            self._compare(records[number])

    def standing(self, column: int) -> NDArray[np.int64]:
        """Return the leaves of a column that a record or a box stands on."""
        places = {point[column] for point in self._points()}
        return np.array(sorted(place for place in places if math.isfinite(place)), np.int64)

    def regrown(self, problem: StreamProblem, grown: Mapping[int, GrownLadder]) -> PlainCastle:
        """Return a session that goes on from here with larger ladders; published clusters whose words would change are not used again."""
        other = PlainCastle(self._rules, problem)
        other.restore(self.snapshot())
        other._rules = replace(self._rules, columns=columns_of(problem))
        for column, ladder in grown.items():
            ends = [np.array([getattr(kept.box, end)[column] for kept in other._published], np.float64) for end in ("low", "high")]
            other._published = [kept for kept, same in zip(other._published, ladder.say_the_same(*ends), strict=True) if same]
        points = {id(point): point for point in other._points()}.values()
        for column, ladder in grown.items():
            for point in points:
                point[column] = float(ladder.places(np.array([point[column]]))[0])
        return other

    def _points(self) -> Iterator[list[float]]:
        """Yield the coordinates of records and boxes that are there; those that only t-closeness compares with have a part in no box."""
        for box in (*(each.box for each in self._clusters), *(each.box for each in self._published)):
            yield box.low
            yield box.high
        for records in (self._outliers, *(each.records for each in self._clusters), *(each.records for each in self._published)):
            yield from (record.point for record in records)

    # --- what t-closeness compares with

    def _compare(self, record: _Record) -> None:
        """Let a record be one of those that are compared with, in the place of the oldest; nobody counts twice for a value."""
        for column, value in enumerate(record.values):
            if len(self._compared) == self._rules.horizon:
                oldest = self._compared[0]
                pair = (oldest.person, column, oldest.values[column])
                self._counts[pair] -= 1
                self._shown[column][pair[2]] -= self._counts[pair] == 0
            self._counts[record.person, column, value] += 1
            self._shown[column][value] += self._counts[record.person, column, value] == 1
        if len(self._compared) == self._rules.horizon:
            self._compared.popleft()
        self._compared.append(record)

    def _references(self) -> dict[str, NDArray[np.int64]]:
        references = {}
        for name, shown in zip(self._rules.sensitive, self._shown, strict=True):
            ladder = self._problem.sensitive_ladders.get(name)
            counts = np.zeros(max([0, *(value + 1 for value in shown)]) if ladder is None else ladder.size + 2, np.int64)
            for value, number in shown.items():
                # one that was ever seen counts for one person at least
                counts[value] = max(1, number)
            references[name] = counts
        return references

    def _hold(self, records: Sequence[_Record]) -> bool:
        people = np.array([record.person for record in records], np.int64)
        if len(set(people.tolist())) < self._rules.k:
            return False
        values = np.array([record.values for record in records], np.int32).reshape(len(records), -1)
        classes = Classes(
            number=1,
            class_of=np.zeros(len(records), np.int32),
            counts=np.ones(len(records), np.int64),
            sensitive={name: values[:, place] for place, name in enumerate(self._rules.sensitive)},
            subject=people,
            references=self._references(),
            ladders=self._problem.sensitive_ladders,
        )
        return all(bool(promise.holds(classes).all()) for promise in self._problem.promises)

    # --- loss

    def _column_loss(self, column: int, low: float, high: float) -> float:
        if low == high:
            return 0.0
        if high == math.inf:
            return 1.0
        ladder = self._problem.ladders[column]
        if ladder is None:
            least, most = map(float, self._problem.ranges[column])
            span = most - least if most > least else self._seen[column][1] - self._seen[column][0]
            return (high - low) / span
        level, node = ladder.lowest_level(int(low), int(high))
        firsts, lasts = ladder.nodes(level)
        return float((int(lasts[node]) - int(firsts[node])) / (ladder.size - 1))

    def _loss(self, box: _Box) -> float:
        total = whole = 0.0
        for column, weight in enumerate(self._problem.weights):
            total += weight * self._column_loss(column, box.low[column], box.high[column])
            whole += weight
        return total / whole if whole > 0 else 0.0

    def _enlargement(self, box: _Box, other: _Box) -> float:
        total, both = 0.0, box.joined(other)
        for column, weight in enumerate(self._problem.weights):
            if other.low[column] < box.low[column] or other.high[column] > box.high[column]:
                more = self._column_loss(column, both.low[column], both.high[column])
                total += weight * (more - self._column_loss(column, box.low[column], box.high[column]))
        return total

    def _holds_point(self, box: _Box, point: Sequence[float]) -> bool:
        for column, (low, high, own) in enumerate(zip(box.low, box.high, point, strict=True)):
            if low == math.inf:
                if own != math.inf:
                    return False
            elif high != math.inf and not low <= own <= high:
                ladder = self._problem.ladders[column]
                if ladder is None or own == math.inf:
                    return False
                level, node = ladder.lowest_level(int(low), int(high))
                if ladder.groups(level)[int(own)] != node:
                    return False
        return True

    # --- chance

    def _choice(self, number: int) -> int:
        if number == 1:
            return 0
        self._chance = (self._chance + 0x9E3779B97F4A7C15) & _WORD
        bits = self._chance
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _WORD
        return (bits ^ (bits >> 31)) % number

    # --- coming and leaving

    def _usual(self) -> float:
        total = 0.0
        for lost in self._in_places():
            total += lost
        return total / len(self._losses) if self._losses else 0.0

    def _in_places(self) -> list[float]:
        """Return the last losses in the order in which the kernel's ring has them, so that sums agree in their last digits."""
        losses = list(self._losses)
        oldest = self._lost % self._rules.mu if len(losses) == self._rules.mu else 0
        return [losses[(place - oldest) % len(losses)] for place in range(len(losses))]

    def _admit(self, record: _Record) -> None:
        own = _Box(record.point, record.point)
        more = [self._enlargement(cluster.box, own) for cluster in self._clusters]
        nearest = [cluster for cluster, each in zip(self._clusters, more, strict=True) if each == min(more)]
        usual = self._usual()
        fitting = [cluster for cluster in nearest if self._loss(cluster.box.joined(own)) <= usual]
        if not fitting and len(self._clusters) < self._rules.beta:
            self._clusters.append(_Waiting(own, [record]))
            return
        chosen = min(fitting or nearest, key=lambda cluster: cluster.people)
        chosen.box = chosen.box.joined(own)
        chosen.records.append(record)

    def _leave(self, record: _Record) -> None:
        cluster = next((each for each in self._clusters if any(own is record for own in each.records)), None)
        if cluster is None:
            return
        if self._hold(cluster.records):
            self._publish(cluster)
            return
        again = self._found_again(record)
        if again is not None:
            self._remove(cluster, record)
            self._decided.told(again.identity, again.box, [record])
            again.number += 1
            if not self._rules.grows:
                again.records.append(record)
                if again.number >= self._rules.most:
                    self._published.remove(again)
            return
        larger = sum(cluster.people < other.people for other in self._clusters)
        if 2 * larger <= len(self._clusters) and self._merged(cluster):
            self._publish(cluster)
            return
        self._remove(cluster, record)
        if not self._rules.wait:
            self._decided.suppressed.append(record.number)
            return
        self._outliers.append(record)
        if self._hold(self._outliers):
            root = _Box([-math.inf] * len(record.point), [math.inf] * len(record.point))
            self._decided.told(self._new_identity(), root, self._outliers)
            self._outliers = []

    def _new_identity(self) -> int:
        self._identity += 1
        return self._identity - 1

    def _remove(self, cluster: _Waiting, record: _Record) -> None:
        cluster.records = [own for own in cluster.records if own is not record]
        if not cluster.records:
            self._clusters = [each for each in self._clusters if each is not cluster]

    def _found_again(self, record: _Record) -> _Published | None:
        fits = [kept for kept in self._published if self._holds_point(kept.box, record.point)]
        if not fits:
            return None
        first = self._choice(len(fits))
        for step in range(len(fits)):
            kept = fits[(first + step) % len(fits)]
            if self._rules.grows or self._hold([*kept.records, record]):
                return kept
        return None

    def _merged(self, cluster: _Waiting) -> bool:
        box, records = cluster.box, list(cluster.records)
        others, holds = [other for other in self._clusters if other is not cluster], False
        while others and not holds:
            nearest = min(others, key=lambda other: self._enlargement(box, other.box))
            others.remove(nearest)
            box = box.joined(nearest.box)
            records += nearest.records
            holds = self._hold(records)
        if holds:
            cluster.box, cluster.records = box, records
            self._clusters = [each for each in self._clusters if each is cluster or any(each is other for other in others)]
        return holds

    def _publish(self, cluster: _Waiting) -> None:
        self._clusters = [each for each in self._clusters if each is not cluster]
        parts = _Splitting(cluster.records, self).parts() if cluster.people >= 2 * self._rules.k else [cluster.records]
        for records in parts:
            box, identity = _Box.around(records), self._new_identity()
            self._decided.told(identity, box, records)
            lost = self._loss(box)
            self._losses.append(lost)
            self._lost += 1
            if lost < self._usual() and self._rules.reusable:
                self._published = self._published[max(0, len(self._published) + 1 - self._rules.reusable) :]
                self._published.append(_Published(box, identity, [] if self._rules.grows else list(records), len(records)))

    def _told(self) -> Clusters:
        columns = len(self._problem.ladders)
        boxes = [box for box, _ in self._decided.clusters.values()]
        lows, highs = (np.array([getattr(box, end) for box in boxes], np.float64).reshape(-1, columns) for end in ("low", "high"))
        special = highs == np.inf
        missing = special & (lows == np.inf)
        numbers = [(number, place, now) for place, (_, own) in enumerate(self._decided.clusters.values()) for number, now in own]
        return Clusters(
            np.array([number for number, _, _ in numbers], np.int64),
            np.array([place for _, place, _ in numbers], np.int32),
            np.where(missing, np.nan, np.where(special, -np.inf, lows)),
            np.where(missing, np.nan, highs),
            np.array(list(self._decided.clusters), np.int64),
            self._references(),
            np.array(self._decided.suppressed, np.int64),
            decided=np.array([now for _, _, now in numbers], np.int64),
        )


class _Splitting:
    """Splits the records of a cluster."""

    def __init__(self, records: list[_Record], castle: PlainCastle) -> None:
        self._records, self._rules = records, castle._rules
        self._choice: Callable[[int], int] = castle._choice
        self._enlargement: Callable[[_Box, _Box], float] = castle._enlargement
        self._hold: Callable[[Sequence[_Record]], bool] = castle._hold
        self._parts: list[list[_Record]] = []
        self._boxes: list[_Box] = []
        self._first = 0
        self._lost: Callable[[int, float, float], float] = castle._column_loss
        self._weights = castle._problem.weights

    def parts(self) -> list[list[_Record]]:
        """Return parts that keep the promises, the records of each in the order in which they came."""
        for block in self._blocks():
            self._first = len(self._parts)
            if self._rules.by_values:
                self._by_values(block)
            else:
                self._by_people(block)
            if len(self._parts) == self._first:
                self._begin(block[0])
                for record in block[1:]:
                    self._add(self._first, record)
        if len(self._parts) < 2:
            return [self._records]
        self._join()
        places = {id(record): place for place, record in enumerate(self._records)}
        return [sorted(part, key=lambda record: places[id(record)]) for part in self._parts]

    def _blocks(self) -> list[list[_Record]]:
        """Return the records in blocks of few enough people, cut at medians of their first records' widest columns."""
        people: dict[int, list[_Record]] = {}
        for record in self._records:
            people.setdefault(record.person, []).append(record)
        blocks = self._cut(list(enumerate(people.values())))
        return [self._records] if len(blocks) == 1 else blocks

    def _cut(self, people: list[tuple[int, list[_Record]]]) -> list[list[_Record]]:
        if len(people) <= max(self._rules.block, 4 * self._rules.k):
            return [[record for _, own in people for record in own]]
        box = _Box.around([own[0] for _, own in people])
        lost = [weight * self._lost(column, box.low[column], box.high[column]) for column, weight in enumerate(self._weights)]
        widest = lost.index(max(lost))
        people = sorted(people, key=lambda each: (each[1][0].point[widest], each[0]))
        return self._cut(people[: len(people) // 2]) + self._cut(people[len(people) // 2 :])

    def _begin(self, record: _Record) -> None:
        self._parts.append([record])
        self._boxes.append(_Box(record.point, record.point))

    def _add(self, part: int, record: _Record) -> None:
        self._parts[part].append(record)
        self._boxes[part] = self._boxes[part].joined(_Box(record.point, record.point))

    def _nearest(self, box: _Box, first: int, but: int = -1) -> int:
        return min((part for part in range(first, len(self._parts)) if part != but), key=lambda part: self._enlargement(self._boxes[part], box))

    def _distance(self, one: _Record, other: _Record) -> float:
        return self._enlargement(_Box(one.point, one.point), _Box(other.point, other.point))

    def _by_people(self, block: list[_Record]) -> None:
        buckets: dict[int, list[_Record]] = {}
        for record in block:
            buckets.setdefault(record.person, []).append(record)
        while len(buckets) >= self._rules.k:
            own = list(buckets)[self._choice(len(buckets))]
            first = buckets[own][self._choice(len(buckets[own]))]
            self._begin(first)
            _drop(buckets[own], first)
            others = [bucket[self._choice(len(bucket))] for person, bucket in buckets.items() if person != own] if self._rules.k > 1 else []
            for record in sorted(others, key=lambda record: self._distance(first, record))[: self._rules.k - 1]:
                self._add(len(self._parts) - 1, record)
                _drop(buckets[record.person], record)
            buckets = {person: bucket for person, bucket in buckets.items() if bucket}
        for bucket in buckets.values():
            one = bucket[self._choice(len(bucket))].point
            part = self._nearest(_Box(one, one), self._first)
            for record in bucket:
                self._add(part, record)

    def _by_values(self, block: list[_Record]) -> None:
        firsts: dict[int, _Record] = {}
        for record in block:
            firsts.setdefault(record.person, record)
        buckets: dict[int, list[_Record]] = {}
        for record in firsts.values():
            buckets.setdefault(record.values[self._rules.target], []).append(record)
        while len(buckets) >= self._rules.least and sum(map(len, buckets.values())) >= self._rules.k:
            whole = sum(map(len, buckets.values()))
            own = list(buckets)[self._choice(len(buckets))]
            first = buckets[own][self._choice(len(buckets[own]))]
            self._begin(first)
            for value, bucket in buckets.items():
                wanted = -(-self._rules.k * len(bucket) // whole)
                if value == own:
                    _drop(bucket, first)
                    wanted -= 1
                for record in sorted(bucket, key=lambda record: self._distance(first, record))[:wanted]:
                    self._add(len(self._parts) - 1, record)
                    _drop(bucket, record)
            buckets = {value: bucket for value, bucket in buckets.items() if bucket}
        if len(self._parts) == self._first:
            return
        for bucket in buckets.values():
            for record in bucket:
                self._add(self._nearest(_Box(record.point, record.point), self._first), record)
        part_of = {record.person: part for part, records in enumerate(self._parts) for record in records if part >= self._first}
        for record in block:
            if firsts[record.person] is not record:
                self._add(part_of[record.person], record)

    def _join(self) -> None:
        """Let parts that break a promise join their neighbours."""
        part = 0
        while part < len(self._parts) and len(self._parts) > 1:
            if self._hold(self._parts[part]):
                part += 1
                continue
            other = self._nearest(self._boxes[part], 0, part)
            part, gone = min(part, other), max(part, other)
            self._parts[part] = self._parts[part] + self._parts[gone]
            self._boxes[part] = self._boxes[part].joined(self._boxes[gone])
            last: Any = self._parts.pop(), self._boxes.pop()
            if gone < len(self._parts):
                self._parts[gone], self._boxes[gone] = last


def _drop(bucket: list[_Record], record: _Record) -> None:
    """Take a record out of its bucket: the last one moves into its place."""
    place = next(at for at, own in enumerate(bucket) if own is record)
    bucket[place] = bucket[-1]
    bucket.pop()
