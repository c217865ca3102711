"""Retracing: a search is put back to where it was before a push that raised, without a copy of all it knows before every push.

Kept are an earlier state of it and the steps since, which are taken again from there. The state is kept anew when there are as many records in the
steps as in the state, so that keeping it costs the same for each record, however long the window is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.chance import derived_chance, random_bytes

_FEWEST_RECORDS = 1 << 17
_BYTES_OF_A_RECORD = 24


class Retraced:
    """A session of a search, which can be put back by some steps. Each step has chance of its own, so that it comes out as it did."""

    def __init__(self, start: Callable[[], Any], state: bytes | None = None) -> None:
        self._start, self._kept, self._secret = start, state, random_bytes(32)
        self._taken: list[_Step] = []
        self._records = 0
        self._search: Any = None

    @property
    def search(self) -> Any:
        """The search as it is now."""
        if self._search is None:
            with derived_chance(self._secret, "start"):
                search = self._start()
            if self._kept is not None:
                search.restore(self._kept)
            for step in self._taken:
                step.taken(search)
            self._search = search
        return self._search

    @property
    def steps(self) -> int:
        """How many steps have been taken since its state was kept."""
        return len(self._taken)

    def push(self, records: Any) -> Any:
        """Let the search decide of further records; these must not be changed afterwards."""
        self._records += len(records)
        return self._step(lambda search: search.push(records))

    def opt_out(self, people: NDArray[np.int64]) -> None:
        """Let nothing be made up in the name of some people. That takes no chance: what follows is the same whenever it was done."""
        self._step(lambda search: search.opt_out(people), bytes(32))

    def flush(self) -> Any:
        """Let the search end what waits in it."""
        return self._step(lambda search: search.flush())

    def settle(self) -> None:
        """Keep the state anew where that is due. What was done before can be put back no more."""
        if self._records >= max(_FEWEST_RECORDS, len(self._kept or b"") // _BYTES_OF_A_RECORD):
            self._kept, self._taken, self._records = self.search.snapshot(), [], 0

    def put_back(self, steps: int) -> None:
        """Be again as after the first of the steps."""
        if steps != len(self._taken):
            self._taken, self._search = self._taken[:steps], None

    def _step(self, what: Callable[[Any], Any], secret: bytes | None = None) -> Any:
        search, step = self.search, _Step(what, random_bytes(32) if secret is None else secret)
        # one that stops half way is to be put back too
        self._taken.append(step)
        return step.taken(search)


@dataclass(frozen=True, eq=False)
class _Step:
    what: Callable[[Any], Any]
    secret: bytes

    def taken(self, search: Any) -> Any:
        with derived_chance(self.secret, "step"):
            return self.what(search)
