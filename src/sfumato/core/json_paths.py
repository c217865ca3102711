"""Paths into documents of JSON: ``$.phones[*].number``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Step = str | int | None
_STEP = re.compile(r"""\.(?P<name>[^.\[\]"]+)|\[(?P<number>[0-9]{1,9})\]|\[(?P<every>\*)\]|\["(?P<quoted>[^"]*)"\]""")


@dataclass(frozen=True, eq=False)
class Place:
    """Where a value stands: in an object by its name, or in a list by its number."""

    holder: Any
    step: Any

    @property
    def value(self) -> Any:
        """The value that stands there."""
        return self.holder[self.step]

    def put(self, value: Any) -> None:
        """Put another value there."""
        self.holder[self.step] = value

    def remove(self) -> None:
        """Take the value away, with its name in an object; a list keeps the places of its other elements."""
        if isinstance(self.holder, dict):
            del self.holder[self.step]
        else:
            self.holder[self.step] = None


@cache
def steps_of(path: str) -> tuple[Step, ...]:
    """Return the steps of a path, None for every element; raise a ValueError where it is none.

    >>> steps_of('$.phones[*]["a.b"][0]')
    ('phones', None, 'a.b', 0)
    """
    steps: list[Step] = []
    place = 1
    while path[:1] == "$" and place < len(path):
        found = _STEP.match(path, place)
        if found is None:
            break
        name = found["name"] if found["name"] is not None else found["quoted"]
        steps.append(None if found["every"] else int(found["number"]) if found["number"] is not None else name)
        place = found.end()
    if not steps or place < len(path):
        raise ValueError('has a path that is none: write it as in $.phones[*].number, or $["a name"][0]')
    return tuple(steps)


def leads_to(steps: Sequence[Step], place: Sequence[Step]) -> bool:
    """Return whether a path leads to some of the values at a place of documents of one type, or to all of them.

    >>> leads_to(steps_of("$.a[0].b"), steps_of("$.a[*].b")), leads_to(steps_of("$.a"), steps_of("$.a[*].b"))
    (True, False)
    """
    same = (step == there or (there is None and isinstance(step, int)) for step, there in zip(steps, place, strict=False))
    return len(steps) == len(place) and all(same)


def leads_somewhere(document: Any, steps: Sequence[Step]) -> bool:
    """Return whether a document has a path; every element of an empty list is there, and all that would be within a missing object or list.

    >>> leads_somewhere({"a": []}, steps_of("$.a[*].b")), leads_somewhere({}, steps_of("$.a[*].b"))
    (True, False)
    """
    if not steps or document is None:
        return True
    step, rest = steps[0], steps[1:]
    if step is None:
        return isinstance(document, list) and (not document or any(leads_somewhere(inner, rest) for inner in document))
    if isinstance(step, int):
        return isinstance(document, list) and step < len(document) and leads_somewhere(document[step], rest)
    return isinstance(document, dict) and step in document and leads_somewhere(document[step], rest)


def places_astray(document: Any, steps: Sequence[Step]) -> Iterator[Place]:
    """Yield the places on the way of a path where something else stands than the object or the list through which it leads.

    >>> [place.value for place in places_astray({"a": [{"b": [1]}, {"b": 2}, 3, None]}, steps_of("$.a[*].b[*]"))]
    [3, 2]
    """
    # the document itself stands nowhere: it is put into a list
    ways = ((), *(steps[:number] for number in range(1, len(steps))))
    for way, step in zip(ways, steps, strict=True):
        for place in places_of(document, way) if way else [Place([document], 0)]:
            if place.value is not None and not isinstance(place.value, dict if isinstance(step, str) else list):
                yield place


def places_of(document: Any, steps: Sequence[Step]) -> Iterator[Place]:
    """Yield the places to which a path leads; none where it does not go on.

    >>> [place.value for place in places_of({"a": [{"b": 1}, {"b": []}, {}]}, steps_of("$.a[*].b"))]
    [1, []]
    """
    step, rest = steps[0], steps[1:]
    if step is None:
        inner: Sequence[Any] = range(len(document)) if isinstance(document, list) else []
    elif isinstance(step, int):
        inner = [step] if isinstance(document, list) and step < len(document) else []
    else:
        inner = [step] if isinstance(document, dict) and step in document else []
    for each in inner:
        place = Place(document, each)
        if rest:
            yield from places_of(place.value, rest)
        else:
            yield place
