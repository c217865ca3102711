"""Under which names people were published last: what a row that is made up in somebody's name is published under."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_FEW = 1024


@dataclass(frozen=True, eq=False)
class Names:
    """Names by person, in layers of which later ones hide earlier ones; each is less than half as large as the one before it.

    So a further one costs little, and what was there before stays as it was.

    >>> names = Names().later({1: "a", 2: "b", 3: "c"}).later({2: "d"})
    >>> names.of(2), names.of(3), names.of(4), len(names.layers)
    ('d', 'c', None, 2)
    """

    layers: tuple[Mapping[int, Any], ...] = ()
    enough: int = _FEW
    """From how many names on it is looked who is gone."""

    def of(self, person: int) -> Any:
        """Return the name of a person, None where there is none."""
        return next((layer[person] for layer in reversed(self.layers) if person in layer), None)

    def later(self, further: Mapping[int, Any]) -> Names:
        """Return the names with further ones, which hide what they have in common."""
        layers = [*self.layers, further] if further else [*self.layers]
        while len(layers) > 1 and 2 * len(layers[-1]) > len(layers[-2]):
            layers[-2:] = [{**layers[-2], **layers[-1]}]
        return Names(tuple(layers), self.enough)

    def without_the_gone(self, living: Callable[[], NDArray[Any]]) -> Names:
        """Return the names of those who are not gone, where there are so many that it is worth to ask."""
        if sum(map(len, self.layers)) <= self.enough:
            return self
        kept = self.as_mapping(living())
        return Names((kept,), max(_FEW, 2 * len(kept)))

    def as_mapping(self, living: NDArray[Any]) -> dict[int, Any]:
        """Return the names of some people in one layer."""
        wanted = set(living.tolist())
        return {person: name for layer in self.layers for person, name in layer.items() if person in wanted}


def names_at(before: Names, people: NDArray[np.int64], names: pa.Array, asked: NDArray[np.int64], places: NDArray[np.int64]) -> list[Any]:
    """Return under which name each who is ``asked`` for was published last, up to a place among further records: nothing hangs on what comes later.

    >>> before, names = Names().later({1: "a", 2: "b"}), pa.array(["A", "c", "AA"])
    >>> names_at(before, np.array([1, 3, 1]), names, np.array([1, 1, 2, 1, 3]), np.array([0, 1, 1, 2, 1]))
    ['A', 'A', 'b', 'AA', 'c']
    """
    found = [before.of(person) for person in asked.tolist()]
    here = np.flatnonzero(np.isin(people, asked))
    if not len(here):
        return found
    persons, numbers = np.unique(asked, return_inverse=True)
    # by person, and of one person in the order of the records
    came = np.sort(np.searchsorted(persons, people[here]) * len(people) + here)
    latest = np.searchsorted(came, numbers * len(people) + places, side="right") - 1
    is_here = (latest >= 0) & (came[latest] // len(people) == numbers)
    for place, name in zip(np.flatnonzero(is_here).tolist(), names.take(pa.array(came[latest[is_here]] % len(people))).to_pylist(), strict=True):
        found[place] = name
    return found
