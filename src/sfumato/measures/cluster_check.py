"""Clusters of a stream held to what was promised of them, from the records and what was published, by code that no search uses.

Everything here is counted plainly, one record after the other. A cluster that is used again is looked at after each release, with all that it has
held so far, against what that release was tested against.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Covers = Callable[[object, object], bool]


@dataclass(frozen=True)
class Published:
    """One published row: the number of the record it is of, the private identity of its cluster, and the text of its quasi-identifiers."""

    number: int
    identity: int
    values: Mapping[str, object]


@dataclass(frozen=True)
class Release:
    """Rows that were published together, and how many people had each sensitive value of what they were tested against."""

    rows: Sequence[Published]
    references: Mapping[str, Mapping[Hashable, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Original:
    """One record as it came."""

    person: Hashable
    values: Mapping[str, object]
    sensitive: Mapping[str, Hashable] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """What is true of one cluster after one release.

    ``values`` is how many sensitive values it has, ``entropy`` their effective number, ``lead`` what the most frequent has over the rest beyond l - 1
    (see ``lead``), and ``distances`` how far it is from the reference. ``uncovered`` counts by column values that do not cover those they were
    published for, ``texts`` the different rows that it shows: more than one would tell its members apart, into parts of which the smallest has
    ``fewest`` people.
    """

    identity: int
    people: int
    values: Mapping[str, int]
    entropy: Mapping[str, float]
    counts: Mapping[str, Mapping[Hashable, int]]
    distances: Mapping[str, Mapping[str, float]]
    uncovered: Mapping[str, int]
    texts: int
    fewest: int
    rows: Sequence[Published] = field(repr=False)
    members: Sequence[Original] = field(repr=False)

    def lead(self, column: str, l: int) -> float:  # noqa: E741 - its name
        """Return the largest count over the sum of those from the l-th largest on."""
        counts = sorted(self.counts[column].values(), reverse=True)
        rest = sum(counts[l - 1 :])
        return counts[0] / rest if rest else math.inf


def check_clusters(
    originals: Mapping[int, Original],
    releases: Iterable[Release],
    covers: Mapping[str, Covers],
    paths: Mapping[str, Mapping[Hashable, Sequence[Hashable]]] | None = None,
) -> list[Found]:
    """Return what is true of every cluster after every release that it is part of.

    ``covers`` says of each quasi-identifier whether a published value covers an original one. ``paths`` has for a sensitive column what stands above
    each value, up to but without the root: with it the hierarchical distance is measured. The ordered one goes by the order of the values.
    """
    replay = ClusterReplay(covers, paths)
    found = []
    seen: set[int] = set()
    for release in releases:
        for row in release.rows:
            if row.number in seen:
                raise AssertionError("a record is published twice")
            seen.add(row.number)
        found += replay.add(release.rows, [originals[row.number] for row in release.rows], release.references)
    return found


class ClusterReplay:
    """Goes through releases in their order, and says after each what is true of its clusters; what a cluster held is kept until it is forgotten."""

    def __init__(self, covers: Mapping[str, Covers], paths: Mapping[str, Mapping[Hashable, Sequence[Hashable]]] | None = None) -> None:
        self._covers, self._paths = covers, paths or {}
        self._held: dict[int, list[tuple[Published, Original]]] = {}

    def add(self, rows: Sequence[Published], originals: Sequence[Original], references: Mapping[str, Mapping[Hashable, int]]) -> list[Found]:
        """Return what is true of each cluster of a release, over all that it has held so far."""
        for row, original in zip(rows, originals, strict=True):
            self._held.setdefault(row.identity, []).append((row, original))
        return [self._found(identity, self._held[identity], references) for identity in sorted({row.identity for row in rows})]

    def forget(self, identity: int) -> None:
        """Forget a cluster, which is not used again."""
        self._held.pop(identity, None)

    def _found(self, identity: int, held: Sequence[tuple[Published, Original]], references: Mapping[str, Mapping[Hashable, int]]) -> Found:
        members = [original for _, original in held]
        counts: dict[str, Counter[Hashable]] = {}
        for name in sorted({name for member in members for name in member.sensitive}):
            counts[name] = Counter(value for _, value in {(member.person, member.sensitive[name]) for member in members})
        uncovered: Counter[str] = Counter()
        people: dict[tuple[str, ...], set[Hashable]] = {}
        for row, member in held:
            uncovered.update(name for name, value in row.values.items() if not self._covers[name](value, member.values[name]))
            people.setdefault(tuple(f"{name} {value}" for name, value in sorted(row.values.items())), set()).add(member.person)
        return Found(
            identity,
            len({member.person for member in members}),
            {name: len(own) for name, own in counts.items()},
            {name: _effective(own) for name, own in counts.items()},
            counts,
            {name: _distances(own, references[name], self._paths.get(name)) for name, own in counts.items() if name in references},
            uncovered,
            len(people),
            min(map(len, people.values())),
            [row for row, _ in held],
            members,
        )


def _effective(counts: Mapping[Hashable, int]) -> float:
    total = sum(counts.values())
    return math.exp(-sum(count / total * math.log(count / total) for count in counts.values()))


def _distances(
    own: Mapping[Hashable, int], reference: Mapping[Hashable, int], paths: Mapping[Hashable, Sequence[Hashable]] | None
) -> dict[str, float]:
    """Return the earth mover's distance of a cluster from the reference, by each ground."""
    known = {*own, *(value for value, count in reference.items() if count)}
    values = sorted(known, key=str if any(isinstance(value, str) for value in known) else None)  # type: ignore[type-var, arg-type]
    ours, theirs = sum(own.values()), sum(reference.values())
    excess = {value: own.get(value, 0) / ours - reference.get(value, 0) / theirs for value in values}
    distances = {"equal": sum(map(abs, excess.values())) / 2}
    steps, moved = 0.0, 0.0
    for value in values:
        moved += excess[value]
        steps += abs(moved)
    distances["ordered"] = steps / (len(values) - 1) if len(values) > 1 else 0.0
    if paths is not None:
        distances["hierarchical"] = _hierarchical(excess, paths)
    return distances


