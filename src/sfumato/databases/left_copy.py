"""The private copy of a table that a run leaves behind when it is killed or loses its connection, by which another run can go on.

Its name says of which table, with which columns and for which release it was made, and a lock of that name that somebody works on it: a copy without
a lock is a dead run's. It is taken up where somebody asks for that, else removed by the next run. What is written beside it has a seal under the key
of the installation: whoever could make a table of such a name can make no copy that is taken up.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.core.places import installation_key
from sfumato.databases.table import TableColumn, TableName

BEGINNING = "sfumato_copy_"
"""How the names of all such copies begin."""

_MIXED = "mixed"
_MARK = re.compile(rf"([0-9]{{1,19}}) ([0-9a-f]{{32}})( {_MIXED})?")
_SEALED_MARK = re.compile(f"{_MARK.pattern} [0-9a-f]{{64}}")


@dataclass(frozen=True)
class Mark:
    """What has to be known of a copy to go on with it: the seed of its keys, what stands there for a missing text, whether its rows are mixed."""

    seed: int
    missing: str
    is_mixed: bool

    def beside(self, table: TableName) -> str:
        """Return what is written beside a copy."""
        return sealed(table, f"{self.seed} {self.missing}{f' {_MIXED}' if self.is_mixed else ''}")

    @classmethod
    def of(cls, table: TableName, comment: str) -> Mark | None:
        """Return what this installation has written beside a copy; None where somebody else has."""
        words = unsealed(table, comment)
        found = _MARK.fullmatch(words) if words is not None else None
        return None if found is None else cls(int(found[1]), found[2], found[3] is not None)

    @staticmethod
    def is_one(comment: str) -> bool:
        """Return whether some installation may have written this: what it has left is removed by all of them.

        >>> Mark.is_one("what I keep"), Mark.is_one(f"7 {'0' * 32} mixed {'f' * 64}")
        (False, True)
        """
        return _SEALED_MARK.fullmatch(comment) is not None


def sealed(table: TableName, words: str) -> str:
    """Return what is written beside a copy, with a seal that no other installation can make."""
    return f"{words} {_seal(table, words)}"


def unsealed(table: TableName, comment: str) -> str | None:
    """Return what stands before the seal; None where it is not the seal of this installation for this copy."""
    words, _, seal = comment.rpartition(" ")
    return words if hmac.compare_digest(_seal(table, words).encode(), seal.encode()) else None


def _seal(table: TableName, words: str) -> str:
    told = json.dumps(["sfumato copy", table.schema, table.name, words])
    return hmac.new(installation_key(), told.encode(), hashlib.sha256).hexdigest()


def owned_by(user: str, schema: str | None) -> str:
    """Return how the names of all copies begin that a user has made for releases in one schema, where the server does not say who made a table.

    >>> owned_by("ada@host", "research") == owned_by("ben@host", "research")
    False
    """
    return f"{BEGINNING}{_told([user, schema])[:8]}_"


def beginning_of(source: str | None, columns: Sequence[TableColumn], target: TableName, owned: str = BEGINNING) -> str:
    """Return how the names of copies of one source with the same columns begin; ``source`` tells it from all other tables.

    >>> beginning_of("a", [], TableName("b")) == beginning_of("a", [], TableName("c"))
    False
    """
    return f"{owned}{_told([source, [(column.name, column.called) for column in columns], str(target)])[:20]}_"


def _told(facts: list[object]) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def new_name(beginning: str) -> str:
    """Return a name that no other run has."""
    return beginning + secrets.token_hex(4)
