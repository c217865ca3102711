"""The check of what clusters were compared with: the people of the latest records are counted once more, from the source.

What a release was tested against is written down beside it, and whoever can write there could let any cluster look close. It counts only where the
records say the same at some moment after the last record of the release had come.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

Values = Mapping[str, str | None]
Written = Mapping[str, Mapping[Hashable, int]]


@dataclass(frozen=True)
class Compared:
    """One record as clusters are compared with it: its number, whose it is, and its sensitive values."""

    number: int
    person: Hashable
    values: Values


class References:
    """How many people of the latest ``horizon`` records have each value; one that was ever seen counts for one at least.

    ``further`` reads on in the source, and returns whether there was anything.

    >>> ahead = deque([Compared(0, "ada", {"illness": "flu"}), Compared(1, "ben", {"illness": "gout"})])
    >>> counted = References(["illness"], 100, ahead, lambda: False)
    >>> counted.are(0, lambda: {"illness": {"flu": 1}}), counted.are(1, lambda: {"illness": {"flu": 5, "gout": 1}})
    (True, False)
    """

    def __init__(self, names: list[str], horizon: int, ahead: deque[Compared], further: Callable[[], bool]) -> None:
        self._names, self._horizon, self._ahead, self._further = names, horizon, ahead, further
        self._latest: deque[Compared] = deque()
        self._pairs: Counter[tuple[str, Hashable, str | None]] = Counter()
        self._shown: dict[str, Counter[str | None]] = {name: Counter() for name in names}
        self._written: Written = {}
        self._wrong: set[tuple[str, Hashable]] = set()

    def are(self, number: int, written: Callable[[], Written]) -> bool:
        """Return whether they are what was written down, at any moment from a record on; ``written`` is asked again when more has been read."""
        while (self._ahead and self._ahead[0].number <= number) or (not self._ahead and self._is_before(number) and self._further()):
            if self._ahead and self._ahead[0].number <= number:
                self._add(self._ahead.popleft())
        self._expect(written())
        while self._wrong:
            if not self._ahead:
                if not self._further():
                    return False
                self._expect(written())
                continue
            self._add(self._ahead.popleft())
        return True

    def _is_before(self, number: int) -> bool:
        return not self._latest or self._latest[-1].number < number

    def _expect(self, written: Written) -> None:
        self._written = written
        self._wrong = set()
        for name in self._names:
            for value in {*self._shown[name], *written.get(name, {})}:
                self._compare(name, value)

    def _add(self, record: Compared) -> None:
        """Let a record be one of the latest, in the place of the oldest; nobody counts twice for a value."""
        oldest = self._latest.popleft() if len(self._latest) == self._horizon else None
        self._latest.append(record)
        for name in self._names:
            if oldest is not None:
                self._count(name, oldest, -1)
            self._count(name, record, 1)

    def _count(self, name: str, record: Compared, step: int) -> None:
        value = record.values[name]
        before = self._pairs[name, record.person, value]
        self._pairs[name, record.person, value] += step
        after = before + step
        self._shown[name][value] += (after > 0) - (before > 0)
        if not after:
            del self._pairs[name, record.person, value]
        self._compare(name, value)

    def _compare(self, name: str, value: Hashable) -> None:
        # a value that was ever shown is in the counter, if only with nobody
        shown = max(1, self._shown[name][value]) if value in self._shown[name] else 0  # type: ignore[index]
        if shown == self._written.get(name, {}).get(value, 0):
            self._wrong.discard((name, value))
        else:
            self._wrong.add((name, value))
