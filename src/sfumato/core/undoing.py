"""Undoing the mask of a column, for those who have its key or its vault.

A chain is undone from its last operation to its first. Where a condition chose the rows, no row says whether it was one of them, unless the values
themselves do: those that an operation marks as its own are undone, the others stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.keys import Keys
from sfumato.core.mask import NOTHING, Marking, Mask, MaskContext, OfDocuments, Operation, Reversible
from sfumato.core.masked_column import MaskedColumn


@dataclass(frozen=True, eq=False)
class Undone:
    """Values as they were, null for one that the mask has not made, and how many stay as they are because a condition may have left them."""

    values: pa.Array
    left: int


@dataclass(frozen=True, eq=False)
class _Branch:
    """A branch of a condition whose values can be told from others: by ``end``, its last operation, or one that later ones may leave visible."""

    steps: Sequence[Mask]
    end: Marking
    undone: bool


def not_undone(mask: MaskedColumn, keys: Keys | None = None) -> str | None:
    """Return why a mask cannot be undone; None where it can, in part at least. Without the keys, two names of one key are taken for two keys."""
    if mask.when is not None:
        return _not_told_apart(mask, keys)
    return next((f"{_lost(step)} cannot be undone" for step in mask.steps if not _can_be_undone(step)), None)


def undone_operations(mask: MaskedColumn) -> Sequence[Operation]:
    """Return the operations that are undone, those within documents too."""
    return [step for chain in _undone_chains(mask) for step in chain if isinstance(step, Operation) and not isinstance(step, OfDocuments)]


def keys_to_undo(mask: MaskedColumn) -> Sequence[str]:
    """Return the names of the keys that are needed: to undo operations, and to tell values of a branch from those of another."""
    ends = [branch.end for branch in _marked_branches(mask)]
    return list(dict.fromkeys(name for step in (*undone_operations(mask), *ends) for name in step.keys))


def silent_operations(mask: MaskedColumn) -> Sequence[tuple[Operation, str]]:
    """Return operations whose values do not say under which key they were made, with its name, where no later one of their chain says it either."""
    found = []
    for chain in _undone_chains(mask):
        for number, step in enumerate(chain):
            if isinstance(step, Operation) and not step.tells_key:
                told = {name for later in chain[number + 1 :] if isinstance(later, Marking) for name in later.keys}
                found += [(step, name) for name in step.keys if name not in told]
    return found


def undo(mask: MaskedColumn, values: pa.Array, context: MaskContext) -> Undone:
    """Return the values of a masked column as they were."""
    if mask.when is None:
        return Undone(undo_chain(mask.steps, values, context), 0)
    nowhere = np.zeros(len(values), bool)
    found, marked, told, undone = values, nowhere, nowhere, nowhere
    branches = _marked_branches(mask)
    for branch in branches:
        mine = branch.end.marked(values, context)
        marked = marked | mine
        tried = mine & ~told
        texts = values.filter(pa.array(tried))
        opened = branch.end.reveal(texts, context if branch.undone else replace(context, opened_by=set()))
        # what it opens is of this branch, whatever another says
        its = opened.is_valid()
        rows = _among(tried, its)
        told = told | rows
        if branch.undone:
            found = _placed(found, rows, _undo_before(branch.steps, texts.filter(its), opened.filter(its), context))
            undone = undone | rows
    for branch in branches:
        # what looks like one of its values, and is of a key that nobody has
        branch.end.refuse_strangers(values.filter(pa.array(~marked)), context)
    damaged = marked & ~told
    left = ~undone & ~damaged & values.is_valid().to_numpy(zero_copy_only=False)
    return Undone(pc.if_else(pa.array(damaged), pa.scalar(None, pa.string()), found), int(left.sum()))


def undo_chain(steps: Sequence[Mask], values: pa.Array, context: MaskContext) -> pa.Array:
    """Return values as they were before some operations that can all be undone."""
    if not steps:
        return values
    return _undo_before(steps, values, _undone_once(steps[-1], values, context), context)


def is_undone(steps: Sequence[Mask]) -> bool:
    """Return whether every operation of a chain can be undone, and one of them does anything."""
    return not loses(steps) and bool(_doing(steps))


def loses(steps: Sequence[Mask]) -> bool:
    """Return whether an operation of a chain cannot be undone."""
    return not all(_can_be_undone(step) for step in steps)


def _undo_before(steps: Sequence[Mask], values: pa.Array, opened: pa.Array, context: MaskContext) -> pa.Array:
    """Return values as they were before a chain whose last operation is undone already.

    A chain is done in one run: where the last operation names its key, those before it were done under the same key of that name.
    """
    *before, last = steps
    if not isinstance(last, Marking) or not before:
        return undo_chain(before, opened, context)
    ids = np.array(last.key_ids(values), object)
    found = pa.nulls(len(values), pa.string())
    for key_id in dict.fromkeys(one for one in ids if one is not None):
        rows = ids == key_id
        keys = context.keys.preferring(dict.fromkeys(last.keys, key_id))
        found = _placed(found, rows, undo_chain(before, opened.filter(pa.array(rows)), replace(context, keys=keys)))
    return found


def _undone_once(step: Mask, values: pa.Array, context: MaskContext) -> pa.Array:
    if isinstance(step, OfDocuments):
        return step.reveal_within(values, context)
    return step.reveal(values, context) if isinstance(step, Reversible) else values


def _placed(values: pa.Array, rows: NDArray[np.bool_], others: pa.Array) -> pa.Array:
    """Return values with others in some rows."""
    return pc.if_else(pa.array(rows), others.take(pa.array(np.cumsum(rows) - 1, mask=~rows)), values)


def _among(rows: NDArray[np.bool_], some: pa.Array) -> NDArray[np.bool_]:
    """Return which rows are those of some rows for which something holds."""
    found = rows.copy()
    found[rows] = some.to_numpy(zero_copy_only=False)
    return found


def _not_told_apart(mask: MaskedColumn, keys: Keys | None) -> str | None:
    """Return why nobody can say which rows a condition chose; None where values say it: no two branches make ones that look alike."""
    branches = _marked_branches(mask)
    if not any(branch.undone for branch in branches):
        return "masks only some rows, and no row says which"
    if len(branches) < 2 or list(branches[0].steps) == list(branches[1].steps):
        return None
    alike = branches[0].end.is_like(branches[1].end, keys)
    return "has two branches whose values look alike, and none says of which it is" if alike else None


def _undone_chains(mask: MaskedColumn) -> list[Sequence[Mask]]:
    """Return the chains of operations that are undone, those within documents too."""
    chains = [mask.steps] if mask.when is None else [branch.steps for branch in _marked_branches(mask) if branch.undone]
    return [*chains, *(inner for chain in chains for step in chain if isinstance(step, OfDocuments) for inner in step.undone)]


def _marked_branches(mask: MaskedColumn) -> list[_Branch]:
    """Return the branches of a condition whose values say that they were masked; none where there is no condition."""
    found = []
    for steps in mask.branches if mask.when is not None else ():
        doing = _doing(steps)
        end = _visible_end(doing)
        if end is not None:
            found.append(_Branch(doing, end, doing[-1] is end and not loses(doing)))
    return found


def _visible_end(steps: Sequence[Mask]) -> Marking | None:
    """Return the last operation that marks its values, where later ones may leave them as they are."""
    for step in reversed(steps):
        if isinstance(step, Marking):
            return step
        if step.card.keyed or step.card.reveals == NOTHING:
            return None
    return None


def _doing(steps: Sequence[Mask]) -> list[Mask]:
    """Return the operations that are there to change values."""
    return [step for step in steps if step.component_name() != "keep"]


def _can_be_undone(step: Mask) -> bool:
    return bool(step.undone) if isinstance(step, OfDocuments) else isinstance(step, Reversible)


def _lost(step: Mask) -> str:
    return f"what {step.component_name()} masks" if isinstance(step, OfDocuments) else step.component_name()
