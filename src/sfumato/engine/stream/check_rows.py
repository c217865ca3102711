"""The check of rows that left in windows, in clusters or at once: each against its record, and each cluster against what was promised."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.stream.check_references import Compared, References
from sfumato.engine.stream.check_sensitive import Sensitive
from sfumato.engine.stream.check_values import Values
from sfumato.engine.stream.check_windows import WindowTimes
from sfumato.engine.stream.findings import Findings
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.read_again import Came, RecordsAgain
from sfumato.engine.stream.released_rows import NotAsWrittenError, Row
from sfumato.measures.cluster_check import ClusterReplay, Found, Original, Published
from sfumato.measures.cluster_means import is_mean
from sfumato.measures.covering import Tells, covers_between, covers_text, node_of, place_of, prefix_of, stretch_of

_GUARD = 1e-9
_KNOWN = ("k_anonymity", "l_diversity", "t_closeness")
_Record = dict[str, Any]


class RowCheck:
    """Holds rows against the records that the links say they are of.

    ``again`` says, of what was read so far, which records nobody can read any more: their rows, and the clusters that hold them, are passed over.
    """

    def __init__(self, plan: StreamPlan, findings: Findings, links: NDArray[np.int64], dead: NDArray[np.bool_], again: RecordsAgain) -> None:
        self._again, self._partial = again, set[int]()
        self._plan, self._findings, self._links, self._dead = plan, findings, links, dead
        records = len(dead)
        self._values, self._times = Values(plan, findings), WindowTimes(plan, findings)
        self._wanted = np.zeros(records, np.bool_)
        numbers = links[:, 0]
        self._wanted[numbers[(numbers >= 0) & (numbers < records)]] = True
        self._waiting: dict[int, tuple[_Record, Hashable]] = {}
        self._quasi = list(plan.plan.quasi_identifiers)
        self._sensitive = Sensitive(plan)
        self._replay = ClusterReplay({name: partial(self._covers, name) for name in self._quasi}, self._sensitive.paths)
        self._tells = {name: _tells(plan, name) for name in self._quasi}
        identities, lasts = np.unique(links[::-1, 1], return_index=True)
        self._last = dict(zip(identities.tolist(), (len(links) - 1 - lasts).tolist(), strict=True))
        self._shows_means = getattr(plan.resolved.algorithm, "publish", None) == "mean"
        self._before: Mapping[str, Mapping[Hashable, int]] = {}
        self._ahead: deque[Compared] = deque()
        self._counted: References | None = None

    def check(self, came: Iterator[Came], rows: Iterator[Row], releases: Iterator[dict[str, Any]]) -> None:
        """Go through all of it."""
        self._counted = self._references(came)
        for release in releases:
            first, number = release["row"], release["rows"]
            links = self._links[first : first + number].tolist()
            self._read_until(max((record for record, _ in links), default=-1), came)
            shown = list(islice(rows, number))
            if len(shown) < number:
                raise NotAsWrittenError("ends early")
            tested = release["references"]
            last = max((record for record, _ in links), default=-1)
            self._release(first, links, shown, tested if self._as_counted(last, tested, first) else {})
        for _ in rows:
            self._findings.breaks("links", "a row is of no release", "the end of the links")
        for _ in came:
            pass

    def _read_until(self, number: int, came: Iterator[Came]) -> None:
        """Read records up to one, and remember those that were released."""
        while self._sensitive.read <= number:
            if not self._read_on(came):
                return

    def _read_on(self, came: Iterator[Came]) -> bool:
        """Read further records; return whether there were any."""
        batch = next(came, None)
        if batch is None:
            return False
        self._sensitive.learn(batch)
        self._values.learn(batch)
        names = list(batch.columns)
        if self._counted is not None:
            self._ahead += self._sensitive.compared(batch, self._dead)
        for place, record in enumerate(batch.numbers):
            if self._wanted[record]:
                came_as = {name: batch.columns[name][place] for name in names}
                came_as |= {f"told {name}": told[place] for name, told in batch.told.items()}
                self._waiting[record] = (came_as | {f"made {name}": made[place] for name, made in batch.made.items()}, batch.people[place])
        return True

    def _references(self, came: Iterator[Came]) -> References | None:
        """Return what counts anew what clusters were compared with; None where nothing asks for it, or nobody can count it."""
        plan = self._plan
        columns = [vars(promise)["column"] for promise in plan.resolved.promises if promise.component_name() == "t_closeness"]
        names = [name for name in dict.fromkeys(columns) if name in plan.plan.watched]
        algorithm: Any = plan.resolved.algorithm
        if plan.way != "clusters" or not names:
            return None
        unknown = any(_may_leave_out(plan, name) for name in self._quasi)
        horizon = getattr(algorithm, "horizon", None) or getattr(algorithm, "delta", None)
        if unknown or horizon is None:
            self._findings.cannot("what t_closeness was measured against: which records were left out before is not known here")
            return None
        return References(names, horizon, self._ahead, lambda: self._read_on(came))

    def _as_counted(self, last: int, tested: Mapping[str, Any], row: int) -> bool:
        """Return whether what a release was tested against is what the records say."""
        if not self._again.is_whole:
            # neither how many people had a value nor which value a code stands for is known any more
            self._counted = None
            return self._plan.way == "windows"
        if self._counted is None or self._counted.are(last, lambda: self._sensitive.written(tested)):
            return True
        where = f"the release that begins with row {row}"
        self._findings.breaks("t_closeness", "what a release was tested against is not what its records say", where)
        # from where to count on is not known any more
        self._counted = None
        return False

    def _release(self, first: int, links: Sequence[Sequence[int]], rows: Sequence[Row], tested: Mapping[str, Any]) -> None:
        published, originals, records = [], [], list[_Record]()
        for place, ((number, identity), row) in enumerate(zip(links, rows, strict=True), start=first):
            record, person = self._waiting.pop(number, (None, None))
            if record is None and 0 <= number < len(self._dead) and self._again.missing[number]:
                self._partial.add(identity)
                continue
            if record is None:
                self._findings.breaks("links", "a row is of a record that is none, or was released before", f"row {place}")
                continue
            self._findings.rows += 1
            self._values.check(row, record, place)
            records.append(record)
            published.append(Published(number, identity, {name: self._shown(name, row) for name in self._quasi}))
            values = {name: record.get(f"made {name}", record[name]) for name in self._quasi}
            originals.append(Original(person, values, self._sensitive.of({name: record[f"told {name}"] for name in self._plan.plan.watched})))
        is_window = self._plan.way == "windows"
        self._times.check(rows, records, first)
        if not self._quasi or (is_window and len(published) < len(rows)):
            return
        references = _people_with(originals) if is_window else self._sensitive.references(tested)
        for found in self._replay.add(published, originals, references):
            if found.identity not in self._partial:
                self._cluster(found, references, first)
            if is_window or self._last.get(found.identity, -1) < first + len(rows):
                self._replay.forget(found.identity)
        self._before = references

    def _shown(self, name: str, row: Row) -> Any:
        texts = [row.get(column) for column in self._plan.plan.shown_as(name)]
        return texts[0] if len(texts) == 1 else tuple(texts)

    def _covers(self, name: str, published: Any, original: Any) -> bool:
        if original in self._plan.resolved.policy.columns[name].missing:
            original = None
        if isinstance(published, tuple):
            low, high = published
            return covers_between(low, high, original)
        found = covers_text(published, original, self._tells[name])
        if found is False and self._shows_means and published and place_of(published) is not None:
            # a mean covers nobody: it is counted anew over the whole cluster
            return True
        if found is None:
            self._findings.cannot(f"column {name}: what its published values cover is known to its hierarchy alone")
        return found is not False

    def _cluster(self, found: Found, references: Mapping[str, Mapping[Hashable, int]], row: int) -> None:
        """Hold a cluster to the promises."""
        where, findings = f"cluster {found.identity} of the release that begins with row {row}", self._findings
        for name, number in found.uncovered.items():
            findings.breaks("covers", f"column {name}: a published value does not cover its original", where, number, 0)
        if found.texts > 1:
            findings.breaks("clusters", "the rows of a cluster differ in what they show", where, found.texts, 1)
        if self._shows_means:
            self._means(found, where)
        for promise in self._plan.resolved.promises:
            name, settings = promise.component_name(), vars(promise)
            if name == "k_anonymity":
                findings.least("people of a cluster", found.fewest)
                if found.fewest < settings["k"]:
                    findings.breaks(name, "a class has too few people", where, found.fewest, settings["k"])
            elif name == "l_diversity":
                self._diverse(settings, found, where)
            elif name == "t_closeness":
                self._close(settings, found, references, where)
            else:
                findings.cannot(f"the promise {name}, which this check does not know")

    def _means(self, found: Found, where: str) -> None:
        for name in self._quasi:
            missing = self._plan.resolved.policy.columns[name].missing
            values = [(member.person, None if member.values[name] in missing else str(member.values[name] or "")) for member in found.members]
            for text in {str(row.values[name]) for row in found.rows}:
                if place_of(text) is None or all(covers_text(text, original, self._tells[name]) for _, original in values):
                    continue
                found_again = is_mean(text, values)
                if found_again is None:
                    self._findings.cannot(f"column {name}: means of values that have no place on a line here")
                elif not found_again:
                    self._findings.breaks("covers", f"column {name}: a mean is not that of its people", where)

    def _diverse(self, settings: Mapping[str, Any], found: Found, where: str) -> None:
        column, least, kind = settings["column"], settings["l"], settings["kind"]
        groups: dict[tuple[Hashable, ...], set[tuple[Hashable, Hashable]]] = {}
        for member in found.members:
            key = tuple(member.sensitive[name] for name in settings["given"])
            groups.setdefault(key, set()).add((member.person, member.sensitive[column]))
        for pairs in groups.values():
            counts = sorted(Counter(value for _, value in pairs).values(), reverse=True)
            if kind == "recursive":
                rest = sum(counts[int(least) - 1 :])
                lead = counts[0] / rest if rest else math.inf
                self._findings.most(f"lead of {column}", lead)
                if not lead < settings["c"]:
                    self._findings.breaks("l_diversity", f"column {column}: one value is too frequent in a class", where, lead, settings["c"])
                continue
            total = sum(counts)
            number = math.exp(-sum(count / total * math.log(count / total) for count in counts)) if kind == "entropy" else len(counts)
            self._findings.least(f"values of {column}", number)
            if number < least - _GUARD:
                self._findings.breaks("l_diversity", f"column {column}: a class has too few values", where, number, least)

    def _close(self, settings: Mapping[str, Any], found: Found, references: Mapping[str, Mapping[Hashable, int]], where: str) -> None:
        column, distance = settings["column"], settings["distance"]
        measured = found.distances.get(column, {}).get(distance)
        if measured is None:
            self._findings.cannot(f"t_closeness of {column}: its {distance} distance is not measured here, or nothing says any more from what")
            return
        self._findings.most(f"distance of {column}", measured)
        slack = _GUARD
        if self._plan.way == "clusters":
            # it was tested as each record came, and what is known is the reference when all of its batch had come
            self._findings.cannot(f"t_closeness of {column} to the last digit: a reference moves within a batch, and so much is allowed for")
            before = self._before.get(column)
            slack = math.inf if before is None else 2 * _apart(before, references[column]) + _GUARD
        if measured > settings["t"] + slack:
            self._findings.breaks("t_closeness", f"column {column}: a class is too far from all people", where, measured, settings["t"])


def _tells(plan: StreamPlan, name: str) -> Tells | None:
    """Return what tells of the labels of a column, where anything but its own hierarchy does."""
    ladder = plan.resolved.ladders.get(name)
    if ladder is not None:
        rungs = [[str(label) for label in labels.to_pylist()] for labels in ladder.ancestors()]
        return node_of({leaf: [rung[place] for rung in rungs[1:]] for place, leaf in enumerate(rungs[0])})
    given: Any = plan.resolved.hierarchies.get(name)
    kind = given.component_name() if given is not None else ""
    if kind == "prefix":
        return prefix_of(given.mask)
    if kind == "calendar":
        return stretch_of(given.time_zone)
    return None


def _may_leave_out(plan: StreamPlan, name: str) -> bool:
    """Return whether records may be left out for a value of a column before clusters are compared with them.

    Categories without a hierarchy may have been grouped by the first records, and then later ones are left out unless the policy says otherwise.
    """
    column, resolved = plan.resolved.policy.columns[name], plan.resolved
    has_hierarchy = name in resolved.ladders or name in resolved.hierarchies
    may_be_grouped = not has_hierarchy and column.type in (None, "text") and "on_unknown" not in column.model_fields_set
    return column.on_unknown == "suppress" or may_be_grouped


def _people_with(originals: Sequence[Original]) -> dict[str, Counter[Hashable]]:
    """Return how many people of some records have each value."""
    names = originals[0].sensitive if originals else {}
    return {name: Counter(value for _, value in {(each.person, each.sensitive[name]) for each in originals}) for name in names}


def _apart(one: Mapping[Hashable, int], other: Mapping[Hashable, int]) -> float:
    """Return by what part two references differ: no distance of a class moved by more."""
    ours, theirs = max(1, sum(one.values())), max(1, sum(other.values()))
    return sum(abs(one.get(value, 0) / ours - other.get(value, 0) / theirs) for value in {*one, *other}) / 2
