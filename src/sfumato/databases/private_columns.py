"""How many columns the private tables of work inside a database have: beside those of a policy each has some of its own."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.databases.address import Kind

MOST: Mapping[Kind, int] = {"postgresql": 1600}
"""The most columns of a table on a server whose private tables could need more."""

_OF_A_COPY, _OF_NUMBERED, _OF_CELLS, _OF_CLASSES = 1, 2, 3, 1


def private_columns(counted: int, copied: int, shown: int, numbered: bool) -> int:
    """Return the columns of the widest private table.

    A copy has a key beside the copied columns, and a place by chance and a number too where rows are numbered; cells have a key, rows and a
    fingerprint beside the counted ones; a class has a number beside the texts that are shown of it.

    >>> private_columns(counted=1, copied=1599, shown=1, numbered=False), private_columns(1598, 0, 1598, False), private_columns(0, 5, 0, True)
    (1600, 1601, 8)
    """
    return max(_OF_A_COPY + _OF_NUMBERED * numbered + copied, _OF_CELLS + counted, _OF_CLASSES + shown)
