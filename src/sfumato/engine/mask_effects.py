"""What masks did to their columns, as far as a reader may know it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sfumato.core.interfaces import Attached
from sfumato.core.mask import Totals
from sfumato.core.mask_effect import Effect
from sfumato.engine.plan import Plan
from sfumato.errors import number_of

_MOST = 0.5
_FEW = 20
"""Of so many values chance hardly ever leaves all as they were, unless the policy lets it do next to nothing."""


def effects_on_counted(plan: Plan, attached: Attached) -> dict[str, Effect]:
    """Return what the masks of quasi-identifiers do to the values that are counted, and so to the rows that have them."""
    effects = {}
    for name in plan.quasi_identifiers:
        dictionary, mask = attached.dictionary(name), plan.resolved.masks.get(name)
        made = plan.made(name, dictionary.values)
        if mask is None or made is None:
            continue
        effects[name] = mask.effect(plan.threshold)
        effects[name].add(made, weights=dictionary.counts)
        effects[name].compare(made, dictionary.values, dictionary.counts)
        if mask.on_null == "error":
            # missing values are not among the distinct ones
            effects[name].missing.add(np.ones(1, bool), None, np.array([dictionary.nulls]))
    return effects


def mask_notes(plan: Plan, effects: Mapping[str, Effect]) -> Iterator[str]:
    """Yield what masks removed, and where they did less than somebody who reads the policy would think."""
    k = plan.threshold
    for name, effect in effects.items():
        mask = plan.resolved.masks[name]
        if effect.removed:
            number = number_of(effect.removed, "value") if effect.removed >= k else f"fewer than {k} values"
            yield f"columns.{name}: {number} that {', '.join(effect.removed_by)} cannot take were removed"
        if effect.among_few:
            number = number_of(effect.among_few, "row") if effect.among_few >= k else f"fewer than {k} rows"
            yield f"columns.{name}: {mask.component_name()} mixes {number} among fewer than {k} people each, of whom many keep their own value"
        if mask.when is not None and not effect.held:
            yield f"columns.{name}: the condition held for no row"
        # that a group's total is everybody's value says that all of them have the same
        tells = any(isinstance(step, Totals) and not step.card.perturbs for step in mask.operations)
        # and that chance changed nothing of a few people's values says whose they are
        is_few = mask.perturbs and effect.present < _FEW
        if tells or is_few:
            continue
        if mask.changes and effect.present and effect.unchanged == effect.present:
            yield f"columns.{name}: {mask.component_name()} changed no value"
        elif mask.perturbs and effect.unchanged > _MOST * effect.present:
            yield f"columns.{name}: {mask.component_name()} left {_part(effect, k)} of the values as they were"


def _part(effect: Effect, k: int) -> str:
    """Return a share in whole per cent, from which nobody can count a few people."""
    if effect.present - effect.unchanged < k:
        return f"all but fewer than {k}"
    return f"{100 * effect.unchanged // effect.present}%"
