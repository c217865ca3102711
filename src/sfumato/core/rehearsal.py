"""A rehearsal: values get the tokens that a run would give them, and no vault learns of them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.vault_namespace import Namespace, Numbering, TokenRange, other_range


@dataclass
class Drawn:
    """What a namespace would have recorded: the secret with which it would have been begun, and the numbers of new values."""

    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    numbers: dict[bytes, int] = field(default_factory=dict)


class Rehearsal:
    """Remembers, as long as it lasts, what vaults would have recorded, so that one value has one token in all columns that share it."""

    def __init__(self) -> None:
        self._drawn: dict[tuple[Path, str], tuple[TokenRange, Drawn]] = {}

    def drawn(self, path: Path, namespace: str, wanted: TokenRange) -> Drawn:
        """Return what would have been recorded in a namespace of a vault; refuse one that was begun with other tokens."""
        begun, drawn = self._drawn.setdefault((path.absolute(), namespace), (wanted, Drawn()))
        if begun != wanted:
            raise other_range(path, namespace, begun)
        return drawn


class RehearsedNamespace(Numbering):
    """A namespace that is left as it is, or that is not there yet: what is new to it is numbered on from it, and not recorded."""

    def __init__(self, kept: Namespace | None, name: str, wanted: TokenRange, drawn: Drawn) -> None:
        super().__init__(name, wanted, kept.secret if kept is not None else None if wanted.ordered else drawn.secret)
        self._kept = kept
        self._drawn = drawn

    def known(self, values: Sequence[bytes]) -> NDArray[np.int64]:
        """Return the numbers of values that have been recorded or drawn; -1 for the others."""
        found = self._kept.known(values) if self._kept is not None else np.full(len(values), -1, np.int64)
        for place in np.flatnonzero(found < 0).tolist():
            found[place] = self._drawn.numbers.get(values[place], -1)
        return found

    def taken(self) -> int:
        """Return how many numbers are taken or drawn."""
        return (self._kept.taken() if self._kept is not None else 0) + len(self._drawn.numbers)

    def record(self, numbers: Sequence[int], values: Sequence[bytes]) -> None:
        """Remember the numbers of new values for the rehearsal alone."""
        self._drawn.numbers.update(zip(values, numbers, strict=True))
