"""Which columns of the policy the first records of JSON lines name: one that none of them has was probably mistyped."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.core.json_records import NotARecordError, record
from sfumato.engine.columns import refuse_absent

FIRST = 1_000
"""Of so many records the first are."""
_MOST_NAMES = 1_000


class NamedFields:
    """Looks at the first records of a stream until each of some columns was named; ``settled`` says that others have looked before.

    A record may leave columns out, which is no mistake while another has them. Later records are not looked at: what is rare there is no mistake.
    """

    def __init__(self, columns: Iterable[str], separator: str, settled: bool) -> None:
        self._absent: dict[str, None] = {} if settled else dict.fromkeys(columns)
        self._separator, self._known, self._others = separator, frozenset(self._absent), dict[str, None]()
        self._records = 0

    @property
    def absent(self) -> tuple[str, ...]:
        """The columns that no record has named so far; none before the first record."""
        return tuple(self._absent) if self._records else ()

    def look(self, block: bytes) -> None:
        """Look at whole lines that have come; refuse columns that none of the first records has."""
        if not self._absent or self._records >= FIRST:
            return
        for line in block.split(b"\n"):
            try:
                self._take(record(line, self._separator))
            except (NotARecordError, UnicodeDecodeError):
                continue
            if not self._absent:
                return
            if self._records == FIRST:
                self.refuse_absent()

    def refuse_absent(self) -> None:
        """Refuse columns that no record has named, where there were records."""
        if self.absent:
            refuse_absent(self.absent, self._others, self._records)

    def _take(self, fields: Iterable[str]) -> None:
        self._records += 1
        for name in fields:
            self._absent.pop(name, None)
            if name not in self._known and len(self._others) < _MOST_NAMES:
                self._others[name] = None
