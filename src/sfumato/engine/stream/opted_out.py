"""Who is listed as having opted out, and from which record of the stream on that was known.

A list may be changed between two runs, and what was released before must come out the same when it is taken again: so it is written down, before a
record is taken, who stood in the list and since when. People are known here by their numbers under the stream's own secret, never by name. Who has
once been in the list has opted out for ever, as with the column that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.stream.kept_state import KeptState
from sfumato.engine.stream.run_journal import Journal


class OptedOut:
    """People of a list by number, each with the record from which on nothing may be made up in their name.

    >>> listed = OptedOut([(0, [7])], since=100)
    >>> listed.learn(np.array([7, 8]))
    >>> listed.between(-1, 99).tolist(), listed.between(99, 100).tolist(), listed.since([7, 8, 9])
    ([7], [8], [0, 100, None])
    """

    def __init__(self, told: Sequence[tuple[int, Sequence[int]]] | None = None, since: int = 0, tell: Callable[[Any], None] | None = None) -> None:
        self._told = None if told is None else [(first, list(people)) for first, people in told]
        # what was there before anything was written down was known from the beginning
        self._from, self._tell = 0 if told is None else since, tell
        self._since = {person: first for first, people in self._told or [] for person in people}

    @classmethod
    def of(cls, journal: Journal | KeptState, view: str) -> OptedOut:
        """Return what is written down of a view. Whoever is learnt of now counts behind all that was released, or may have been seen."""
        planned = journal.planned if isinstance(journal, Journal) else None
        since = journal.records + sum(piece.records for piece in (planned.pieces if planned is not None else ()))
        name = f"opted out {view}"
        return cls(journal.told(name), since, lambda told: journal.tell(name, told))

    def learn(self, people: NDArray[np.int64]) -> None:
        """Take note of the people of the list as it is now, and write down who is new."""
        further = [person for person in dict.fromkeys(people.tolist()) if person not in self._since]
        if self._told is not None and not further:
            return
        self._told = [*(self._told or []), (self._from, further)]
        self._since |= dict.fromkeys(further, self._from)
        if self._tell is not None:
            self._tell(self._told)

    def between(self, after: int, until: int) -> NDArray[np.int64]:
        """Return the people who count from a record on that is behind one and not behind another."""
        return np.array([person for since, people in self._told or [] if after < since <= until for person in people], np.int64)

    def since(self, people: Sequence[int]) -> list[int | None]:
        """Return for each person the record from which on they have opted out, None where they are in no list."""
        return [self._since.get(person) for person in people]
