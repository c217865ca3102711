"""How much memory counts may take in this process while the rows are worked on elsewhere."""

from __future__ import annotations

import os
import re

from sfumato.errors import UsageError

MEMORY = "SFUMATO_MEMORY"
"""The variable of the environment that says it, such as ``512MiB``: what a machine has is no matter of a policy."""

_DEFAULT = 512 << 20
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
# an estimate on the safe side: what a combination takes in all while it is read, counted, searched and decided, and what each of its columns adds
_A_CELL, _A_COLUMN = 160, 40


def most_cells(columns: int, asked: str | None = None) -> int:
    """Return how many combinations of so many columns may be held at once.

    >>> most_cells(9, "1GiB")
    2064888
    """
    return max(1, memory(asked) // (_A_CELL + _A_COLUMN * columns))


def memory(asked: str | None = None) -> int:
    """Return the number of bytes that was asked for, else that of the environment, else 512 MiB.

    >>> memory("2 GiB"), memory("64k")
    (2147483648, 65536)
    """
    written = asked if asked is not None else os.environ.get(MEMORY, "")
    if not written.strip():
        return _DEFAULT
    found = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)(?:i?b)?\s*", written, re.IGNORECASE)
    if found is None or not int(found[1]):
        raise UsageError(f"{MEMORY} is no amount of memory", code="memory-amount", hint=f"{MEMORY}=512MiB, or 2GiB")
    return int(found[1]) * _UNITS[found[2].lower()]
