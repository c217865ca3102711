"""One way to write an entity in free text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

LETTERS = r"\w\u0300-\u036f"
"""Letters with their marks, which are characters of their own where a text is decomposed; to stand within brackets."""

WORD = "0-9A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u036f\u0370-\u0373\u0376-\u077f"
"""Digits, and letters of scripts that put spaces between words: where one of them stands beside a number, it is a part of something else."""


@dataclass(frozen=True)
class Form:
    """One way to write an entity: it is the group ``entity`` of the pattern where there is one, else all that the pattern finds.

    ``is_right`` says which values are such entities, without what ``without`` finds in them; ``ends`` where one may end in a text that begins at a
    place, where the pattern finds only its beginning.
    """

    screen: str
    pattern: re.Pattern[str]
    is_right: Callable[[pa.Array], NDArray[np.bool_]] | None = None
    without: re.Pattern[str] | None = None
    ends: Callable[[str, int], Iterator[int]] | None = None

    @property
    def has_checksum(self) -> bool:
        """Whether a number is held to a sum of its characters, without what stands between them."""
        return self.without is not None

    @cached_property
    def group(self) -> str | int:
        """The group of the pattern that is the entity."""
        return "entity" if "entity" in self.pattern.groupindex else 0


def each(is_right: Callable[[str], bool]) -> Callable[[pa.Array], NDArray[np.bool_]]:
    """Return a test of a column, made of a test of a text."""
    return lambda texts: np.array([is_right(text) for text in texts.to_pylist()], bool)
