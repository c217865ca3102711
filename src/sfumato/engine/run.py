"""Run: the one road from a policy to a verified release: plan, count, search, apply, verify, publish, record."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sfumato.core.elsewhere import FrequenciesElsewhere
from sfumato.core.examined import Examining
from sfumato.core.files import source_changed
from sfumato.core.interfaces import Attached, MaskPlan, Progress, Published, ReplacingSink, Source, Staged
from sfumato.core.problem import Problem
from sfumato.core.publication import Publication, in_published_order
from sfumato.core.quiet import Quiet
from sfumato.core.recoding import Recoding, nothing_to_recode
from sfumato.core.record import RunRecord, Together
from sfumato.core.workplace import Workplace
from sfumato.engine.beside_strict import beside_strict
from sfumato.engine.columns_read import attach_plan, narrowed
from sfumato.engine.count import Counted, count, most_suppressed
from sfumato.engine.derived import Finer, count_within, search_within
from sfumato.engine.documents import nested_in_release
from sfumato.engine.first_rows import first_rows_notes
from sfumato.engine.frames import kind_of_frame
from sfumato.engine.in_place import in_place
from sfumato.engine.in_view import in_view
from sfumato.engine.inside import inside
from sfumato.engine.interval_ends import telling_columns, tight_columns
from sfumato.engine.live_view import make_live_view
from sfumato.engine.live_view_checks import live_view_asked
from sfumato.engine.masks_inside import check_masks_inside
from sfumato.engine.plan import AnyPolicy, Plan, Plans, make_plans, with_keys
from sfumato.engine.publish import private_part, publish, run_name
from sfumato.engine.record import make_record
from sfumato.engine.release import Release, Releases
from sfumato.engine.search_elsewhere import search_elsewhere
from sfumato.engine.shown_values import MaskedView
from sfumato.engine.tables import in_table, joined_records, published_together, take_tables
from sfumato.engine.together import Seen, check_together, originals_for
from sfumato.engine.verify import read_again, verify
from sfumato.engine.verify_inside import verify_inside
from sfumato.errors import Mistake, PolicyError, nothing_to_resume
from sfumato.policy.load import load
from sfumato.policy.seed import chance_of


class Timings:
    """How long each stage took."""

    def __init__(self, shared: Mapping[str, float] | None = None) -> None:
        self.seconds: dict[str, float] = dict(shared or {})

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, or a further part of one."""
        start = time.perf_counter()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)


@dataclass(frozen=True, eq=False)
class View:
    """A view on its way: its plan, what was counted and decided, and what was written where nobody can see it."""

    plan: Plan
    counted: Counted
    recoding: Recoding
    masks: MaskPlan
    staged: Staged
    timings: Timings
    notes: Sequence[str] = ()

    @property
    def suppressed(self) -> int:
        """How many rows were decided to be left out."""
        return self.counted.refused_rows + int(self.counted.frequencies.combination_rows[self.recoding.suppressed].sum())

    @property
    def ends(self) -> frozenset[str]:
        """The columns whose intervals end with values of the table."""
        found = (columns(self.plan, self.counted, self.recoding) for columns in (tight_columns, telling_columns))
        return frozenset(name for names in found for name in names)


def run(policy: AnyPolicy, data: Any = None, progress: Progress | None = None, resume: bool = False) -> Release | Releases:
    """Anonymise as the policy says, verify what was written, publish it and return it with its record.

    ``data`` is an Arrow table, a pandas or polars data frame, or anything else that gives rows by Arrow's interface. A policy with views gives
    one release a view, by name, and one with tables one a table. Where an earlier run died while it masked a table in place, this one finishes it.
    With ``resume`` it does only that, or goes on with the copy that a run inside a database has left; an error where there is neither.

    Raises an error, and publishes nothing, where a promise cannot be kept or anything is not as it must be.
    """
    timings, loaded = Timings(), load(policy)
    with in_place(loaded, progress or Quiet(), resume) as begun:
        if begun.finished is not None:
            return begun.finished
        with timings.stage("plan"):
            plans = make_plans(loaded, data)
            is_live_view = live_view_asked(plans) is not None
            plans = with_keys(plans)
            _refuse_retention(plans)
        if is_live_view:
            if resume:
                raise nothing_to_resume("a live view has no rows of its own")
            return make_live_view(plans, progress or Quiet(), timings)
        for plan in plans.views.values():
            if isinstance(plan.sink, ReplacingSink):
                plan.sink.refuse_used()
        with timings.stage("count"):
            plans = begun.taken(plans)
        plans = replace(plans, views=inside(plans.views, resume))
        releases = run_plans(plans, progress or Quiet(), timings, kind_of_frame(data))
    return releases[""] if "" in releases else Releases(releases)


