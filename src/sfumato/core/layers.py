"""Entities of several finders in one text: all that anyone has found, none across another."""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Iterable, Iterator, Sequence

from sfumato.core.entity import Entity


def layered(text: str, layers: Iterable[Sequence[Entity]]) -> list[Entity]:
    """Return the entities of all layers in their order; of one that overlaps those before it what they leave, where that is a word.

    >>> found = layered("Ana 0421 123456", [[Entity(4, 15, "phone")], [Entity(0, 8, "person"), Entity(4, 8, "name")]])
    >>> [(entity.kind, entity.begin, entity.end) for entity in found]
    [('person', 0, 3), ('phone', 4, 15)]
    """
    taken: list[Entity] = []
    for layer in layers:
        for entity in layer:
            for part in list(_left(text, entity, taken)):
                insort(taken, part)
    return taken


def overlapping(entity: Entity, taken: Sequence[Entity]) -> Iterator[Entity]:
    """Yield those of others that overlap an entity; they stand in their order and do not overlap each other."""
    # only the one before may reach into this one
    for place in range(max(0, bisect(taken, entity) - 1), len(taken)):
        other = taken[place]
        if other.begin >= entity.end:
            return
        if other.end > entity.begin:
            yield other


def _left(text: str, entity: Entity, taken: Sequence[Entity]) -> Iterator[Entity]:
    """Yield the parts of an entity that others leave, without what stands between them and the others; a part without a letter or digit is none."""
    begin, end = entity.begin, entity.end
    for other in overlapping(entity, taken):
        yield from _part(text, begin, other.begin, entity)
        begin = other.end
    yield from _part(text, begin, end, entity)


def _part(text: str, begin: int, end: int, entity: Entity) -> Iterator[Entity]:
    if not any(character.isalnum() for character in text[begin:end]):
        return
    while begin > entity.begin and not text[begin].isalnum():
        begin += 1
    while end < entity.end and not text[end - 1].isalnum():
        end -= 1
    yield Entity(begin, end, entity.kind)
