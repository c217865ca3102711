"""The groups in which digits of a card are written."""

from __future__ import annotations

from collections.abc import Sequence

_FIRST = 4
_OTHERS = ({4}, {6})


def is_card_grouped(lengths: Sequence[int]) -> bool:
    """Return whether groups of so many digits are those of a card, or two parts of one: a column of numbers has others.

    >>> is_card_grouped([4, 4, 4, 4]), is_card_grouped([4, 6, 5]), is_card_grouped([8, 8]), is_card_grouped([3, 3, 4, 6])
    (True, True, True, False)
    """
    first, *groups = lengths
    return len(groups) <= 1 or (first == _FIRST and set(groups[:-1]) in _OTHERS)
