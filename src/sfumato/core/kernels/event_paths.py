"""Names of attributes: the paths that records show, from the attribute to its widest category, each as a number while anybody in the window shows it.

A path is known by a digest of 128 bits under a secret key, so that no text is kept, and nobody can make two attributes fall together: SipHash-2-4
(Aumasson, Bernstein, "SipHash: a fast short-input PRF", 2012) with 128 bits of output.

A path's row has the node of each level, the finest first, then how many levels there are and how many records use it. What is known of a node is what
the kernel of z-anonymity counts; here only how many paths go through it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.core.kernels import inner_kernel, kernel
from sfumato.core.kernels._words import word_at


class Tables(NamedTuple):
    """What is kept of paths and of nodes: slots of open addresses, keys, what is known of each, numbers not in use, and how many of these."""

    path_slots: Any
    path_keys: Any
    rows: Any
    free_paths: Any
    node_slots: Any
    node_keys: Any
    nodes: Any
    free_nodes: Any
    sizes: Any


FREE_PATHS, FREE_NODES = 0, 1
"""Where the tables' own counts stand: how many numbers of paths and of nodes are not in use."""


@kernel
def number_texts(data: Any, offsets: Any, valid: Any, separator: Any, coarsest_first: Any, secret: Any, tables: Any, path_of: Any) -> None:
    """Write down the number of each text's path, -1 where it is missing or empty; numbers that are not in use must be enough."""
    slots, keys, rows, free_paths, sizes = tables.path_slots, tables.path_keys, tables.rows, tables.free_paths, tables.sizes
    levels = rows.shape[1] - 2
    cuts, digest = np.empty((levels, 2), np.int64), np.empty(2, np.uint64)
    for place in range(len(path_of)):
        start, end = offsets[place], offsets[place + 1]
        path_of[place] = -1
        if not valid[place] or start == end:
            continue
        _digest(data, start, end, secret, digest)
        path, slot = _found(slots, keys, digest)
        if path < 0:
            path = _new(slots, keys, free_paths, sizes, FREE_PATHS, digest, slot)
            height = _cut(data, start, end, separator, coarsest_first, cuts)
            rows[path, levels], rows[path, levels + 1] = height, 0
            for level in range(height):
                _digest(data, cuts[level, 0], cuts[level, 1], secret, digest)
                rows[path, level] = _node(tables, digest)
        rows[path, levels + 1] += 1
        path_of[place] = path


@kernel
def number_codes(codes: Any, heights: Any, secret: Any, tables: Any, path_of: Any) -> None:
    """Write down the number of each path of codes, one a level, the finest first; -1 where there are none. A code means one node."""
    slots, keys, rows, free_paths, sizes = tables.path_slots, tables.path_keys, tables.rows, tables.free_paths, tables.sizes
    levels = rows.shape[1] - 2
    digest, one, width = np.empty(2, np.uint64), np.empty(8, np.uint8), 8 * codes.shape[1]
    whole = np.empty(width + 8, np.uint8)
    for place in range(len(path_of)):
        path_of[place] = -1
        height = heights[place]
        if height == 0:
            continue
        for level in range(codes.shape[1]):
            _put(whole, 8 * level, codes[place, level] if level < height else -1)
        _put(whole, width, height)
        _digest(whole, 0, width + 8, secret, digest)
        path, slot = _found(slots, keys, digest)
        if path < 0:
            path = _new(slots, keys, free_paths, sizes, FREE_PATHS, digest, slot)
            rows[path, levels], rows[path, levels + 1] = height, 0
            for level in range(height):
                _put(one, 0, codes[place, level])
                _digest(one, 0, 8, secret, digest)
                rows[path, level] = _node(tables, digest)
        rows[path, levels + 1] += 1
        path_of[place] = path


@kernel
def number_keys(path_keys: Any, node_keys: Any, heights: Any, tables: Any, path_of: Any) -> None:
    """Take up paths whose digests are known, one digest a level: what a snapshot holds."""
    slots, keys, rows, free_paths, sizes = tables.path_slots, tables.path_keys, tables.rows, tables.free_paths, tables.sizes
    levels = rows.shape[1] - 2
    for place in range(len(path_of)):
        path, slot = _found(slots, keys, path_keys[place])
        if path < 0:
            path = _new(slots, keys, free_paths, sizes, FREE_PATHS, path_keys[place], slot)
            rows[path, levels], rows[path, levels + 1] = heights[place], 0
            for level in range(heights[place]):
                rows[path, level] = _node(tables, node_keys[place, level])
        path_of[place] = path


@kernel
def cut_texts(data: Any, offsets: Any, separator: Any, coarsest_first: Any, most: int, levels: Any, starts: Any, lengths: Any) -> None:
    """Write down which bytes of each text are published at its level; none where the level is below 0."""
    cuts = np.empty((most, 2), np.int64)
    for place in range(len(levels)):
        starts[place], lengths[place] = 0, 0
        if levels[place] >= 0:
            _cut(data, offsets[place], offsets[place + 1], separator, coarsest_first, cuts)
            starts[place] = cuts[levels[place], 0]
            lengths[place] = cuts[levels[place], 1] - cuts[levels[place], 0]


