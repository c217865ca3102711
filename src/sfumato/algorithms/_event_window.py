"""The window of a stream of events: who shows what, in tables that grow with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.chance import random_bytes
from sfumato.core.kernels import await_compiled
from sfumato.core.kernels import event_paths as paths
from sfumato.core.kernels import z_anonymity as kernel

_SMALLEST = 4096
_ROOMY = 32
PIECE = 4096
"""So many records are decided in one go: room is made for all of them."""


@dataclass(frozen=True)
class Ways:
    """How it is counted and what may be published."""

    rest: bool
    generalise: bool
    original: bool

    def array(self) -> NDArray[np.bool_]:
        """Return the ways as the kernel has them."""
        return np.array([self.rest, self.generalise, self.original])


@dataclass(frozen=True, eq=False)
class Kept:
    """The records in the window, true ones and made-up ones: the node of each level of each path has a number below ``nodes``."""

    times: NDArray[np.int64]
    people: NDArray[np.int64]
    paths: NDArray[np.int64]
    released: NDArray[np.int64]
    is_fake: NDArray[np.bool_]
    rows: NDArray[np.int32]
    heights: NDArray[np.int32]
    nodes: int

    def published_nodes(self) -> NDArray[np.int64]:
        """Return the node that each record is published as, -1 where it is not."""
        return np.where(self.released >= 0, self.rows[self.paths, np.maximum(self.released, 0)], -1).astype(np.int64)


class Window:
    """The state of a session; everything in it is integers."""

    def __init__(self, length: int, levels: int, ways: Ways, makes_up: bool) -> None:
        self._length, self._levels, self._ways = length, levels, ways.array()
        self._secret = np.frombuffer(random_bytes(16) + bytes(16), np.uint64).copy()
        self._counts = np.zeros(8, np.int64)
        self._counts[kernel.NEWEST] = kernel.NEVER
        self._counts[kernel.MAKES_UP] = makes_up and not ways.original
        self._sizes = np.zeros(2, np.int64)
        self._paths = _numbers(_SMALLEST, self._sizes, paths.FREE_PATHS, np.empty((0, levels + 2), np.int32))
        self._nodes = _numbers(_SMALLEST, self._sizes, paths.FREE_NODES, np.empty((0, 5), np.int64))
        self._pairs = _no_pairs(4 * _SMALLEST)
        # records of a node are found through links between them, where anybody asks for them
        self._ring = np.empty((2 * _SMALLEST, 3 + (levels if makes_up or ways.rest else 0)), np.int64)
        self._heap = np.empty((_SMALLEST, 2), np.int64)

    @property
    def newest(self) -> int:
        """The time of the newest record, ``NEVER`` where none has come."""
        return int(self._counts[kernel.NEWEST])

    @property
    def size(self) -> int:
        """How many bytes the tables take."""
        arrays = [*self._paths, *self._nodes, self._pairs, self._ring, self._heap]
        return sum(array.nbytes for array in arrays)

    @property
    def entries(self) -> dict[str, int]:
        """How much is kept: records, pairs of people and nodes, paths and nodes."""
        records = int(self._counts[kernel.TAIL] - self._counts[kernel.HEAD])
        free = {"paths": len(self._paths[1]) - int(self._sizes[0]), "nodes": len(self._nodes[1]) - int(self._sizes[1])}
        return {"records": records, "pairs": int(self._counts[kernel.PAIRS]), **free}

    @property
    def is_mostly_empty(self) -> bool:
        """Whether its tables have far more room than what is in it needs: a burst has left it."""
        return len(self._ring) > 2 * _SMALLEST and _ROOMY * int(self._counts[kernel.PAIRS]) < len(self._ring)

    def moved_to(self, smaller: Window) -> Window:
        """Return another, empty window with all that is in this one."""
        self._renew(0, 2 * _SMALLEST, _SMALLEST)
        smaller.take_up(self.arrays())
        return smaller

    # --- numbers of paths ---

    def number_texts(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], valid: NDArray[np.bool_], separator: bytes, coarsest_first: bool
    ) -> NDArray[np.int32]:
        """Return the path of each text; each must be decided of."""
        await_compiled()
        path_of = np.empty(len(valid), np.int32)
        self._make_room_for_paths(len(valid))
        cut = np.frombuffer(separator, np.uint8)
        paths.number_texts(data, offsets, valid, cut, coarsest_first, self._secret, self._tables, path_of)
        return path_of

    def number_codes(self, codes: NDArray[np.int64], heights: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the path of each row of codes; each must be decided of."""
        path_of = np.empty(len(codes), np.int32)
        self._make_room_for_paths(len(codes))
        paths.number_codes(codes, heights, self._secret, self._tables, path_of)
        return path_of

    @property
    def _tables(self) -> paths.Tables:
        return paths.Tables._make((*self._paths, *self._nodes, self._sizes))

    def _make_room_for_paths(self, further: int) -> None:
        if self._sizes[paths.FREE_PATHS] < further:
            self._paths = _more_numbers(self._paths, self._sizes, paths.FREE_PATHS, further)
        if self._sizes[paths.FREE_NODES] < further * self._levels:
            self._nodes = _more_numbers(self._nodes, self._sizes, paths.FREE_NODES, further * self._levels)

    # --- decisions ---

    def decide(
        self,
        times: NDArray[np.int64],
        people: NDArray[np.int64],
        path_of: NDArray[np.int32],
        opted_out: NDArray[np.bool_],
        thresholds: NDArray[np.int64],
        missing: NDArray[np.int64],
        chance: Chance,
    ) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the level of each record, where its made-up people begin and where the true one stands among them, and all made-up people."""
        number = len(times)
        levels, begins, places = np.empty(number, np.int8), np.zeros(number, np.int64), np.zeros(number, np.int64)
        self._secret[2:] = chance.secret
        self._counts[kernel.DRAWN], self._counts[kernel.FAKES] = chance.drawn, 0
        made_up = np.empty(int(min(missing.sum(), 4 * missing.max(initial=0) + PIECE)), np.int64)
        scratch = chance.scratch(int(missing.max(initial=0)))
        done = 0
        while done < number:
            done = kernel.decide(
                times, people, path_of, opted_out, thresholds, missing, done, self._length, self._ways,
                self._secret, self._tables, self._pairs, self._ring, self._heap, self._counts, levels, (begins, places, made_up), scratch,
            )  # fmt: skip
            if done < number:
                needed = int(missing[done])
                self._make_room(2 * self._levels + 3 + needed)
                if self._counts[kernel.FAKES] + needed > len(made_up):
                    made_up = np.concatenate([made_up, np.empty(len(made_up) + needed, np.int64)])
        chance.drawn = int(self._counts[kernel.DRAWN])
        return levels, begins, places, made_up[: self._counts[kernel.FAKES]]

    @property
    def opted_out(self) -> NDArray[np.int64]:
        """In whose name nothing may be made up, in order."""
        return np.sort(self._pairs[(self._pairs[:, 1] == kernel.NOBODY) & (self._pairs[:, 2] > 0), 0])

    def opt_out(self, people: NDArray[np.int64]) -> None:
        """Let nothing ever be made up in the name of some people."""
        self._make_room(len(people))
        kernel.opt_out(people, self._pairs, self._counts, self._secret)

    def _make_room(self, further: int) -> None:
        counts = self._counts
        if 2 * (counts[kernel.PAIRS] + further) > len(self._pairs):
            larger = _no_pairs(_power(4 * (int(counts[kernel.PAIRS]) + further)))
            kernel.place_pairs(self._pairs, larger, self._secret)
            self._pairs = larger
        if counts[kernel.TAIL] - counts[kernel.HEAD] + further > len(self._ring) or counts[kernel.WAITING] + further > len(self._heap):
            self._renew(further, len(self._ring), len(self._heap))

    def _renew(self, further: int, least_ring: int, least_heap: int) -> None:
        """Leave out records that repeat later ones, whoever floods the stream; and make room where that is not enough."""
        entries = self._in_ring()
        entries[:, 2] &= ~kernel.WAITS
        order = np.lexsort((entries[:, 0], entries[:, 2], entries[:, 1]))
        ordered = entries[order]
        is_dropped = np.zeros(len(entries), np.bool_)
        is_dropped[order[:-1]] = (ordered[1:, 1:] == ordered[:-1, 1:]).all(axis=1)
        left = len(entries) - int((is_dropped | (entries[:, 2] & kernel.GONE > 0)).sum())
        ring = np.empty((max(least_ring, _power(2 * (left + further))), self._ring.shape[1]), np.int64)
        heap = np.empty((max(least_heap, _power(2 * (min(left, int(self._counts[kernel.WAITING])) + further))), 2), np.int64)
        kernel.renew(self._ring, is_dropped, self._tables, self._pairs, ring, heap, self._counts, self._secret)
        self._ring, self._heap = ring, heap

    def _in_ring(self) -> NDArray[np.int64]:
        places = np.arange(self._counts[kernel.HEAD], self._counts[kernel.TAIL]) & (len(self._ring) - 1)
        return self._ring[places, :3]

    def _entries(self) -> NDArray[np.int64]:
        """Return all records that are not gone."""
        entries = self._in_ring()
        left: NDArray[np.int64] = entries[entries[:, 2] & kernel.GONE == 0]
        return left

    def _numbered(self, entries: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the paths of records in the order in which they first appear, and which of these each record has."""
        path_of = entries[:, 2] >> 24
        firsts = np.full(len(self._paths[1]), len(entries))
        # of several the last one stays
        firsts[path_of[::-1]] = np.arange(len(entries) - 1, -1, -1)
        numbers = np.flatnonzero(firsts < len(entries))
        numbers = numbers[np.argsort(firsts[numbers])]
        place = np.empty(len(firsts), np.int64)
        place[numbers] = np.arange(len(numbers))
        return numbers, place[path_of]

    # --- what is in it ---

    def kept(self, now: int) -> Kept:
        """Return the records that are in the window at a time."""
        entries = self._entries()
        entries = entries[entries[:, 0] >= now - self._length]
        numbers, path = self._numbered(entries)
        rows, heights = self._paths[2][numbers, : self._levels].copy(), self._paths[2][numbers, self._levels]
        beyond = np.arange(self._levels)[None, :] >= heights[:, None]
        nodes, dense = np.unique(rows[~beyond], return_inverse=True)
        rows[~beyond], rows[beyond] = dense, -1
        released = ((entries[:, 2] >> 8) & 255) - 2
        return Kept(entries[:, 0], entries[:, 1], path, released, (entries[:, 2] & kernel.FAKE) > 0, rows, heights, len(nodes))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that a window is made of anew from: its records, and the digests of their paths."""
        rows, keys, node_keys = self._paths[2], self._paths[1], self._nodes[1]
        # those that are gone too, blank as they are: what is drawn depends on the places
        entries = self._in_ring()
        # the numbers of paths are no part of the state: the same window gives the same bytes
        numbers, path = self._numbered(entries)
        heights = rows[numbers, self._levels]
        used = np.where(np.arange(self._levels)[None, :] < heights[:, None], rows[numbers, : self._levels], -1)
        names = np.where(used[:, :, None] >= 0, node_keys[used], np.uint64(0))
        entries[:, 2] = (path << 24) | (entries[:, 2] & 0xFFFFFF)
        sizes = np.array([self.newest, len(self._ring), len(self._heap)], np.int64)
        told = {"entries": entries, "paths": keys[numbers], "nodes": names, "heights": heights, "opted_out": self.opted_out}
        return told | {"secret": self._secret[:2], "sizes": sizes}

    def take_up(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Be again the window that has been written down."""
        entries, (newest, ring, heap) = arrays["entries"].copy(), arrays["sizes"]
        self._secret[:2] = arrays["secret"]
        self._ring, self._heap = np.empty((ring, self._ring.shape[1]), np.int64), np.empty((heap, 2), np.int64)
        path_of = np.empty(len(arrays["paths"]), np.int32)
        self._make_room_for_paths(len(path_of))
        paths.number_keys(arrays["paths"], arrays["nodes"], arrays["heights"], self._tables, path_of)
        entries[:, 2] = (path_of[entries[:, 2] >> 24].astype(np.int64) << 24) | (entries[:, 2] & 0xFFFFFF)
        opted_out = arrays["opted_out"]
        self._pairs = _no_pairs(_power(4 * (self._levels + 1) * len(entries) + 2 * len(opted_out) + 4 * _SMALLEST))
        kernel.opt_out(opted_out, self._pairs, self._counts, self._secret)
        kernel.take_up(entries, self._tables, self._pairs, self._ring, self._heap, self._counts, self._secret)
        self._counts[kernel.NEWEST] = newest


