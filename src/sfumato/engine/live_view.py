"""A live view: made where nobody sees it, held against the masks themselves and against its table, and then put into its place.

What it shows of rows that come later nobody can verify now. It is what the same expressions make of them, and these give nothing, or an error, for a
value that a mask cannot take.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from sfumato.core import places
from sfumato.core.examined import PUBLISHED
from sfumato.core.files import file_errors
from sfumato.core.interfaces import PUBLISHED as DONE
from sfumato.core.interfaces import MaskPlan, Progress
from sfumato.core.mask_effect import Effect, refuse
from sfumato.core.record import Recoded, Rows, RunRecord, people
from sfumato.core.staging import StagedFile
from sfumato.databases.live_view import Definition, LiveViews, ShownColumn, live_views_of
from sfumato.databases.located import Located
from sfumato.databases.table import TableName
from sfumato.databases.view_text import view_text
from sfumato.engine.broken_release import broken
from sfumato.engine.live_view_checks import definition_of, live_view_asked, refuse_computed, refuse_invokers
from sfumato.engine.mask_effects import mask_notes
from sfumato.engine.masks_inside import masked_again
from sfumato.engine.plan import Plan, Plans
from sfumato.engine.publish import keep_facts, uninterrupted
from sfumato.engine.release import Release
from sfumato.policy.identity import policy_hash
from sfumato.sinks.live_view import LiveView

NOTES = (
    "a live view: nothing was copied, and whoever reads it sees the rows as they are then, masked by the same expressions; rows were counted when it "
    "was made",
    "it is access control and no anonymisation: nothing was promised, and readers may ask it as often as they like, with any condition on "
    "what it shows",
    "how it is made, the settings of its masks among it, can be read by those who may read it, and is in the server's log of statements",
    "a value that comes later and that a mask cannot take is shown as nothing, or makes reading fail",
)
"""What the record says of every live view."""


@dataclass(frozen=True, eq=False)
class LiveViewRun:
    """A plan whose sink is a live view, with the server that makes it."""

    plan: Plan
    sink: LiveView
    definition: Definition
    views: LiveViews


@contextmanager
def begun(plans: Plans, alone: bool = True) -> Iterator[LiveViewRun | None]:
    """Check the policy of a live view against the database, and keep other runs away on request; nothing where the sink is another."""
    sink = live_view_asked(plans)
    plan = next(iter(plans.views.values()))
    if sink is None or not isinstance(plan.source, Located):
        yield None
        return
    with sink.connected() as connection, _alone(connection, sink.table_name) if alone else nullcontext():
        definition = definition_of(plan, plan.source, sink, connection)
        views = live_views_of(connection, sink.address.kind, definition)
        refuse_invokers(plan, views.invokers())
        refuse_computed(plan, definition, views.stored_columns())
        views.check(sink.roles)
        yield LiveViewRun(plan, sink, definition, views)


def _alone(connection: Any, view: TableName) -> AbstractContextManager[None]:
    alone: AbstractContextManager[None] = connection.alone(f"live view {connection.placed(view)}")
    return alone


def refuse_live_view(plans: Plans) -> None:
    """Refuse a live view that could not be made; nothing is made, and a run that makes it meanwhile is none of it."""
    with begun(plans, alone=False):
        return


def live_view_statements(plans: Plans) -> list[str] | None:
    """Return the statements that publish a live view; None where the sink is another."""
    with begun(plans) as run:
        return None if run is None else run.views.statements(run.sink.roles)


def make_live_view(plans: Plans, progress: Progress, timings: Any) -> Release:
    """Make the view, verify and publish it, and return it with its record."""
    with begun(plans) as run:
        if run is None:
            raise AssertionError("who makes a live view was asked for one")
        try:
            record = _made(run, progress, timings)
        except BaseException:
            run.views.discard()
            raise
    return Release(record, run.sink.as_source())


def _made(run: LiveViewRun, progress: Progress, timings: Any) -> RunRecord:
    with timings.stage("apply"):
        progress.stage("writing")
        run.views.make()
    with timings.stage("verify"):
        progress.stage("verifying")
        effects, rows = _verified(run)
    record = _record(run, effects, rows, timings.seconds)
    with uninterrupted():
        record = _published(run, record)
        progress.stage(DONE)
    return record


def _verified(run: LiveViewRun) -> tuple[dict[str, Effect], int]:
    """Do every mask again on the distinct values, and hold what the view shows against it; return what masks did, and how many rows there are."""
    plan = run.plan
    contexts = {name: plan.context(name) for name in plan.masked}
    masks = MaskPlan([], {name: plan.resolved.masks[name] for name in plan.masked}, plan.kept, plan.published, contexts)
    effects = {}
    for shown in run.definition.masked:
        name = shown.column.name
        effects[name] = masked_again(plan, masks, _pairs(run.views, shown), name)
    refuse(effects)
    in_view, made = run.views.prints()
    if in_view != made:
        raise broken("does not show each row of its table as the expressions make it", code="verify-live-view", who="the view")
    if effects and run.views.masked_prints(other_session=False) != run.views.masked_prints(other_session=True):
        what = "shows something else to a session with other settings"
        hint = "the source computes values from settings of a session, such as a time zone: mask columns of a table; or report it if it does not"
        raise broken(what, code="verify-live-view", who="the view", hint=hint)
    return effects, in_view[0]


def _pairs(views: LiveViews, shown: ShownColumn) -> Iterator[pa.RecordBatch]:
    for batch in views.pairs(shown):
        yield batch.rename_columns([*(column.name for column in shown.reads), PUBLISHED, "rows"])


def _published(run: LiveViewRun, record: RunRecord) -> RunRecord:
    """Put the view into its place, and its record, of which for a moment there is none: an old one beside a new view would lie."""
    file = StagedFile(run.sink.record) if run.sink.record is not None else None
    try:
        if file is not None:
            with file_errors(file.target, "written"):
                file.target.unlink(missing_ok=True)
        further = run.views.publish(run.sink.roles)
        record = record.model_copy(update={"notes": [*record.notes, *further]})
        if file is not None:
            file.write((json.dumps(record.as_mapping(), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
            file.publish()
    except BaseException:
        if file is not None:
            file.abort()
        raise
    schema = {field.name: str(field.type) for field in run.plan.schema}
    keep_facts({"record": record.as_mapping(), "schema": schema, "definition": definition_print(run.sink)})
    return record


def definition_print(sink: LiveView) -> str | None:
    """Return an HMAC of what a view is made by, under the installation's key, as drift compares it; None where there is no view."""
    with sink.connected() as connection:
        text = view_text(connection, sink.address.kind, sink.table_name)
    return None if text is None else hmac.new(places.installation_key(), text.encode(), hashlib.sha256).hexdigest()


