"""Values that a type allows and nobody could publish, such as days of zeros, in columns of which a run inside a database reads nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.databases.connection import Connection
from sfumato.databases.dialects import Engine
from sfumato.databases.entries import unreadable
from sfumato.databases.inside import Layout


def refuse_unpublishable(connection: Connection, engine: Engine, rows: str, layout: Layout, names: Mapping[str, str]) -> None:
    """Read one such value of each column of a copy that is published as it is, where there is one: who reads it refuses it, by the column's name."""
    for column in layout.printed:
        name = names[column.name]
        condition = unreadable(engine, column, name)
        if condition is not None:
            list(connection.select(f"SELECT {connection.selected(column, name)} FROM {rows} WHERE {condition} LIMIT 1", [column]))