def _refuse_retention(plans: Plans) -> None:
    """Refuse a policy that archives and deletes: nobody should do that who meant to publish a copy."""
    resolved = next(iter(plans.views.values())).resolved
    if resolved.policy.retention is not None:
        words, hint = (
            "the policy archives rows and deletes them",
            "sfumato retain, or leave retention out to publish a copy of all rows to another table",
        )
        raise PolicyError([Mistake("retention", words, "policy-retention", hint, resolved.lines.at(("retention",)))], name=resolved.name)


def run_plans(plans: Plans, progress: Progress, timings: Timings | None = None, kind: str = "arrow") -> dict[str, Release]:
    """Do what plans say, and return the release of each view."""
    with Workplace() as workplace:
        return _run(plans, workplace, progress, timings or Timings(), kind)


def _run(plans: Plans, workplace: Workplace, progress: Progress, timings: Timings, kind: str) -> dict[str, Release]:
    views: dict[str, View] = {}
    records: dict[str, RunRecord] = {}
    plans = narrowed(plans)
    try:
        together = None
        if plans.are_tables:
            with timings.stage("count"):
                take_tables(plans, progress)
            plans, together = published_together(plans)
        for part in plans.parts:
            records |= _prepared(part, views, workplace, in_table(part, progress), Timings(timings.seconds))
        if plans.are_tables:
            records = joined_records(plans, {name: view.staged for name, view in views.items()}, records, progress)
        run = run_name() if plans.are_tables else None
        with ExitStack() as kept:
            for name, view in views.items():
                kept.enter_context(private_part(view.plan, view.counted, view.recoding, records[name], run))
            published = publish([(view.plan, view.staged, records[name]) for name, view in views.items()], workplace, progress, together)
    except BaseException:
        for view in views.values():
            view.plan.store.discard(view.staged)
        raise
    readers = (_reader(view.staged, places) for view, places in zip(views.values(), published, strict=True))
    return {name: Release(records[name], reader, kind) for name, reader in zip(views, readers, strict=True)}


def _prepared(plans: Plans, views: dict[str, View], workplace: Workplace, progress: Progress, timings: Timings) -> dict[str, RunRecord]:
    """Stage the views of one source, which go to those that are to be published or discarded, verify them and return their records."""
    state, staged = plans.source.state(), {}
    for view in staged_views(plans, workplace, progress, timings):
        views[view.plan.view] = staged[view.plan.view] = view
    try:
        return _verified(plans, staged, timings, progress)
    finally:
        # what verification found may be another's doing: then that is what is said
        if plans.source.state() != state:
            raise source_changed("the source")


def staged_views(plans: Plans, workplace: Workplace, progress: Progress, timings: Timings) -> Iterator[View]:
    """Read the source once; count, search and write each view where nobody can see it, and yield it. Nothing has been verified yet."""
    first = next(iter(plans.views.values()))
    with timings.stage("count"):
        progress.stage("reading", plans.source.about())
        attached = first.store.attach(plans.source, attach_plan(plans), workplace, progress)
    finers: dict[str, Finer] = {}
    try:
        for name, plan in plans.views.items():
            with in_view(name, plan.resolved.own, plan.resolved.part), chance_of(plan.resolved.policy.seed, f"view {name}"):
                view = _stage_view(plan, attached, finers.get(plans.derived_from.get(name, "")), workplace, progress, Timings(timings.seconds))
            finers[name] = Finer(name, view.counted, view.recoding)
            yield view
    except BaseException:
        attached.abandon()
        raise
    attached.release()


