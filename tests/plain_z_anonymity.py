"""z-anonymity in plain Python, line by line from the pseudocode, and the rest count as its definition says: slow, and easy to believe.

An attribute is known by its whole path, so that two categories of one name in different places are two. Times are in order in algorithms 1 to 5.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Tuple = tuple[int, int, tuple[str, ...]]
"""When, who, and the attribute with its categories, the finest first."""
Output = list[tuple[int, str]]
"""What leaves because of one record: in whose name, and what."""


def paths(text: str, separator: str = ".") -> tuple[str, ...]:
    """Return a path and what is above it, the finest first."""
    parts = text.split(separator)
    return tuple(separator.join(parts[:number]) for number in range(len(parts), 0, -1))


def algorithm_1(stream: Iterable[Tuple], z: int, window: int) -> Iterator[Output]:
    """Plain z-anonymity: a set of users, a list of the least recently used and a counter for each attribute."""
    users: dict[str, set[int]] = {}
    recent: dict[str, deque[tuple[int, int]]] = {}
    count: dict[str, int] = {}
    for t, u, (a, *_) in stream:
        if a not in users:
            users[a], count[a], recent[a] = {u}, 1, deque([(t, u)])
        else:
            if u not in users[a]:
                users[a].add(u)
                count[a] += 1
            else:
                recent[a] = deque(pair for pair in recent[a] if pair[1] != u)
            recent[a].append((t, u))
            while recent[a] and recent[a][0][0] < t - window:
                _, gone = recent[a].popleft()
                users[a].discard(gone)
                count[a] -= 1
        yield [(u, a)] if count[a] >= z else []


def algorithm_2(stream: Iterable[Tuple], z: int, window: int) -> Iterator[Output]:
    """With generalisation: one ordered dictionary of users for each attribute and category."""
    held: dict[str, OrderedDict[int, int]] = {}
    for t, u, s in stream:
        _add(held, t, u, s, window)
        yield next(([(u, a)] for a in s if len(held[a]) >= z), [])


def algorithm_5(stream: Iterable[Tuple], z: int, window: int, most: int, generalise: bool) -> Iterator[Output]:
    """With noise, and with generalisation where noise does not help."""
    held: dict[str, OrderedDict[int, int]] = {}
    for t, u, s in stream:
        _add(held, t, u, s, window)
        if len(held[s[0]]) >= z:
            yield [(u, s[0])]
            continue
        fake_users: list[int] = []
        diff = z - len(held[s[0]])
        if diff <= most and len(s) > 1:
            for other in reversed(held[s[1]]):
                if other != u and other not in held[s[0]] and other not in fake_users:
                    fake_users.append(other)
                    if len(fake_users) == diff:
                        break
        if fake_users and len(fake_users) == diff:
            yield [(other, s[0]) for other in [*fake_users, u]]
        elif generalise:
            yield next(([(u, a)] for a in s if len(held[a]) >= z), [])
        else:
            yield []


def _add(held: dict[str, OrderedDict[int, int]], t: int, u: int, s: Sequence[str], window: int) -> None:
    for a in s:
        users = held.setdefault(a, OrderedDict())
        users[u] = t
        users.move_to_end(u)
        while users and next(iter(users.values())) < t - window:
            users.popitem(last=False)


def rest(stream: Iterable[Tuple], z: int, window: int, generalise: bool = True) -> Iterator[tuple[int, str] | str | None]:
    """Yield what leaves, ``late``, or nothing. Times may jump back.

    A record counts for its attribute, and for a category as long as nothing finer of its path has been published since it came, itself included.
    """
    # when, who, the path, and on how many of its levels the record counts
    seen: list[list[Any]] = []
    newest = None
    for t, u, s in stream:
        newest = t if newest is None else max(newest, t)
        if t < newest - window:
            yield "late"
            continue
        seen = [record for record in seen if record[0] >= newest - window]
        released = None
        for level, a in enumerate(s if generalise else s[:1]):
            others = {who for _, who, path, reach in seen if a in path[:reach]}
            if len(others | {u}) >= z:
                released = level
                break
        seen.append([t, u, s, len(s) if released is None else released + 1])
        if released is not None:
            for record in seen:
                if s[released] in record[2]:
                    record[3] = min(record[3], record[2].index(s[released]) + 1)
        yield None if released is None else (u, s[released])
