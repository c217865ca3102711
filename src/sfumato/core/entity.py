"""A place in a text that holds something of a kind."""

from __future__ import annotations

from typing import NamedTuple


class Entity(NamedTuple):
    """Where an entity stands in a text, and of which kind it is."""

    begin: int
    end: int
    kind: str
