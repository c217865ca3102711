"""Chains of operations: what goes into them and can still be seen at their end, and what cannot."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.mask import NOTHING, WIDE, Mask, Replacing, Totals


def is_keyed(steps: Sequence[Mask]) -> bool:
    """Return whether nobody without a key can tell what a chain makes: what a later operation takes from other columns is not hidden by it."""
    keyed = [number for number, step in enumerate(steps) if step.card.keyed]
    return bool(keyed) and not any(step.reads for step in steps[keyed[-1] + 1 :])


def is_plain(steps: Sequence[Mask]) -> bool:
    """Return whether what goes into a chain, at its beginning or where an operation takes in other columns, can be seen at its end."""
    return any(all(map(_is_open, rest)) for rest in _rests(steps))


def moves(steps: Sequence[Mask]) -> bool:
    """Return whether chance moves values a little way, or exchanges them among few rows, and no key hides what comes of it."""
    return any(
        step.card.perturbs and step.card.scope != "table" and not any(later.card.keyed for later in steps[number + 1 :])
        for number, step in enumerate(steps)
    )


def leaves_some(steps: Sequence[Mask]) -> bool:
    """Return whether a chain may leave values as they are, and that can be seen; an aggregate is one by chance alone."""
    # whatever a swap or an expression has left, a mean of the group in its place shows none of it
    return not steps or any(all(_is_open(step) and (step.card.in_part or step.card.scope not in WIDE) for step in rest) for rest in _rests(steps))


def is_row_by_row(steps: Sequence[Mask]) -> bool:
    """Return whether what a chain makes of each value can be held against it: no other row has a part in it, and no key hides it."""
    return (is_plain(steps) or moves(steps)) and not any(step.card.scope in WIDE for step in steps)


def may_be_undone(steps: Sequence[Mask]) -> bool:
    """Return whether what a chain makes of a value can be seen, and may tell what it was: no key, no chance, and the value is looked at."""
    return bool(steps) and is_plain(steps) and not any(step.card.reveals == NOTHING for step in steps)


def taken_in(steps: Sequence[Mask]) -> frozenset[str]:
    """Return the other columns of which a chain puts something into the value; those that only make groups are none of them."""
    return frozenset(name for step in steps if not isinstance(step, Totals) for name in step.reads)


def made_of(column: str, steps: Sequence[Mask]) -> frozenset[str]:
    """Return the columns of which there is something in the value of a column at the end of a chain."""
    found = frozenset([column])
    for number, step in enumerate(steps):
        replaced = step.reads and isinstance(step, Replacing) and step.leaves_out(column)
        found = taken_in(steps[number : number + 1]) | (frozenset() if replaced else found)
    return found


def _rests(steps: Sequence[Mask]) -> list[Sequence[Mask]]:
    """Return what is done to values from the beginning, and from where an operation takes in other columns."""
    return [steps[start:] for start in [0, *(number for number, step in enumerate(steps) if step.reads)]]


def _is_open(step: Mask) -> bool:
    return shows(step) and not step.card.keyed


def shows(step: Mask) -> bool:
    """Return whether parts of a value may stay as they are, whatever chance does to the others."""
    return step.card.deterministic or step.card.in_part
