"""Extremes and modes beside each other: a value that several groups show is that of somebody whom they have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.mask import Told
from sfumato.engine.differences import in_common, smallest_group


def few_who_may_have_it(told: Sequence[Told], people: NDArray[np.int32]) -> tuple[list[int], int] | None:
    """Return which of what is told shows one value of groups that have few people in common, and how few they are; None where nothing does.

    A value that as many people of a group have as may be told of is nobody's in particular, and says nothing of whom the group shares with others.
    """
    shown = np.stack([_had_by_few(each, people) for each in told], axis=1)
    twice = shown.sum(axis=1) > 1
    for several in np.unique(shown[twice], axis=0):
        some = np.flatnonzero(several).tolist()
        together = in_common([told[number].about for number in some])
        concerned = together[(shown == several).all(axis=1)]
        together[~np.isin(together, concerned[concerned >= 0])] = -1
        if (together >= 0).any() and (few := smallest_group(together, people)) < max(told[number].people for number in some):
            return some, few
    return None


def _had_by_few(told: Told, people: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return the rows whose value is the one that is told of their group, where fewer people have it than may be told of."""
    rows = np.flatnonzero(told.known & (told.about >= 0))
    pairs = np.unique(np.stack([told.about[rows], people[rows]]), axis=1)
    holders = np.append(np.bincount(pairs[0], minlength=1), 0)
    found = np.zeros(len(people), bool)
    found[rows] = holders[told.about[rows]] < told.people
    return found
