"""Outline: every setting of a plan, those that were left at their defaults too, so that somebody can approve it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.core.masked_column import MaskedColumn
from sfumato.engine.plan import Plan
from sfumato.engine.translated import Translated
from sfumato.key_material import named
from sfumato.policy.ladders import order_of
from sfumato.policy.model import Column

# settings of masks that are names of the policy's own
_NAMES = ("key", "domain", "namespace", "vault", "together")


def outline(plan: Plan) -> dict[str, Any]:
    """Return source, columns, promises, search and sink with their settings, as a policy would write them."""
    policy = plan.resolved.policy
    seeded = {} if policy.seed is None else {"seed": policy.seed.model_dump()}
    return seeded | {
        "source": _component(plan.source.source if isinstance(plan.source, Translated) else plan.source),
        "subject": policy.subject,
        "columns": {name: _column(plan, name, column) for name, column in policy.columns.items()},
        "unnamed": policy.unnamed,
        "formats": {name: form.pattern if form.time_zone is None else form.model_dump() for name, form in policy.formats.items()},
        "promises": [_component(promise) for promise in plan.resolved.promises],
        "algorithm": _component(plan.resolved.algorithm),
        "suppression_limit": policy.suppression_limit,
        "accept": list(policy.accept),
        "sink": _component(plan.sink),
    }


def _component(component: Any) -> dict[str, Any]:
    return {component.component_name(): component.model_dump(mode="json", by_alias=True)}


def _column(plan: Plan, name: str, column: Column) -> dict[str, Any]:
    told: dict[str, Any] = {"role": column.role, "published": list(plan.shown_as(name)) if name in plan.published else []}
    if name in plan.resolved.masks:
        told |= _mask(plan.resolved.masks[name], column)
    if column.role in ("quasi_identifier", "sensitive"):
        hierarchy: Any = plan.resolved.hierarchies.get(name)
        # its settings are so many ways to say one thing: those that were not taken say nothing
        told["hierarchy"] = {hierarchy.component_name(): hierarchy.model_dump(mode="json", exclude_none=True)} if hierarchy else None
        told["missing"] = list(column.missing)
    if column.role == "quasi_identifier":
        told |= {
            "type": column.type,
            "level": column.level.model_dump(),
            "publish": column.publish or _style(plan, name, column),
            "on_unknown": column.on_unknown,
            "weight": column.weight,
        }
    if column.accept:
        told["accept"] = list(column.accept)
    return told


def _mask(mask: MaskedColumn, column: Column) -> dict[str, Any]:
    """Return the operations of a mask, one as itself and several as a list, what holds for all of them, and what they still reveal."""
    told: dict[str, Any] = {"mask": _steps(mask.steps)}
    if column.when is not None:
        told["when"] = column.when.model_dump(mode="json", exclude_none=True, by_alias=True)
    if mask.otherwise:
        told["otherwise"] = _steps(mask.otherwise)
    on_null = column.on_null or ("keep" if mask.card.nulls == "kept" else "generate")
    return told | {"on_null": on_null, "on_invalid": column.on_invalid, "reveals": mask.card.reveals}


def _steps(steps: Sequence[Any]) -> Any:
    components = [_without_keys(_component(step)) for step in steps]
    return components[0] if len(components) == 1 else components


def _without_keys(settings: Any) -> Any:
    """Return settings of a mask without what could be a key that was pasted where a name belongs, wherever it stands in them."""
    if isinstance(settings, dict):
        return {name: _name(value) if name in _NAMES else _without_keys(value) for name, value in settings.items()}
    return [_without_keys(value) for value in settings] if isinstance(settings, list) else settings


def _name(value: Any) -> Any:
    return named(value, "(not shown: it could be a key)") if isinstance(value, str) else _without_keys(value)


def _style(plan: Plan, name: str, column: Column) -> str | None:
    """Return how values are written where the policy leaves it open; None where that depends on the data."""
    if name in plan.resolved.ladders:
        ordered: bool | None = plan.resolved.ladders[name].ordered
    else:
        builder = plan.resolved.hierarchies.get(name)
        ordered = order_of(name, column, builder) if builder is not None else None
    return None if ordered is None else "interval" if ordered else "label"
