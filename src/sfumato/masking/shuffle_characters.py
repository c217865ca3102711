"""Shuffled characters: the characters of each value change places with each other.

What a reader sees as one character stays together: a letter with its accents, a joined emoji, a flag. Where such clusters begin and end is
approximated after Unicode Standard Annex #29.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core import clusters
from sfumato.core.code_points import CodePoints
from sfumato.core.draws import below, draws
from sfumato.core.mask import Card, MaskContext, Operation, text_of


class ShuffleCharacters(Operation):
    """Shuffles the characters within a value; every order is as likely as any other, the one that was included.

    A weak mask: the letters of a name are still there, and short or well-known values are guessed from them. With ``repetition`` each place gets any
    of the value's characters, so that some are there several times and others not at all. Chance comes from the operating system; with a ``key`` the
    order is a function of the value.

    >>> from sfumato.core.mask import MaskContext
    >>> words = pa.RecordBatch.from_pydict({"word": ["Aa1", "zz"]})
    >>> ["".join(sorted(text)) for text in ShuffleCharacters(letters="lower").apply(words, MaskContext("word")).to_pylist()]
    ['1aa', 'zz']
    """

    letters: Annotated[
        Literal["keep_case_pattern", "lower", "upper"],
        Field(description="capitals stand in the same places as before (`keep_case_pattern`), or all letters become small or large"),
    ] = "keep_case_pattern"
    repetition: Annotated[bool, Field(description="whether a character may be taken several times, and another not at all")] = False
    key: Annotated[str | None, Field(min_length=1, description="the key under which the order is a function of the value")] = None
    domain: Annotated[str | None, Field(description="the pseudonym domain of the key; none: the view's own")] = None

    @property
    def card(self) -> Card:
        """What it does; without a key chance decides."""
        return Card(
            deterministic=self.key is not None,
            uniqueness="not guaranteed",
            changes_type=True,
            scope="value",
            in_part=True,
            perturbs=True,
            reveals="How long a value is, and some of its characters."
            if self.repetition
            else "How long a value is, and which characters it has, how often each.",
        )

    @property
    def keys(self) -> Sequence[str]:
        """The key, where one is named."""
        return () if self.key is None else (self.key,)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the text shuffled value by value."""
        texts = text_of(columns, context)
        secret = context.key(self.key, self.domain) if self.key is not None else None
        shuffled = self._shuffled(texts, secret)
        if self.letters == "keep_case_pattern":
            return shuffled
        return pc.utf8_lower(shuffled) if self.letters == "lower" else pc.utf8_upper(shuffled)

    def _shuffled(self, texts: pa.Array, secret: bytes | None) -> pa.Array:
        text = CodePoints.of(texts)
        begins = clusters.begins(text)
        alone = bool(begins.all())
        numbers = text.lengths if alone else text.numbers(begins)[1].astype(np.int64)
        drawn = draws(texts, numbers, secret, "shuffle_characters")
        order = _taken(numbers, drawn) if self.repetition else _order(numbers, drawn)
        points, firsts = (text.points[order], np.arange(len(order))) if alone else _gathered(text.points, np.flatnonzero(begins), order)
        if self.letters == "keep_case_pattern":
            points[firsts] = _in_case(points[firsts], text.points[begins])
        # a character that is taken twice may be of more code points than the one that is not
        starts = np.append(firsts, len(points))[np.append(0, np.cumsum(numbers))]
        return CodePoints(points, starts, text.missing).text()


def _gathered(points: NDArray[Any], starts: NDArray[np.int64], order: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the code points of clusters in another order, and where each cluster now begins."""
    lengths = np.diff(np.r_[starts, len(points)])[order]
    firsts = np.cumsum(lengths) - lengths
    return points[np.repeat(starts[order] - firsts, lengths) + np.arange(lengths.sum())], firsts


def _taken(numbers: NDArray[np.int64], drawn: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return for each place one of the clusters of its value, whichever were taken before."""
    return np.repeat(np.cumsum(numbers) - numbers, numbers) + below(drawn, np.repeat(numbers, numbers).astype(np.uint64))


def _order(numbers: NDArray[np.int64], drawn: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return an order of clusters in which those of a value stay in its places, in the order of their draws."""
    order = np.empty(len(drawn), np.int64)
    firsts = np.cumsum(numbers) - numbers
    values = np.argsort(numbers, kind="stable")
    # values of one length are rows of one table, each of which is sorted by itself
    _, begins = np.unique(numbers[values], return_index=True)
    for begin, end in pairwise([*begins.tolist(), len(values)]):
        same = values[begin:end]
        places = firsts[same][:, None] + np.arange(numbers[same[0]])
        order[places] = firsts[same][:, None] + np.argsort(drawn[places], axis=1, kind="stable")
    return order


def _in_case(points: NDArray[np.uint32], pattern: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return characters large where those of a pattern are, and small elsewhere."""
    occurring = clusters.distinct(points)
    large, small = (_table(occurring, change) for change in (str.upper, str.lower))
    capitals = np.zeros(0x110000, bool)
    capitals[[point for point in clusters.distinct(pattern) if chr(point).isupper()]] = True
    return np.where(capitals[pattern], large[points], small[points]).astype(points.dtype)


def _table(points: Sequence[int], change: Callable[[str], str]) -> NDArray[np.uint32]:
    table = np.zeros(0x110000, np.uint32)
    for point in points:
        changed = change(chr(point))
        # some letters have no single counterpart, and stay
        table[point] = ord(changed) if len(changed) == 1 else point
    return table
