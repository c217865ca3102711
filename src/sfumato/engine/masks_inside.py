"""Masks that a database did: held against what they make of the same values here, and against what promises say of the columns they publish."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from sfumato.core.canonical import as_text
from sfumato.core.examined import Examining
from sfumato.core.interfaces import MaskPlan
from sfumato.core.mask_effect import Effect, refuse
from sfumato.engine.broken_release import broken_by_mask
from sfumato.engine.masked_values import shows_values, tells_people_apart
from sfumato.engine.plan import Plan
from sfumato.engine.singling_out import refuse_rows_of_one, refuse_unless_accepted


def check_masks_inside(plan: Plan, masks: MaskPlan, staged: Examining) -> dict[str, Effect]:
    """Do every mask again on the distinct values of its columns, and return what they did; raise an error where something is not as it must be.

    That the release holds just what the database computed is known from the fingerprints of its rows.
    """
    effects = {name: masked_again(plan, masks, staged.pairs(name), name) for name in masks.masks}
    refuse(effects)
    for name, effect in effects.items() if plan.resolved.promises else ():
        distinct, once = staged.values(name)
        same = effect.unchanged / effect.present if effect.present else 0.0
        if shows_values(plan.resolved.masks[name], same) and once * 2 > distinct:
            refuse_unless_accepted(plan, name, distinct)
    told_apart = [name for name in effects if plan.resolved.promises and tells_people_apart(plan, name)]
    refuse_rows_of_one(plan, [name for name in told_apart if staged.fewest(name) < plan.threshold])
    return effects


def masked_again(plan: Plan, masks: MaskPlan, pairs: Iterable[pa.RecordBatch], name: str) -> Effect:
    """Return what a mask did, by doing it again on what a column was made of; ``pairs`` has that, what it became, and the number of rows."""
    context = masks.contexts[name]
    effect = plan.resolved.masks[name].effect(plan.threshold)
    for batch in pairs:
        # by their places: columns of a source may have any name
        *read, published, rows = batch.columns
        inputs, weights = pa.RecordBatch.from_arrays(read, names=batch.schema.names[:-2]).select(masks.needed(name)), rows.to_numpy()
        made = plan.resolved.masks[name].made(inputs, context)
        if not _same(made.values, published):
            raise broken_by_mask("", [masks.masks[name]])
        effect.add(made, weights=weights)
        effect.compare(made, inputs.column(name), weights)
    return effect


def _same(made: pa.Array, published: pa.Array) -> bool:
    return bool(as_text(made).equals(as_text(published)))
