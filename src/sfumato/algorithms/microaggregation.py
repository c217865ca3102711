"""Microaggregation: the people of a window who are alike are put into groups of k, and a group is published as one.

Domingo-Ferrer, Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation" (2005): MDAV. Here people are grouped, not
records: all records of a person in a window are in one group. Leaves of a tree stand on a line, as far from their neighbours as the lowest node above
both loses, and missing values stand apart. Groups that break a promise join their nearest one, as in Soria-Comas, Domingo-Ferrer, Sanchez, Martinez,
"t-closeness through microaggregation" (2015). Windows of many people are cut at medians into blocks first.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.algorithms._points import fewest
from sfumato.core.classes import distinct_keys
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.kernels import await_compiled
from sfumato.core.kernels.mdav import grouped
from sfumato.core.settings import Settings
from sfumato.core.stream import Clusters, Points, StreamProblem

_APART = 2.0
Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


class Microaggregation(Settings):
    """Groups of k to 2k - 1 people of a window who are near each other, larger where a promise asks for it.

    With ``publish: mean`` a number is published as the mean of the group's people, each with the mean of their own. Whoever knows all others of a
    group learns the last one's number from it, and whoever makes up most of it is nearly told: a mean of which one person makes up more than
    ``dominance`` is not published, and the column is then published as its root, as it is where some numbers of the group are missing. Two different
    numbers always have one that makes up more than half: with k = 2 and the limit 0.5 only equal ones are told.

    Guarantee: every group keeps every promise, and each person of a window is in one group. Cost: people of a block x people / k x columns; some
    hundred thousand records a second. Does not find the best groups, which nobody knows how to in good time.
    """

    publish: Annotated[
        Literal["box", "mean"],
        Field(description="box: the interval from the smallest to the largest number of a group; mean: the mean of its people's"),
    ] = "box"
    dominance: Annotated[float, Field(gt=0, le=1, description="the largest part of a mean that one person may make up")] = 0.5
    block: Annotated[int, Field(ge=100, description="windows of more people are first cut into blocks of at most so many")] = 2000

    def cluster(self, points: Points, problem: StreamProblem) -> Clusters | None:
        """Return the groups of one window; None where not even all people in one keep the promises."""
        if not len(points):
            return None
        _, person = np.unique(points.people, return_inverse=True)
        embedded = _embedded(points.coordinates, problem)
        sizes = np.bincount(person)
        people = np.stack([np.bincount(person, own) / sizes for own in embedded.T], axis=1) if embedded.shape[1] else np.zeros((len(sizes), 1))
        references = _references(points, problem)
        groups = _kept(self._grouped(people, fewest(problem.promises)), people, person, points, references, problem)
        if groups is None:
            return None
        cluster_of = groups[person].astype(np.int32)
        number = int(groups.max()) + 1
        lows, highs = _boxes(points.coordinates, cluster_of, number)
        centres = None
        if self.publish == "mean":
            centres = self._centres(points.coordinates, person, groups, lows, highs, problem)
        return Clusters(points.numbers, cluster_of, lows, highs, np.arange(number, dtype=np.int64), references, centres=centres)

    def _grouped(self, people: Numbers, k: int) -> Places:
        """Return the group of each person."""
        groups, made = np.empty(len(people), np.int64), 0
        await_compiled()
        for block in _blocks(people, np.arange(len(people)), max(self.block, 2 * k)):
            own = np.empty(len(block), np.int64)
            room = np.empty(len(block), np.int64), np.empty(k), np.empty(k, np.int64)
            own[:] = -1
            number = grouped(np.ascontiguousarray(people[block]), k, *room, own)
            groups[block] = own + made
            made += int(number)
        return groups

    def _centres(self, coordinates: Numbers, person: Places, groups: Places, lows: Numbers, highs: Numbers, problem: StreamProblem) -> Numbers:
        """Return the means of ordered columns; where one may not be told, the box becomes the root."""
        number = len(lows)
        centres = np.full(lows.shape, np.nan)
        sizes, members = np.bincount(person), np.bincount(groups, minlength=number)
        for column, ladder in enumerate(problem.ladders):
            if ladder is not None:
                continue
            with np.errstate(invalid="ignore"):
                own = np.bincount(person, coordinates[:, column]) / sizes
            shares = np.abs(own)
            most = np.zeros(number)
            np.maximum.at(most, groups, np.where(np.isnan(shares), 0.0, shares))
            told = ~(most > self.dominance * np.bincount(groups, shares, minlength=number))
            means = np.bincount(groups, own, minlength=number) / members
            there = np.isfinite(lows[:, column]) & np.isfinite(highs[:, column])
            centres[:, column] = np.where(there & told & np.isfinite(means), means, np.nan)
            hidden = there & np.isnan(centres[:, column])
            lows[hidden, column], highs[hidden, column] = -np.inf, np.inf
        return centres


def _embedded(coordinates: Numbers, problem: StreamProblem) -> Numbers:
    """Return where each record stands in every column, from 0 to 1, and missing values beyond."""
    placed = np.empty(coordinates.shape)
    for column, (ladder, weight) in enumerate(zip(problem.ladders, problem.weights, strict=True)):
        own = coordinates[:, column]
        there = ~np.isnan(own)
        if ladder is None:
            least, most = map(float, problem.ranges[column])
            if not most > least:
                least, most = own[there].min(initial=np.inf), own[there].max(initial=-np.inf)
            scaled = (own - least) / (most - least) if most > least else np.zeros(len(own))
        else:
            scaled = _line(ladder)[np.where(there, own, 0).astype(np.int64)]
        placed[:, column] = np.where(there, scaled, _APART) * np.sqrt(weight)
    return placed


def _line(ladder: Hierarchy) -> Numbers:
    """Return where the leaves of a tree stand: as far from the one before as the lowest node above both has of all leaves."""
    steps = np.zeros(ladder.size)
    for level in range(ladder.height, 0, -1):
        groups = ladder.groups(level)
        together = groups[1:] == groups[:-1]
        steps[1:] = np.where(together, np.bincount(groups)[groups][1:] / ladder.size, steps[1:])
    line = np.cumsum(steps)
    return line / (line[-1] or 1.0) if len(line) else np.zeros(1)


def _references(points: Points, problem: StreamProblem) -> dict[str, NDArray[np.int64]]:
    references = {}
    for name, own in points.sensitive.items():
        ladder = problem.sensitive_ladders.get(name)
        once = distinct_keys(own, points.people)
        references[name] = np.bincount(own[once], minlength=ladder.size + 2 if ladder is not None else 1).astype(np.int64)
    return references


def _blocks(people: Numbers, places: Places, most: int) -> list[Places]:
    """Return people in blocks of at most so many, cut at the medians of their widest columns."""
    if len(places) <= most:
        return [places]
    own = people[places]
    widest = int(np.argmax(own.max(axis=0) - own.min(axis=0)))
    order = places[np.argsort(own[:, widest], kind="stable")]
    middle = len(order) // 2
    return _blocks(people, order[:middle], most) + _blocks(people, order[middle:], most)


def _kept(
    groups: Places, people: Numbers, person: Places, points: Points, references: dict[str, NDArray[np.int64]], problem: StreamProblem
) -> Places | None:
    """Return groups that keep the promises: those that break one join their nearest; None where all people in one do not keep them."""
    while True:
        number = int(groups.max()) + 1
        classes = points.classes(groups[person].astype(np.int32), number, references, problem)
        holds = np.ones(number, bool)
        for promise in problem.promises:
            holds &= promise.holds(classes)
        if holds.all():
            return groups
        if number == 1:
            return None
        sizes = np.bincount(groups)
        middles = np.stack([np.bincount(groups, own) / sizes for own in people.T], axis=1)
        into = np.arange(number)
        for group in np.flatnonzero(~holds).tolist():
            apart = ((middles - middles[group]) ** 2).sum(axis=1)
            apart[into == into[group]] = np.inf
            if np.isfinite(apart.min()):
                into[into == into[group]] = into[int(apart.argmin())]
        _, groups = np.unique(into[groups], return_inverse=True)


def _boxes(coordinates: Numbers, cluster_of: NDArray[np.int32], number: int) -> tuple[Numbers, Numbers]:
    lows, highs = np.full((number, coordinates.shape[1]), np.inf), np.full((number, coordinates.shape[1]), -np.inf)
    missing = np.isnan(coordinates)
    some, every = np.zeros(lows.shape, bool), np.ones(lows.shape, bool)
    np.logical_or.at(some, cluster_of, missing)
    np.logical_and.at(every, cluster_of, missing)
    np.minimum.at(lows, cluster_of, np.where(missing, np.inf, coordinates))
    np.maximum.at(highs, cluster_of, np.where(missing, -np.inf, coordinates))
    return np.where(every, np.nan, np.where(some, -np.inf, lows)), np.where(every, np.nan, np.where(some, np.inf, highs))