def counted_views(plans: Plans, workplace: Workplace, progress: Progress, timings: Timings) -> Iterator[tuple[Plan, Counted, Recoding]]:
    """Read the source once; count and search each view as a run would, and yield what was found. Nothing is written."""
    plans = narrowed(plans)
    first = next(iter(plans.views.values()))
    progress.stage("reading", plans.source.about())
    attached = first.store.attach(plans.source, attach_plan(plans), workplace, progress)
    finers: dict[str, Finer] = {}
    try:
        for name, plan in plans.views.items():
            with in_view(name, plan.resolved.own):
                counted, recoding = _decided(plan, attached, finers.get(plans.derived_from.get(name, "")), progress, timings)
            finers[name] = Finer(name, counted, recoding)
            yield plan, counted, recoding
    finally:
        attached.abandon()


def _decided(plan: Plan, attached: Attached, finer: Finer | None, progress: Progress, timings: Timings) -> tuple[Counted, Recoding]:
    """Count a view and search for its recoding."""
    with timings.stage("count"):
        progress.stage("counting")
        counted = count(plan, attached)
        if finer is not None:
            counted, units = count_within(plan, counted, attached, finer)
    with timings.stage("search"):
        problem = problem_of(plan, counted)
        if isinstance(counted.frequencies, FrequenciesElsewhere):
            told, recoding = search_elsewhere(plan, problem, counted.frequencies, progress)
            counted = replace(counted, frequencies=told)
        elif finer is None:
            recoding = _search(plan, problem, counted, progress)
        else:
            recoding = search_within(plan, problem, counted, units, finer, progress)
    return counted, recoding


def _stage_view(plan: Plan, attached: Attached, finer: Finer | None, workplace: Workplace, progress: Progress, timings: Timings) -> View:
    counted, recoding = _decided(plan, attached, finer, progress, timings)
    masks = _mask_plan(plan, counted)
    with timings.stage("search"):
        notes = beside_strict(plan, problem_of(plan, counted), counted, recoding, masks.publications)
    with timings.stage("apply"):
        recoding = in_published_order(recoding, masks.publications)
        staged = plan.store.stage(attached, recoding, masks, plan.sink, workplace, progress)
    return View(plan, counted, recoding, masks, staged, timings, notes)


def _verified(plans: Plans, views: Mapping[str, View], timings: Timings, progress: Progress) -> dict[str, RunRecord]:
    """Verify every view and what is learnt from several, before any is published, and return their records."""
    examining = {name: view.staged for name, view in views.items() if isinstance(view.staged, Examining)}
    if examining:
        return {name: _verified_inside(views[name], staged, progress) for name, staged in examining.items()}
    with timings.stage("verify"):
        rows = next(iter(views.values())).counted.rows
        further = [name for view in views.values() for name in originals_for(view.plan, plans.identifying)] if len(views) > 1 else []
        original, wide = read_again([(view.plan, view.masks) for view in views.values()], further, rows, progress)
    verified = {}
    for name, view in views.items():
        with in_view(name, view.plan.resolved.own, view.plan.resolved.part), view.timings.stage("verify"):
            verified[name] = verify(view.plan, view.counted, view.masks, view.staged, view.suppressed, view.recoding.levels, original, progress)
    masked = [MaskedView(name, view.masks, view.staged, view.ends) for name, view in views.items()]
    between = [*plans.accepted, *wide.check(masked, plans.readers)]
    together: list[Together] = []
    if len(views) > 1:
        seen = {name: Seen(view.plan, view.staged, view.counted.frequencies.ladders) for name, view in views.items()}
        together = check_together(plans, seen, original, progress)
    first = first_rows_notes([view.plan for view in views.values()])
    records = {}
    for name, view in views.items():
        seconds = view.timings.seconds | {"verify": round(view.timings.seconds["verify"] + timings.seconds["verify"], 3)}
        record = make_record(view.plan, view.counted, view.recoding, verified[name], view.suppressed, seconds, view.staged.effects)
        record = record.model_copy(
            update={"notes": [*record.notes, *view.notes, *first.get(name, ()), *_missed(view), *(words for of, words in between if name in of)]}
        )
        finer = plans.derived_from.get(name)
        told: dict[str, Any] = {"view": name, "derived_from": finer, "together": [each for each in together if name in each.views]}
        if plans.are_tables:
            told = {"table": name}
        if finer is not None and view.recoding.levels is not None and views[finer].recoding.levels is None:
            words = f"{name} has one level a column for all rows and {finer} has boxes, which lie across levels: much more is lost than with boxes"
            told["notes"] = [*record.notes, words]
        records[name] = record.model_copy(update=told) if name else record
    return records


