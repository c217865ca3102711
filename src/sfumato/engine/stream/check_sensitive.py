"""Sensitive values of a stream's records for the check: as promises tell them apart, and as references count them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.core.hierarchy import Hierarchy
from sfumato.core.told_apart import told_apart
from sfumato.engine.sensitive import measured_by_ladder
from sfumato.engine.stream.check_references import Compared
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.read_again import Came
from sfumato.measures.covering import place_of


class Sensitive:
    """The sensitive values of records as promises tell them apart, and how references that were written down are read."""

    def __init__(self, plan: StreamPlan) -> None:
        self._plan = plan
        self.read = 0
        ordered = {name for promise in plan.resolved.promises for name, scale in promise.scales.items() if scale == "ordered"}
        self._ladders = {name: plan.resolved.ladders[name] for name in measured_by_ladder(plan.plan) if name in plan.resolved.ladders}
        self._leaves = {name: _leaves(ladder) for name, ladder in self._ladders.items()}
        self._places = {name: {leaf: place for place, leaf in enumerate(leaves)} for name, leaves in self._leaves.items()}
        self._keys: dict[str, Callable[[str | None], Hashable]] = {name: partial(self._key, name, name in ordered) for name in plan.plan.watched}
        self._known: dict[str, dict[str, int]] = {name: {} for name in plan.plan.watched}
        self.paths = {name: {self._keys[name](leaf): path for leaf, path in _paths(ladder).items()} for name, ladder in self._ladders.items()}

    def learn(self, batch: Came) -> None:
        """Take note of values in the order in which they came first, by which references count them."""
        self.read = max(self.read, batch.numbers[-1] + 1 if batch.numbers else 0)
        if self._plan.way != "clusters":
            return
        for name, known in self._known.items():
            for text in dict.fromkeys(batch.told.get(name, ())):
                if text is not None:
                    known.setdefault(text, len(known) + 1)

    def compared(self, batch: Came, dead: NDArray[np.bool_]) -> Iterator[Compared]:
        """Yield the records that clusters are compared with: all but dead letters."""
        for place, (number, person) in enumerate(zip(batch.numbers, batch.people, strict=True)):
            if not dead[number]:
                yield Compared(number, person, {name: batch.told[name][place] for name in self._keys})

    def written(self, tested: Mapping[str, Sequence[int]]) -> dict[str, dict[Hashable, int]]:
        """Return how many people had each value of what clusters were tested against; one that was not read yet has a number in its place."""
        found: dict[str, dict[Hashable, int]] = {}
        for name, counts in tested.items():
            if name in self._keys:
                texts = self._texts(name)
                found[name] = {texts[code] if code < len(texts) else code: count for code, count in enumerate(counts) if count}
        return found

    def _texts(self, name: str) -> list[str | None]:
        """Return what the codes of a column stand for."""
        return [*self._leaves[name], None] if name in self._leaves else [None, *self._known[name]]

    def of(self, told: Mapping[str, str | None]) -> dict[str, Hashable]:
        """Return the values of one record, of the texts that tell them apart."""
        return {name: key(told[name]) for name, key in self._keys.items()}

    def references(self, tested: Mapping[str, Sequence[int]]) -> dict[str, dict[Hashable, int]]:
        """Return how many people had each value of what clusters were tested against."""
        found: dict[str, dict[Hashable, int]] = {}
        for name, counts in tested.items():
            # from nobody there is no distance
            if name not in self._keys or not any(counts):
                continue
            found[name] = {self._keys[name](text): count for text, count in zip(self._texts(name), counts, strict=False) if count}
        return found

    def _key(self, name: str, ordered: bool, text: str | None) -> Hashable:
        if not ordered:
            return text
        if text is None:
            return (1, 0)
        place = self._places[name].get(text) if name in self._places else place_of(text)
        return (0, place if place is not None else text)


def _leaves(ladder: Hierarchy) -> list[str]:
    return [str(leaf) for leaf in told_apart(ladder.leaves, (), ladder.kind).to_pylist()]


def _paths(ladder: Hierarchy) -> dict[str, list[Hashable]]:
    """Return the nodes above each leaf, without the root."""
    above = [ladder.groups(level).tolist() for level in range(1, ladder.height)]
    return {leaf: [(level, nodes[place]) for level, nodes in enumerate(above)] for place, leaf in enumerate(_leaves(ladder))}
