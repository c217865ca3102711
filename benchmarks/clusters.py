"""Clusters of streams: speed, delay and loss of windows and of CASTLE beside each other; and a person who is seen in many windows.

``make benchmark-clusters`` prints the tables. Records are like those of a census: two numbers and six trees that hang together, one record a person.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms.castle import Castle
from sfumato.algorithms.microaggregation import Microaggregation
from sfumato.algorithms.mondrian import Mondrian
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Promise
from sfumato.core.stream import Clusters, Points, StreamProblem, WindowSearch
from sfumato.promises.k_anonymity import KAnonymity
from sfumato.promises.l_diversity import LDiversity
from sfumato.promises.t_closeness import TCloseness

NAMES = ["age", "hours", "work", "school", "family", "race", "country", "job"]
BRANCHES = [(8, 3), (16, 4), (7, 3), (5, 2), (41, 6), (14, 4)]
TREES = [
    Hierarchy.of_paths(name, [[f"{leaf}", f"g{leaf // width}"] for leaf in range(size)])
    for name, (size, width) in zip(NAMES[2:], BRANCHES, strict=True)
]
PIECE = 5000


def records(number: int, seed: int = 2026) -> Points:
    """Return records of as many people: age and school shift job and hours, and a few values of each tree are frequent."""
    rng = np.random.default_rng(seed)
    rank = rng.random(number)
    age = np.clip(rng.normal(30 + 20 * rank, 11), 17, 90).round()
    hours = np.clip(rng.normal(36 + 8 * rank, 9), 1, 99).round()
    trees = [
        np.minimum((rng.beta(1.2, 3 + 2 * place % 3, number) * 0.8 + 0.2 * rank) * tree.size, tree.size - 1).astype(int)
        for place, tree in enumerate(TREES)
    ]
    illness = np.minimum(rng.exponential(2.5, number), 13).astype(np.int32)
    return Points(
        np.arange(number), np.stack([age, hours, *trees], axis=1).astype(float), rng.permutation(number).astype(np.int64), {"illness": illness}
    )


def problem(promises: Sequence[Promise]) -> StreamProblem:
    """Return what is asked, with the ranges that the columns may have."""
    ranges = np.full((8, 2), np.nan)
    ranges[0], ranges[1] = (17, 90), (1, 99)
    return StreamProblem(NAMES, [None, None, *TREES], promises, [1.0] * 8, ranges)


def losses(clusters: Clusters) -> NDArray[np.float64]:
    """Return what each cluster loses, the mean over its columns: the part of the line, or of the leaves beside one."""
    lost = np.empty(clusters.lows.shape)
    for column, span in enumerate((73.0, 98.0)):
        lost[:, column] = (clusters.highs[:, column] - clusters.lows[:, column]) / span
    for column, tree in enumerate(TREES, start=2):
        for place, (low, high) in enumerate(zip(clusters.lows[:, column], clusters.highs[:, column], strict=True)):
            firsts, lasts = tree.nodes((found := tree.lowest_level(int(low), int(high)))[0])
            lost[place, column] = (lasts[found[1]] - firsts[found[1]]) / (tree.size - 1)
    return lost.mean(axis=1)


@dataclass
class Measured:
    """What one way of anonymising a stream came to."""

    seconds: float
    delays: NDArray[np.float64]
    lost: float
    suppressed: int


def windows(search: WindowSearch, points: Points, asked: StreamProblem, size: int) -> Measured:
    """Return what windows of a search come to; a record waits for the last one of its window."""
    parts = [points.taken(np.arange(begin, begin + size)) for begin in range(0, len(points), size)]
    search.cluster(parts[0], asked)
    started = time.process_time()
    found = [search.cluster(part, asked) for part in parts]
    seconds = time.process_time() - started
    lost = sum(float(losses(each)[each.cluster_of].sum()) for each in found if each is not None)
    delays = (size - 1 - np.arange(len(points)) % size).astype(float)
    return Measured(seconds, delays, lost / len(points), sum(size for each in found if each is None))


def castle(delta: int, points: Points, asked: StreamProblem) -> Measured:
    """Return what CASTLE comes to. Delays are told to within a piece of 100 records, speed with pieces of 5,000."""
    Castle(delta=delta).start(asked).push(points.taken(np.arange(100)))
    session = Castle(delta=delta).start(asked)
    started = time.process_time()
    for begin in range(0, len(points), PIECE):
        session.push(points.taken(np.arange(begin, min(begin + PIECE, len(points)))))
    session.flush()
    seconds = time.process_time() - started
    session, delays, lost, suppressed = Castle(delta=delta).start(asked), np.zeros(len(points)), 0.0, 0
    for end, told in _pieces(session.push, session.flush, points, 100):
        delays[told.numbers] = end - 1 - told.numbers
        lost += float(losses(told)[told.cluster_of].sum()) + len(told.suppressed)
        suppressed += len(told.suppressed)
    return Measured(seconds, delays, lost / len(points), suppressed)


def _pieces(push: Callable[[Points], Clusters], flush: Callable[[], Clusters], points: Points, size: int) -> Iterator[tuple[int, Clusters]]:
    for begin in range(0, len(points), size):
        end = min(begin + size, len(points))
        yield end, push(points.taken(np.arange(begin, end)))
    yield len(points), flush()


def narrowed(search: WindowSearch, people: int, size: int, seen: int, targets: int, seed: int = 1) -> NDArray[np.int64]:
    """Return how many people of a population the boxes of each target fit, after each of the windows in which they are seen.

    The values of nobody change, and whoever looks on can tell which published rows are the target's, by a column that is kept or by their number.
    """
    rng = np.random.default_rng(seed)
    population, asked = records(people, seed), problem([KAnonymity(k=10)])
    coordinates = population.coordinates
    groups = [tree.groups(1) for tree in TREES]
    left = np.empty((targets, seen), np.int64)
    for target in range(targets):
        fits = np.ones(people, bool)
        for window in range(seen):
            others = rng.choice(people, size - 1, replace=False)
            members = np.unique(np.append(others, target))
            found = search.cluster(population.taken(members), asked)
            assert found is not None
            own = found.cluster_of[np.searchsorted(members, target)]
            low, high = found.lows[own], found.highs[own]
            for column in range(8):
                values = coordinates[:, column]
                if column < 2:
                    fits &= (values >= low[column]) & (values <= high[column])
                elif low[column] == high[column]:
                    fits &= values == low[column]
                else:
                    above = groups[column - 2]
                    first, last = above[int(low[column])], above[int(high[column])]
                    fits &= (above[values.astype(int)] == first) | (first != last)
            left[target, window] = fits.sum()
    return left


def main() -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--records", type=int, default=100_000)
    points = records(arguments.parse_args().records)
    k = KAnonymity(k=10)
    promises: dict[str, list[Promise]] = {
        "k = 10": [k],
        "k = 10, l = 3": [k, LDiversity(column="illness", l=3)],
        "k = 10, t = 0.3": [k, TCloseness(column="illness", t=0.3)],
        "k = 10, t = 0.15 ordered": [k, TCloseness(column="illness", t=0.15, distance="ordered")],
    }
    print("| promised | way | thousand records a second | delay, median | delay, largest | loss | left out |\n|---|---|---|---|---|---|---|")
    for name, own in promises.items():
        asked = problem(own)
        for size in (1000, 10_000):
            ways = {
                f"Mondrian, windows of {size:,}": windows(Mondrian(), points, asked, size),
                f"microaggregation, windows of {size:,}": windows(Microaggregation(), points, asked, size),
                f"CASTLE, delta = {size:,}": castle(size, points, asked),
            }
            for way, found in ways.items():
                rate = len(points) / found.seconds / 1000
                waits = f"{np.median(found.delays):,.0f} | {found.delays.max():,.0f}"
                print(f"| {name} | {way} | {rate:,.0f} | {waits} | {found.lost:.3f} | {found.suppressed} |", flush=True)
    left = narrowed(Mondrian(), 100_000, 1000, 20, 50)
    print("\n| windows in which a person was seen | people whom all boxes fit, median | of 50 persons, found alone |\n|---|---|---|")
    for seen in (1, 2, 3, 5, 10, 20):
        print(f"| {seen} | {np.median(left[:, seen - 1]):,.0f} | {int((left[:, seen - 1] == 1).sum())} |")


if __name__ == "__main__":
    main()
