"""What each level of an attribute is called, worked out record by record in the plainest way: for checks, not for speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from sfumato.core.durations import microseconds
from sfumato.core.events import Events
from sfumato.core.hierarchy import ROOT, Hierarchy
from sfumato.measures.event_replay import Asked, EventReplay, Label, Seen

_DEGREE = 111.195


def replay_of(settings: Any, names: bool = True) -> EventReplay:
    """Return the check of a stream under the settings of ``z_anonymity``; ``names`` says whether it is known whose made-up records are."""
    diffmax = 0 if settings.noise is None else settings.noise.diffmax
    return EventReplay(Asked(microseconds(settings.window), settings.counts_rest, diffmax, not settings.original, names))


def seen(events: Events, settings: Any, ladder: Hierarchy | None = None) -> list[Seen]:
    """Return records with what each level of their attribute is called. Where only attributes are published, categories are still known."""
    given: Any = events.attributes
    values = given.tolist() if hasattr(given, "tolist") else given.to_pylist()
    labels = labels_of(settings, ladder)
    opted_out = [False] * len(events) if events.opted_out is None else events.opted_out.tolist()
    columns = (events.numbers.tolist(), events.times.tolist(), events.people.tolist(), values, opted_out)
    return [Seen(number, time, person, labels(value), out) for number, time, person, value, out in zip(*columns, strict=True)]


def labels_of(settings: Any, ladder: Hierarchy | None = None) -> Callable[[Any], Sequence[Label]]:
    """Return what says of an attribute, a text, a leaf code or a place, what each of its levels is called."""
    if settings.path is not None:
        return partial(path_labels, separator=settings.separator, coarsest_first=settings.coarsest == "first", levels=settings.levels)
    if settings.taxonomy is not None:
        assert ladder is not None  # noqa: S101 - a column with a taxonomy comes with its ladder
        return _Ladder(ladder)
    return partial(cell_labels, sizes=settings.cells)


def path_labels(text: str | None, separator: str = ".", coarsest_first: bool = True, levels: int = 8) -> list[Label]:
    """Return a path and its categories, the finest first.

    >>> path_labels("a.b.c"), path_labels("www.example.org", coarsest_first=False, levels=2)
    ([('a.b.c',), ('a.b',), ('a',)], [('www.example.org',), ('org',)])
    """
    if not text:
        return []
    parts = text.split(separator)
    categories = []
    for number in range(1, len(parts)):
        category = separator.join(parts[:number] if coarsest_first else parts[len(parts) - number :])
        if category:
            categories.append((category,))
    return [(text,), *reversed(categories[: levels - 1])]


def cell_labels(place: Sequence[float], sizes: Sequence[float]) -> list[Label]:
    """Return the edges of the cells in which a latitude and a longitude lie, the smallest cell first.

    >>> cell_labels((45.07, 7.69), [10.0])
    [('[44.98808, 45.07802]', '[7.63790, 7.76521]')]
    """
    latitude, longitude = place
    if not (abs(latitude) <= 90 and abs(longitude) <= 180):
        return []
    return [tuple(_edges(latitude, longitude, size)) for size in sorted(sizes)]


def _edges(latitude: float, longitude: float, size: float) -> Iterator[str]:
    height = size / _DEGREE
    rows = math.ceil(180 / height)
    row = min(math.floor((latitude + 90) / height), rows - 1)
    yield _interval(row * height - 90, min((row + 1) * height - 90, 90))
    around = max(1, math.floor(360 * math.cos(math.radians(min((row + 0.5) * height - 90, 90))) / height))
    column = min(math.floor((longitude + 180) % 360 / 360 * around), around - 1)
    width = 360 / around
    yield _interval(column * width - 180, (column + 1) * width - 180)


def _interval(low: float, high: float) -> str:
    south, north = math.floor(round(low * 100_000, 4)) / 100_000, math.ceil(round(high * 100_000, 4)) / 100_000
    return f"[{south + 0.0:.5f}, {north + 0.0:.5f}]"


class _Ladder:
    """The labels of each leaf; one that stands on several rungs is one."""

    def __init__(self, ladder: Hierarchy) -> None:
        rungs = [labels.to_pylist() for labels in ladder.ancestors()]
        spans = [[(int(lows[node]), int(highs[node])) for node in ladder.groups(level)] for level, (lows, highs) in _nodes(ladder)]
        self._labels: list[list[Label]] = []
        for leaf in range(ladder.size):
            kept = [level for level in range(len(rungs)) if level == 0 or spans[level][leaf] != spans[level - 1][leaf]]
            self._labels.append([(rungs[level][leaf],) for level in kept if level == 0 or level < ladder.height or ladder.root != ROOT])

    def __call__(self, leaf: int) -> list[Label]:
        return self._labels[leaf] if 0 <= leaf < len(self._labels) else []


def _nodes(ladder: Hierarchy) -> Iterator[tuple[int, Any]]:
    for level in range(ladder.height + 1):
        yield level, ladder.nodes(level)