def _record(run: LiveViewRun, effects: Mapping[str, Effect], rows: int, timings: Mapping[str, float]) -> RunRecord:
    """Return what may be told of a live view: its columns, and the rows that there were."""
    plan = run.plan
    removed = [f"columns that the policy does not name were removed: {', '.join(plan.unnamed)}"] if plan.unnamed else []
    warned = [f"column {name}: {words}" for name in plan.masked for words in plan.resolved.masks[name].warnings]
    who = f"the view can be read by {', '.join(run.sink.roles)}, by its owner and by those who may read everything"
    return RunRecord(
        version=version("sfumato"),
        status="published",
        made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        policy=policy_hash(plan.resolved.policy),
        rows=Rows(in_=rows, out=rows, suppressed=0),
        promises=[],
        measures={"before": {}, "after": {}},
        algorithm=plan.resolved.policy.algorithm.name,
        suppression_limit=0.0,
        recoding=Recoded(kind="live_view"),
        columns={name: _column(plan, name, effects) for name in plan.resolved.policy.columns},
        timings=dict(timings),
        files=[str(place) for place in run.sink.places()],
        release_columns=plan.released,
        fingerprints={},
        notes=[*NOTES, *plan.told, who, *removed, *warned, *mask_notes(plan, effects)],
    )


def _column(plan: Plan, name: str, effects: Mapping[str, Effect]) -> dict[str, Any]:
    told: dict[str, Any] = {"role": plan.resolved.policy.columns[name].role}
    if name in plan.resolved.masks:
        told |= {"mask": plan.resolved.masks[name].in_words(values=False), "reveals": plan.resolved.masks[name].card.reveals}
    if name in effects and effects[name].may_remove:
        told["removed"] = people(effects[name].removed, plan.threshold)
    return told


def live_view_steps(plan: Plan, sink: LiveView, masked: Sequence[str]) -> list[str]:
    """Return what a run would do, one sentence a step; ``masked`` says what is done to each masked column."""
    source = plan.source.scan()
    place = ", ".join(source.places) if source else "its table"
    gone = [name for name in plan.schema.names if name not in plan.published]
    record = f" The record goes to {sink.record}." if sink.record is not None else ""
    return [
        f"Make a view of {place}: no row is copied, and whoever reads it sees the rows as they are then.",
        *([f"Leave out {', '.join(gone)}."] if gone else []),
        *masked,
        *([f"Show {', '.join(plan.kept)} as {'it is' if len(plan.kept) == 1 else 'they are'}."] if plan.kept else []),
        "Make the view where nobody sees it, do every mask again on the distinct values of its columns, hold the view's rows against what the "
        "expressions make of the table, and read it once more under settings that a reader could choose.",
        f"Publish it as {', '.join(sink.places())}, in place of one that an earlier run has made, to be read by {', '.join(sink.roles)} and nobody "
        f"else but its owner.{record}",
        "Mind that this is access control and no anonymisation: nothing is promised, readers may ask it with any condition, and they can read how "
        "it is made.",
    ]
