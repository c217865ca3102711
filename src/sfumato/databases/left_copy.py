"""The private copy of a table that a run leaves behind when it is killed or loses its connection, by which another run can go on.

Its name says of which table, with which columns and for which release it was made, and a lock of that name that somebody works on it: a copy without
a lock is a dead run's. It is taken up where somebody asks for that, else removed by the next run.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence

from sfumato.databases.table import TableColumn, TableName

BEGINNING = "sfumato_copy_"
"""How the names of all such copies begin."""


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
