"""The plan of a stream in plain sentences, and every setting of it; of the columns nothing is known but what the policy says."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sfumato.engine.explain import generalised_step, listed, masked_step
from sfumato.engine.outline import outline
from sfumato.engine.plan import Plan
from sfumato.engine.stream.plan import StreamPlan
from sfumato.policy.model import Component
from sfumato.policy.resolve import Resolved
from sfumato.policy.windows import Window
from sfumato.registry import find

_LATER = {"leave_out": "is left out", "next": "goes into the oldest window that is open", "set_aside": "is set aside as a dead letter"}


def explain_stream(resolved: Resolved, view: str) -> list[str]:
    """Return what a session of a view does, one sentence a step."""
    stream = StreamPlan(_plan(resolved, view))
    plan, policy = stream.plan, resolved.policy
    where = _place(policy.source)
    steps = [f"Take records of {len(policy.columns)} columns{f' from {where}' if where else ''}, up to {stream.settings.batch:,} at once."]
    removed = [name for name in policy.columns if name not in plan.published]
    steps += [f"Remove {listed(removed)}."] if removed else []
    steps += [masked_step(plan, name) for name in plan.masked]
    steps += [_generalised_step(stream, name) for name in plan.quasi_identifiers]
    kept = [name for name in plan.kept if name not in stream.event_columns]
    steps += [f"Keep {listed(kept)} as {'it is' if len(kept) == 1 else 'they are'}."] if kept else []
    steps += [f"Count people, not records: {policy.subject} says whose a record is."] if policy.subject else []
    if stream.settings.jump is not None and stream.time_column is not None:
        steps.append(
            f"Set a record aside that is over {stream.settings.jump} ahead of all before it, until another person's record confirms the time."
        )
    steps += _waiting(stream)
    for promise in resolved.promises:
        settings = ", ".join(f"{key} {value}" for key, value in promise.model_dump(exclude_defaults=True).items())
        steps.append(f"Keep {promise.component_name()} ({settings}) in every class of every release, or do not release it.")
    sets_aside = stream.settings.on_unfit == "set_aside"
    steps.append("Set records aside that do not fit, as dead letters." if sets_aside else "Stop at a record that does not fit.")
    to = _place(policy.sink)
    steps.append(f"Verify every release on its text, and hand it out{f' to {to}' if to else ''}{_order(stream)}.")
    return steps


def outline_stream(resolved: Resolved, view: str) -> dict[str, Any]:
    """Return all settings of a view, those that were left at their defaults too."""
    plan = _plan(resolved, view)
    window, stream = StreamPlan(plan).window, StreamPlan(plan).settings
    return outline(plan) | {"window": None if window is None else window.model_dump(mode="json", exclude_none=True), "stream": stream.model_dump()}


def _plan(resolved: Resolved, view: str) -> Plan:
    schema = pa.schema([pa.field(name, pa.string()) for name in resolved.policy.columns])
    nowhere: Any = None
    source = resolved.source or find("sources", "memory")(table=schema.empty_table())
    return Plan(resolved, source, resolved.sink or find("sinks", "memory")(), nowhere, schema, view)


def _generalised_step(stream: StreamPlan, name: str) -> str:
    """Return how a quasi-identifier is generalised, and what becomes of a value that its ladder does not know."""
    told, column = generalised_step(stream.plan, name), stream.resolved.policy.columns[name]
    if column.hierarchy is not None or column.type not in (None, "text") or "on_unknown" in column.model_fields_set:
        return told.replace("stops the run", "is a dead letter")
    grouped = "is published as everything" if stream.way == "windows" else "is left out with its record"
    later = f"a category that comes later joins it, or {grouped} where the first ones were so many that they are grouped"
    return f"{told.partition(';')[0]}; {later}."


def _place(component: Component | None) -> str:
    """Return where a source or a sink is, as the policy says."""
    if component is None:
        return ""
    return str(component.settings.get("path", component.name.replace("_", " ")))


def _waiting(stream: StreamPlan) -> list[str]:
    name = stream.resolved.algorithm.component_name()  # type: ignore[attr-defined]
    if stream.way == "rows":
        return ["Let every record leave at once: nothing is generalised, and no mask looks at others."]
    if stream.way == "events":
        return [f"Decide of {listed(list(stream.event_columns))} with {name}, record by record: as it is, more general, or not at all."]
    if stream.window is None:
        return [f"Gather records in clusters with {name}, and let a cluster leave when it keeps the promises."]
    window = stream.window
    steps = [f"Gather records in windows: {_window(window, stream)}."]
    if stream.plan.quasi_identifiers:
        steps.append(f"Search each window with {name} for classes that lose little detail.")
    if window.publish is not None:
        told = [f"{which} in {name}" for which, name in (("began", window.publish.start), ("ended", window.publish.end)) if name is not None]
        steps.append(f"Say in every row when its window {' and '.join(told)}.")
    small = "let it wait for the next one" if window.on_small == "carry" else "leave it out"
    steps.append(f"Where a window cannot keep the promises, or is of too few people, {small}; hold at most {window.most:,} records.")
    return steps


def _window(window: Window, stream: StreamPlan) -> str:
    if window.count is not None:
        return f"{window.count:,} records each"
    late = f"a record may come {window.lateness} late" if window.lateness else "a record may come no later than those of a later window"
    later = _LATER[stream.settings.on_late]
    if window.time is not None:
        return f"{window.time} of {window.column} each; {late}, and one that comes later {later}"
    return (
        f"sessions of people, each until nothing came of the person for {window.session} of {window.column}; {late}, and one that comes later {later}"
    )


def _order(stream: StreamPlan) -> str:
    return ", in the order in which records came" if stream.way == "events" else ", its rows in random order"
