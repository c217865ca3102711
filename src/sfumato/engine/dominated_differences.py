"""Totals beside each other of which one person makes up most: a difference of enough people still tells the value of somebody who dominates it.

A group that is left out because one person would show follows from the total of all groups. As in ``differences`` groups are the nodes of a graph and
what people add the edges, here with their sizes in the place of their number: what is left when some totals are taken from others is a cut. Somebody
dominates one that parts the ends of their own edge where the least of these weighs less than their part allows, and by the theorem of Ford and
Fulkerson ("Maximal flow through a network", 1956) the least cut is the largest flow. Rows of one person in several cells are looked at cell by cell.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from sfumato.core.kernels.grouping import group_columns

Groups = NDArray[np.int64]
Numbers = NDArray[np.float64]
_GROUND = 0
_NOTHING = 1e-9
_MOST_STEPS = 10_000_000
_ORDERS = 4


def dominated_group(groups: Groups, people: NDArray[np.int32], added: Numbers, limit: float, whole: Groups) -> bool:
    """Return whether somebody dominates what is left of a group of which the values of some people are known.

    ``whole`` has the groups before these were left out; of groups of which nothing is known nothing is left to be learnt.

    >>> everybody, left = np.zeros(4, np.int64), np.array([-1, 0, 0, 0])
    >>> dominated_group(left, np.arange(4, dtype=np.int32), np.array([99.0, 1, 2, 90]), 0.5, everybody)
    True
    """
    concerned = np.isin(groups, np.unique(whole[(groups < 0) & (whole >= 0)])) & (groups >= 0) & np.isfinite(added)
    if not concerned.any():
        return False
    cells, sizes = _parts(groups[concerned], people[concerned], added[concerned])
    largest, total = _largest_and_total(cells, sizes)
    return bool(((largest > limit * total * (1 + _NOTHING)) & (total > 0)).any())


def dominated_difference(one: Groups, other: Groups, people: NDArray[np.int32], first: Numbers, second: Numbers, limit: float) -> str | None:
    """Return that somebody dominates a difference between the totals of groups of two kinds, or that nobody can tell, in words; else None.

    ``first`` and ``second`` have what each row adds to a total of one kind and of the other. Groups as they are have been held to the
    limit already.

    >>> wards, everybody, pays = np.array([0, 0, 0, -1, -1, -1]), np.zeros(6, np.int64), np.array([5.0, 6, 7, 1, 2, 90])
    >>> dominated_difference(wards, everybody, np.arange(6, dtype=np.int32), pays, pays, 0.5)
    'in which one person makes up more than 0.5'
    """
    graph = _Graph.of(one, other, people, first, second)
    if graph is None:
        return None
    steps, bound = 0, graph.bounds()
    for ends, largest in graph.suspects(limit):
        wanted = largest / limit
        if any(bound.get((start, end), 0.0) >= wanted for start in ends[0] for end in ends[1]):
            continue
        flow, taken = graph.flow(*ends, wanted)
        steps += taken
        if steps > _MOST_STEPS:
            return f"of which it cannot be shown that no person makes up more than {limit:g}"
        if flow * (1 + _NOTHING) < wanted:
            return f"in which one person makes up more than {limit:g}"
    return None


@dataclass(frozen=True, eq=False)
class _Graph:
    """What people add to groups of two kinds, as edges between these and the ground.

    ``cells`` are those who are in the same group of each kind: their nodes, and for each way to part these what all of them leave, and the most that
    one does: the first from the other two, the second, both from the ground.
    """

    edges: dict[int, dict[int, float]]
    cells: list[tuple[int, int, Numbers, Numbers]] = field(default_factory=list)

    @classmethod
    def of(cls, one: Groups, other: Groups, people: NDArray[np.int32], first: Numbers, second: Numbers) -> _Graph | None:
        rows = np.flatnonzero(
            ((one >= 0) | (other >= 0)) & np.isfinite(np.where(one >= 0, first, second)) & np.isfinite(np.where(other >= 0, second, first))
        )
        if not len(rows):
            return None
        left, right = one[rows] + 1, np.where(other[rows] >= 0, other[rows] + 2 + int(one.max()), _GROUND)
        adds, takes = np.where(left > 0, first[rows], 0.0), np.where(right > 0, second[rows], 0.0)
        cells, firsts = group_columns([left, right], [int(left.max()) + 1, int(right.max()) + 1])
        member, some = group_columns([cells, people[rows]], [len(firsts), int(people.max()) + 1])
        a, b = np.bincount(member, adds), np.bincount(member, takes)
        of_cell = cells[some]
        # of a row in one group only nothing is left where that stays with the ground, and so it is an edge to it
        lefts = np.stack([np.abs(a), np.abs(b), np.abs(a - b)])
        edges: dict[int, dict[int, float]] = {}
        found = cls(edges)
        totals: Numbers = np.stack([np.bincount(of_cell, each, minlength=len(firsts)).astype(np.float64) for each in lefts])
        largest: Numbers = np.zeros_like(totals)
        for way in range(3):
            np.maximum.at(largest[way], of_cell, lefts[way])
        for cell, (near, far) in enumerate(zip(left[firsts].tolist(), right[firsts].tolist(), strict=True)):
            alone, beside, both = totals[:, cell].tolist()
            # what these three edges weigh together is what each way to part the nodes leaves
            for start, end, weight in (
                (near, far, alone + beside - both),
                (near, _GROUND, alone + both - beside),
                (far, _GROUND, beside + both - alone),
            ):
                if start != end and weight > 0:
                    edges.setdefault(start, {})[end] = edges.get(start, {}).get(end, 0.0) + weight / 2
                    edges.setdefault(end, {})[start] = edges.get(end, {}).get(start, 0.0) + weight / 2
            found.cells.append((near, far, totals[:, cell], largest[:, cell]))
        return found

    def suspects(self, limit: float) -> Iterator[tuple[tuple[Collection[int], Collection[int]], float]]:
        """Yield the nodes to be parted from others where somebody dominates those who are alike in all groups, and what that person adds."""
        for near, far, totals, largest in self.cells:
            ways = [({near}, {far, _GROUND}), ({far}, {near, _GROUND}), ({near, far}, {_GROUND})]
            for way, (starts, ends) in enumerate(ways):
                starts, ends = starts - {_GROUND}, ends - starts
                if starts and ends and not starts & ends and largest[way] > limit * totals[way] * (1 + _NOTHING):
                    yield (starts, ends), float(largest[way])

    def bounds(self) -> dict[tuple[int, int], float]:
        """Return for the ends of edges what parts them at least, both ways: most cells need no more to be cleared.

        Nagamochi and Ibaraki, "Computing edge-connectivity in multigraphs and capacitated graphs" (1992): nodes are visited in the order of what ties
        them to those before, and what ties a node to these, an edge included, is no more than what parts the ends of that edge.
        """
        found: dict[tuple[int, int], float] = {}
        nodes = sorted(self.edges)
        for start in nodes[:: max(1, len(nodes) // _ORDERS)]:
            tied, visited, waiting = {start: 0.0}, set[int](), [(0.0, start)]
            while waiting:
                _, node = heappop(waiting)
                if node in visited:
                    continue
                visited.add(node)
                for following, weight in self.edges[node].items():
                    if following not in visited:
                        tied[following] = tied.get(following, 0.0) + weight
                        heappush(waiting, (-tied[following], following))
                        least = max(found.get((node, following), 0.0), tied[following])
                        found[node, following] = found[following, node] = least
        return found

    def flow(self, starts: Collection[int], ends: Collection[int], wanted: float) -> tuple[float, int]:
        """Return how much flows from some nodes to others, at most about what is wanted, and how many edges were looked at."""
        used: dict[tuple[int, int], float] = {}
        found, steps, least = 0.0, 0, wanted
        while found < wanted:
            before, end, looked_at = self._way(starts, ends, used, least)
            steps += looked_at
            if end is None:
                if least <= _NOTHING * wanted:
                    break
                # wide ways first: there are few of them
                least = least / 8 if least > _NOTHING * wanted * 8 else _NOTHING * wanted
                continue
            found += self._sent(before, end, used)
        return found, steps

    def _way(
        self, starts: Collection[int], ends: Collection[int], used: dict[tuple[int, int], float], least: float
    ) -> tuple[dict[int, int | None], int | None, int]:
        before: dict[int, int | None] = dict.fromkeys(starts)
        waiting, steps = deque(starts), 0
        while waiting:
            node = waiting.popleft()
            for following, weight in self.edges.get(node, {}).items():
                steps += 1
                if following not in before and weight - used.get((node, following), 0.0) >= least:
                    before[following] = node
                    if following in ends:
                        return before, following, steps
                    waiting.append(following)
        return before, None, steps

    def _sent(self, before: dict[int, int | None], end: int, used: dict[tuple[int, int], float]) -> float:
        way = []
        node: int = end
        while (earlier := before[node]) is not None:
            way.append((earlier, node))
            node = earlier
        sent = min(self.edges[start][stop] - used.get((start, stop), 0.0) for start, stop in way)
        for start, stop in way:
            used[start, stop] = used.get((start, stop), 0.0) + sent
            used[stop, start] = used.get((stop, start), 0.0) - sent
        return sent


def _parts(groups: Groups, people: NDArray[np.int32], added: Numbers) -> tuple[NDArray[np.int64], Numbers]:
    """Return the group and the size of what each person adds to it."""
    member, some = group_columns([groups, people], [int(groups.max()) + 1, int(people.max()) + 1])
    return groups[some], np.abs(np.bincount(member, added))


def _largest_and_total(cells: NDArray[np.int64], sizes: Numbers) -> tuple[Numbers, Numbers]:
    largest = np.zeros(int(cells.max()) + 1)
    np.maximum.at(largest, cells, sizes)
    return largest, np.bincount(cells, sizes).astype(np.float64)
