"""Intervals that end with values of the table, and not where the policy says."""

from __future__ import annotations

from sfumato.core.recoding import Recoding
from sfumato.engine.count import Counted
from sfumato.engine.plan import Plan


def tight_columns(plan: Plan, counted: Counted, recoding: Recoding) -> list[str]:
    """Return the columns whose intervals end with the smallest and the largest value of their class."""
    ordered = _ordered(plan, counted)
    return [name for name in ordered if recoding.levels is None and not plan.resolved.policy.columns[name].level.minimum]


def telling_columns(plan: Plan, counted: Counted, recoding: Recoding) -> list[str]:
    """Return the other columns whose intervals are named after values of the table as read."""
    tight, names = tight_columns(plan, counted, recoding), plan.quasi_identifiers
    at_root = [name for name, level in zip(names, recoding.levels or (), strict=False) if level == counted.hierarchies[name].height]
    return [name for name in _ordered(plan, counted) if name not in (*tight, *at_root) and counted.hierarchies[name].tells_values]


def _ordered(plan: Plan, counted: Counted) -> list[str]:
    return [name for name in plan.quasi_identifiers if counted.hierarchies[name].ordered]
