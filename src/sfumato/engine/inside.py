"""Whether a run can be done inside the database in which its data are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sfumato.databases.inside import Layout
from sfumato.databases.located import Located, LocatedSink
from sfumato.databases.script import script, spark_steps
from sfumato.engine.plan import Plan
from sfumato.stores._inside import InsideStore


def inside(views: Mapping[str, Plan]) -> Mapping[str, Plan]:
    """Return the plans, worked on in the database where that can be; else as they are, in this process."""
    if any(not_inside(plan, len(views)) for plan in views.values()):
        return views
    return {name: replace(plan, store=_store(plan.source, plan.sink)) for name, plan in views.items()}


def _store(source: Any, sink: Any) -> Any:
    return InsideStore(source, sink)


def statements(plan: Plan) -> list[str]:
    """Return what a run would let the database do, in its own language and without secrets; nothing where it is not done there."""
    if not isinstance(plan.source, Located) or not isinstance(plan.sink, LocatedSink) or not_inside(plan):
        return []
    with plan.source.connected() as connection:
        known = {column.name: column for column in connection.columns(plan.source.table_name)}
    if plan.sink.address.kind == "spark":
        return spark_steps(plan.source.table_name, plan.sink.table_name, plan.quasi_identifiers)
    coded = dict.fromkeys([*plan.quasi_identifiers, *plan.watched])
    layout = Layout(plan.source.table_name, [known[name] for name in coded], [known[name] for name in plan.kept])
    texts = iter(range(2 * len(known)))
    columns = [(shown, next(texts) if name in plan.quasi_identifiers else None) for name in plan.published for shown in plan.shown_as(name)]
    return script(plan.sink.address, layout, plan.sink.table_name, columns)


def not_inside(plan: Plan, views: int = 1) -> str | None:
    """Return why a run is done in this process and not in the database, as a clause; None where it is done there."""
    if not isinstance(plan.source, Located) or not isinstance(plan.sink, LocatedSink):
        return "source and sink are not both tables of a database"
    if plan.source.address != plan.sink.address:
        return "source and sink are not in one database, or not reached as one user"
    if plan.resolved.part == "table":
        return "several tables are published together"
    if views > 1:
        return "several views are made of one source"
    if plan.resolved.policy.subject is not None:
        return "people are counted by a subject"
    if not plan.quasi_identifiers:
        return "no column is generalised"
    masked = [name for name in plan.masked if name not in plan.quasi_identifiers]
    if masked:
        return f"{', '.join(masked)} {'is' if len(masked) == 1 else 'are'} masked"
    if plan.nested:
        return "columns hold documents"
    return None
