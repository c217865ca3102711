"""Columns whose values are lists, structures or maps: what may be done with them, and in which types they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.core.interfaces import NestingSink
from sfumato.core.nested_types import READ_LISTS, are_lists_read, holds_lists, refuse_unreadable
from sfumato.errors import DataError

if TYPE_CHECKING:
    from sfumato.engine.plan import Plan

_HINT = "role other with a mask, as in mask: {nested: {paths: {...}}}, or role identifier, which removes them"


def refuse_documents(plan: Plan) -> None:
    """Refuse columns that cannot be read, and nested ones of which a policy asks what can only be asked of single values.

    A list is no value of which classes are alike, and one that leaves as it is tells more of a person than any promise looks at.
    """
    policy, masks = plan.resolved.policy, plan.resolved.masks
    read = {*plan.published, *(name for name in plan.masked for name in masks[name].reads), *([policy.subject] if policy.subject else [])}
    refuse_unreadable(plan.schema, [name for name in plan.schema.names if name in read], "the source")
    told = [field for field in plan.schema if field.name in read and (field.name in plan.nested or holds_lists(field))]
    unread = [field.name for field in told if not are_lists_read(field)]
    if unread:
        raise DataError(f"the source has fields whose values are lists: {', '.join(unread)}", code="column-nested", hint=READ_LISTS)
    nested = [field.name for field in told]
    grouped = [name for name in nested if policy.columns[name].role in ("quasi_identifier", "sensitive") or name == policy.subject]
    if grouped:
        raise _refused("and cannot be quasi_identifier, sensitive or the subject", grouped)
    kept = [name for name in nested if name in plan.published and (name not in masks or _keeps(plan, name))]
    if kept and plan.resolved.promises:
        raise _refused("and cannot be kept as they are where something is promised", kept)


def nested_in_release(plan: Plan) -> dict[str, pa.DataType]:
    """Return the published columns that are written as lists, structures or maps again, and their types; it depends on no row."""
    if not isinstance(plan.sink, NestingSink):
        return {}
    masks = plan.resolved.masks
    stay = (name for name in plan.published if name in plan.nested and (name not in masks or masks[name].keeps_type(plan.nested[name])))
    return {name: plan.nested[name] for name in stay if plan.sink.nests(name)}


def _keeps(plan: Plan, name: str) -> bool:
    mask = plan.resolved.masks[name]
    return any(all(step.component_name() == "keep" for step in steps) for steps in mask.branches)


def _refused(what: str, names: list[str]) -> DataError:
    return DataError(f"the source has columns whose values are lists or structures, {what}: {', '.join(names)}", code="column-nested", hint=_HINT)
