"""Sensitive values of a stream's records for the check: as promises tell them apart, and as references count them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.core.hierarchy import Hierarchy
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
        self._missing = {name: set(plan.resolved.policy.columns[name].missing) for name in plan.plan.watched}
        self._ladders = {name: plan.resolved.ladders[name] for name in plan.plan.watched if name in plan.resolved.ladders}
        self._leaves = {name: [str(leaf) for leaf in ladder.leaves.to_pylist()] for name, ladder in self._ladders.items()}
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
            for text in dict.fromkeys(batch.columns[name]):
                if text is not None and text not in self._missing[name]:
                    known.setdefault(text, len(known) + 1)

    def compared(self, batch: Came, dead: NDArray[np.bool_]) -> Iterator[Compared]:
        """Yield the records that clusters are compared with: all but dead letters."""
        for place, (number, person) in enumerate(zip(batch.numbers, batch.people, strict=True)):
            if not dead[number]:
                texts = {name: batch.columns[name][place] for name in self._keys}
                values = {name: None if text in self._missing[name] else text for name, text in texts.items()}
                yield Compared(number, person, values)

    def written(self, tested: Mapping[str, Sequence[int]]) -> dict[str, dict[Hashable, int]]:
        """Return how many people had each text of what clusters were tested against; one that was not read yet has a number in its place."""
        found: dict[str, dict[Hashable, int]] = {}
        for name, counts in tested.items():
            if name in self._keys:
                texts = self._texts(name)
                found[name] = {texts[code] if code < len(texts) else code: count for code, count in enumerate(counts) if count}
        return found

    def _texts(self, name: str) -> list[str | None]:
        """Return what the codes of a column stand for."""
        return [*self._leaves[name], None] if name in self._leaves else [None, *self._known[name]]

    def of(self, record: Mapping[str, str | None]) -> dict[str, Hashable]:
        """Return the values of one record."""
        return {name: key(record[name]) for name, key in self._keys.items()}

    def references(self, tested: Mapping[str, Sequence[int]]) -> dict[str, dict[Hashable, int]]:
        """Return how many people had each value of what clusters were tested against."""
        found: dict[str, dict[Hashable, int]] = {}
        for name, counts in tested.items():
            if name not in self._keys:
                continue
            found[name] = {self._keys[name](text): count for text, count in zip(self._texts(name), counts, strict=False) if count}
        return found

    def _key(self, name: str, ordered: bool, text: str | None) -> Hashable:
        missing = text is None or text in self._missing[name]
        if not ordered:
            return None if missing else text
        place = None if missing else self._places[name].get(str(text)) if name in self._places else place_of(str(text))
        return (1, 0) if missing else (0, place if place is not None else text)


def _paths(ladder: Hierarchy) -> dict[str, list[Hashable]]:
    """Return the nodes above each leaf, without the root."""
    above = [ladder.groups(level).tolist() for level in range(1, ladder.height)]
    return {str(leaf): [(level, nodes[place]) for level, nodes in enumerate(above)] for place, leaf in enumerate(ladder.leaves.to_pylist())}