def _hierarchical(excess: Mapping[Hashable, float], paths: Mapping[Hashable, Sequence[Hashable]]) -> float:
    """Return the distance where two values are as far apart as the lowest node that holds both is high; the root is 1 high."""
    height = 1 + max(len(path) for path in paths.values())
    # each value by its ancestors from the leaf up to the root; short paths stay themselves until their parent's level is reached
    # and a missing value, which no tree has, hangs below the root
    lines = {value: [value] * (height - len(paths.get(value, ()))) + list(paths.get(value, ())) + ["*"] for value in excess}
    total = 0.0
    for level in range(1, height + 1):
        children: dict[tuple[Hashable, ...], dict[tuple[Hashable, ...], float]] = {}
        for value, amount in excess.items():
            below, above = tuple(lines[value][level - 1 :]), tuple(lines[value][level:])
            own = children.setdefault(above, {})
            own[below] = own.get(below, 0.0) + amount
        for own in children.values():
            too_much = sum(max(0.0, amount) for amount in own.values())
            too_little = sum(max(0.0, -amount) for amount in own.values())
            total += min(too_much, too_little) * level / height
    return total


def covers_number(published: object, original: object) -> bool:
    """Return whether an interval, a number or ``*`` covers a number; nothing but nothing covers a missing one, or ``*``.

    >>> covers_number("[20, 29]", 25), covers_number("[20 - 29]", 31), covers_number("*", None), covers_number(None, None)
    (True, False, True, True)
    """
    if published == "*" or original is None or published is None:
        return published == "*" or published is original
    text = str(published)
    if text.startswith("[") and text.endswith("]"):
        low, _, high = text[1:-1].partition(", " if ", " in text else " - ")
        return float(low) <= float(str(original)) <= float(high)
    return float(text) == float(str(original))


def covers_node(paths: Mapping[Hashable, Sequence[Hashable]]) -> Covers:
    """Return what says whether a node of a tree covers a value; ``paths`` has what stands above each value, without the root.

    >>> covers = covers_node({"Berlin": ["Germany", "EU"]})
    >>> covers("EU", "Berlin"), covers("UK", "Berlin"), covers("Berlin", "Berlin"), covers("*", "Berlin")
    (True, False, True, True)
    """

    def covers(published: object, original: object) -> bool:
        if published == "*" or published == original:
            return True
        return isinstance(original, Hashable) and published in paths.get(original, ())

    return covers
