"""What a session of CASTLE goes by, and how its state is written down."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from sfumato.core.chance import random_bytes
from sfumato.core.stream import StreamProblem
from sfumato.errors import DataError

VERSION = 1
MOST_RECORDS = 1024
"""How many records a published cluster may hold and still take others in: each is tested with all before it."""

BLOCK = 256
"""How many people of a cluster are searched for neighbours at once: a larger one is cut at medians first."""


@dataclass(frozen=True)
class Rules:
    """The settings, and what follows from the promises.

    Clusters are split ``by_values`` of the sensitive column ``target``, so that each part has at least ``least`` of them. ``grows`` says that a
    cluster which keeps the promises keeps them whoever joins.
    """

    delta: int
    beta: int
    mu: int
    reusable: int
    wait: bool
    horizon: int
    k: int
    sensitive: tuple[str, ...]
    by_values: bool
    least: int
    target: int
    grows: bool
    columns: tuple[tuple[str, int], ...]
    most: int = MOST_RECORDS
    block: int = BLOCK

    def sealed(self, kind: str, state: bytes) -> bytes:
        """Return a state with what it is a state of."""
        return json.dumps({"castle": VERSION, "kind": kind, "rules": self._print()}).encode() + b"\n" + state

    def opened(self, kind: str, sealed: bytes) -> bytes:
        """Return a state that belongs to these rules; any other is refused."""
        head, _, state = sealed.partition(b"\n")
        try:
            about = json.loads(head)
            found = (about["castle"], about["kind"], about["rules"])
        except (ValueError, KeyError, TypeError):
            found = (None, None, None)
        if found != (VERSION, kind, self._print()):
            what = (
                "of another version"
                if found[0] not in (VERSION, None)
                else "of other settings, promises or columns"
                if found[0]
                else "no state at all"
            )
            raise DataError(
                f"the state cannot be taken up: it is {what}, and this is castle, version {VERSION} of its state",
                code="castle-state",
                hint="flush with the policy and the version that wrote it, then begin anew",
            )
        return state

    def _print(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def seed() -> int:
    """Return where the chance of one call begins."""
    return int.from_bytes(random_bytes(8), "little")


def columns_of(problem: StreamProblem) -> tuple[tuple[str, int], ...]:
    """Return the quasi-identifiers, and how many leaves each has."""
    return tuple((name, -1 if ladder is None else ladder.size) for name, ladder in zip(problem.names, problem.ladders, strict=True))