class Chance:
    """What is drawn while some records are decided of."""

    def __init__(self, is_needed: bool) -> None:
        self.drawn = 0
        self.secret = np.frombuffer(random_bytes(16) if is_needed else bytes(16), np.uint64)
        self._scratch = (np.empty(0, np.int64), np.zeros((16, 2), np.int64))

    def scratch(self, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return room for choosing among people, ``most`` at once."""
        room = max(most, kernel.CANDIDATES) if most else 0
        if len(self._scratch[0]) < room:
            self._scratch = (np.empty(room, np.int64), np.zeros((_power(2 * room), 2), np.int64))
        return self._scratch


def _power(number: int) -> int:
    """Return the next power of two."""
    return 1 << max(4, int(number - 1).bit_length())


def _no_pairs(number: int) -> NDArray[np.int64]:
    return np.zeros((number, 4), np.int64)


def _numbers(number: int, sizes: NDArray[np.int64], which: int, rows: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return slots, digests, rows and free numbers, none of them in use."""
    empty = (np.full(2, -1, np.int32), np.empty((0, 2), np.uint64), rows, np.empty(0, np.int32))
    return _more_numbers(empty, sizes, which, number)


def _more_numbers(table: tuple[NDArray[Any], ...], sizes: NDArray[np.int64], which: int, further: int) -> tuple[NDArray[Any], ...]:
    """Return a table in which so many numbers are free."""
    _, keys, rows, free = table
    before, unused = len(keys), int(sizes[which])
    number = _power(2 * (before - unused) + further)
    keys = np.concatenate([keys, np.zeros((number - before, 2), np.uint64)])
    rows = np.concatenate([rows, np.zeros((number - before, rows.shape[1]), rows.dtype)])
    used = np.setdiff1d(np.arange(before, dtype=np.int32), free[:unused])
    slots = np.full(2 * number, -1, np.int32)
    paths.place_keys(keys, used, slots)
    # the smallest are taken first: what is in use stays together
    fresh = np.arange(number - 1, before - 1, -1, dtype=np.int32)
    all_free = np.empty(number, np.int32)
    all_free[: len(fresh)], all_free[len(fresh) : len(fresh) + unused] = fresh, free[:unused]
    sizes[which] = len(fresh) + unused
    return slots, keys, rows, all_free
