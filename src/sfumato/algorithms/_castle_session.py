"""A session of CASTLE by the kernel: its arrays, which grow when they are full, and its state."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms._castle_rules import Rules, columns_of, seed
from sfumato.algorithms._points import Scales, scales
from sfumato.core.grown_ladder import GrownLadder
from sfumato.core.kernels import await_compiled
from sfumato.core.kernels import castle as kernel
from sfumato.core.kernels.pair_table import moved
from sfumato.core.stream import Clusters, Points, StreamProblem

_Arrays = tuple[NDArray[Any], ...]


class CompiledCastle:
    """A session that keeps records until they can be published; ``core/kernels/castle.py`` says what its arrays are."""

    def __init__(self, rules: Rules, problem: StreamProblem) -> None:
        self._rules = rules
        self._known: Scales = scales(problem, rules.sensitive)
        columns, sensitive = len(problem.ladders), len(rules.sensitive)
        self._state = np.zeros(16, np.int64)
        self._slots = _slots(0, columns, sensitive)
        self._waiting = _boxed(rules.beta + 1, columns, np.int64, np.int64, np.int32, np.int32, order=rules.beta)
        self._published = _boxed(rules.reusable, columns, np.int64, np.int32, np.int64, np.int64, order=rules.reusable)
        self._published[3][:] = -1
        self._table: _Arrays = _table(64)
        self._ring: _Arrays = (np.zeros(rules.delta, np.int32), np.full(rules.delta, -1, np.int64))
        horizon = rules.horizon if sensitive else 1
        self._compared: _Arrays = (np.zeros(horizon, np.int64), np.zeros((horizon, sensitive), np.int32))
        self._sizes = [max(1, int(line[1]) + 2) if not line[0] else 1 for line in self._known.sensitive_trees]
        self._shown: _Arrays = (np.zeros(sum(self._sizes), np.int64), np.zeros(sum(self._sizes), np.uint8))
        self._losses = np.zeros(rules.mu)
        self._seen = np.stack([np.full(columns, np.inf), np.full(columns, -np.inf)])
        self._lay_out()
        self._make_room()

    @property
    def held(self) -> int:
        """How many records wait."""
        return int(self._state[kernel.HELD])

    def push(self, points: Points) -> Clusters:
        """Take further records and return what can be published now."""
        sensitive = np.empty((len(points), len(self._rules.sensitive)), np.int32)
        for place, name in enumerate(self._rules.sensitive):
            sensitive[:, place] = points.sensitive[name]
        self._grow(len(points), sensitive)
        out = self._out(self.held + len(points))
        await_compiled()
        # for arrays that cannot be written to the kernel would be compiled once more
        kernel.push(
            np.require(points.numbers, np.int64, ["C", "W"]),
            np.require(points.people, np.int64, ["C", "W"]),
            np.require(points.coordinates, np.float64, ["C", "W"]),
            sensitive,
            self._ring,
            self._compared,
            self._shown,
            self._own(out),
        )
        return self._decided(out)

    def flush(self) -> Clusters:
        """Return what can still be published at the end; who fits nowhere even now is left out."""
        out = self._out(self.held)
        await_compiled()
        kernel.flush(self._ring, self._shown, self._own(out))
        return self._decided(out)

    def snapshot(self) -> bytes:
        """Return the state."""
        written = io.BytesIO()
        kept: dict[str, Any] = {"sizes": np.array(self._sizes, np.int64), **self._kept()}
        np.savez(written, **kept)
        return self._rules.sealed("compiled", written.getvalue())

    def restore(self, state: bytes) -> None:
        """Go on from a state."""
        with np.load(io.BytesIO(self._rules.opened("compiled", state)), allow_pickle=False) as read:
            self._sizes = [int(size) for size in read["sizes"]]
            self._state, self._losses, self._seen = read["state"], read["losses"], read["seen"]
            for group in ("slots", "waiting", "published", "table", "ring", "compared", "shown"):
                number = len(getattr(self, f"_{group}"))
                setattr(self, f"_{group}", tuple(read[f"{group}_{place}"] for place in range(number)))
        self._lay_out()
        self._make_room()

    def standing(self, column: int) -> NDArray[np.int64]:
        """Return the leaves of a column that a record or a box stands on."""
        places = np.concatenate([coordinates[rows, column] for coordinates, rows in self._standing()])
        return np.unique(places[np.isfinite(places)]).astype(np.int64)

    def regrown(self, problem: StreamProblem, grown: Mapping[int, GrownLadder]) -> CompiledCastle:
        """Return a session that goes on from here with larger ladders; published clusters whose words would change are not used again."""
        other = CompiledCastle(self._rules, problem)
        other.restore(self.snapshot())
        other._rules = replace(self._rules, columns=columns_of(problem))
        kept = other._published[6][: int(other._state[kernel.KEPT])].copy()
        same = np.ones(len(kept), bool)
        for column, ladder in grown.items():
            same &= ladder.say_the_same(other._published[0][kept, column], other._published[1][kept, column])
        if not same.all():
            kernel.retire(kept[~same], other._slots, other._published, other._state)
        for column, ladder in grown.items():
            for coordinates, rows in other._standing():
                coordinates[rows, column] = ladder.places(coordinates[rows, column])
        return other

    def _standing(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Yield coordinates, and which lines of them are of records and boxes that are there."""
        yield self._slots[2], np.flatnonzero(self._slots[0] >= 0)
        for boxes, number in ((self._waiting, kernel.CLUSTERS), (self._published, kernel.KEPT)):
            rows = boxes[6][: int(self._state[number])].astype(np.int64)
            yield boxes[0], rows
            yield boxes[1], rows

    def _kept(self) -> dict[str, NDArray[Any]]:
        kept = {"state": self._state, "losses": self._losses, "seen": self._seen}
        for group in ("slots", "waiting", "published", "table", "ring", "compared", "shown"):
            kept |= {f"{group}_{place}": array for place, array in enumerate(getattr(self, f"_{group}"))}
        return kept

    def _own(self, out: _Arrays) -> tuple[Any, ...]:
        """Return what the kernel hands on from function to function, in its order."""
        kept = (self._slots, self._waiting, self._published, self._table, self._losses, self._scale(), self._tests)
        return (*kept, self._scratch, self._room, out, self._limits(), np.array([seed()], np.uint64), self._state)

    def _limits(self) -> NDArray[np.int64]:
        rules = self._rules
        return np.array([rules.k, rules.by_values, rules.least, rules.target, rules.wait, rules.grows, rules.most, rules.block], np.int64)

    def _scale(self) -> _Arrays:
        known = self._known
        return known.ladders, known.nodes, known.below, self._seen, known.spans, known.weights, known.losses

    def _decided(self, out: _Arrays) -> Clusters:
        released, made, suppressed = (int(self._state[place]) for place in (kernel.RELEASED, kernel.MADE, kernel.SUPPRESSED))
        numbers, cluster_of, lows, highs, identities, left_out, decided = out
        return Clusters(
            numbers[:released].copy(),
            cluster_of[:released].copy(),
            lows[:made].copy(),
            highs[:made].copy(),
            identities[:made].copy(),
            self._references(),
            left_out[:suppressed].copy(),
            decided=decided[:released].copy(),
        )

    def _references(self) -> dict[str, NDArray[np.int64]]:
        """Return how many people of the latest records have each value; one that was ever seen counts for one at least."""
        counts = np.maximum(self._shown[0], self._shown[1])
        references, begin = {}, 0
        for name, size, line in zip(self._rules.sensitive, self._sizes, self._known.sensitive_trees, strict=True):
            own = counts[begin : begin + size]
            # room for values that are still to come is no part of it
            references[name] = (own if not line[0] else own[: int(np.flatnonzero(own).max(initial=-1)) + 1]).astype(np.int64)
            begin += size
        return references

    # --- arrays that grow

    def _grow(self, records: int, sensitive: NDArray[np.int32]) -> None:
        free = int(self._state[kernel.FREE])
        if free < records:
            self._more_slots(records - free)
        entries = int((self._table[2] > 0).sum()) + records * (1 + 2 * len(self._rules.sensitive))
        if 2 * entries > len(self._table[2]):
            larger = _table(1 << (4 * entries).bit_length())
            moved(*self._table, larger)
            self._table = larger
        sizes = [max(size, int(sensitive[:, place].max(initial=0)) + 1) for place, size in enumerate(self._sizes)]
        if sizes != self._sizes:
            self._more_values([size if size == before else 2 * size for size, before in zip(sizes, self._sizes, strict=True)])

    def _more_slots(self, wanted: int) -> None:
        before = len(self._slots[0])
        more = max(wanted, before, 1024)
        longer = _slots(before + more, self._slots[2].shape[1], self._slots[3].shape[1])
        for old, new in zip(self._slots, longer, strict=True):
            new[:before] = old
        free = int(self._state[kernel.FREE])
        longer[7][free : free + more] = np.arange(before + more - 1, before - 1, -1)
        self._state[kernel.FREE] += more
        self._slots = longer
        self._make_room()

    def _more_values(self, sizes: list[int]) -> None:
        shown = tuple(np.zeros(sum(sizes), array.dtype) for array in self._shown)
        begins = np.cumsum([0, *self._sizes]), np.cumsum([0, *sizes])
        for old, new in zip(self._shown, shown, strict=True):
            for place, size in enumerate(self._sizes):
                new[begins[1][place] : begins[1][place] + size] = old[begins[0][place] : begins[0][place] + size]
        self._shown, self._sizes = shown, sizes
        self._lay_out()

    def _lay_out(self) -> None:
        """Make what promises are checked with."""
        sensitive, total = len(self._sizes), sum(self._sizes)
        trees = np.zeros((sensitive, 4), np.int64)
        trees[:, 0] = self._sizes
        trees[:, 1:] = self._known.sensitive_trees[:, [1, 2, 4]]
        self._tests: _Arrays = (
            np.zeros(1 + sensitive, np.int64),
            np.stack([np.cumsum([0, *self._sizes])[:-1], np.zeros(sensitive, np.int64)], axis=1).astype(np.int64).reshape(-1, 2),
            np.zeros(0, np.int32),
            np.zeros(total, np.int64),
            np.zeros(total, np.int32),
            np.zeros(total),
            self._known.fused,
            np.zeros(4, np.int64),
            self._known.far,
            trees,
            self._known.sensitive_nodes,
            np.empty((2, max(self._sizes, default=0))),
        )

    def _make_room(self) -> None:
        """Make what a call works in, as large as all records that can wait."""
        slots, columns = len(self._slots[0]), self._slots[2].shape[1]
        lines = self._rules.beta + self._rules.reusable + 1
        self._room: _Arrays = (
            *(np.empty(slots, np.int32) for _ in range(2)),
            *(np.empty((slots, columns)) for _ in range(2)),
            np.empty(slots),
            *(np.empty(slots, np.int32) for _ in range(7)),
            np.empty(lines),
            np.empty(lines, np.int32),
            np.empty((2, columns)),
            np.empty(lines, np.int8),
            *(np.empty(slots + 2, np.int32) for _ in range(2)),
            np.empty((slots + 2, 2), np.int32),
        )
        places = 1 << (2 * (slots + 1) * (1 + len(self._rules.sensitive))).bit_length()
        # a stamp that no epoch has
        stamps = np.full(places, -1, np.int64)
        self._scratch: _Arrays = (np.empty(places, np.int64), np.empty(places, np.int64), stamps, np.empty(places, np.int32), np.zeros(1, np.int64))

    def _out(self, records: int) -> _Arrays:
        columns = self._slots[2].shape[1]
        # clusters of before that are used again come on top
        clusters = records + self._rules.reusable
        return (
            np.empty(records, np.int64),
            np.empty(records, np.int32),
            np.empty((clusters, columns)),
            np.empty((clusters, columns)),
            np.empty(clusters, np.int64),
            np.empty(records, np.int64),
            np.empty(records, np.int64),
        )


def _slots(number: int, columns: int, sensitive: int) -> _Arrays:
    return (
        np.full(number, -1, np.int64),
        np.zeros(number, np.int64),
        np.zeros((number, columns)),
        np.zeros((number, sensitive), np.int32),
        np.full(number, kernel.NOWHERE, np.int32),
        np.full(number, -1, np.int32),
        np.full(number, -1, np.int32),
        np.zeros(number, np.int32),
    )


def _boxed(number: int, columns: int, *kinds: type, order: int) -> _Arrays:
    boxes = np.zeros((number, columns)), np.zeros((number, columns))
    return (*boxes, *(np.zeros(number, kind) for kind in kinds), np.arange(order, dtype=np.int32))


def _table(places: int) -> _Arrays:
    return np.zeros(places, np.int64), np.zeros(places, np.int64), np.zeros(places, np.int32)
