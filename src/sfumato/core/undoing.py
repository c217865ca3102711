"""Undoing the mask of a column, for those who have its key or its vault.

A chain is undone from its last operation to its first. Where a condition chose the rows, no row says whether it was one of them, unless the values
themselves do: those that an operation marks as its own are undone, the others stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.mask import Marking, Mask, MaskContext, OfDocuments, Operation, Reversible
from sfumato.core.masked_column import MaskedColumn


@dataclass(frozen=True, eq=False)
class Undone:
    """Values as they were, null for one that the mask has not made, and how many stay as they are because a condition may have left them."""

    values: pa.Array
    left: int


def not_undone(mask: MaskedColumn) -> str | None:
    """Return why a mask cannot be undone; None where it can, in part at least."""
    if mask.when is not None:
        return _not_told_apart(mask)
    return next((f"{_lost(step)} cannot be undone" for step in mask.steps if not _can_be_undone(step)), None)


def undone_operations(mask: MaskedColumn) -> Sequence[Operation]:
    """Return the operations that are undone, those within documents too."""
    steps = [step for chain in _marked_chains(mask) for step in chain] if mask.when is not None else mask.steps
    inner = [one for step in steps if isinstance(step, OfDocuments) for one in step.undone]
    return [step for step in (*steps, *inner) if isinstance(step, Operation) and not isinstance(step, OfDocuments)]


def undo(mask: MaskedColumn, values: pa.Array, context: MaskContext) -> Undone:
    """Return the values of a masked column as they were."""
    if mask.when is None:
        return Undone(undo_chain(mask.steps, values, context), 0)
    found, marked = values, np.zeros(len(values), bool)
    for chain in _marked_chains(mask):
        mine = chain[-1].marked(values, context) if isinstance(chain[-1], Marking) else marked
        # what another branch has undone is no longer marked as masked
        still = mine & (~marked | found.is_null().to_numpy(zero_copy_only=False))
        revealed = undo_chain(chain, values.filter(pa.array(still)), context)
        places = np.cumsum(still) - 1
        found = pc.if_else(pa.array(still), revealed.take(pa.array(places, mask=~still)), found)
        marked |= mine
    for chain in _marked_chains(mask):
        if isinstance(chain[-1], Marking):
            # what looks like one of its values, and is of a key that nobody has
            chain[-1].refuse_strangers(values.filter(pa.array(~marked)), context)
    return Undone(found, int((~marked & values.is_valid().to_numpy(zero_copy_only=False)).sum()))


def undo_chain(steps: Sequence[Mask], values: pa.Array, context: MaskContext) -> pa.Array:
    """Return values as they were before some operations that can all be undone."""
    for step in reversed(steps):
        if isinstance(step, OfDocuments):
            values = step.reveal_within(values, context)
        elif isinstance(step, Reversible):
            values = step.reveal(values, context)
    return values


def is_undone(steps: Sequence[Mask]) -> bool:
    """Return whether every operation of a chain can be undone, and one of them does anything."""
    return all(_can_be_undone(step) for step in steps) and any(step.component_name() != "keep" for step in steps)


def _not_told_apart(mask: MaskedColumn) -> str | None:
    """Return why nobody can say which rows a condition chose; None where values say it: no two branches make ones that look alike."""
    if not _marked_chains(mask):
        return "masks only some rows, and no row says which"
    ends = [steps[-1] for steps in mask.branches if steps and isinstance(steps[-1], Marking)]
    alike = len(ends) > 1 and ends[0].is_like(ends[1])
    return "has two branches whose values look alike, and none says of which it is" if alike else None


def _marked_chains(mask: MaskedColumn) -> list[Sequence[Mask]]:
    """Return the branches of a condition whose values say that they were masked."""
    return [steps for steps in mask.branches if steps and isinstance(steps[-1], Marking) and is_undone(steps)]


def _can_be_undone(step: Mask) -> bool:
    return bool(step.undone) if isinstance(step, OfDocuments) else isinstance(step, Reversible)


def _lost(step: Mask) -> str:
    return f"what {step.component_name()} masks" if isinstance(step, OfDocuments) else step.component_name()
