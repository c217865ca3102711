"""A seed: what chance is derived from where the same bytes are to come again, which only tests should want."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from sfumato.core.chance import derived_chance
from sfumato.core.mask import Unrepeatable
from sfumato.core.mistakes import Place, key_text
from sfumato.core.settings import Settings
from sfumato.databases.located import Located
from sfumato.errors import Mistake

if TYPE_CHECKING:
    from sfumato.core.interfaces import Source
    from sfumato.core.masked_column import MaskedColumn
    from sfumato.policy.lines import Lines

FOR_TESTS = "the release is for tests and protects nobody: the policy has a seed, and who knows it can undo what chance did"


class Seed(Settings):
    """A number from which all chance of a run comes, so that two runs give the same bytes."""

    for_tests: Annotated[int, Field(ge=0, lt=2**64, description="the number; the release is for tests and protects nobody")]

    def chance(self, purpose: str) -> AbstractContextManager[None]:
        """Let all chance within come from the seed and a purpose.

        >>> from sfumato.core.chance import random_bytes
        >>> def drawn(number: int) -> bytes:
        ...     with Seed(for_tests=number).chance("view research"):
        ...         return random_bytes(8)
        >>> drawn(7) == drawn(7), drawn(7) == drawn(8)
        (True, False)
        """
        return derived_chance(hashlib.sha256(f"seed for tests {self.for_tests}".encode()).digest(), purpose)


def chance_of(seed: Seed | None, purpose: str) -> AbstractContextManager[None]:
    """Let all chance within come from a seed where there is one, else from the operating system."""
    return nullcontext() if seed is None else seed.chance(purpose)


def seed_mistakes(
    source: Source | None, masks: Mapping[str, MaskedColumn | None], is_stream: bool, lines: Lines, seeded: bool = True
) -> Iterator[Mistake]:
    """Yield why a seed could not keep what it says: that two runs give the same bytes, and no secret is worn out by that."""
    if not seeded:
        return
    if is_stream:
        words, hint = (
            "a stream has no seed: its pieces are cut by the clock",
            "sfumato.stream(policy, secret=...) in Python, pushed in the same pieces",
        )
        yield Mistake("seed", words, "policy-seed", hint, lines.at(("seed",)))
    if isinstance(source, Located):
        words = "a seed decides nothing inside a database or Spark, which hand out rows in an order of their own"
        yield Mistake("seed", words, "policy-seed", "a file as source, or no seed", lines.at(("seed",)))
    for name, mask in masks.items():
        for step in mask.operations if mask is not None else ():
            why = step.unrepeatable if isinstance(step, Unrepeatable) else None
            if why is not None:
                path: Place = ("columns", name, "mask")
                hint = "another operation for the tests, or no seed"
                yield Mistake(key_text(path), f"{step.component_name()} beside a seed: {why}", "policy-seed", hint, lines.at(path))