def _missed(view: View) -> list[str]:
    """Return what masks could not look for."""
    masks, contexts = view.plan.resolved.masks, view.masks.contexts
    return [f"column {column}: {words}" for column, context in contexts.items() for words in masks[column].missed(context)]


def _verified_inside(view: View, staged: Examining, progress: Progress) -> RunRecord:
    """Verify a view where it is staged, and return its record."""
    plan = view.plan
    with view.timings.stage("verify"):
        verified = verify_inside(plan, view.counted, view.masks, view.recoding, staged.examined(progress), view.suppressed)
        effects = check_masks_inside(plan, view.masks, staged)
    record = make_record(plan, view.counted, view.recoding, verified, view.suppressed, view.timings.seconds, effects)
    return record.model_copy(update={"notes": [*record.notes, *view.notes, *first_rows_notes([plan]).get(plan.view, ()), *_missed(view)]})


def _search(plan: Plan, problem: Problem, counted: Counted, progress: Progress) -> Recoding:
    if not problem.hierarchies:
        return nothing_to_recode(counted.frequencies)
    return plan.resolved.algorithm.search(problem, counted.frequencies, progress)


def problem_of(plan: Plan, counted: Counted) -> Problem:
    """Return what the search is asked."""
    columns = plan.resolved.policy.columns
    names = plan.quasi_identifiers
    return Problem(
        hierarchies=[counted.hierarchies[name] for name in names],
        promises=plan.promises,
        weights=[columns[name].weight for name in names],
        suppressible=most_suppressed(plan, counted.rows) - counted.refused_rows,
        minimum_levels=[columns[name].level.minimum for name in names],
        maximum_levels=[_maximum(columns[name].level.maximum, counted, name) for name in names],
        refused=counted.refused_rows,
    )


def _maximum(asked: int | None, counted: Counted, name: str) -> int:
    return counted.hierarchies[name].height if asked is None else asked


def _mask_plan(plan: Plan, counted: Counted) -> MaskPlan:
    columns = plan.resolved.policy.columns
    return MaskPlan(
        publications=[
            Publication(name, counted.hierarchies[name], columns[name].publish, columns[name].level.minimum, plan.schema.field(name).type)
            for name in plan.quasi_identifiers
        ],
        masks={name: plan.resolved.masks[name] for name in plan.masked if name not in plan.quasi_identifiers},
        kept=plan.kept,
        order=plan.published,
        contexts={name: plan.context(name, counted.mask_ladders.get(name)) for name in plan.masked},
        nested=nested_in_release(plan),
        told=_told(plan),
    )


def _told(plan: Plan) -> dict[str, Mapping[bytes, bytes]]:
    """Return what the source says of columns that leave as they came; those of a form of their own are written anew."""
    told = {name: plan.schema.field(name).metadata for name in plan.kept if name not in plan.resolved.policy.formats}
    return {name: metadata for name, metadata in told.items() if metadata}


def _reader(staged: Staged, published: Published) -> Source:
    written: Any = staged.written
    is_file = published.places and "path" in getattr(type(written), "model_fields", {}) and written.path is not None
    reader: Source = written.model_copy(update={"path": published.places[0]}) if is_file else written
    return reader
