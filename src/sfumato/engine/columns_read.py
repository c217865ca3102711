"""The columns that a run looks at, known before anything is read: what a database has beside them stays there.

A run looks at its source when it counts, when it verifies, when it holds several views against each other and when it joins tables. The first rows
of what is removed are another matter: they are asked for by themselves (``first_rows``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sfumato.core.interfaces import AttachPlan, NarrowedSource, Source
from sfumato.core.mask import WIDE
from sfumato.engine.plan import Plans
from sfumato.engine.together import originals_for


def attach_plan(plans: Plans) -> AttachPlan:
    """Return what all views together need of the source."""
    views = list(plans.views.values())
    coded = dict.fromkeys(name for plan in views for name in [*plan.quasi_identifiers, *plan.watched, *plan.laddered])
    subject = views[0].resolved.subject
    masks = [mask for plan in views for mask in plan.resolved.masks.values()]
    read_by_masks = [name for mask in masks for name in mask.reads]
    if subject is not None and any(mask.card.scope in WIDE for mask in masks):
        read_by_masks.append(subject.name)
    masked = [name for plan in views for name in plan.masked if name not in plan.quasi_identifiers]
    kept = dict.fromkeys([*(name for plan in views for name in plan.kept), *masked, *read_by_masks])
    return AttachPlan(list(coded), list(kept), subject)


def narrowed(plans: Plans) -> Plans:
    """Return the plans with sources of which no other columns are read than the run looks at, as far as they can be had so."""
    return replace(plans, views={name: plan for part in plans.parts for name, plan in _narrowed(part).views.items()})


def narrowed_to(source: Source, columns: Iterable[str]) -> Source:
    """Return a source of which no other columns are read, if it can be had so."""
    return source.narrowed(list(dict.fromkeys(columns))) if isinstance(source, NarrowedSource) else source


def _narrowed(plans: Plans) -> Plans:
    # all views have the one source, of which there shall be one copy
    source = narrowed_to(plans.source, _looked_at(plans))
    return replace(plans, views={name: replace(plan, source=source) for name, plan in plans.views.items()})


def _looked_at(plans: Plans) -> Iterator[str]:
    """Yield the columns that are looked at of one source."""
    attached = attach_plan(plans)
    yield from [*attached.coded, *attached.kept]
    for name, plan in plans.views.items():
        if plan.resolved.subject is not None:
            yield plan.resolved.subject.name
        yield from originals_for(plan, plans.identifying)
        for link in (link for link in plans.links if link.is_kept):
            yield from link.columns if link.child == name else ()
            yield from link.referred if link.parent == name else ()
