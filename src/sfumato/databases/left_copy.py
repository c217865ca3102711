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

NAME = "_[0-9a-f]{8}$"
"""How they end, as a regular expression: what is made of a copy has its name with a word behind it."""
_MADE = ("cells", "classes", "labels", "chance", "staged")


def made_of(copy: TableName) -> list[TableName]:
    """Return the names of what a run makes of a copy and nobody else may read.

    >>> [str(table) for table in made_of(TableName("a", "b"))]
    ['b.a_cells', 'b.a_classes', 'b.a_labels', 'b.a_chance', 'b.a_staged']
    """
    return [TableName(f"{copy.name}_{word}", copy.schema) for word in _MADE]


def beginning_of(source: str | None, columns: Sequence[TableColumn], target: TableName) -> str:
    """Return how the names of copies of one source with the same columns begin; ``source`` tells it from all other tables.

    >>> beginning_of("a", [], TableName("b")) == beginning_of("a", [], TableName("c"))
    False
    """
    said = json.dumps([source, [(column.name, column.called) for column in columns], str(target)])
    return f"{BEGINNING}{hashlib.sha256(said.encode()).hexdigest()[:20]}_"


def new_name(beginning: str) -> str:
    """Return a name that no other run has."""
    return beginning + secrets.token_hex(4)
