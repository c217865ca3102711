"""Boxes over the quasi-identifiers of a stream, and what is lost where one is published.

An end is a coordinate, a leaf code in a tree; a missing one is infinite and stands behind all others. ``scale`` is: for each column ordered, leaves,
levels, where its losses by two leaves begin (-1 where there are too many) and where its nodes begin; the nodes by level and leaf, and how many leaves
each has; the smallest and the largest coordinate that has been seen; how long each line is, NaN where that is what has been seen; the weights; and
the losses by two leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel

MISSING = np.inf


@inner_kernel
def column_loss(scale: Any, column: Any, low: Any, high: Any) -> Any:
    """Return what is lost in a column: the part of its line, or of the leaves beside one; all where missing ones are among others."""
    ladders, nodes, below, seen, spans, _, losses = scale
    if low == high:
        return 0.0
    if high == MISSING:
        return 1.0
    if ladders[column, 0]:
        span = spans[column]
        if np.isnan(span):
            span = seen[1, column] - seen[0, column]
        return (high - low) / span
    if ladders[column, 3] >= 0:
        return losses[ladders[column, 3] + np.int64(low) * ladders[column, 1] + np.int64(high)]
    return (below[lowest_node(ladders, nodes, column, low, high) + np.int64(low)] - 1) / (ladders[column, 1] - 1)


@inner_kernel
def lowest_node(ladders: Any, nodes: Any, column: Any, low: Any, high: Any) -> Any:
    """Return where the level begins on which two leaves are first below one node."""
    place = ladders[column, 4]
    while nodes[place + np.int64(low)] != nodes[place + np.int64(high)]:
        place += ladders[column, 1]
    return place


@inner_kernel
def loss(scale: Any, low: Any, high: Any) -> Any:
    """Return what is lost in all columns, by their weights."""
    weights = scale[5]
    total, whole = 0.0, 0.0
    for column in range(len(weights)):
        total += weights[column] * column_loss(scale, column, low[column], high[column])
        whole += weights[column]
    return total / whole if whole > 0.0 else 0.0


@inner_kernel
def loss_with(scale: Any, low: Any, high: Any, point: Any) -> Any:
    """Return what is lost in all columns where a box takes in a point."""
    weights = scale[5]
    total, whole = 0.0, 0.0
    for column in range(len(weights)):
        total += weights[column] * column_loss(scale, column, min(low[column], point[column]), max(high[column], point[column]))
        whole += weights[column]
    return total / whole if whole > 0.0 else 0.0


@inner_kernel
def enlargement(scale: Any, low: Any, high: Any, own_low: Any, own_high: Any, bound: Any) -> Any:
    """Return how much more is lost where a box takes in another; where that is more than a bound, it may be any number above it."""
    weights = scale[5]
    total = 0.0
    for column in range(len(weights)):
        if own_low[column] < low[column] or own_high[column] > high[column]:
            more = column_loss(scale, column, min(low[column], own_low[column]), max(high[column], own_high[column]))
            total += weights[column] * (more - column_loss(scale, column, low[column], high[column]))
            if total > bound:
                return total
    return total


@inner_kernel
def enlargements(
    ladders: Any,
    nodes: Any,
    below: Any,
    seen: Any,
    spans: Any,
    weights: Any,
    losses: Any,
    lows: Any,
    highs: Any,
    order: Any,
    number: Any,
    points: Any,
    slot: Any,
    latest: Any,
    more: Any,
) -> Any:
    """Find how much more is lost where each of several boxes takes in a point, as ``enlargement`` does; return the least.

    All in one function, for it is called for every record of a stream. ``latest`` is a box that is likely to be the nearest, or -1.
    """
    least = np.inf
    for place in range(-1, number):
        if place < 0 and latest < 0:
            continue
        box = np.int64(latest) if place < 0 else np.int64(order[place])
        total = 0.0
        for column in range(len(weights)):
            low, high, own = lows[box, column], highs[box, column], points[slot, column]
            if low <= own <= high:
                continue
            first, last = min(low, own), max(high, own)
            before, after = 0.0, 1.0
            if ladders[column, 0]:
                span = spans[column]
                if np.isnan(span):
                    span = seen[1, column] - seen[0, column]
                if high == MISSING:
                    before = 1.0 if low != MISSING else 0.0
                else:
                    before = (high - low) / span if low != high else 0.0
                if last != MISSING:
                    after = (last - first) / span
            else:
                leaves = ladders[column, 1]
                if high == MISSING:
                    before = 1.0 if low != MISSING else 0.0
                elif low != high:
                    if ladders[column, 3] >= 0:
                        before = losses[ladders[column, 3] + np.int64(low) * leaves + np.int64(high)]
                    else:
                        before = (below[lowest_node(ladders, nodes, column, low, high) + np.int64(low)] - 1) / (leaves - 1)
                if last != MISSING:
                    if ladders[column, 3] >= 0:
                        after = losses[ladders[column, 3] + np.int64(first) * leaves + np.int64(last)]
                    else:
                        after = (below[lowest_node(ladders, nodes, column, first, last) + np.int64(first)] - 1) / (leaves - 1)
            total += weights[column] * (after - before)
            if total > least:
                break
        least = min(least, total)
        if place >= 0:
            more[place] = total
    return least


@inner_kernel
def distance(scale: Any, one: Any, other: Any, bound: Any) -> Any:
    """Return what is lost where two points are published as one; where that is more than a bound, it may be any number above it."""
    weights = scale[5]
    total = 0.0
    for column in range(len(weights)):
        if one[column] != other[column]:
            total += weights[column] * column_loss(scale, column, min(one[column], other[column]), max(one[column], other[column]))
            if total > bound:
                return total
    return total


@inner_kernel
def holds_point(scale: Any, low: Any, high: Any, point: Any) -> Any:
    """Return whether what a box publishes holds a point as well."""
    ladders, nodes, _, _, _, weights, _ = scale
    for column in range(len(weights)):
        own = point[column]
        if low[column] == MISSING:
            if own != MISSING:
                return False
        elif high[column] != MISSING and not low[column] <= own <= high[column]:
            if ladders[column, 0] or own == MISSING:
                return False
            place = lowest_node(ladders, nodes, column, low[column], high[column])
            if nodes[place + np.int64(low[column])] != nodes[place + np.int64(own)]:
                return False
    return True