@kernel
def place_keys(keys: Any, ids: Any, slots: Any) -> None:
    """Put numbers into a larger table."""
    mask = len(slots) - 1
    for place in range(len(ids)):
        slot = np.int64(keys[ids[place], 0] & np.uint64(mask))
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = ids[place]


@inner_kernel
def _node(tables: Any, digest: Any) -> Any:
    """Return the number of a node, which one path more goes through."""
    slots, keys, rows, free, sizes = tables.node_slots, tables.node_keys, tables.nodes, tables.free_nodes, tables.sizes
    node, slot = _found(slots, keys, digest)
    if node < 0:
        node = _new(slots, keys, free, sizes, FREE_NODES, digest, slot)
        rows[node, 0], rows[node, 1], rows[node, 2], rows[node, 3], rows[node, 4] = 0, 0, 0, -1, 0
    rows[node, 2] += 1
    return node


@inner_kernel
def _found(slots: Any, keys: Any, digest: Any) -> Any:
    """Return who has a digest, and their slot; -1 and a free slot where nobody does."""
    mask = len(slots) - 1
    slot = np.int64(digest[0] & np.uint64(mask))
    while slots[slot] >= 0:
        known = slots[slot]
        if keys[known, 0] == digest[0] and keys[known, 1] == digest[1]:
            return np.int64(known), slot
        slot = (slot + 1) & mask
    return np.int64(-1), slot


@inner_kernel
def _new(slots: Any, keys: Any, free: Any, sizes: Any, which: int, digest: Any, slot: Any) -> Any:
    sizes[which] -= 1
    number = np.int64(free[sizes[which]])
    keys[number, 0], keys[number, 1] = digest[0], digest[1]
    slots[slot] = number
    return number


@inner_kernel
def _cut(data: Any, start: Any, end: Any, separator: Any, coarsest_first: Any, cuts: Any) -> Any:
    """Write down where the part of each level begins and ends, the finest first, and return how many there are.

    A path of more parts than levels has its finest categories left out, not its widest.
    """
    most, width, parts = len(cuts), len(separator), 1
    place = start if coarsest_first else end - width
    # the widest categories are found first, and stand at the back
    while parts < most and place >= start and place + width <= end:
        if _is_at(data, place, separator):
            first, last = (start, place) if coarsest_first else (place + width, end)
            # what begins with a separator has no name above it
            if first < last:
                cuts[most - parts, 0], cuts[most - parts, 1] = first, last
                parts += 1
            place += width if coarsest_first else -width
        else:
            place += 1 if coarsest_first else -1
    for level in range(1, parts):
        cuts[level, 0], cuts[level, 1] = cuts[most - parts + level, 0], cuts[most - parts + level, 1]
    cuts[0, 0], cuts[0, 1] = start, end
    return parts


@inner_kernel
def _is_at(data: Any, place: Any, separator: Any) -> Any:
    step = 0
    while step < len(separator) and data[place + step] == separator[step]:
        step += 1
    return step == len(separator)


@inner_kernel
def _put(data: Any, place: Any, number: Any) -> None:
    rest = np.uint64(number)
    for step in range(8):
        data[place + step] = np.uint8(rest & np.uint64(255))
        rest >>= np.uint64(8)


@inner_kernel
def _digest(data: Any, start: Any, end: Any, secret: Any, digest: Any) -> None:
    """SipHash-2-4, 128 bits."""
    v0 = secret[0] ^ np.uint64(0x736F6D6570736575)
    v1 = secret[1] ^ np.uint64(0x646F72616E646F6D) ^ np.uint64(0xEE)
    v2 = secret[0] ^ np.uint64(0x6C7967656E657261)
    v3 = secret[1] ^ np.uint64(0x7465646279746573)
    whole = start + (end - start) // 8 * 8
    for place in range(start, whole, 8):
        word = word_at(data, place)
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
    word = np.uint64(end - start) << np.uint64(56)
    for place in range(whole, end):
        word |= np.uint64(data[place]) << np.uint64(8 * (place - whole))
    v3 ^= word
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0 ^= word
    v2 ^= np.uint64(0xEE)
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    digest[0] = v0 ^ v1 ^ v2 ^ v3
    v1 ^= np.uint64(0xDD)
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    digest[1] = v0 ^ v1 ^ v2 ^ v3


@inner_kernel
def _round(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    v0 += v1
    v1 = (v1 << np.uint64(13)) | (v1 >> np.uint64(51))
    v1 ^= v0
    v0 = (v0 << np.uint64(32)) | (v0 >> np.uint64(32))
    v2 += v3
    v3 = (v3 << np.uint64(16)) | (v3 >> np.uint64(48))
    v3 ^= v2
    v0 += v3
    v3 = (v3 << np.uint64(21)) | (v3 >> np.uint64(43))
    v3 ^= v0
    v2 += v1
    v1 = (v1 << np.uint64(17)) | (v1 >> np.uint64(47))
    v1 ^= v2
    v2 = (v2 << np.uint64(32)) | (v2 >> np.uint64(32))
    return v0, v1, v2, v3
